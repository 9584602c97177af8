import SpoolCore

/// The bytes that stored media occupy, by the reason for which they are stored. Each counts once.
public struct StoredSizes: Hashable, Sendable {
    /// The bytes that a download or a part of it has, pinned or not.
    public let downloadedBytes: Int64
    /// The bytes of pinned resources that are no downloads.
    public let pinnedBytes: Int64
    /// The other bytes, which were stored while they played or by a preload. Eviction may remove
    /// them.
    public let streamedBytes: Int64

    init(all: Int64, downloaded: Int64, pinned: Int64) {
        (downloadedBytes, pinnedBytes) = (downloaded, pinned)
        streamedBytes = max(0, all.subtractingSaturated(downloaded).subtractingSaturated(pinned))
    }
}
