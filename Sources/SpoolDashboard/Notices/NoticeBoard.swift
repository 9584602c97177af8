package import Spool
package import SpoolCore
import SpoolSystem

/// The notices of a cache for its page: the last things that happened, and why.
///
/// A plain hit makes none. The texts for the page are made when a page asks.
package final class NoticeBoard: CacheWatch {
    private let time: any TimeSource
    private let list = Locked(NoticeList())

    /// Begins to keep the notices of a cache.
    package init(of cache: MediaCache) {
        time = cache.environment.time
        watch(cache)
    }

    /// Adds a notice. Callable on any thread, outside every lock.
    package func add(_ notice: CacheNotice) {
        let now = time.wallNow
        list.withLock { $0.add(notice, at: now) }
    }

    /// Adds the notice of an event, if it has one.
    package func record(_ event: CacheEvent) {
        if let notice = CacheNotice(of: event) { add(notice) }
    }

    /// Notes that a fetch or a download pauses.
    package func paused(_ key: ResourceKey, because reason: String) { add(CacheNotice(.paused, key, because: reason)) }

    /// Notes that an attempt of a download ended.
    package func downloadFailed(_ key: ResourceKey, because reason: String) { add(CacheNotice(.downloadFailed, key, because: reason)) }

    /// The entries, the newest first.
    package var entries: [NoticeList.Entry] { list.withLock { $0.entries } }

    /// The number of notices so far, by kind.
    package var counts: [CacheNotice.Kind: Int64] { list.withLock { $0.counts } }

    /// The number of notices so far.
    package var changes: Int64 { list.withLock { $0.changes } }
}
