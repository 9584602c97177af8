import SpoolCore
import SpoolStore
import SpoolSystem

/// Enters written bytes into the index, and sets durable points at a named pace (DESIGN §6, *Order*).
///
/// The data of a durable point is synced on a lane of its own: no look-up and no commit waits for it.
final class Committer: Sendable {
    /// A generation commits at the latest when this many bytes were written.
    ///
    /// As much as passes in the interval below at a network's speed. A faster origin is on this machine or beside it, where commits would
    /// cost more than what a kill takes costs to fetch anew.
    static let commitBytes: Int64 = 32 << 20
    /// … and at the latest this long after the first of them.
    static let commitInterval: Nanoseconds = .seconds(1)
    /// A durable point follows when this many bytes were committed since the last.
    static let durableBytes: Int64 = 128 << 20
    /// … or this long after the first of them.
    static let durableInterval: Nanoseconds = .seconds(5)
    /// Access times wait in memory until there are this many, or the next durable point.
    static let touchBatch = 64

    private struct State {
        var bytesSinceDurable: Int64 = 0
        var timerIsSet = false
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

    init(environment: CacheEnvironment, store: any ResourceStore, record: @escaping @Sendable (CacheEvent) -> Void) {
        self.environment = environment
        self.store = store
        self.record = record
    }

    /// - Parameter lost: hears which generation lost bytes because the system could not write them, and what is left of it. Set once, when
    ///   the cache is made; called on the index lane.
    func connect(lost: @escaping @Sendable (GenerationID, ByteRangeSet) -> Void) {
        state.withLock { $0.lost = lost }
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
            state.bytesSinceDurable = 0
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
            }
            return (state.lost, state.owesPoint, state.waiting)
        }
        for (generation, left) in outcome.losses.sorted(by: { $0.key < $1.key }) { lost(generation, left) }
        for done in waiting { done() }
        if owesPoint, waiting.isEmpty { makeDurable() }
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
        let (isDue, mustSetTimer) = state.withLock { state in
            state.bytesSinceDurable += bytes
            let isDue = state.bytesSinceDurable >= Self.durableBytes
            let mustSetTimer = !isDue && !state.timerIsSet
            if mustSetTimer { state.timerIsSet = true }
            return (isDue, mustSetTimer)
        }
        if isDue { return makeDurable() }
        guard mustSetTimer else { return }
        _ = environment.time.after(Self.durableInterval, on: environment.indexLane) { [self] in
            let isDirty = state.withLock { state in
                state.timerIsSet = false
                return state.bytesSinceDurable > 0
            }
            if isDirty { makeDurable() }
        }
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
