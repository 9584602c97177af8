public import SpoolCore
public import SpoolManifests

/// An entry of the list of downloads, at one moment: a resource, or an HLS or DASH presentation
/// with all of its parts.
public struct Download: Hashable, Sendable, Identifiable {
    /// The state of a download.
    public enum State: Hashable, Sendable {
        /// It waits for its turn, or for its next attempt after an error.
        case queued
        /// Its bytes are fetched or verified.
        case running
        /// It waits for `resume`.
        case paused
        /// The origin can't be reached, or the network policy refuses the request. It is tried
        /// again.
        case waitingForNetwork(reason: String)
        /// It is not tried again before `resume`.
        case failed(reason: String)
        /// All bytes are stored, and match their checks.
        case complete
    }

    /// The key of the resource, or of the manifest of a presentation.
    public let key: ResourceKey
    /// The URL that the bytes come from.
    public var url: String
    /// The name of its group. Empty, the default, means none.
    public var group = ""
    /// The renditions to download, if the resource is a presentation.
    public var selection = PresentationSelection()
    /// Its priority: higher ones run first. The default is 0.
    public var priority = 0
    /// The app's data, the requirements and the own limit of the entry.
    public var details = DownloadDetails()
    /// Its state.
    public var state = State.queued
    /// The number of stored bytes.
    public var doneBytes: Int64 = 0
    /// The number of bytes of the resource, or nil until it is known. Of a presentation it is an
    /// estimate until the download is complete, because manifests give no lengths.
    public var totalBytes: Int64?
    /// The bytes that arrived in a second, smoothed over the last seconds. Nil unless it runs, and
    /// in its first second.
    public var bytesPerSecond: Int64? { state == .running ? meter.bytesPerSecond : nil }
    /// The time that the rest takes at this speed; nil while the speed or the length is not known,
    /// and while nothing arrives.
    public var remainingTime: Duration? {
        guard let speed = bytesPerSecond, speed > 0, totalBytes != nil else { return nil }
        return .seconds(missingBytes / speed)
    }
    var meter = DownloadMeter()
    /// The error of its last attempt, while it is queued again.
    public var lastError: String?

    /// The key.
    public var id: ResourceKey { key }

    init(key: ResourceKey, url: String) {
        self.key = key
        self.url = url
    }
}

/// Measures the speed of a download.
struct DownloadMeter: Hashable {
    /// The shortest time between two measurements.
    private static let interval: Nanoseconds = .seconds(1)
    /// The part of a new measurement in the speed: a change of the speed shows within about four
    /// seconds.
    private static let share: Int64 = 4

    private var time: MonotonicInstant?
    private var bytes: Int64 = 0
    private(set) var bytesPerSecond: Int64?

    /// Takes the number of stored bytes at a time.
    mutating func passed(_ total: Int64, now: MonotonicInstant) {
        guard let begin = time else { return (time, bytes) = (now, total) }
        let passed = now - begin
        guard passed >= Self.interval else { return }
        let fresh = Int64(saturating: Double(max(0, total - bytes)) * 1e9 / Double(passed))
        bytesPerSecond = bytesPerSecond.map { $0 - $0 / Self.share + fresh / Self.share } ?? fresh
        (time, bytes) = (now, total)
    }
}

/// The settings of the list of downloads. They may be changed while downloads run.
public struct DownloadSettings: Hashable, Sendable {
    /// The most downloads that run at once; less than 1 counts as 1. The default of 2 keeps one
    /// busy while the other waits for its origin.
    public var maximumRunning = 2
    /// The most bytes that all downloads together fetch in a second, or nil, the default, for no
    /// limit.
    public var bytesPerSecond: Int64?
    /// The most bytes that all downloads together may have, outside the quota of the cache, or nil
    /// for no limit but the free space of the disk. The default is 32 GiB (34 359 738 368 bytes),
    /// four times the default quota.
    public var allowanceBytes: Int64? = 32 << 30

    /// Creates the default settings.
    public init() {}
}

/// The room that downloads take.
public struct DownloadRoom: Hashable, Sendable {
    /// The bytes that downloads occupy on the disk.
    public var usedBytes: Int64
    /// The allowance, or nil without one.
    public var allowanceBytes: Int64?
}

/// The end of the list to which a download moves.
public enum DownloadPlace: Sendable {
    /// Before all others of its priority.
    case first
    /// After all others of its priority.
    case last
}
