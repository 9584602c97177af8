import SpoolCore

/// The reason why a reader of a container cannot go on.
enum MediaReadFailure: Error, Hashable {
    /// These bytes are needed first. The reader continues once they are there.
    case missing(ByteRange)
    /// The file breaks the rules of its container, or a bound of `MediaLimits`.
    case malformed(String)
}
