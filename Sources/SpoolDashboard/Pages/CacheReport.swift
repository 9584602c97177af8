package import Spool
import SpoolCore
import SpoolStore

/// The state of a cache in numbers, for a program that looks at it every second.
package struct CacheReport: Sendable {
    /// The counts since the cache was opened.
    package var statistics: Statistics
    /// The counts by day, the oldest first.
    package var days: [DayStatistics]
    /// The bytes that are stored.
    package var storedBytes: Int64
    /// The number of stored resources.
    package var resourceCount: Int
    /// The free bytes of the disk, or nil if they are unknown.
    package var freeBytes: Int64?
    /// The limits of the store.
    package var limits: StorageLimits
    /// Whether this process writes to the store.
    package var isWritable: Bool
    /// The resources with readers or fetches, at most as many as were asked for, by their keys.
    package var active: [ResourceStatus.Live]
    /// The number of resources with readers or fetches.
    package var activeCount: Int
    /// The current readers of all resources.
    package var readers: Int
    /// The current fetches of all resources.
    package var fetches: Int
    /// The counts of the servers that are asked before origins.
    package var tiers: [TierReport]

    /// The free bytes below which a disk counts as full.
    private static let fullDiskBytes: Int64 = 1 << 20

    /// Whether fetched bytes can be stored now: this process has the store, and the disk has room.
    var storesNow: Bool { isWritable && (freeBytes ?? .max) >= max(limits.minimumFreeBytes ?? 0, Self.fullDiskBytes) }
}

extension CacheReport {
    /// Passes a report on a cache to `done` on its index lane.
    ///
    /// - Parameter limit: The largest number of active resources in the report.
    package static func make(of cache: MediaCache, active limit: Int, _ done: @escaping Completion<CacheReport>) {
        let live = cache.liveStatuses.filter { $0.readers > 0 || $0.fetches > 0 }
        let shown = live.sorted { $0.key < $1.key }.prefix(limit)
        let (statistics, limits) = (cache.statistics, cache.limits)
        let tiers = cache.environment.tiers.map(\.report)
        cache.onIndexLane(nil, done) { [store = cache.store, keeper = HistoryKeeper.of(cache)] () throws(StoreError) in
            var active = Array(shown)
            // A session that has just begun reads the index as well.
            for index in active.indices where active[index].stored == nil {
                active[index].stored = try store.lookup(active[index].key)?.spans
            }
            return CacheReport(
                statistics: statistics, days: try keeper.days(with: statistics), storedBytes: try store.totalSizeBytes(),
                resourceCount: try store.count(), freeBytes: try store.freeBytes(), limits: limits, isWritable: store.isWritable,
                active: active, activeCount: live.count,
                readers: live.reduce(0) { $0 + $1.readers }, fetches: live.reduce(0) { $0 + $1.fetches }, tiers: tiers)
        }
    }
}
