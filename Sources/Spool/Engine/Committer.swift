import SpoolCore
import SpoolStore
import SpoolSystem

/// Enters written bytes into the index, and sets durable points at a named pace (docs/disk-format.md).
///
/// The data of a durable point is synced on a lane of its own: no look-up and no commit waits for it.
final class Committer: Sendable {
    /// A generation commits when this many bytes were written, as much as passes in a second at a network's speed …
    static let commitBytes: Int64 = 32 << 20
    /// … and the first of them waited so long: a faster origin is on this machine or beside it, and what a kill takes is fetched anew in
    /// the same time.
    static let commitPause: Nanoseconds = .milliseconds(250)
    /// … but at once when there are this many, or the 32nd part of the quota where that is less and `commitBytes` are there: after a kill
    /// they lie on the disk beside the index. Until then they are 16 KiB of checks in memory, 112 KiB where bytes are sealed …
    static let commitLimitBytes: Int64 = 256 << 20
    private static let commitQuotaDivisor: Int64 = 32
    /// … and at the latest after so long.
    static let commitInterval: Nanoseconds = .seconds(1)
    /// A durable point follows when this many bytes were committed since the last …
    static let durableBytes: Int64 = 128 << 20
    /// … and the first of them waited so long …
    static let durablePause: Nanoseconds = .seconds(1)
    /// … but at once when there are this many …
    static let durableLimitBytes: Int64 = 1 << 30
    /// … and at the latest this long after the first of them.
    static let durableInterval: Nanoseconds = .seconds(5)
    /// After a durable point that failed, so many more are begun without another commit: a minute's worth.
    private static let retryLimit = 12
    /// Access times wait in memory until there are this many, or the next durable point.
    static let touchBatch = 64

    private struct State {
        /// What was committed since the last durable point began.
        var undurable = CommitPace(bytes: durableBytes, interval: durablePause, limitBytes: durableLimitBytes)
        var timerIsSet = false
        /// Durable points that failed one after the other, and whether the timer begins another one.
        var failedPoints = 0
        var owesRetry = false
        var used: [AccessTime] = []
        /// A durable point was begun and is not finished.
        var pointIsUnderWay = false
        /// Another one is wanted after it.
        var owesPoint = false
        /// Those who wait until no point is under way.
        var waiting: [@Sendable () -> Void] = []
        var lost: @Sendable (GenerationID, ByteRangeSet) -> Void = { _, _ in }
    }

    private let environment: CacheEnvironment
    private let store: any ResourceStore
    private let record: @Sendable (CacheEvent) -> Void
    private let state = Locked(State())
    /// When what a generation has written is due, for a session to keep.
    let commitPace: CommitPace

    /// - Parameter quotaBytes: what the store may occupy; nil for no limit.
    init(
        environment: CacheEnvironment, store: any ResourceStore, quotaBytes: Int64?, record: @escaping @Sendable (CacheEvent) -> Void
    ) {
        self.environment = environment
        self.store = store
        self.record = record
        let limit = min(Self.commitLimitBytes, (quotaBytes ?? .max) / Self.commitQuotaDivisor)
        commitPace = CommitPace(bytes: Self.commitBytes, interval: Self.commitPause, limitBytes: limit)
    }

    /// - Parameter lost: hears which generation lost bytes because the system could not write them, and what is left of it. Set once, when
    ///   the cache is made; called on the index lane.
    func connect(lost: @escaping @Sendable (GenerationID, ByteRangeSet) -> Void) {
        state.withLock { $0.lost = lost }
    }

    /// A number for a new generation. May be called anywhere.
    func makeGeneration() -> GenerationID {
        let generation = store.makeGeneration()
        // Long before the last number is used: each answer of an origin takes one, whatever is stored of it.
        if store.owesGenerations() { environment.indexLane.post { [self] in reserveGenerations() } }
        return generation
    }

    private func reserveGenerations() {
        do throws(StoreError) { try store.reserveGenerations() } catch {
            if error != .closed && error != .suspended { record(.storeTrouble("generation numbers: \(error)")) }
        }
    }

    /// On the index lane: enters a commit in the index; what went wrong, or nil.
    func enter(_ commit: StoreCommit) -> StoreError? {
        do throws(StoreError) {
            try store.commit(commit)
            return nil
        } catch { return error }
    }

    /// On the index lane: a commit was entered.
    func entered(_ commit: StoreCommit) {
        let bytes = commit.pieces.reduce(0) { $0 + $1.range.count }
        record(.bytesCommitted(commit.key, bytes: bytes))
        committed(bytes)
    }

    /// Notes that a resource was used.
    func touch(_ access: AccessTime) {
        guard access.isFirstUse(at: environment.time.wallNow) else { return }
        let isFull = state.withLock { state in
            state.used.append(access)
            return state.used.count == Self.touchBatch
        }
        if isFull { environment.indexLane.post { [self] in writeTouches() } }
    }

    // MARK: Durable points

    /// On the index lane: everything that waits, then a durable point. One that is wanted while another is under way follows it.
    func makeDurable() {
        writeTouches()
        let mayBegin = state.withLock { state in
            state.owesPoint = state.pointIsUnderWay
            guard !state.pointIsUnderWay else { return false }
            state.undurable.taken()
            return true
        }
        guard mayBegin, store.isWritable else { return }
        do throws(StoreError) {
            guard let point = try store.beginDurablePoint() else { return }
            state.withLock { $0.pointIsUnderWay = true }
            environment.syncLane.post { [self] in
                point.synchronize()
                environment.indexLane.post { [self] in finish(point) }
            }
        } catch {
            record(.storeTrouble("durable point: \(error)"))
            tryAgain(after: error)
        }
    }

    /// A durable point failed, and what it covered belongs to the next one, which need not wait for another commit.
    private func tryAgain(after error: StoreError) {
        guard error != .closed, error != .suspended, error != .readOnly else { return }
        let mayTry = state.withLock { state in
            state.failedPoints += 1
            state.owesRetry = state.failedPoints <= Self.retryLimit
            return state.owesRetry
        }
        if mayTry { setTimer() }
    }

    private func setTimer() {
        let isFirst = state.withLock { state in
            defer { state.timerIsSet = true }
            return !state.timerIsSet
        }
        guard isFirst else { return }
        _ = environment.time.after(Self.durableInterval, on: environment.indexLane) { [self] in
            let isWanted = state.withLock { state in
                defer {
                    state.timerIsSet = false
                    state.owesRetry = false
                }
                return state.owesRetry || !state.undurable.isEmpty
            }
            if isWanted { makeDurable() }
        }
    }

    private func finish(_ point: DurablePoint) {
        let outcome = store.finish(point)
        if let failure = outcome.failure { record(.storeTrouble("durable point: \(failure)")) }
        let (lost, owesPoint, waiting) = state.withLock { state in
            defer {
                state.pointIsUnderWay = false
                state.owesPoint = false
                state.waiting = []
                if outcome.failure == nil { state.failedPoints = 0 }
            }
            return (state.lost, state.owesPoint, state.waiting)
        }
        for (generation, left) in outcome.losses.sorted(by: { $0.key < $1.key }) { lost(generation, left) }
        for done in waiting { done() }
        if owesPoint, waiting.isEmpty { return makeDurable() }
        if let failure = outcome.failure, waiting.isEmpty { tryAgain(after: failure) }
    }

    /// On the index lane: calls `done` there once no durable point is under way; at once when none is.
    func whenSettled(_ done: @escaping @Sendable () -> Void) {
        let mustWait = state.withLock { state in
            if state.pointIsUnderWay { state.waiting.append(done) }
            return state.pointIsUnderWay
        }
        if !mustWait { done() }
    }

    private func committed(_ bytes: Int64) {
        let now = environment.time.now
        let isDue = state.withLock { state in
            state.undurable.came(bytes, now: now)
            return state.undurable.isDue(now: now)
        }
        if isDue { makeDurable() } else { setTimer() }
    }

    /// On the index lane.
    func writeTouches() {
        let used = state.withLock { state in
            defer { state.used = [] }
            return state.used
        }
        let touches = Dictionary(used.map { ($0.key, $0.take()) }, uniquingKeysWith: max)
        guard !touches.isEmpty, store.isWritable else { return }
        do { try store.touch(touches) } catch { record(.storeTrouble("access times: \(error)")) }
    }
}
