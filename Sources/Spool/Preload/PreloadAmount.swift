public import SpoolCore

/// How much of a resource a preload fetches.
public enum PreloadAmount: Hashable, Sendable {
    /// The bytes from this offset on, by default the first ones. A negative number counts as 0. Of
    /// a presentation, whole parts are taken from its beginning until they have that many bytes.
    case bytes(Int64, from: Int64 = 0)
    /// The bytes that a player needs for the seconds from this time on, by default the first ones:
    /// headers, index, and the samples of all tracks. Use the position at which playback resumes.
    ///
    /// In the middle of a file, the samples of the 4 seconds before are taken as well, because a
    /// decoder begins at a picture that stands alone.
    ///
    /// Of a presentation, the segments that begin before that time are taken whole, with their
    /// initialisation sections and keys. Otherwise this works for MP4, MP3, AAC, FLAC, WAV, Ogg,
    /// Matroska and WebM. For any other file, the preload takes 1 MiB for each second, at least 2
    /// MiB, from the beginning, and its result has the reason.
    case seconds(Double, from: Double = 0)
    /// The segments of a presentation from this time on, this number of each rendition, with their
    /// initialisation sections and keys. Of a file, 6 seconds for each: the length of a segment that
    /// Apple recommends.
    case segments(Int, from: Double = 0)
    /// All bytes.
    case whole
}

extension PreloadAmount {
    /// The seconds of a file for each segment.
    private static let segmentSeconds = 6.0

    /// The amount of a file, which has no segments.
    var ofFile: PreloadAmount {
        if case .segments(let count, let start) = self { .seconds(Double(max(0, count)) * Self.segmentSeconds, from: start) } else { self }
    }
}

/// How far a preload has come.
public struct PreloadProgress: Hashable, Sendable {
    /// The planned bytes that are available, fetched or stored before.
    public var doneBytes: Int64
    /// The planned bytes, or nil until they are known. Of a presentation they are an estimate,
    /// because manifests give no lengths.
    public var totalBytes: Int64?
    /// The bytes of `doneBytes` that were stored before the preload began.
    public var storedBytes: Int64 = 0
    /// The number of resources that are done. A presentation has many: manifests, segments, keys.
    public var finishedPartCount = 0
    /// The number of planned resources, or nil until it is known.
    public var partCount: Int? = 1

    /// Creates a progress.
    public init(doneBytes: Int64, totalBytes: Int64?) {
        self.doneBytes = doneBytes
        self.totalBytes = totalBytes
    }
}

/// The result of a preload.
public struct PreloadResult: Hashable, Sendable {
    /// The key of the resource, or of the manifest of a presentation.
    public var key: ResourceKey
    /// The planned bytes that were not stored before.
    public var fetchedBytes: Int64
    /// The planned bytes that were stored before the preload began.
    public var storedBytes: Int64
    /// The reason why `.seconds` were preloaded by bytes, or nil.
    public var bytesReason: String?
}
