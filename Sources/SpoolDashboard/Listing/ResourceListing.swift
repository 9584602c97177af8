package import Spool
package import SpoolCore
import SpoolStore
import SpoolSystem

/// The list of all resources of a cache, which clients search, sort and read in windows.
///
/// The list is a table in memory. It is read from the index again at the first request after the
/// cache changed, and at most as often that reading takes a tenth of the time. Each window has the
/// present status of its resources. `releaseUnused` releases a table without requests.
package final class ResourceListing: Sendable {
    /// A window of the list.
    package struct Page: Sendable {
        /// The number of resources in the list.
        package var total: Int
        /// Whether the cache has more resources than the list.
        package var isTruncated: Bool
        /// The bytes that all resources of the cache occupy.
        package var storedBytes: Int64
        /// The number of resources that match the search.
        package var matching: Int
        /// The resources of the window, in order.
        package var resources: [ResourceStatus]
        /// The resources that the query names, or nil for those that are unknown.
        package var named: [ResourceStatus?]
    }

    /// The largest number of resources in the list.
    package static let resourceLimit = 50_000
    /// The largest number of resources that one job of the index lane reads, so that a reader that
    /// needs the index waits for a short time.
    private static let stepCount = 1_000
    /// The share of the time in which a table may be read: one part in this many.
    private static let restFactor: Int64 = 10
    /// The time without a request after which the table is released.
    private static let keptTime: Nanoseconds = .seconds(60)

    /// Counts that change when the list does.
    private struct Fingerprint: Hashable {
        var statistics: Statistics
        var count: Int
        var bytes: Int64
    }

    private struct Made {
        var table: ListingTable
        var fingerprint: Fingerprint
        var began: MonotonicInstant
        var ended: MonotonicInstant
        var lastUse: MonotonicInstant
    }

    private typealias Waiter = @Sendable (Result<Void, CacheError>) -> Void

    private enum State {
        /// No table.
        case none
        /// A table is being read. The closures are called when it is made.
        case reading([Waiter])
        /// A table that may be older than the cache.
        case made(Made)
    }

    private let cache: MediaCache
    private let state = Locked(State.none)

    /// Creates the list of a cache, without a table.
    package init(_ cache: MediaCache) {
        self.cache = cache
    }

    private var now: MonotonicInstant { cache.environment.time.now }

    /// Passes a window of the list to `done`, on any thread.
    package func page(_ query: ListingQuery, _ done: @escaping @Sendable (Result<Page, CacheError>) -> Void) {
        cache.onIndexLane(
            nil,
            { [self] (result: Result<Fingerprint, CacheError>) in
                switch result {
                case .success(let fingerprint): use(fingerprint) { self.answer(query, $0, done) }
                case .failure(let error): done(.failure(error))
                }
            }
        ) { [cache] () throws(StoreError) in
            Fingerprint(statistics: cache.statistics, count: try cache.store.count(), bytes: try cache.store.totalSizeBytes())
        }
    }

    /// Releases a table that nobody has used for a minute.
    package func releaseUnused() {
        let now = now
        state.withLock { state in
            if case .made(let made) = state, now - made.lastUse > Self.keptTime { state = .none }
        }
    }

    // MARK: The table

    /// Calls `done` once there is a table that is recent enough.
    private func use(_ fingerprint: Fingerprint, _ done: @escaping Waiter) {
        let now = now
        enum Next { case use, read, wait }
        let next = state.withLock { state -> Next in
            switch state {
            case .none: break
            case .reading(let waiters):
                state = .reading(waiters + [done])
                return .wait
            case .made(let made):
                let reading = made.ended - made.began
                if made.fingerprint == fingerprint || now - made.ended < reading * Self.restFactor { return .use }
            }
            state = .reading([done])
            return .read
        }
        switch next {
        case .use: done(.success(()))
        case .wait: break
        case .read: read(after: nil, into: [], fingerprint, began: now)
        }
    }

    /// Reads the next resources from the index, and then those behind them.
    private func read(after key: ResourceKey?, into entries: [ListingTable.Entry], _ fingerprint: Fingerprint, began: MonotonicInstant) {
        cache.onIndexLane(
            nil,
            { [self] (result: Result<[StoredSummary], CacheError>) in
                switch result {
                case .failure(let error): end(.none, .failure(error))
                case .success(let found):
                    let entries = entries + found.map(ListingTable.Entry.init)
                    guard found.count == Self.stepCount, entries.count < Self.resourceLimit else {
                        let table = table(entries, isTruncated: found.count == Self.stepCount)
                        let now = now
                        return end(
                            .made(Made(table: table, fingerprint: fingerprint, began: began, ended: now, lastUse: now)), .success(()))
                    }
                    read(after: found.last?.key, into: entries, fingerprint, began: began)
                }
            }
        ) { [store = cache.store] () throws(StoreError) in try store.listed(after: key, limit: Self.stepCount) }
    }

    /// Returns a table of the stored resources and of those that are so new that the index does not
    /// have them yet.
    private func table(_ stored: [ListingTable.Entry], isTruncated: Bool) -> ListingTable {
        var entries = stored
        let live = cache.liveStatuses
        let places = Dictionary(entries.indices.map { (entries[$0].summary.key, $0) }, uniquingKeysWith: { first, _ in first })
        let wallNow = cache.environment.time.wallNow
        for status in live {
            guard let representation = status.representation else { continue }
            let bytes = status.stored?.totalBytes ?? 0
            if let place = places[status.key] {
                entries[place].summary.length = representation.length
                entries[place].summary.storedBytes = bytes
            } else if entries.count < Self.resourceLimit {
                entries.append(
                    ListingTable.Entry(
                        StoredSummary(
                            key: status.key, url: status.url, length: representation.length, storedBytes: bytes, lastAccess: wallNow)))
            }
        }
        return ListingTable(entries, isTruncated: isTruncated)
    }

    private func end(_ next: State, _ result: Result<Void, CacheError>) {
        let waiters = state.withLock { state -> [Waiter] in
            defer { state = next }
            guard case .reading(let waiters) = state else { return [] }
            return waiters
        }
        for waiter in waiters { waiter(result) }
    }

    // MARK: A window

    private func answer(
        _ query: ListingQuery, _ result: Result<Void, CacheError>, _ done: @escaping @Sendable (Result<Page, CacheError>) -> Void
    ) {
        if case .failure(let error) = result { return done(.failure(error)) }
        let now = now
        let found = state.withLock { state -> (keys: [ResourceKey], matching: Int, total: Int, isTruncated: Bool)? in
            guard case .made(var made) = state else { return nil }
            let window = made.table.window(query)
            made.lastUse = now
            state = .made(made)
            return (window.keys, window.matching, made.table.entries.count, made.table.isTruncated)
        }
        // Between the look and here, another request may have begun to read a newer table.
        guard let found else { return page(query, done) }
        let live = Dictionary(
            cache.liveStatuses.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        cache.onIndexLane(nil, done) { [store = cache.store] () throws(StoreError) in
            var resources: [ResourceStatus] = []
            for key in found.keys {
                if let status = ResourceStatus(stored: try store.lookup(key), live: live[key]) { resources.append(status) }
            }
            var named: [ResourceStatus?] = []
            for key in query.named { named.append(ResourceStatus(stored: try store.lookup(key), live: live[key])) }
            return Page(
                total: found.total, isTruncated: found.isTruncated, storedBytes: try store.totalSizeBytes(), matching: found.matching,
                resources: resources, named: named)
        }
    }
}

extension ResourceStore {
    /// Returns the next summaries, from the whole entries where the store has nothing shorter.
    fileprivate func listed(after key: ResourceKey?, limit: Int) throws(StoreError) -> [StoredSummary] {
        if let store = self as? SQLiteStore { return try store.summaries(after: key, limit: limit) }
        return try resources(after: key, limit: limit).map { entry in
            StoredSummary(
                key: entry.key, url: entry.url, length: entry.representation.length, storedBytes: entry.spans.totalBytes,
                lastAccess: entry.lastAccess)
        }
    }
}
