/// The length of a representation, as a response states it.
package enum StatedLength: Hashable, Sendable {
    /// The response states no length.
    case unknown
    /// At most `ByteRange.maximumOffset`.
    case bytes(Int64)
    /// More than `ByteRange.maximumOffset`.
    ///
    /// Media servers send such numbers for a stream that they transcode during playback, so the
    /// length is not known. The bytes are passed on and not stored.
    case beyondBound

    /// Creates the stated length from a number that is not negative.
    init(_ number: Int64) {
        self = number <= ByteRange.maximumOffset ? .bytes(number) : .beyondBound
    }

    /// The number of bytes; nil where it is not known.
    package var bytes: Int64? {
        if case .bytes(let count) = self { count } else { nil }
    }
}
