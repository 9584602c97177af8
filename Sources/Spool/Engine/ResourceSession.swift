import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem

/// The live coordination of one resource: a `SessionStateMachine` behind one lock, and the code
/// that acts on its decisions.
///
/// Every event takes the lock, lets the machine decide, collects the effects, releases the lock,
/// and then performs the effects. So nothing that blocks or calls back runs under the lock. Lock
/// order: session, then pool or backlog; no other.
///
/// This file holds the state and the actions. `FetchDriver` makes the requests and receives the
/// calls of the transport, `WritePipeline` is the path to the disk, and `StoredBytesCheck` verifies
/// bytes before their first use. `+Hits` has the reads that are served at once, `+Evicting` frees
/// bytes, and `+Losing` handles their loss. `SessionReader` is the side of the consumer.
final class ResourceSession: Sendable {
    let key: ResourceKey
    /// The URL of the first request in this session, without user information. It names the files
    /// and is stored.
    let url: String
    /// A number that no other session of the cache has or had, not even an earlier one of the same
    /// key.
    let number: UInt64
    /// The fields of every request of this session, before those that readers add.
    let requestFields: HTTPFields
    /// The scheme and authority of the origin. Requests to one host are limited together.
    let host: String
    /// The origin of `url`.
    let origin: URIReference.Origin
    let shared: SharedParts
    let access: AccessRecorder
    let state: Locked<State>

    /// The parts that all sessions of a cache share.
    struct SharedParts: Sendable {
        let environment: CacheEnvironment
        let store: any ResourceStore
        let pool: BufferPool
        let backlog: WriteBacklog
        let limiter: FetchLimiter
        let committer: Committer
        let evictor: Evictor
        let limits: SessionLimits
        /// The most bytes that are written at a time, in whole blocks.
        let segmentBytes: Int
        let counters: Counters
        let configuration: Configuration
        let record: @Sendable (CacheEvent) -> Void
        /// Records that a reader of a range joined, if anything takes these events: most events of
        /// a cache are of readers.
        let recordReader: @Sendable (ResourceKey, _ start: Int64, _ end: Int64?) -> Void
        /// The events for streams and for a watch.
        let feed: EventFeed
        /// Called when a fetch begins. A process that can't write tries to become the writer then,
        /// because the fetched bytes might be stored.
        let gapMet: @Sendable () -> Void
        let sessionIdle: @Sendable (ResourceSession) -> Void
        /// Called when a call of the store failed.
        let storeFailed: @Sendable (StoreError) -> Void
        /// Called when this session stores nothing more. Once it is idle, the next reader gets
        /// another session.
        let makeStale: @Sendable (ResourceKey) -> Void
        /// The names for `Via`, if the cache belongs to a gateway.
        let via: Pseudonyms?
        let bounds: OriginBounds
        /// How fast hosts answer.
        let hostAnswers: Locked<HostAnswers>
        /// The origins that fail.
        let outages: Locked<OriginOutages>
        /// The keys of the list of downloads.
        let downloadKeys: DownloadKeys
        /// Called when the origin has another version of a finished download.
        let downloadReplaced: @Sendable (ResourceKey) -> Void

        /// Returns the fields of every request to `url`, before those of readers.
        func requestFields(for url: MediaURL) -> HTTPFields {
            var fields = configuration.fields(for: url.text)
            if let via { fields.append(.via, via.via(for: url.origin.description)) }
            return fields
        }
    }

    struct State {
        var machine: SessionStateMachine
        var intakes: [FetchID: FetchIntake] = [:]
        var wakes: [ReaderID: @Sendable () -> Void] = [:]
        /// The interim responses for each reader that takes them.
        var interims: [ReaderID: [ResponseHead]] = [:]
        /// The data file of the current version, once it is open.
        var file: (any DataFile)?
        var fileGeneration: GenerationID?
        /// The files of past versions that readers go on with.
        var past: [GenerationID: PastFile] = [:]
        /// The pieces that are written and not yet committed, as the store returned them.
        var dirty: [Piece] = []
        /// Decides when the written pieces are enough for a commit.
        var pace: CommitPace
        /// The room granted for bytes that are written and not yet queued for a commit.
        var promisedBytes: Int64 = 0
        /// The room granted for writes that are not over.
        var grantedBytes: Int64 = 0
        /// The file extensions of files that writes have opened and no commit has entered since.
        /// There is one for each version that is current or being retired.
        var uncommittedFiles: [GenerationID: String] = [:]
        /// The number of reads that reported stored bytes as lost.
        var losses = 0
        /// Whether the store failed, so that the file of the current version may have bytes that
        /// the index will never name.
        var owesRelease = false
        /// The version whose unnamed bytes were released. Nothing more is written to its file.
        var releasedGeneration: GenerationID?
        /// The changes that are queued for the index lane, oldest first. One queue has them all, because
        /// a discard may not take out bytes that are committed after it was decided.
        var changes: [QueuedChange] = []
        /// Whether the representation is new or was updated, and is to be committed even without
        /// bytes.
        var owesCommit = false
        /// The number of jobs that are queued on lanes or run there.
        var writesUnderWay = 0
        /// Called once there are no such jobs.
        var whenWritten: (@Sendable () -> Void)?
        var timerDeadline: MonotonicInstant?
        var tickIsSet = false
        var passReason: NotStoredReason?
        /// Whether the store is suspended, so that nothing can be written.
        var isStoreSuspended = false
        /// How the readers have the origin asked. A reader that is not here has it asked by
        /// `lastAsk`.
        var asks: [ReaderID: ReaderAsk] = [:]
        /// How the origin was asked for its last answer, or is asked first.
        var lastAsk: ReaderAsk
        /// The budget of a request that is repeated because another connection was in its way, or
        /// nil. If it succeeds, the host serves one connection.
        var besideOwn: RequestBudget?
        /// The fields that select a version although `Vary` does not name them.
        var silent = SilentSelection()
        /// The last request that failed or was refused.
        var failedRequest: FailedRequest?
        /// Whether the session was taken out of the table. A holder of a link then needs another
        /// session.
        var isDetached = false
        /// The number of callers that were given the session and have not yet made their reader,
        /// and of hits that are being sent.
        var claims = 0
        /// The urgency of each reader, and the networks that it accepts.
        var demands: [ReaderID: FetchDemand] = [:]
        /// The demand of all readers together.
        var demand = FetchDemand(.prefetch)
        /// The number of changes of `demand`.
        var demandSequence: UInt64 = 0
        /// The need of the players of this resource that the limiter was last called with.
        var need = BackgroundShare.Need.nothing
    }

    /// A change of the index that waits for its turn on the index lane.
    enum QueuedChange {
        /// Enters written bytes. `promisedBytes` is the room that was granted for them.
        case commit(StoreCommit, promisedBytes: Int64)
        /// Takes unusable bytes out, and calls `done` with whether they are out.
        case discard(ByteRangeSet, GenerationID, done: @Sendable (Bool) -> Void)
    }

    init(key: ResourceKey, url: MediaURL, number: UInt64, passReason: NotStoredReason?, shared: SharedParts) {
        self.key = key
        self.number = number
        self.url = url.withoutUserinfo
        origin = url.origin
        host = origin.description
        self.shared = shared
        access = AccessRecorder(key)
        let defaults = shared.configuration
        let requestFields = shared.requestFields(for: url)
        self.requestFields = requestFields
        var rules = StoringRules(
            policy: defaults.freshness.policy, isShared: defaults.freshness.isShared, isAuthorized: requestFields[.authorization] != nil,
            pathExtension: pathExtension(url: url.text))
        rules.maxResourceBytes = defaults.storage.maximumResourceBytes
        rules.identity = defaults.freshness.identities[origin.host] ?? defaults.freshness.identities["*"] ?? .validator
        var limits = shared.limits
        limits.jitterSeed = shared.environment.random.next() | 1
        // A signed URL may expire between two windows.
        if url.isSigned { limits.provenBytes = 0 }
        var state = State(
            machine: SessionStateMachine(limits: limits, rules: rules), pace: shared.committer.commitPace,
            lastAsk: ReaderAsk(
                request: OriginRequest(to: url, fields: requestFields), patience: defaults.network.patience(forHost: origin.host)))
        state.machine.willAsk(by: state.lastAsk.source)
        state.passReason = passReason
        self.state = Locked(state)
    }

    var now: MonotonicInstant { shared.environment.time.now }
    var wallNow: Timestamp { shared.environment.time.wallNow }

    /// The requests of the session.
    var fetching: FetchDriver { FetchDriver(session: self) }
    /// The path of received bytes to file and index.
    var writes: WritePipeline { WritePipeline(session: self) }

    // MARK: Acting

    /// Work that is done after the lock is released.
    enum Effect {
        /// The part of an action that needs no state of the session.
        case action(SessionAction)
        case submit(FetchIntake)
        /// An event of the scheduler.
        case schedule(@Sendable (inout FetchScheduler, MonotonicInstant) -> Void)
        case write(ReceiveBuffer, GenerationID, FetchIntake)
        case call(@Sendable () -> Void)
        case event(CacheEvent)
        case flush
        case forgetStored
        case dropUncommitted(GenerationID, promised: Int64)
        case release(GenerationID)
        /// Releases buffers outside the lock, and with them perhaps a pool buffer.
        case free([ReceiveBuffer])
    }

    /// Runs an event: decides under the lock, acts after it.
    func run<Result>(_ body: (inout State, inout [Effect]) -> Result) -> Result {
        var effects: [Effect] = []
        let result = state.withLock { state in
            let result = body(&state, &effects)
            if state.owesRelease { writes.releaseUnnamedIfSettled(&state, &effects) }
            assert(state.machine.violations.isEmpty, "session of \(key): \(state.machine.violations.joined(separator: "; "))")
            noteNeed(&state, &effects)
            if state.isIdle() { effects.append(.call { [self] in shared.sessionIdle(self) }) }
            if state.writesUnderWay == 0, let done = state.whenWritten, !state.machine.fetches.contains(where: \.isClosing) {
                state.whenWritten = nil
                effects.append(.call(done))
            }
            return result
        }
        perform(effects)
        return result
    }

    /// Runs an event whose only outcome is actions.
    func run(_ event: (inout SessionStateMachine) -> [SessionAction]) {
        run { state, effects in
            let actions = event(&state.machine)
            apply(actions, &state, &effects)
        }
    }

    // MARK: Opening

    func open() {
        let shared = shared
        // An import calls `expect` for its key first, and then ends the session of that key. So
        // this check sees the import, or the import finds this session in the table.
        if shared.store.certainlyLacks(key) {
            return run { state, effects in
                apply(state.machine.opened(nil, passReason: state.passReason, now: now), &state, &effects)
            }
        }
        shared.environment.indexLane.post { [self] in
            var found: StoredResource?
            var file: (any DataFile)?
            var trouble: NotStoredReason?
            do throws(StoreError) {
                found = try shared.store.lookup(key)
                if let found, !found.spans.isEmpty {
                    file = try shared.store.dataFile(of: found.generation, key: key, fileExtension: found.fileExtension)
                }
                // Another process may have evicted bytes before this one held the lock of the file.
                // From now on it does not.
                if file != nil, !shared.store.isWritable {
                    let again = try shared.store.lookup(key)
                    if again?.generation != found?.generation { file = nil }
                    found = file == nil ? nil : again
                }
            } catch {
                trouble = .storeTrouble("\(error)")
                found = nil
                if error.isTrouble { shared.record(.storeTrouble("lookup: \(error)")) }
                shared.makeStale(key)
                shared.storeFailed(error)
            }
            // A version of an earlier format has no mark.
            if let mark = found?.representation.knownMark { found?.representation.mark = mark }
            run { [found] state, effects in
                state.file = file
                state.fileGeneration = file == nil ? nil : found?.generation
                if state.passReason == nil { state.passReason = trouble }
                let known = found.map { ($0.generation, $0.representation, $0.spans) }
                apply(
                    state.machine.opened(
                        known, unverified: found?.unverified ?? ByteRangeSet(), passReason: state.passReason, now: now),
                    &state, &effects)
            }
        }
    }

    // MARK: Time

    func setTimer(_ deadline: MonotonicInstant) {
        let delay = max(0, deadline - now)
        // A later timer is not cancelled when an earlier one is set. It comes late, which is
        // harmless.
        _ = shared.environment.time.after(delay, on: shared.environment.control) { [self] in
            run { state, effects in
                // A timer that comes a little early is cleared as well: the machine then asks for
                // another.
                if state.timerDeadline == deadline { state.timerDeadline = nil }
                apply(state.machine.timePassed(now: now), &state, &effects)
            }
        }
    }

    // MARK: Ending

    /// The time for which the fetches of a cache that closes take what has arrived already: long
    /// enough for dozens, and too short to be noticed.
    static let grace: Nanoseconds = .milliseconds(100)

    /// Ends the session because the cache closes. Fetches take what has arrived already, for `grace`.
    func close() {
        end(.closed)
        guard state.withLock({ $0.machine.fetches.contains(where: \.isClosing) }) else { return }
        _ = shared.environment.time.after(Self.grace, on: shared.environment.control) { [weak self] in self?.end(.closed) }
    }

    /// Ends the session because the resource was removed or the cache closes. Readers end with
    /// `failure`. Fetches stop at once after a removal, and in the second of two calls.
    func end(_ failure: ReadFailure) {
        run { state, effects in end(failure, &state, &effects) }
    }

    private func end(_ failure: ReadFailure, _ state: inout State, _ effects: inout [Effect]) {
        let generation = state.machine.version?.generation
        apply(state.machine.end(failure), &state, &effects)
        guard failure == .removed else { return }
        // The disk gets its blocks back when the file is unlinked, and not when the last timer
        // releases the session. Otherwise a limit on the free space of the disk would refuse the
        // bytes that room was made for.
        if let file = state.file { effects.append(.call { withExtendedLifetime(file) {} }) }
        state.file = nil
        state.fileGeneration = nil
        for generation in state.past.keys.sorted() { pastFiles.drop(generation, &state, &effects) }
        if let generation { writes.retire(generation, &state, &effects) }
    }

    /// Ends the session if it is idle, so that its stored bytes may be evicted.
    ///
    /// - Returns: False if the session is in use.
    func endIfIdle() -> Bool { end { $0.isIdle() } }

    /// Ends the session because of a removal, if its state meets the condition.
    ///
    /// - Returns: Whether it ended.
    func end(if condition: (inout State) -> Bool) -> Bool {
        run { state, effects in
            guard condition(&state) else { return false }
            end(.removed, &state, &effects)
            return true
        }
    }

    /// Whether the session was ended by a removal. A reader that comes now needs another session.
    var isRemoved: Bool { state.withLock { $0.machine.phase == .ended(.removed) } }

    /// Takes unusable bytes out of the index, so that they are a gap after the next start as well.
    ///
    /// - Parameter done: Called with whether the bytes are out, on the index lane.
    func discard(_ ranges: ByteRangeSet, of generation: GenerationID, done: @escaping @Sendable (Bool) -> Void) {
        state.withLock { $0.queueDiscard(ranges, of: generation, done: done) }
        writes.postQueuedChanges()
    }

    /// Handles bytes of a generation that the system could not write. Only the bytes in `left` are
    /// still stored, and the open file takes no more.
    func lost(allBut left: ByteRangeSet, of generation: GenerationID) {
        run { state, effects in
            guard let version = state.machine.version, version.generation == generation else { return }
            lose(allBut: left, of: version, because: "the disk could not write what was stored", &state, &effects)
        }
    }

    /// Drops everything that the session assumed about the stored bytes. Readers go on from the
    /// origin.
    func loseEverything() {
        run { state, effects in
            guard let version = state.machine.version else { return }
            lose(allBut: ByteRangeSet(), of: version, because: "another process has used the store meanwhile", &state, &effects)
        }
    }

    /// Handles stored bytes that can't be read now, for example because the device is locked. They
    /// are not lost and stay in the index. This session fetches them for its readers and stores
    /// nothing more.
    func passOn(_ range: ByteRange, unreadableTo reader: ReaderID, _ error: StoreError) {
        shared.record(.storeTrouble("read \(range) of \(key.forLog): \(error)"))
        run { state, effects in
            guard let generation = state.machine.toldVersion(of: reader) else { return }
            apply(state.machine.storeFailed(generation, .storeTrouble("\(error)"), now: now), &state, &effects)
            apply(state.machine.lost(range, of: generation, now: now), &state, &effects)
        }
        shared.makeStale(key)
    }

    private func lose(
        allBut left: ByteRangeSet, of version: SessionVersion, because reason: String, _ state: inout State,
        _ effects: inout [Effect]
    ) {
        writes.dropDirty(&state, &effects)
        apply(state.machine.storeFailed(version.generation, .storeTrouble(reason), now: now), &state, &effects)
        for range in version.stored.subtracting(left).ranges {
            apply(state.machine.lost(range, of: version.generation, now: now), &state, &effects)
        }
    }

    /// Counts a reader that will come, so that the session is not released before.
    func claim() {
        state.withLock { $0.claims += 1 }
    }
}

extension ResourceSession.State {
    /// The open file of a version, current or past.
    func file(of generation: GenerationID?) -> (any DataFile)? {
        guard let generation else { return nil }
        return fileGeneration == generation ? file : past[generation]?.file
    }

    /// Queues that bytes leave the index: behind earlier commits, and before those of bytes that are
    /// fetched in their place.
    mutating func queueDiscard(
        _ ranges: ByteRangeSet, of generation: GenerationID, done: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        if fileGeneration == generation {
            for range in ranges.ranges { dirty = dirty.flatMap { $0.removing(range) } }
        }
        changes.append(.discard(ranges, generation, done: done))
    }

    /// Whether there is no reader, and no caller that is about to make one.
    var isUnread: Bool { claims == 0 && wakes.isEmpty && machine.readers.isEmpty }

    /// Whether there is no reader, no fetch, no job on its way to the disk, and no comparison with
    /// checks. The table may release an idle session, and its stored bytes may be evicted. Mutating
    /// for the reason of the machine's `isIdle()`.
    mutating func isIdle() -> Bool {
        claims == 0 && wakes.isEmpty && intakes.isEmpty && writesUnderWay == 0 && dirty.isEmpty && !owesCommit && machine.isIdle()
    }
}
