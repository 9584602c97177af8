package import SpoolCore

/// A kind of media file whose structure Spool reads.
package enum MediaContainer: String, Hashable, Sendable {
    case mp4, mp3, aac, flac, wav, ogg, matroska
}

/// The bytes that a player needs for the first seconds of a media file.
package struct MediaPlan: Hashable, Sendable {
    /// The kind of the file.
    package var container: MediaContainer
    /// The bytes of headers, index and samples, with the seconds' margin.
    package var ranges: ByteRangeSet
    /// Whether the file is shorter than the seconds: the plan then contains its whole media.
    package var reachesEnd: Bool
}
