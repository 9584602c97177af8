import SpoolCore
import SpoolStore
import SpoolSystem

// The order in which resources give room. Everything runs on the index lane.

extension Evictor {
    /// The number of pages of candidates that one search for room reads. With a policy that keeps
    /// heads, the oldest resources may all consist of heads only.
    static let pageLimit = 16
    /// The most bytes that a search frees beyond the need from a resource in use. Each cut of a
    /// file waits for the journal of the disk, so a few large cuts are many times faster than many
    /// small ones. But look-ups wait meanwhile.
    static let usedSlackLimit: Int64 = 8 << 20
    /// The length of the end of a resource, which goes after its middle. Some containers have their
    /// table of contents there, and players ask for it first.
    static let endBytes: Int64 = 512 << 10
    /// The length of the beginning of a resource, which goes last. It is less where the quota is
    /// small.
    static let headBytes: Int64 = 1 << 20
    /// The most generations that the evictor remembers because their files can't be punched. Beyond
    /// this limit it forgets them all and tries their files again.
    static let solidLimit = 1024

    /// Frees `bytes`, and up to `slack` more from resources that are not in use.
    func evict(_ bytes: Int64, slack: Int64, fromUsed: Bool = true, _ cause: EvictionCause) throws(StoreError) {
        var freed: Int64 = 0
        let head = limits.policy.keptHeadBytes
        if head > 0 { freed += try evictUnused(bytes + slack, keptHead: head, cause) }
        if freed < bytes { freed += try evictUnused(bytes + slack - freed, keptHead: 0, cause) }
        if freed < bytes, fromUsed { freed += try evictUnused(bytes - freed, keptHead: 0, ofPlayed: true, cause) }
        if freed < bytes, fromUsed { _ = try evictUsed(bytes - freed, slack: min(slack, Self.usedSlackLimit), cause) }
    }

    /// Calls `body` with candidates that occupy more than `bytes`, in the order of the policy (nil
    /// for that of the limits), until `body` returns false or a bounded number was seen.
    func forEachCandidate(
        largerThan bytes: Int64, by policy: (any EvictionPolicy)? = nil, _ body: (EvictionCandidate) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let now = environment.time.wallNow
        var last: EvictionCandidate?
        for _ in 0..<Self.pageLimit {
            let page = try store.evictionCandidates(after: last, largerThan: bytes, limit: EvictionCandidate.pageCount)
            for candidate in (policy ?? limits.policy).order(page, now: now) where !pins.contains(candidate.key) {
                guard try body(candidate) else { return }
            }
            guard page.count == EvictionCandidate.pageCount else { return }
            last = page.last
        }
    }

    /// Frees up to `bytes` of resources without a session in use.
    ///
    /// - Parameter ofPlayed: Whether these are the parts of presentations that are played now, from
    ///   the end of their timelines. All others go before them.
    /// - Returns: The number of bytes freed.
    func evictUnused(
        _ bytes: Int64, keptHead: Int64, ofPlayed: Bool = false, _ cause: EvictionCause
    ) throws(StoreError) -> Int64 {
        let release = hooks.release, now = environment.time.wallNow
        var freed: Int64 = 0
        try forEachCandidate(largerThan: keptHead) { (candidate) throws(StoreError) in
            guard committer.parts.withLock({ $0.isInUse(candidate.key, now: now) }) == ofPlayed else { return true }
            guard release(candidate.key) else { return true }
            freed += try evict(candidate.key, bytes - freed, keptHead: keptHead, cause)
            return freed < bytes
        }
        return freed
    }

    /// Evicts up to `bytes` of a resource that is not in use.
    ///
    /// - Returns: The number of bytes freed.
    func evict(_ key: ResourceKey, _ bytes: Int64, keptHead: Int64, _ cause: EvictionCause) throws(StoreError) -> Int64 {
        guard let stored = try store.lookup(key) else { return 0 }
        guard !stored.spans.isEmpty else {
            // The file has only bytes that no commit entered.
            return try measured(key, cause) { () throws(StoreError) in _ = try store.remove(key) }
        }
        var cut = EvictionCut(blockBytes: Piece.blockBytes)
        cut.regions = regions(length: stored.representation.length)
        if let head = ByteRange(0, keptHead) { cut.protected.insert(head) }
        let blocks = cut.blocks(of: stored.spans, wanted: bytes)
        guard !blocks.isEmpty else { return 0 }
        return try measured(key, cause) { () throws(StoreError) in
            let isAll = stored.spans.subtracting(blocks).isEmpty
            if !isAll, !isSolid(stored.generation) {
                let file = try store.dataFile(of: stored.generation, key: key, fileExtension: stored.fileExtension)
                if try store.evict(blocks, of: stored.generation, in: file) { return }
                noteSolid(stored.generation)
            }
            if isAll || keptHead == 0 { _ = try store.remove(key) }
        }
    }

    /// Evicts `bytes` of resources in use that no reader needs soon, and up to `slack` more from
    /// the last of them.
    func evictUsed(_ bytes: Int64, slack: Int64, _ cause: EvictionCause) throws(StoreError) -> Int64 {
        let hooks = hooks
        hooks.commitAll()
        var freed: Int64 = 0
        try forEachCandidate(largerThan: 0) { (candidate) throws(StoreError) in
            guard let session = hooks.session(candidate.key) else { return true }
            freed += try evict(from: session, bytes - freed + slack, length: candidate.length, cause)
            return freed < bytes
        }
        return freed
    }

    func evict(
        from session: ResourceSession, _ bytes: Int64, length: Int64?, keeping kept: ByteRangeSet = ByteRangeSet(), _ cause: EvictionCause
    ) throws(StoreError) -> Int64 {
        let regions = regions(length: length)
        guard let part = session.beginEviction(of: bytes, regions: regions, keeping: kept, unless: isSolid) else { return 0 }
        // Readers of these blocks wait from now on, so each way out of this method has to end the
        // eviction.
        do throws(StoreError) {
            let freed = try measured(session.key, cause) { () throws(StoreError) in
                if try !store.evict(part.blocks, of: part.generation, in: part.file) { noteSolid(part.generation) }
            }
            session.endEviction(part, isGone: true)
            return freed
        } catch {
            session.endEviction(part, isGone: false)
            throw error
        }
    }

    /// Runs an eviction and records its event.
    ///
    /// - Returns: The number of bytes freed.
    func measured(_ key: ResourceKey, _ cause: EvictionCause, _ body: () throws(StoreError) -> Void) throws(StoreError) -> Int64 {
        let before = try store.totalSizeBytes()
        try body()
        let freed = max(0, before - (try store.totalSizeBytes()))
        record(.evicted(key, bytes: freed, because: cause))
        return freed
    }

    /// The beginning of a resource, which players ask for first.
    var head: ByteRange? { ByteRange(0, min(Self.headBytes, (limits.quotaBytes ?? .max) / 8)) }

    /// The regions of a resource that go after its middle, in this order.
    func regions(length: Int64?) -> [EvictionCut.Region] {
        let end = length.flatMap { ByteRange(max(0, $0 - Self.endBytes), $0) }
        return [end, head].compactMap { $0.map { EvictionCut.Region($0) } }
    }

    func isSolid(_ generation: GenerationID) -> Bool { state.withLock { $0.solid.contains(generation) } }

    func noteSolid(_ generation: GenerationID) {
        state.withLock { state in
            if state.solid.count >= Self.solidLimit { state.solid = [] }
            state.solid.insert(generation)
        }
    }
}
