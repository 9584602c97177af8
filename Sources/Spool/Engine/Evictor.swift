import SpoolCore
import SpoolStore
import SpoolSystem

/// Keeps the stored bytes within the limits: makes room before bytes are written, in the order of
/// the eviction policy.
///
/// Resources that are not in use go first, one after the other, each from its end to its beginning.
/// Then go bytes of resources in use that no reader needs soon. Pinned resources, and bytes that a
/// reader is about to read, never go. When that does not free enough, the write is refused and its
/// bytes are passed on without being stored.
///
/// `reserve`, `written`, `landed`, `abandon`, `allocation` and `isDiskShort` may be called on any
/// thread. Everything else runs on the index lane.
final class Evictor: Sendable {
    /// The number of pages of candidates that one search for room reads. With a policy that keeps
    /// heads, the oldest resources may all consist of heads only.
    private static let pageLimit = 16
    /// The number of directories, or of generations, in one step of the search for orphans: some
    /// hundred microseconds.
    static let sweepBatch = 16
    /// A search frees more than it needs, so that the next writes find room: the quota divided by
    /// this …
    private static let slackDivisor: Int64 = 32
    /// … and at most this many bytes.
    private static let slackLimit: Int64 = 32 << 20
    /// The most bytes that a search frees beyond the need from a resource in use. Each cut of a
    /// file waits for the journal of the disk, so a few large cuts are many times faster than many
    /// small ones. But look-ups wait meanwhile.
    private static let usedSlackLimit: Int64 = 8 << 20
    /// The length of the end of a resource, which goes after its middle. Some containers have their
    /// table of contents there, and players ask for it first.
    private static let endBytes: Int64 = 512 << 10
    /// The length of the beginning of a resource, which goes last. It is less where the quota is
    /// small.
    private static let headBytes: Int64 = 1 << 20
    /// The most generations that the evictor remembers because their files can't be punched. Beyond
    /// this limit it forgets them all and tries their files again.
    private static let solidLimit = 1024
    /// The number of resources without bytes that are kept. A request for headers only leaves one
    /// for each URL.
    static let emptyLimit = 4096
    /// The number of commits without bytes between two removals of the longest unused resources
    /// beyond `emptyLimit`.
    static let emptySlack = 1024
    /// The longest time that writes wait while the evictor counts the files that a killed process
    /// left. Later writes find room only where something else goes, until all files are counted.
    private static let countingWait: Nanoseconds = .milliseconds(500)

    private struct State {
        var ledger: RoomLedger
        var answers: [UInt64: @Sendable (Bool) -> Void] = [:]
        /// The sessions of waiting requests whose resource does not fit into the quota, by the
        /// number of the request.
        var oversized: [UInt64: ResourceSession] = [:]
        /// The waiting requests that may take no bytes of resources in use.
        var modest: Set<UInt64> = []
        /// The first waiting request waits until a write of its session has landed.
        var isPostponed = false
        /// The bytes that the store occupied at the first look. Nil before that look, and where the
        /// quota alone counts.
        var presentBytes: Int64?
        /// A search for room is queued on the index lane, or runs there.
        var isServing = false
        var hooks = Hooks()
        /// The number of commits without bytes since the last removal of such resources. It begins
        /// at the limit, so the first commit counts what earlier processes left.
        var emptyCommits = Evictor.emptySlack
        /// Generations whose files can't be punched.
        var solid: Set<GenerationID> = []
        /// The bytes that a killed process may have left beside the index. Nil before the first
        /// request for room, and once everything is counted.
        var uncountedBytes: Int64?
        /// The time until which writes wait while files are counted. Nil before the first such
        /// write.
        var countingDeadline: MonotonicInstant?
        /// Whether files are being counted for waiting writes.
        var isCounting = false
        /// Whether waiting requests are answered by the job that counts the files.
        var isHeld = false
    }

    /// The calls that the evictor makes into its cache. Set once, when the cache is made.
    struct Hooks: Sendable {
        /// Enters the access times that wait, so that a resource that was used just now does not
        /// look unused.
        var writeTouches: @Sendable () -> Void = {}
        /// Ends the session of a resource if it is idle, and returns false if it is in use.
        var release: @Sendable (ResourceKey) -> Bool = { _ in false }
        /// Enters all written bytes into the index, so that they may be evicted.
        var commitAll: @Sendable () -> Void = {}
        /// Returns the session of a resource.
        var session: @Sendable (ResourceKey) -> ResourceSession? = { _ in nil }
    }

    private let environment: CacheEnvironment
    private let store: any ResourceStore
    private let live: LiveLimits
    private var limits: StorageLimits { live.current }
    private let pins: TemporaryPins
    private let downloads: DownloadKeys
    private let record: @Sendable (CacheEvent) -> Void
    private let state: Locked<State>

    init(
        environment: CacheEnvironment, store: any ResourceStore, limits: LiveLimits, pins: TemporaryPins,
        downloads: DownloadKeys, record: @escaping @Sendable (CacheEvent) -> Void
    ) {
        self.environment = environment
        self.store = store
        live = limits
        self.pins = pins
        self.downloads = downloads
        self.record = record
        let first = limits.current
        state = Locked(State(ledger: RoomLedger(quotaBytes: first.quotaBytes, minimumFreeBytes: first.minimumFreeBytes)))
    }

    func connect(_ hooks: Hooks) { state.withLock { $0.hooks = hooks } }

    private var hooks: Hooks { state.withLock { $0.hooks } }

    // MARK: Reserving

    /// Returns the most bytes that a write of `range` can add to the size of the files, in whole
    /// units of the disk.
    func allocation(of range: ByteRange) -> Int64 {
        let unit = store.allocationBytes
        // No range is longer than `ByteRange.maximumOffset`, so the sum fits.
        return (range.upperBound + unit - 1) / unit * unit - range.lowerBound / unit * unit
    }

    /// Asks for room for a write.
    ///
    /// - Parameters:
    ///   - session: The session of the resource that the bytes belong to, or nil if no session
    ///     writes them.
    ///   - length: The length of the resource, or nil if it is not known.
    ///   - isModest: Whether no bytes of resources in use are evicted for it.
    ///   - answer: Called on the index lane with whether there is room, if this method returns nil.
    /// - Returns: True if there is room, or nil if it has to be made first.
    func reserve(
        _ bytes: Int64, of session: ResourceSession? = nil, length: Int64? = nil, isModest: Bool = false,
        _ answer: @escaping @Sendable (Bool) -> Void
    ) -> Bool? {
        // Downloads have an allowance of their own, which the list of downloads checks.
        let isDownload = session.map { downloads.contains($0.key) } ?? false
        let isOversized = !isDownload && (length ?? 0) > (limits.quotaBytes ?? .max)
        let (isGranted, mustServe) = state.withLock { state -> (Bool?, Bool) in
            guard state.ledger.isLimited else {
                state.ledger.grantUnlimited(bytes)
                return (true, false)
            }
            guard let request = state.ledger.ask(bytes, ignoresQuota: isDownload) else { return (true, false) }
            state.answers[request.id] = answer
            if isOversized { state.oversized[request.id] = session }
            if isModest { state.modest.insert(request.id) }
            defer { state.isServing = true }
            return (nil, !state.isServing)
        }
        if mustServe { environment.indexLane.post { [self] in serve() } }
        return isGranted
    }

    /// Whether the last refusal was because too little of the disk is free, and not because of the
    /// quota.
    var isDiskShort: Bool { state.withLock { $0.ledger.isDiskShort } }

    /// Notes that the write of `bytes` that were reserved is over.
    func written(_ bytes: Int64) {
        state.withLock { $0.ledger.written(bytes) }
    }

    /// Notes that a write of a session is over and that the session has entered it. Goes on with a
    /// request that waited for this.
    func landed() {
        let mustServe = state.withLock { state in
            defer { state.isPostponed = false }
            return state.isPostponed
        }
        if mustServe { environment.indexLane.post { [self] in serve() } }
    }

    /// Takes reserved bytes out of the ledger after they were entered into the index or dropped.
    /// Runs on the index lane.
    func settle(_ bytes: Int64) {
        state.withLock { $0.ledger.settled(bytes) }
        do throws(StoreError) { try refreshUsage() } catch { note(error) }
    }

    /// Takes reserved bytes out of the ledger because their version is gone. Callable from any
    /// thread.
    func abandon(_ bytes: Int64) {
        guard bytes > 0 else { return }
        state.withLock { $0.ledger.settled(bytes) }
    }

    /// Answers the requests that wait now. Requests that come meanwhile are served after other jobs
    /// of the lane.
    private func serve() {
        guard !mustCountFirst() else { return state.withLock { $0.isHeld = true } }
        hooks.writeTouches()
        for _ in 0..<state.withLock({ $0.ledger.waiting.count }) {
            // The first request stays at the head of the queue, and the queue is served from there
            // again.
            guard let isGranted = hasRoomForFirst() else { return }
            let (answer, session) = state.withLock { state in
                let request = state.ledger.waiting.first
                state.ledger.answerFirst(isGranted: isGranted)
                if let request { state.modest.remove(request.id) }
                return (
                    request.flatMap { state.answers.removeValue(forKey: $0.id) },
                    request.flatMap { state.oversized.removeValue(forKey: $0.id) }
                )
            }
            answer?(isGranted)
            withExtendedLifetime(session) {}
        }
        let isOver = state.withLock { state in
            state.isServing = !state.ledger.waiting.isEmpty
            return !state.isServing
        }
        if !isOver { environment.indexLane.post { [self] in serve() } }
    }

    /// Returns whether there is room for the first waiting request, after eviction if needed, or
    /// nil if it waits for a write of its session.
    private func hasRoomForFirst() -> Bool? {
        do throws(StoreError) {
            try refreshUsage()
            let (missing, isDiskShort, uncommitted) = state.withLock {
                ($0.ledger.shortageBytes, $0.ledger.isDiskShort, $0.ledger.promisedBytes)
            }
            if missing <= 0 { return true }
            // Another program fills the disk: even an empty store would leave too little room.
            // Evict nothing.
            if isDiskShort { guard try missing <= countedBytes() + uncommitted else { return false } }
            let (session, wanted, isModest) = state.withLock { state in
                let first = state.ledger.waiting.first
                return (first.flatMap { state.oversized[$0.id] }, first?.bytes ?? 0, first.map { state.modest.contains($0.id) } == true)
            }
            let cause: EvictionCause = isDiskShort ? .minimumFreeDisk : .quota
            if let session {
                guard try makeRoom(for: wanted, ofOversized: session, cause) else { return nil }
            } else {
                try evict(missing, slack: slackBytes, fromUsed: !isModest, cause)
            }
            try refreshUsage()
            return state.withLock { $0.ledger.shortageBytes } <= 0
        } catch {
            note(error)
            return false
        }
    }

    /// A resource that is larger than the quota may push other resources out for half of the quota
    /// (the quota divided by this). The other half stays theirs, because only a window around its
    /// readers is kept of it, whatever it pushes out.
    private static let oversizedShare: Int64 = 2

    /// Makes room for a write of a resource that does not fit into the quota. Beyond its share,
    /// only this resource gives bytes.
    ///
    /// - Returns: False if a write of its own has to land first. Before that, its size and the
    ///   bytes that it can give are unknown. `landed()` then goes on.
    private func makeRoom(
        for bytes: Int64, ofOversized session: ResourceSession, _ cause: EvictionCause
    ) throws(StoreError) -> Bool {
        // Set before the check: a write that lands after the check finds this flag and posts the
        // next turn.
        state.withLock { $0.isPostponed = true }
        if session.hasWritesInHand { return false }
        let mustGoOn = state.withLock { state in
            defer { state.isPostponed = false }
            return state.isPostponed
        }
        guard mustGoOn else { return false }
        hooks.commitAll()
        try refreshUsage()
        let missing = state.withLock { $0.ledger.shortageBytes }
        guard missing > 0 else { return true }
        let (own, length) = session.state.withLock { state in
            (state.machine.version?.stored.totalBytes ?? 0, state.machine.version?.representation.length)
        }
        let share = (limits.quotaBytes ?? .max) / Self.oversizedShare
        if own + bytes <= share {
            try evict(missing, slack: min(slackBytes, share - own - bytes), cause)
            return true
        }
        let slack = min(slackBytes, Self.usedSlackLimit)
        let kept = ByteRangeSet([head].compactMap(\.self))
        let freed = try evict(from: session, missing + slack, length: length, keeping: kept, cause)
        // With a small quota the resource may have only its beginning and the bytes at its readers.
        // Then the others give bytes all the same.
        if freed < missing { try evict(missing - freed, slack: slack, cause) }
        return true
    }

    /// Returns the quota in effect: the size of the store at the first look, if that is more and
    /// `keepsPresentSize` is set.
    private func quota() throws(StoreError) -> Int64? {
        guard let quota = limits.quotaBytes, limits.keepsPresentSize else { return limits.quotaBytes }
        if let present = state.withLock({ $0.presentBytes }) { return max(quota, present) }
        let present = try countedBytes()
        state.withLock { state in
            state.presentBytes = present
            state.ledger.setQuota(max(quota, present))
        }
        return max(quota, present)
    }

    /// Returns the bytes that count towards the quota: those of all resources but downloads.
    private func countedBytes() throws(StoreError) -> Int64 {
        let all = try store.totalSizeBytes()
        return downloads.isEmpty ? all : max(0, all - (try store.downloadBytes()))
    }

    /// Returns the room that is left without an eviction. Runs on the index lane.
    func spareRoom() throws(StoreError) -> SpareRoom {
        try refreshUsage()
        var room = SpareRoom(bytes: state.withLock { $0.ledger.spareBytes })
        if let maximum = limits.maximumCount { room.count = max(0, maximum - max(0, try store.count() - downloads.count)) }
        return room
    }

    private func refreshUsage() throws(StoreError) {
        let quota = try quota()
        var occupied = try countedBytes()
        occupied += uncounted(beside: occupied, quota)
        var free: Int64?
        if limits.minimumFreeBytes != nil {
            do throws(StoreError) { free = try store.freeBytes() } catch { note(error) }
        }
        state.withLock { $0.ledger.looked(occupiedBytes: occupied, freeBytes: free) }
    }

    private func note(_ error: StoreError) {
        if error != .closed && error != .suspended { record(.storeTrouble("room: \(error)")) }
    }

    private var slackBytes: Int64 { min(Self.slackLimit, (limits.quotaBytes ?? .max) / Self.slackDivisor) }

    // MARK: What a killed process left

    /// Returns the bytes that files may occupy beyond those that the store counts.
    ///
    /// A kill leaves bytes that were written and not committed, and files that were removed from
    /// the index and not yet unlinked. A process keeps within the quota, so all of these and the
    /// indexed bytes together are at most the quota. But they may not all be promised again, or a
    /// few short lives of the process would fill the disk.
    private func uncounted(beside known: Int64, _ quota: Int64?) -> Int64 {
        guard let quota else { return 0 }
        let isCounted = !store.hasUncountedFiles
        return state.withLock { state in
            if isCounted {
                state.uncountedBytes = nil
                state.countingDeadline = nil
                return 0
            }
            let bytes = state.uncountedBytes ?? max(0, quota - known)
            state.uncountedBytes = bytes
            return bytes
        }
    }

    /// Returns whether waiting requests wait until the files are counted, and begins to count if
    /// that has not begun. Runs on the index lane.
    private func mustCountFirst() -> Bool {
        guard limits.quotaBytes != nil, store.hasUncountedFiles else { return false }
        let now = environment.time.now
        let (mustBegin, mustWait) = state.withLock { state in
            let deadline = state.countingDeadline ?? now + Self.countingWait
            state.countingDeadline = deadline
            defer { state.isCounting = true }
            return (!state.isCounting, now < deadline)
        }
        if mustBegin { environment.indexLane.post { [self] in count() } }
        return mustWait
    }

    /// Counts some of the files and then posts itself again, so that look-ups get their turn
    /// between two steps. Runs on the index lane.
    private func count() {
        do throws(StoreError) {
            _ = try store.sweepOrphans(limit: Self.sweepBatch)
        } catch {
            note(error)
            // The next request for room starts the count again, and does not wait for it.
            state.withLock { $0.isCounting = false }
            return stopWaiting()
        }
        if store.hasUncountedFiles {
            environment.indexLane.post { [self] in count() }
            if !mustCountFirst() { answerHeld() }
        } else {
            state.withLock { $0.isCounting = false }
            enforceQuota()
            answerHeld()
        }
    }

    /// Answers the requests that wait for the count, by what is known now. Runs on the index lane.
    private func answerHeld() {
        let isHeld = state.withLock { state in
            defer { state.isHeld = false }
            return state.isHeld
        }
        if isHeld { serve() }
    }

    /// Ends the waiting for the count: requests that wait for it are answered now. Runs on the
    /// index lane.
    func stopWaiting() {
        let now = environment.time.now
        state.withLock { if $0.countingDeadline != nil { $0.countingDeadline = now } }
        answerHeld()
    }

    /// Takes over limits that have changed, and evicts what is beyond them. Callable on any thread.
    func limitsChanged() {
        let limits = limits
        state.withLock { state in
            state.ledger.setLimits(quotaBytes: limits.quotaBytes, minimumFreeBytes: limits.minimumFreeBytes)
            state.presentBytes = nil
        }
        environment.indexLane.post { [self] in
            if store.isWritable { enforce() }
        }
    }

    /// Drops what was measured of the store, because another process may have written to it. Runs
    /// on the index lane.
    func forget() {
        state.withLock { state in
            state.ledger.forget()
            state.uncountedBytes = nil
            state.countingDeadline = nil
        }
    }

    // MARK: Evicting

    /// Frees `bytes`, and up to `slack` more from resources that are not in use.
    private func evict(_ bytes: Int64, slack: Int64, fromUsed: Bool = true, _ cause: EvictionCause) throws(StoreError) {
        var freed: Int64 = 0
        let head = limits.policy.keptHeadBytes
        if head > 0 { freed += try evictUnused(bytes + slack, keptHead: head, cause) }
        if freed < bytes { freed += try evictUnused(bytes + slack - freed, keptHead: 0, cause) }
        if freed < bytes, fromUsed { _ = try evictUsed(bytes - freed, slack: min(slack, Self.usedSlackLimit), cause) }
    }

    /// Calls `body` with candidates that occupy more than `bytes`, in the order of the policy,
    /// until `body` returns false or a bounded number of candidates was seen.
    private func forEachCandidate(
        largerThan bytes: Int64, _ body: (EvictionCandidate) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let now = environment.time.wallNow
        var last: EvictionCandidate?
        for _ in 0..<Self.pageLimit {
            let page = try store.evictionCandidates(after: last, largerThan: bytes, limit: EvictionCandidate.pageCount)
            for candidate in limits.policy.order(page, now: now) where !pins.contains(candidate.key) {
                guard try body(candidate) else { return }
            }
            guard page.count == EvictionCandidate.pageCount else { return }
            last = page.last
        }
    }

    private func evictUnused(_ bytes: Int64, keptHead: Int64, _ cause: EvictionCause) throws(StoreError) -> Int64 {
        let release = hooks.release
        var freed: Int64 = 0
        try forEachCandidate(largerThan: keptHead) { (candidate) throws(StoreError) in
            guard release(candidate.key) else { return true }
            freed += try evict(candidate.key, bytes - freed, keptHead: keptHead, cause)
            return freed < bytes
        }
        return freed
    }

    /// Evicts up to `bytes` of a resource that is not in use.
    ///
    /// - Returns: The number of bytes freed.
    private func evict(_ key: ResourceKey, _ bytes: Int64, keptHead: Int64, _ cause: EvictionCause) throws(StoreError) -> Int64 {
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
    private func evictUsed(_ bytes: Int64, slack: Int64, _ cause: EvictionCause) throws(StoreError) -> Int64 {
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

    private func evict(
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
    private func measured(_ key: ResourceKey, _ cause: EvictionCause, _ body: () throws(StoreError) -> Void) throws(StoreError) -> Int64 {
        let before = try store.totalSizeBytes()
        try body()
        let freed = max(0, before - (try store.totalSizeBytes()))
        record(.evicted(key, bytes: freed, because: cause))
        return freed
    }

    /// The beginning of a resource, which players ask for first.
    private var head: ByteRange? { ByteRange(0, min(Self.headBytes, (limits.quotaBytes ?? .max) / 8)) }

    /// The regions of a resource that go after its middle, in this order.
    private func regions(length: Int64?) -> [EvictionCut.Region] {
        let end = length.flatMap { ByteRange(max(0, $0 - Self.endBytes), $0) }
        return [end, head].compactMap { $0.map { EvictionCut.Region($0) } }
    }

    private func isSolid(_ generation: GenerationID) -> Bool { state.withLock { $0.solid.contains(generation) } }

    private func noteSolid(_ generation: GenerationID) {
        state.withLock { state in
            if state.solid.count >= Self.solidLimit { state.solid = [] }
            state.solid.insert(generation)
        }
    }

    // MARK: Age, count, and a quota that is exceeded all the same

    /// Removes resources that are too old or too many, and evicts what is beyond the quota, as far
    /// as they are not in use. Runs on the index lane.
    ///
    /// - Parameter key: A resource to spare, because it was stored just now.
    func enforce(sparing key: ResourceKey? = nil) {
        do throws(StoreError) {
            if let age = limits.maximumAge { try removeUnused(since: environment.time.wallNow.before(age), sparing: key) }
            if let maximum = limits.maximumCount { try removeUnused(try store.count() - downloads.count - maximum, sparing: key) }
            try evictExcess()
        } catch { note(error) }
    }

    /// Notes that a version was entered before its first byte. From time to time, removes the
    /// longest unused of such resources. Runs on the index lane.
    func enteredEmpty() {
        let isDue = state.withLock { state in
            state.emptyCommits += 1
            guard state.emptyCommits >= Self.emptySlack else { return false }
            state.emptyCommits = 0
            return true
        }
        guard isDue else { return }
        hooks.writeTouches()
        do throws(StoreError) {
            for key in try store.emptyResources(beyond: Self.emptyLimit, limit: 2 * Self.emptySlack) {
                guard !pins.contains(key), hooks.release(key) else { continue }
                _ = try store.remove(key)
            }
        } catch { note(error) }
    }

    /// Evicts what is beyond the quota, after the files were counted. Runs on the index lane.
    func enforceQuota() {
        do throws(StoreError) { try evictExcess() } catch { note(error) }
    }

    private func evictExcess() throws(StoreError) {
        guard let quota = try quota() else { return }
        let excess = try countedBytes() - quota
        guard excess > 0 else { return }
        hooks.writeTouches()
        try evict(excess, slack: 0, .quota)
    }

    private func removeUnused(since time: Timestamp, sparing key: ResourceKey?) throws(StoreError) {
        var last: EvictionCandidate?
        for _ in 0..<Self.pageLimit {
            let page = try store.evictionCandidates(after: last, limit: EvictionCandidate.pageCount)
            if last == nil, page.first.map({ $0.lastAccess < time }) == true {
                hooks.writeTouches()
            }
            for candidate in page {
                guard candidate.lastAccess < time else { return }
                if candidate.key != key, try !isUsed(candidate.key, since: time) { _ = try removeIfIdle(candidate.key, .maximumAge) }
            }
            guard page.count == EvictionCandidate.pageCount else { return }
            last = page.last
        }
    }

    /// Returns whether the index has a later access time than `time`, because one was entered after
    /// the candidate was read.
    private func isUsed(_ key: ResourceKey, since time: Timestamp) throws(StoreError) -> Bool {
        try store.lookup(key).map { $0.lastAccess >= time } == true
    }

    private func removeUnused(_ excess: Int, sparing key: ResourceKey?) throws(StoreError) {
        guard excess > 0 else { return }
        hooks.writeTouches()
        var missing = excess
        // The limit -1 includes resources without bytes, because they are counted as well.
        try forEachCandidate(largerThan: -1) { (candidate) throws(StoreError) in
            if candidate.key != key, try removeIfIdle(candidate.key, .maximumCount) { missing -= 1 }
            return missing > 0
        }
    }

    private func removeIfIdle(_ key: ResourceKey, _ cause: EvictionCause) throws(StoreError) -> Bool {
        guard !pins.contains(key), hooks.release(key) else { return false }
        _ = try measured(key, cause) { () throws(StoreError) in _ = try store.remove(key) }
        return true
    }
}

extension Timestamp {
    /// Returns the moment that lies `duration` before this one.
    fileprivate func before(_ duration: Duration) -> Timestamp {
        let seconds = duration.components.seconds
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        // Fractions of a second do not matter here.
        let (result, isTooEarly) = nanoseconds.subtractingReportingOverflow(overflow ? .max : whole)
        return Timestamp(nanoseconds: isTooEarly ? .min : result)
    }
}
