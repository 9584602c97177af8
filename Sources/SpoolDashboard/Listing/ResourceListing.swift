package import Spool
package import SpoolCore
import SpoolStore

/// The list of all resources of a cache, which clients search, sort and read in windows.
///
/// The list is a table in memory. It is read from the index again at the first request after the
/// cache changed, and so rarely that reading takes at most a tenth of the time. Each window has the
/// present status of its resources. `releaseUnused` releases a table without requests.
package actor ResourceListing {
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
        /// The presentations whose manifests are in the window.
        package var presentations: [ResourceKey: PresentationStatus]
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

    private let cache: MediaCache
    /// The last table, which may be older than the cache.
    private var made: Made?
    /// The reading of a table, which all requests of that time share.
    private var reading: Task<Result<Void, CacheError>, Never>?

    /// Creates the list of a cache, without a table.
    package init(_ cache: MediaCache) {
        self.cache = cache
    }

    private var now: MonotonicInstant { cache.environment.time.now }

    /// Returns a window of the list.
    package func page(_ query: ListingQuery) async throws(CacheError) -> Page {
        let fingerprint = try await cache.onIndexLane { [cache] () throws(StoreError) in
            Fingerprint(statistics: cache.statistics, count: try cache.store.count(), bytes: try cache.store.totalSizeBytes())
        }
        try await read(for: fingerprint)
        return try await window(query)
    }

    /// Returns a window of the last table.
    private func window(_ query: ListingQuery) async throws(CacheError) -> Page {
        // The table may have been released while this request waited for it.
        guard let (keys, matching) = made?.table.window(query), let table = made?.table else { return try await page(query) }
        made?.lastUse = now
        let live = Dictionary(cache.liveStatuses.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        let page = try await cache.onIndexLane { [store = cache.store] () throws(StoreError) in
            var resources: [ResourceStatus] = []
            for key in keys {
                if let status = ResourceStatus(stored: try store.lookup(key), live: live[key]) { resources.append(status) }
            }
            var named: [ResourceStatus?] = []
            for key in query.named { named.append(ResourceStatus(stored: try store.lookup(key), live: live[key])) }
            return Page(
                total: table.entries.count, isTruncated: table.isTruncated, storedBytes: try store.totalSizeBytes(), matching: matching,
                resources: resources, named: named, presentations: keys.reduce(into: [:]) { $0[$1] = table.groups[$1] })
        }
        guard page.resources.count < keys.count else { return page }
        // They were removed since the table was read, which may be too short a time to read it again.
        made?.table.remove(Set(keys).subtracting(page.resources.map(\.key)))
        return try await window(query)
    }

    /// Releases a table that nobody has used for a minute.
    package func releaseUnused() {
        if let made, now - made.lastUse > Self.keptTime { self.made = nil }
    }

    // MARK: The table

    /// Reads a table, unless there is one that is recent enough.
    private func read(for fingerprint: Fingerprint) async throws(CacheError) {
        if let made, made.fingerprint == fingerprint || now - made.ended < (made.ended - made.began) * Self.restFactor { return }
        let task = reading ?? LaneTasks.begin { await self.make(fingerprint) }
        reading = task
        try await task.value.get()
    }

    private func make(_ fingerprint: Fingerprint) async -> Result<Void, CacheError> {
        defer { reading = nil }
        let began = now
        do throws(CacheError) {
            let table = try await table()
            made = Made(table: table, fingerprint: fingerprint, began: began, ended: now, lastUse: now)
            return .success(())
        } catch { return .failure(error) }
    }

    /// Reads the stored resources, and adds those that are so new that the index does not have them
    /// yet.
    private func table() async throws(CacheError) -> ListingTable {
        var entries: [ListingTable.Entry] = []
        var hasMore = true
        while hasMore, entries.count < Self.resourceLimit {
            let found = try await cache.onIndexLane { [store = cache.store, last = entries.last?.summary.key] () throws(StoreError) in
                try store.listed(after: last, limit: Self.stepCount)
            }
            entries += found.map(ListingTable.Entry.init)
            hasMore = found.count == Self.stepCount
        }
        let presentations: [PresentationStatus]
        // Without the presentations, each part is a line of its own.
        do { presentations = try await cache.presentations.all() } catch { presentations = [] }
        let groups = PresentationGroups(presentations)
        let places = Dictionary(entries.indices.map { (entries[$0].summary.key, $0) }, uniquingKeysWith: { first, _ in first })
        let wallNow = cache.environment.time.wallNow
        for status in cache.liveStatuses {
            guard let representation = status.representation else { continue }
            let bytes = status.stored?.totalBytes ?? 0
            if let place = places[status.key] {
                entries[place].summary.length = representation.length
                entries[place].summary.storedBytes = bytes
            } else if entries.count < Self.resourceLimit {
                let summary = StoredSummary(
                    key: status.key, url: status.url, length: representation.length, storedBytes: bytes, lastAccess: wallNow)
                entries.append(ListingTable.Entry(summary))
            }
        }
        return ListingTable(entries, isTruncated: hasMore, groups: groups)
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
