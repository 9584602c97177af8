import SpoolCore
import SpoolStore
import SpoolSystem

/// Enters written bytes into the index, and sets durable points at a given pace
/// (docs/disk-format.md).
///
/// The data of a durable point is synced on a lane of its own, so no look-up and no commit waits
/// for the sync.
final class Committer: Sendable {
    /// A generation commits when this many bytes are written and the first of them has waited for
    /// `commitPause`. A network delivers about as much in a second.
    static let commitBytes: Int64 = 32 << 20
    /// The shortest time between the first uncommitted byte and a commit of `commitBytes`. Only an
    /// origin on this machine or beside it is faster, and it delivers again in the same time what a
    /// kill takes.
    static let commitPause: Nanoseconds = .milliseconds(250)
    /// A generation commits at once when this many bytes are written, or the 32nd part of the quota
    /// if that is less and at least `commitBytes`. A kill leaves uncommitted bytes on the disk that
    /// the index does not name. Until the commit their checks are in memory: 16 KiB, or 112 KiB
    /// where bytes are sealed.
    static let commitLimitBytes: Int64 = 256 << 20
    private static let commitQuotaDivisor: Int64 = 32
    /// A generation commits at the latest this long after its first uncommitted byte.
    static let commitInterval: Nanoseconds = .seconds(1)
    /// A durable point follows when this many bytes were committed since the last one and the first
    /// of them has waited for `durablePause`.
    static let durableBytes: Int64 = 128 << 20
    /// The shortest time between the first commit and a durable point for `durableBytes`.
    static let durablePause: Nanoseconds = .seconds(1)
    /// A durable point follows at once when this many bytes were committed since the last one.
    static let durableLimitBytes: Int64 = 1 << 30
    /// A durable point follows at the latest this long after the first commit that it covers.
    static let durableInterval: Nanoseconds = .seconds(5)
    /// The number of further durable points that the timer begins after one that failed, without
    /// another commit. At one every `durableInterval`, these last a minute.
    private static let retryLimit = 12
    /// Access times wait in memory until there are this many, or until the next durable point.
    static let touchBatch = 64
    /// Access times reach the index at the latest this long after the first of them, also when only
    /// stored bytes are played. A sync is not worth it: a power loss may take them.
    static let touchInterval: Nanoseconds = .seconds(60)
    /// The access times of parts that one job of the index lane enters: about 3 ms.
    private static let partBatch = 512

    private struct State {
        /// The bytes that were committed since the last durable point began.
        var undurable = CommitPace(bytes: durableBytes, interval: durablePause, limitBytes: durableLimitBytes)
        var timerIsSet = false
        /// The number of durable points that failed in a row.
        var failedPoints = 0
        /// Whether the timer begins another durable point.
        var owesRetry = false
        var used: [AccessRecorder] = []
        var touchTimerIsSet = false
        /// The newest access time of the store. Nil before the first is entered.
        var lastAccess: Timestamp?
        /// A durable point was begun and has not finished.
        var pointIsUnderWay = false
        /// Another durable point was asked for meanwhile, and follows the current one.
        var owesPoint = false
        /// Closures to call once no durable point is under way.
        var waiting: [@Sendable () -> Void] = []
        var lost: @Sendable (GenerationID, ByteRangeSet) -> Void = { _, _ in }
        var writesCounts: @Sendable () -> Void = {}
    }

    private let environment: CacheEnvironment
    private let store: any ResourceStore
    private let record: @Sendable (CacheEvent) -> Void
    private let state = Locked(State())
    private let limits: LiveLimits
    /// The access times of the parts of presentations.
    let parts = Locked(PartOrder())
    /// The pace at which a generation commits its written bytes; each session keeps a copy.
    var commitPace: CommitPace {
        let limit = min(Self.commitLimitBytes, (limits.current.quotaBytes ?? .max) / Self.commitQuotaDivisor)
        return CommitPace(bytes: Self.commitBytes, interval: Self.commitPause, limitBytes: limit)
    }

    /// Creates a committer for a store.
    ///
    /// - Parameter limits: The limits of the store.
    init(
        environment: CacheEnvironment, store: any ResourceStore, limits: LiveLimits, record: @escaping @Sendable (CacheEvent) -> Void
    ) {
        self.environment = environment
        self.store = store
        self.record = record
        self.limits = limits
    }

    /// Sets the handlers. Called once, when the cache is made.
    ///
    /// - Parameters:
    ///   - writesCounts: Called on the index lane when access times are written, and before a
    ///     durable point, so that it covers more.
    ///   - lost: Called on the index lane for bytes that the system could not write, with the
    ///     generation that lost them, and the bytes that are left of it.
    func connect(writesCounts: @escaping @Sendable () -> Void, lost: @escaping @Sendable (GenerationID, ByteRangeSet) -> Void) {
        state.withLock { ($0.writesCounts, $0.lost) = (writesCounts, lost) }
    }

    /// Returns a number for a new generation. Callable from any thread.
    func makeGeneration() -> GenerationID {
        let generation = store.makeGeneration()
        // The store reserves numbers long before the last one is used. Each response of an origin
        // takes one, even if nothing of it is stored.
        if store.owesGenerations() { environment.indexLane.post { [self] in reserveGenerations() } }
        return generation
    }

    private func reserveGenerations() {
        do throws(StoreError) { try store.reserveGenerations() } catch {
            if error.isTrouble { record(.storeTrouble("generation numbers: \(error)")) }
        }
    }

    /// Enters a commit into the index. Runs on the index lane.
    ///
    /// - Returns: The error, or nil if the commit was entered.
    func enter(_ commit: StoreCommit) -> StoreError? {
        do throws(StoreError) {
            var commit = commit
            commit.time = try accessTime(at: commit.time)
            try store.commit(commit)
        } catch { return error }
        // The commit is entered, even if the access time of its presentation is not.
        do throws(StoreError) {
            if let time = parts.withLock({ $0.storedTime(of: commit.key) }) { try store.touch([commit.key: time]) }
        } catch { record(.storeTrouble("access time: \(error)")) }
        return nil
    }

    /// Returns the access time for a use at `time`.
    ///
    /// A use may be entered after later ones, and keeps its place among them. While the clock is
    /// behind the newest access time, because it was set back, each use is the newest.
    private func accessTime(at time: Timestamp) throws(StoreError) -> Timestamp {
        var newest = state.withLock { $0.lastAccess }
        if newest == nil { newest = try store.lastAccess() }
        var time = time
        if let newest, newest >= environment.time.wallNow {
            time = max(time, Timestamp(nanoseconds: newest.nanoseconds.addingSaturated(1)))
        }
        state.withLock { $0.lastAccess = max(newest ?? time, time) }
        return time
    }

    /// Counts a commit that was entered, and begins a durable point if one is due. Runs on the
    /// index lane.
    func entered(_ commit: StoreCommit) {
        let bytes = commit.pieces.reduce(0) { $0 + $1.range.count }
        record(.bytesCommitted(commit.key, bytes: bytes))
        committed(bytes)
    }

    /// Records that a resource was used, now where no time is named.
    func touch(_ access: AccessRecorder, at time: Timestamp? = nil) {
        guard access.isFirstUse(at: time ?? environment.time.wallNow) else { return }
        let (isFull, needsTimer) = state.withLock { state in
            state.used.append(access)
            defer { state.touchTimerIsSet = true }
            return (state.used.count == Self.touchBatch, !state.touchTimerIsSet)
        }
        if isFull { environment.indexLane.post { [self] in writeTouches() } }
        guard needsTimer else { return }
        _ = environment.time.after(Self.touchInterval, on: environment.indexLane) { [weak self] in
            guard let self else { return }
            state.withLock { $0.touchTimerIsSet = false }
            writeTouches()
            state.withLock { $0.writesCounts }()
        }
    }

    // MARK: Durable points

    /// Enters the access times that wait, then begins a durable point. Runs on the index lane.
    ///
    /// If a durable point is under way, the new one follows it.
    func makeDurable() {
        writeTouches()
        state.withLock { $0.writesCounts }()
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

    /// Sets the timer for another durable point after one that failed. The next point covers the
    /// same bytes and does not wait for another commit.
    private func tryAgain(after error: StoreError) {
        guard error.isTrouble, error != .readOnly else { return }
        let mayTry = state.withLock { state in
            state.failedPoints += 1
            state.owesRetry = state.failedPoints <= Self.retryLimit
            return state.owesRetry
        }
        if mayTry { setTimer() }
    }

    private func setTimer() {
        let isFirst = state.withLock { !exchange(&$0.timerIsSet, with: true) }
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

    /// Calls `done` on the index lane once no durable point is under way, or at once if none is.
    /// Runs on the index lane.
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

    /// Enters the access times that wait into the index. Runs on the index lane.
    func writeTouches() {
        let used = state.withLock { exchange(&$0.used, with: []) }
        let uses = used.map { (key: $0.key, time: $0.take()) }.sorted { ($0.time, $0.key) < ($1.time, $1.key) }
        guard !uses.isEmpty, store.isWritable else { return }
        do throws(StoreError) {
            var touches: [ResourceKey: Timestamp] = [:]
            for use in uses {
                let time = try accessTime(at: use.time)
                touches[use.key] = parts.withLock { $0.accessTime(of: use.key, at: time) }
            }
            try store.touch(touches)
        } catch { record(.storeTrouble("access times: \(error)")) }
        writePartTouches()
    }

    /// Enters new access times of the parts of presentations that were used, some in each job.
    private func writePartTouches() {
        let touches = parts.withLock { $0.takeOwed(Self.partBatch) }
        guard !touches.isEmpty, store.isWritable else { return }
        do throws(StoreError) { try store.touch(touches) } catch { return record(.storeTrouble("access times: \(error)")) }
        environment.indexLane.post { [self] in writePartTouches() }
    }

    /// Lets eviction remove parts first, because their live playlist no longer lists them. Callable
    /// from any thread.
    func unlisted(_ keys: [ResourceKey]) {
        guard !keys.isEmpty else { return }
        environment.indexLane.post { [self] in
            writeTouches()
            guard store.isWritable else { return }
            let touches = Dictionary(keys.map { ($0, PartOrder.unlistedTime) }, uniquingKeysWith: max)
            do throws(StoreError) { try store.touch(touches) } catch { record(.storeTrouble("access times: \(error)")) }
        }
    }
}
