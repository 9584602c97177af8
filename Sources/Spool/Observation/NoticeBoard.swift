import SpoolCore
import SpoolSystem

/// The notices of a cache for its page.
///
/// It keeps nothing before `open()`, so a cache without a page does nothing for it. An event of a hit
/// costs one comparison and takes no lock. The other events are rare, and cost one entry of a bounded
/// list. Their texts for the page are made when a page asks.
package final class NoticeBoard: Sendable {
    private let time: any TimeSource
    /// Nil before `open()`.
    private let list = Locked<NoticeList?>(nil)

    init(time: any TimeSource) { self.time = time }

    /// Returns the board of a cache.
    package static func of(_ cache: MediaCache) -> NoticeBoard { cache.engine.feed.notices }

    /// Begins to keep notices. Idempotent.
    package func open() { list.withLock { if $0 == nil { $0 = NoticeList() } } }

    /// Adds a notice. Callable on any thread, outside every lock.
    package func add(_ notice: CacheNotice) {
        let now = time.wallNow
        list.withLock { $0?.add(notice, at: now) }
    }

    /// Adds the notice of an event, if it has one.
    func record(_ event: CacheEvent) {
        if let notice = CacheNotice(of: event) { add(notice) }
    }

    /// The entries, the newest first.
    package var entries: [NoticeList.Entry] { list.withLock { $0?.entries ?? [] } }

    /// The number of notices so far.
    package var changes: Int64 { list.withLock { $0?.changes ?? 0 } }
}
