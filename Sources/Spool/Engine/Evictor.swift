import SpoolCore
import SpoolStore
import SpoolSystem

/// Keeps what is stored within the limits: makes room before bytes are written, by the order of the policy.
///
/// First goes what nobody uses, from its end to its beginning, one resource after the other; then, of what is in use, the bytes that nobody
/// needs soon. Pins, and what a reader is about to read, never go. When that is not enough, the write is refused and its bytes are passed on.
///
/// `reserve` may be called anywhere; everything else happens on the index lane.
final class Evictor: Sendable {
    /// Pages of candidates that one search for room looks at. With a policy that keeps heads, the oldest resources may all be heads only.
    private static let pageLimit = 16
    /// What is freed beyond what is needed, so that the next writes find room: this part of the quota …
    private static let slackDivisor: Int64 = 32
    /// … and at most so many bytes.
    private static let slackLimit: Int64 = 32 << 20
    /// … of what is in use at most so many: a cut of the file waits for the disk's journal, so a few large ones are many times faster than
    /// many small ones, but look-ups wait meanwhile.
    private static let usedSlackLimit: Int64 = 8 << 20
    /// The end of a resource that goes after its middle: some containers have their table of contents there, and players ask for it first.
    private static let endBytes: Int64 = 512 << 10
    /// The beginning of a resource, which goes last; less where the quota is small.
    private static let headBytes: Int64 = 1 << 20
    /// Files without holes that are remembered; beyond, they are tried again.
    private static let solidLimit = 1024
    /// Resources without a byte that are kept. A request for headers only leaves one for each URL …
    static let emptyLimit = 4096
    /// … and so many more may come before the longest unused of them go.
    static let emptySlack = 1024
    /// How long writes wait at most while the files are looked at that a killed process left. Later ones find room only where something
    /// else goes, until all of them were looked at.
    private static let countingWait: Nanoseconds = .milliseconds(500)

    private struct State {
        var ledger: RoomLedger
        var answers: [UInt64: @Sendable (Bool) -> Void] = [:]
        /// Of requests for room, the session that writes, where its resource does not fit into the quota.
        var oversized: [UInt64: ResourceSession] = [:]
        /// The first that waits does so until a write of its session has landed.
        var isPostponed = false
        /// The bytes that the store occupied at the first look; nil before that, and where the quota alone holds.
        var presentBytes: Int64?
        /// A search for room is on its way to the index lane, or under way there.
        var isServing = false
        var hooks = Hooks()
        /// Commits without a byte since resources without a byte were counted. The first one counts what earlier processes left.
        var emptyCommits = Evictor.emptySlack
        /// Generations whose files can't be punched.
        var solid: Set<GenerationID> = []
        /// What a killed process may have left beside the index, in bytes; nil while nobody asked, and once everything is counted.
        var uncountedBytes: Int64?
        /// Until when writes wait while the files are looked at; nil before the first of them.
        var countingDeadline: MonotonicInstant?
        /// Whether the files are being looked at for those who write.
        var isCounting = false
        /// Those who wait for room are answered by the job that looks at the files.
        var isHeld = false
    }

    /// What the cache does for its evictor. Set once, when the cache is made.
    struct Hooks: Sendable {
        /// Enters the access times that wait, so that what was used a moment ago does not look unused.
        var writeTouches: @Sendable () -> Void = {}
        /// Ends a resource's session if nobody uses it; false when it is in use.
        var release: @Sendable (ResourceKey) -> Bool = { _ in false }
        /// Enters everything that is written into the index, so that it may go.
        var commitAll: @Sendable () -> Void = {}
        /// The session of a resource.
        var session: @Sendable (ResourceKey) -> ResourceSession? = { _ in nil }
    }

    private let environment: CacheEnvironment
    private let store: any ResourceStore
    private let limits: StorageLimits
    private let pins: TemporaryPins
    private let record: @Sendable (CacheEvent) -> Void
    private let state: Locked<State>

    init(
        environment: CacheEnvironment, store: any ResourceStore, limits: StorageLimits, pins: TemporaryPins,
        record: @escaping @Sendable (CacheEvent) -> Void
    ) {
        self.environment = environment
        self.store = store
        self.limits = limits
        self.pins = pins
        self.record = record
        state = Locked(State(ledger: RoomLedger(quotaBytes: limits.quotaBytes, minimumFreeBytes: limits.minimumFreeBytes)))
    }

    func connect(_ hooks: Hooks) { state.withLock { $0.hooks = hooks } }

    private var hooks: Hooks { state.withLock { $0.hooks } }

    // MARK: Reserving

    /// What a write of `range` may add to what the files occupy: whole units of the disk.
    func allocation(of range: ByteRange) -> Int64 {
        let unit = store.allocationBytes
        // No range is longer than `ByteRange.maximumOffset`, so the sum fits.
        return (range.upperBound + unit - 1) / unit * unit - range.lowerBound / unit * unit
    }

    /// Asks for room for a write. True when it is there; nil when it has to be made first: then `answer` is called on the index lane.
    ///
    /// - Parameters:
    ///   - session: which resource the bytes are of; nil for one that is not played.
    ///   - length: its length, where that is known.
    func reserve(
        _ bytes: Int64, of session: ResourceSession? = nil, length: Int64? = nil, _ answer: @escaping @Sendable (Bool) -> Void
    ) -> Bool? {
        let isOversized = (length ?? 0) > (limits.quotaBytes ?? .max)
        let (isGranted, mustServe) = state.withLock { state -> (Bool?, Bool) in
            guard state.ledger.isLimited, let request = state.ledger.ask(bytes) else { return (true, false) }
            state.answers[request.id] = answer
            if isOversized { state.oversized[request.id] = session }
            defer { state.isServing = true }
            return (nil, !state.isServing)
        }
        if mustServe { environment.indexLane.post { [self] in serve() } }
        return isGranted
    }

    /// Whether room was refused because the disk has too little left, and not because of the quota.
    var isDiskShort: Bool { state.withLock { $0.ledger.isDiskShort } }

    /// The write that room was promised for is over.
    func written(_ bytes: Int64) {
        state.withLock { $0.ledger.written(bytes) }
    }

    /// A write of a session is over, and the session has entered it: one that waited for that has its turn.
    func landed() {
        let mustServe = state.withLock { state in
            defer { state.isPostponed = false }
            return state.isPostponed
        }
        if mustServe { environment.indexLane.post { [self] in serve() } }
    }

    /// On the index lane: what was promised is entered in the index, or is nobody's.
    func settle(_ bytes: Int64) {
        state.withLock { $0.ledger.settled(bytes) }
        do throws(StoreError) { try look() } catch { note(error) }
    }

    /// What was promised and written belongs to nobody: its version is gone. Anywhere.
    func abandon(_ bytes: Int64) {
        guard bytes > 0 else { return }
        state.withLock { $0.ledger.settled(bytes) }
    }

    /// Answers those who wait now; those who come meanwhile have their turn after other jobs of the lane.
    private func serve() {
        guard !mustCountFirst() else { return state.withLock { $0.isHeld = true } }
        hooks.writeTouches()
        for _ in 0..<state.withLock({ $0.ledger.waiting.count }) {
            // It stays at the head of the queue, and the queue is served from there again.
            guard let isGranted = hasRoomForFirst() else { return }
            let (answer, session) = state.withLock { state in
                let request = state.ledger.waiting.first
                state.ledger.answerFirst(isGranted: isGranted)
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

    /// Whether there is room for the first that waits, now or after others gave theirs; nil when it waits for a write of its session.
    private func hasRoomForFirst() -> Bool? {
        do throws(StoreError) {
            try look()
            let (missing, isDiskShort, uncommitted) = state.withLock {
                ($0.ledger.shortageBytes, $0.ledger.isDiskShort, $0.ledger.promisedBytes)
            }
            if missing <= 0 { return true }
            // Another program fills the disk: even an empty store would leave too little room. Evict nothing.
            if isDiskShort { guard try missing <= store.totalSizeBytes() + uncommitted else { return false } }
            let (session, wanted) = state.withLock { state in
                let first = state.ledger.waiting.first
                return (first.flatMap { state.oversized[$0.id] }, first?.bytes ?? 0)
            }
            if let session {
                guard try makeRoom(for: wanted, ofOversized: session) else { return nil }
            } else {
                try evict(missing, slack: slackBytes)
            }
            try look()
            return state.withLock { $0.ledger.shortageBytes } <= 0
        } catch {
            note(error)
            return false
        }
    }

    /// The part of the quota that a resource larger than the quota may take from others: half. The other half is theirs, since what is kept
    /// of it is a window around its readers, whatever it pushes out.
    private static let oversizedShare: Int64 = 2

    /// Makes room for a write of a resource that does not fit into the quota: beyond its share only it gives. False when a write of its own
    /// has to land first, as nobody can say before what it occupies and what it can give; then `landed` goes on.
    private func makeRoom(for bytes: Int64, ofOversized session: ResourceSession) throws(StoreError) -> Bool {
        // Set before the question: a write that lands after it finds it, and posts the next turn.
        state.withLock { $0.isPostponed = true }
        if session.hasWritesInHand { return false }
        let mustGoOn = state.withLock { state in
            defer { state.isPostponed = false }
            return state.isPostponed
        }
        guard mustGoOn else { return false }
        hooks.commitAll()
        try look()
        let missing = state.withLock { $0.ledger.shortageBytes }
        guard missing > 0 else { return true }
        let (own, length) = session.state.withLock { state in
            (state.machine.version?.stored.totalBytes ?? 0, state.machine.version?.representation.length)
        }
        let share = (limits.quotaBytes ?? .max) / Self.oversizedShare
        if own + bytes <= share {
            try evict(missing, slack: min(slackBytes, share - own - bytes))
            return true
        }
        let slack = min(slackBytes, Self.usedSlackLimit)
        let freed = try evict(from: session, missing + slack, length: length, keeping: ByteRangeSet([head].compactMap(\.self)))
        // With a small quota it may have its beginning only, and what its readers are at: then the others give all the same.
        if freed < missing { try evict(missing - freed, slack: slack) }
        return true
    }

    /// The quota that holds: what the store occupied at first, where that is more and is to stay.
    private func quota() throws(StoreError) -> Int64? {
        guard let quota = limits.quotaBytes, limits.keepsPresentSize else { return limits.quotaBytes }
        if let present = state.withLock({ $0.presentBytes }) { return max(quota, present) }
        let present = try store.totalSizeBytes()
        state.withLock { state in
            state.presentBytes = present
            state.ledger.setQuota(max(quota, present))
        }
        return max(quota, present)
    }

    private func look() throws(StoreError) {
        let quota = try quota()
        var occupied = try store.totalSizeBytes()
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

    /// What the files may occupy beside what the store says.
    ///
    /// A kill leaves bytes that were written and not committed, and files that were out of the index and not unlinked yet. A process keeps
    /// within the quota, so together with what the index knows they are no more than that; but not all of it may be promised again, or a few
    /// short lives would fill the disk.
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

    /// On the index lane: whether those who wait for room wait until the files were looked at. Begins with that when nobody has.
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

    /// On the index lane: looks at some of the files; look-ups have their turn between two such steps.
    private func count() {
        do throws(StoreError) {
            _ = try store.sweepOrphans(limit: MediaCache.sweepBatch)
        } catch {
            note(error)
            // Whoever asks for room next tries again, and does not wait for it.
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

    /// On the index lane: answers those who wait for the files to be looked at, by what is known now.
    private func answerHeld() {
        let isHeld = state.withLock { state in
            defer { state.isHeld = false }
            return state.isHeld
        }
        if isHeld { serve() }
    }

    /// On the index lane: nobody who waits for room now waits any longer.
    func stopWaiting() {
        let now = environment.time.now
        state.withLock { if $0.countingDeadline != nil { $0.countingDeadline = now } }
        answerHeld()
    }

    /// On the index lane: another process may have written to the store.
    func forget() {
        state.withLock { state in
            state.ledger.forget()
            state.uncountedBytes = nil
            state.countingDeadline = nil
        }
    }

    // MARK: Evicting

    /// Frees `bytes`, and of what nobody uses up to `slack` more.
    private func evict(_ bytes: Int64, slack: Int64) throws(StoreError) {
        var freed: Int64 = 0
        let head = limits.policy.keptHeadBytes
        if head > 0 { freed += try evictUnused(bytes + slack, keptHead: head) }
        if freed < bytes { freed += try evictUnused(bytes + slack - freed, keptHead: 0) }
        if freed < bytes { _ = try evictUsed(bytes - freed, slack: min(slack, Self.usedSlackLimit)) }
    }

    /// Calls `body` with candidates that occupy more than `bytes`, in the order of the policy, until it answers false or a bounded number
    /// of them was seen.
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

    private func evictUnused(_ bytes: Int64, keptHead: Int64) throws(StoreError) -> Int64 {
        let release = hooks.release
        var freed: Int64 = 0
        try forEachCandidate(largerThan: keptHead) { (candidate) throws(StoreError) in
            guard release(candidate.key) else { return true }
            freed += try evict(candidate.key, bytes - freed, keptHead: keptHead)
            return freed < bytes
        }
        return freed
    }

    /// Takes up to `bytes` of a resource that nobody uses; what that freed.
    private func evict(_ key: ResourceKey, _ bytes: Int64, keptHead: Int64) throws(StoreError) -> Int64 {
        guard let stored = try store.lookup(key) else { return 0 }
        guard !stored.spans.isEmpty else {
            // Its file has only bytes that no commit entered.
            return try measured(key) { () throws(StoreError) in _ = try store.remove(key) }
        }
        var cut = EvictionCut(blockBytes: Piece.blockBytes)
        cut.regions = regions(length: stored.representation.length)
        if let head = ByteRange(0, keptHead) { cut.protected.insert(head) }
        let blocks = cut.blocks(of: stored.spans, wanted: bytes)
        guard !blocks.isEmpty else { return 0 }
        return try measured(key) { () throws(StoreError) in
            let isAll = stored.spans.subtracting(blocks).isEmpty
            if !isAll, !isSolid(stored.generation) {
                let file = try store.dataFile(of: stored.generation, key: key, fileExtension: stored.fileExtension)
                if try store.evict(blocks, of: stored.generation, in: file) { return }
                noteSolid(stored.generation)
            }
            if isAll || keptHead == 0 { _ = try store.remove(key) }
        }
    }

    /// Takes `bytes` of what is in use and nobody needs soon, and up to `slack` more of the last that has to give.
    private func evictUsed(_ bytes: Int64, slack: Int64) throws(StoreError) -> Int64 {
        let hooks = hooks
        hooks.commitAll()
        var freed: Int64 = 0
        try forEachCandidate(largerThan: 0) { (candidate) throws(StoreError) in
            guard let session = hooks.session(candidate.key) else { return true }
            freed += try evict(from: session, bytes - freed + slack, length: candidate.length)
            return freed < bytes
        }
        return freed
    }

    private func evict(
        from session: ResourceSession, _ bytes: Int64, length: Int64?, keeping kept: ByteRangeSet = ByteRangeSet()
    ) throws(StoreError) -> Int64 {
        let regions = regions(length: length)
        guard let part = session.beginEviction(of: bytes, regions: regions, keeping: kept, unless: isSolid) else { return 0 }
        // Readers of these blocks wait from now on, so nothing may leave this method without an end.
        do throws(StoreError) {
            let freed = try measured(session.key) { () throws(StoreError) in
                if try !store.evict(part.blocks, of: part.generation, in: part.file) { noteSolid(part.generation) }
            }
            session.endEviction(part, isGone: true)
            return freed
        } catch {
            session.endEviction(part, isGone: false)
            throw error
        }
    }

    /// Runs an eviction; what it freed.
    private func measured(_ key: ResourceKey, _ body: () throws(StoreError) -> Void) throws(StoreError) -> Int64 {
        let before = try store.totalSizeBytes()
        try body()
        let freed = max(0, before - (try store.totalSizeBytes()))
        record(.evicted(key, bytes: freed))
        return freed
    }

    /// The beginning of a resource, which players ask for first.
    private var head: ByteRange? { ByteRange(0, min(Self.headBytes, (limits.quotaBytes ?? .max) / 8)) }

    /// What goes after the middle of a resource, in this order.
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

    /// On the index lane: takes out what is too old, too much, or beyond the quota, as far as nobody uses it. `key` is spared: it was
    /// stored a moment ago.
    func enforce(sparing key: ResourceKey? = nil) {
        do throws(StoreError) {
            if let age = limits.maximumAge { try removeUnused(since: environment.time.wallNow.before(age), sparing: key) }
            if let maximum = limits.maximumCount { try removeUnused(try store.count() - maximum, sparing: key) }
            try evictExcess()
        } catch { note(error) }
    }

    /// On the index lane: a version was entered before its first byte. From time to time the longest unused of such resources go.
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

    /// On the index lane: takes out what is beyond the quota, after the files were counted.
    func enforceQuota() {
        do throws(StoreError) { try evictExcess() } catch { note(error) }
    }

    private func evictExcess() throws(StoreError) {
        guard let quota = try quota() else { return }
        let excess = try store.totalSizeBytes() - quota
        guard excess > 0 else { return }
        hooks.writeTouches()
        try evict(excess, slack: 0)
    }

    private func removeUnused(since time: Timestamp, sparing key: ResourceKey?) throws(StoreError) {
        var last: EvictionCandidate?
        for _ in 0..<Self.pageLimit {
            let page = try store.evictionCandidates(after: last, limit: EvictionCandidate.pageCount)
            if last == nil, page.first.map({ $0.lastAccess < time }) ?? false {
                hooks.writeTouches()
            }
            for candidate in page {
                guard candidate.lastAccess < time else { return }
                if candidate.key != key, try !isUsed(candidate.key, since: time) { _ = try removeIfIdle(candidate.key) }
            }
            guard page.count == EvictionCandidate.pageCount else { return }
            last = page.last
        }
    }

    /// Whether an access time that was just entered is later than the candidate said.
    private func isUsed(_ key: ResourceKey, since time: Timestamp) throws(StoreError) -> Bool {
        try store.lookup(key).map { $0.lastAccess >= time } ?? false
    }

    private func removeUnused(_ excess: Int, sparing key: ResourceKey?) throws(StoreError) {
        guard excess > 0 else { return }
        hooks.writeTouches()
        var missing = excess
        // Also those without a byte: they are counted, too.
        try forEachCandidate(largerThan: -1) { (candidate) throws(StoreError) in
            if candidate.key != key, try removeIfIdle(candidate.key) { missing -= 1 }
            return missing > 0
        }
    }

    private func removeIfIdle(_ key: ResourceKey) throws(StoreError) -> Bool {
        guard !pins.contains(key), hooks.release(key) else { return false }
        _ = try measured(key) { () throws(StoreError) in _ = try store.remove(key) }
        return true
    }
}

extension Timestamp {
    /// The moment that lies so long before.
    fileprivate func before(_ duration: Duration) -> Timestamp {
        let seconds = duration.components.seconds
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        // Parts of a second do not matter here.
        let (result, isTooEarly) = nanoseconds.subtractingReportingOverflow(overflow ? .max : whole)
        return Timestamp(nanoseconds: isTooEarly ? .min : result)
    }
}
