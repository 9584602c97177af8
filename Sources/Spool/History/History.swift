import SpoolCore
import SpoolStore

extension MediaCache {
    /// The past of the cache: what it played, fetched and saved on each day.
    public var history: History { History(cache: self) }
}

/// The past of a cache, over all openings of its store.
///
/// ```swift
/// for day in try await cache.history.days() {
///     print(day.day, "saved", day.counts.savedBytes, "bytes")
/// }
/// ```
public struct History: Sendable {
    private let cache: MediaCache

    init(cache: MediaCache) { self.cache = cache }

    /// Returns the counts by day, the oldest first, with those of the open cache up to now.
    ///
    /// The store keeps the last 400 days with traffic. It takes up the counts about once a
    /// minute, and when the cache is closed or suspended. A process that is killed loses those
    /// since then, and one that only reads the store does not add its own.
    ///
    /// - Throws: `.store`, `.closed`.
    public func days() async throws(CacheError) -> [DayStatistics] {
        try await withCheckedContinuation { continuation in
            cache.onIndexLane(nil, { continuation.resume(returning: $0) }) { [engine = cache.engine] () throws(StoreError) in
                try engine.historyKeeper.days(with: engine.statistics)
            }
        }.get()
    }
}
