public import SpoolCore
import SpoolStore
import SpoolSystem

// Removals of many resources at once.

extension MediaCache {
    /// Removes every resource except downloads, pinned resources and those with a temporary pin.
    /// This is the call for a button "Clear cache".
    ///
    /// Readers of removed resources end with `.removed`. Downloads that run go on. The index lane
    /// removes up to 256 resources in one job, so look-ups do not wait for the whole removal.
    ///
    /// - Returns: The disk space that the removed resources occupied, in bytes.
    /// - Throws: `.store`, `.storeLocked` if another process writes the store, `.closed`. Resources
    ///   that were removed before the error stay removed.
    @discardableResult
    public func clear() async throws(CacheError) -> Int64 { try await Removal.run(.everyResource, in: self) }

    /// Removes whole resources, longest unused first, until the store occupies at most `bytes`.
    ///
    /// Downloads, pins and resources in use stay, even if they occupy more.
    ///
    /// - Parameter bytes: The disk space that may stay occupied, as `totalSizeBytes()` counts it.
    /// - Returns: The disk space that the removed resources occupied, in bytes.
    /// - Throws: The errors of ``clear()``.
    @discardableResult
    public func trim(toBytes bytes: Int64) async throws(CacheError) -> Int64 { try await Removal.run(.beyond(bytes: bytes), in: self) }

    /// Removes the resources whose last use was before `time`.
    ///
    /// Downloads, pins and resources in use stay.
    ///
    /// - Returns: The disk space that the removed resources occupied, in bytes.
    /// - Throws: The errors of ``clear()``.
    @discardableResult
    public func trim(unusedSince time: Timestamp) async throws(CacheError) -> Int64 {
        try await Removal.run(.lastUsed(before: time), in: self)
    }

    /// Removes everything that the cache keeps on disk: resources, pins, the list of downloads and
    /// its files, credentials of clients, the history, and indexes that were set aside as damaged.
    /// This is the call for "Delete my data" and for a log-out.
    ///
    /// Readers, downloads and imports end with `.removed`. The index overwrites the removed rows,
    /// so its free pages contain no URL. The disk itself may keep the blocks of deleted files.
    ///
    /// - Throws: `.store`, `.storeLocked` if another process writes the store, `.closed`.
    public func eraseEverything() async throws(CacheError) {
        try await result { done in Removal.eraseEverything(in: self, done) }
    }

    /// Does not compile: the two removals differ in what stays.
    @available(*, unavailable, message: "use clear(), which keeps downloads and pins, or eraseEverything()")
    public func removeAll() async throws(CacheError) {}
}

/// One removal of many resources, in the order of their last use.
package struct Removal: Sendable {
    /// The resources that a removal takes.
    enum Extent {
        /// Every resource. The sessions of removed resources end.
        case everyResource
        /// Resources that are not in use, until the store occupies this many bytes.
        case beyond(bytes: Int64)
        /// Resources that are not in use, with a last use before this time.
        case lastUsed(before: Timestamp)
    }

    private let extent: Extent
    /// The number of candidates that may still be examined. It begins with the number of resources
    /// in the store, so resources that come meanwhile do not prolong the removal without an end.
    private var examinedLimit: Int
    /// The last candidate that was examined.
    private var last: EvictionCandidate?
    /// The disk space that the removed resources occupied, in bytes.
    private var bytes: Int64 = 0

    private init(extent: Extent, examinedLimit: Int) { (self.extent, self.examinedLimit) = (extent, examinedLimit) }

    /// Removes everything. Calls `done` on a lane.
    fileprivate static func eraseEverything(in cache: MediaCache, _ done: @escaping Completion<Void>) {
        let (engine, store, downloads) = (cache.engine, cache.store, cache.downloadRunner)
        cache.onIndexLane(nil, done) { () throws(StoreError) in
            guard store.isWritable else { throw .readOnly }
            for session in engine.sessions.withLock({ $0.removeAll() }) { session.end(.removed) }
            try store.removeAll()
            downloads.forgetAll()
            engine.countsKeeper.withLock { $0 }?.forget(engine.statistics)
        }
    }

    /// Returns whether `clear` keeps a resource with this status.
    package static func keeps(_ status: ResourceStatus, in cache: MediaCache) -> Bool {
        status.isPinned || cache.engine.downloadKeys.contains(status.key) || cache.engine.temporaryPins.contains(status.key)
    }

    /// Removes resources, and returns the bytes on disk that they occupied.
    fileprivate static func run(_ extent: Extent, in cache: MediaCache) async throws(CacheError) -> Int64 {
        try await result { done in begin(extent, in: cache.engine, done) }.bytes
    }

    private static func begin(_ extent: Extent, in engine: Engine, _ done: @escaping Completion<Removal>) {
        engine.onIndexLane(
            nil,
            { [store = engine.store] () throws(StoreError) in
                engine.committer.writeTouches()
                return try store.count()
            }, failed: { done(.failure($0)) }
        ) { Removal(extent: extent, examinedLimit: $0).run(in: engine, done) }
    }

    /// Removes a page of candidates in each job of the index lane, until nothing is left to remove.
    private func run(in engine: Engine, _ done: @escaping Completion<Removal>) {
        engine.onIndexLane(
            nil,
            { [self] () throws(StoreError) in
                var removal = self
                let isOver = try removal.removePage(of: engine)
                return (removal, isOver)
            }, failed: { done(.failure($0)) }
        ) { removal, isOver in if isOver { done(.success(removal)) } else { removal.run(in: engine, done) } }
    }

    /// Removes one page of candidates. Runs on the index lane.
    ///
    /// - Returns: Whether the removal is over.
    private mutating func removePage(of engine: Engine) throws(StoreError) -> Bool {
        let page = try engine.store.evictionCandidates(after: last, largerThan: -1, limit: EvictionCandidate.pageCount)
        for candidate in page.prefix(examinedLimit) {
            guard try takes(candidate, engine.store) else { return true }
            guard !engine.temporaryPins.contains(candidate.key), release(candidate.key, engine) else { continue }
            guard try engine.store.remove(candidate.key) else { continue }
            engine.record(.removed(candidate.key))
            bytes = bytes.addingSaturated(candidate.allocatedBytes)
        }
        last = page.last
        examinedLimit -= page.count
        return examinedLimit <= 0 || page.count < EvictionCandidate.pageCount
    }

    private func takes(_ candidate: EvictionCandidate, _ store: any ResourceStore) throws(StoreError) -> Bool {
        switch extent {
        case .everyResource: true
        case .beyond(let bytes): try store.totalSizeBytes() > bytes
        case .lastUsed(let time): candidate.lastAccess < time
        }
    }

    /// Ends the session of a resource. Only a removal of every resource ends one in use.
    private func release(_ key: ResourceKey, _ engine: Engine) -> Bool {
        switch extent {
        case .everyResource:
            engine.endSession(of: key)
            return true
        case .beyond, .lastUsed: return !engine.isUsed(key)
        }
    }
}
