package import SpoolCore
package import SpoolStore
package import SpoolSystem

/// One consumer of a resource, as a door uses it. It is pull-based and never blocks. Any thread may
/// call it, one at a time.
///
/// A door calls `prepare` first, then `seek`, then `next` and `advance` in turns. When a call
/// returns `.wait`, the reader calls the `wake` closure later, on any thread, once or more; the
/// door then calls again. `leave` ends the reader, and so does its release.
package final class SessionReader: Sendable {
    /// The answer to `next`: the bytes at the position of the reader, or the reason why there are
    /// none.
    package enum Step {
        /// Stored bytes. If there is a descriptor, `sendfile` can send them, too. The consumer uses
        /// them now and then calls `advance`.
        case file(any StoredBytes, ByteRange)
        /// Bytes of a running fetch.
        case memory(OwnedBytes)
        /// There are no bytes yet. The reader calls `wake` when there may be some.
        case wait
        /// The end of the range or of the resource.
        case end
        /// The reader has failed, with this error.
        case failed(CacheError)
    }

    /// The answer to `prepare`.
    package enum Preparation {
        /// The version that the reader reads.
        case ready(GenerationID, Representation)
        /// The version is not known yet. The reader calls `wake` when it may be.
        case wait
        /// The reader has failed, with this error.
        case failed(CacheError)
    }

    /// The key of the resource.
    package let key: ResourceKey
    let session: ResourceSession
    let id: ReaderID
    /// The transform that changes the bytes, if there is one.
    private let transforming: Transforming?
    /// The interval to the first byte for Instruments.
    private let opening: Signpost?

    private final class Transforming: Sendable {
        let transform: any ContentTransform
        /// The error of the transform. The reader is over then.
        let failure = Locked<CacheError?>(nil)
        /// Whether the last step was memory of a fetch.
        let isMemory = Locked(false)

        init(_ transform: any ContentTransform) { self.transform = transform }
    }

    init(
        session: ResourceSession, _ request: ReaderRequest, _ ask: ReaderAsk, options: ReadOptions, wake: @escaping @Sendable () -> Void
    ) {
        self.session = session
        transforming = (options.contentTransform ?? session.shared.configuration.contentTransform).map(Transforming.init)
        key = session.key
        opening = Signpost("open", key)
        id = session.run { state, effects in
            state.machine.noteDownload(session.shared.downloadKeys.contains(session.key))
            let (id, actions) = state.machine.readerJoined(request)
            state.wakes[id] = wake
            state.asks[id] = ask
            if request.takesAnyStatus { state.interims[id] = [] }
            state.claims -= 1
            session.fetching.setDemand(FetchDemand(options.priority, access: options.access), of: id, &state, &effects)
            session.apply(actions, &state, &effects)
            return id
        }
    }

    /// Creates the reader of a hit, which has joined the session already.
    init(session: ResourceSession, id: ReaderID) {
        self.session = session
        self.id = id
        transforming = nil
        key = session.key
        opening = Signpost("open", key)
    }

    deinit {
        if session.state.withLock({ $0.wakes[id] != nil }) { leave() }
    }

    /// Returns the version that the reader reads, or `.wait`. Until `markTold` the answer may
    /// change from call to call.
    ///
    /// - Parameter withFirstByte: Whether the consumer answers with the first byte, so that it need
    ///   not be woken before that byte is there.
    package func prepare(withFirstByte: Bool = false) -> Preparation {
        let preparation = session.run { state, effects in
            let (preparation, actions) = state.machine.prepare(
                id, withFirstByte: withFirstByte, now: session.now, wallNow: session.wallNow)
            session.apply(actions, &state, &effects)
            return preparation
        }
        switch preparation {
        case .ready(let generation, let representation): return .ready(generation, representation)
        case .wait: return .wait
        case .failed(let failure): return .failed(CacheError(failure, key: key))
        }
    }

    /// Fixes the version, because the consumer has used the answer of `prepare`. From now on the
    /// reader gets this version or an error.
    package func markTold() {
        session.state.withLock { $0.machine.readerTold(id) }
    }

    /// Moves the reader to `[start, end)`, or to the end of the resource if `end` is nil.
    package func seek(to start: Int64, end: Int64?) {
        session.run { $0.readerMoved(id, to: start, end: end, now: session.now) }
    }

    /// Sets the priority of the reader from now on. Has no effect after `leave`.
    package func prioritize(_ priority: ReadPriority) {
        session.run { state, effects in
            guard state.wakes[id] != nil else { return }
            session.fetching.setDemand(state.demands[id]?.with(priority), of: id, &state, &effects)
        }
    }

    /// Whether the version was known when the reader joined, so that the origin did not have to be
    /// asked for it.
    package var foundVersion: Bool {
        session.state.withLock { $0.machine.reader(id)?.awaitedVersion == false }
    }

    /// Whether a request to the origin was made for this reader. A reader without one got stored
    /// bytes, or shares the request of another.
    package var hasAsked: Bool {
        session.state.withLock { $0.machine.reader(id)?.hasAsked == true }
    }

    /// Whether the origin was asked first whether the stored version is current.
    package var wasValidated: Bool {
        session.state.withLock { $0.machine.reader(id)?.awaitedOrigin == true }
    }

    /// The way in which this reader asks the origin for bytes behind the end of the version that it
    /// found. One reader does in ten seconds, and the others get nil: the known end counts.
    package func claimEndQuestion() -> EndQuestion? {
        guard foundVersion, !wasValidated else { return nil }
        return session.state.withLock { $0.machine.claimEndQuestion(now: session.now) }
    }

    /// Whether the reader reads a page that came instead of media, which is passed on as a whole.
    package var readsPage: Bool {
        session.state.withLock { $0.machine.readsPage(id) }
    }

    /// The part that the reader's response brings, if no other response may continue it.
    package var servedPart: ByteRange? {
        session.state.withLock { $0.machine.servedPart(id) }
    }

    /// Whether the bytes may come from several responses. Without a strong validator all bytes come
    /// from one.
    package var isCombinable: Bool {
        session.state.withLock { $0.machine.isCombinable && $0.machine.reader(id)?.isApart != true }
    }

    /// Returns the interim responses that came for this reader since the last call.
    package func takeInterims() -> [ResponseHead] {
        session.state.withLock { state in
            guard let heads = state.interims[id], !heads.isEmpty else { return [] }
            state.interims[id] = []
            return heads
        }
    }

    /// Returns the fields for the reader's client alone, such as `Set-Cookie`, in the response that
    /// the origin sent for this reader. Later calls return none.
    package func takeAskersFields() -> HTTPFields {
        session.state.withLock { $0.machine.takeAskersFields(for: id) }
    }

    /// How much of the ranges of a reader is stored.
    package enum Coverage: Sendable {
        /// All of these bytes.
        case complete
        /// Some of these bytes, or others of the same version.
        case partial
        /// No bytes, or none when the reader joined.
        case none
    }

    /// Returns how much of `ranges` is stored now, or of the whole resource if `ranges` is empty.
    package func coverage(of ranges: [ByteRange]) -> Coverage {
        session.state.withLock { state in
            guard let version = state.machine.version, let reader = state.machine.reader(id), !reader.awaitedVersion, !reader.isApart
            else { return .none }
            // Bytes that are on their way to the disk count: no request follows for them.
            let hasAll = ranges.isEmpty ? state.machine.has(nil) : ranges.allSatisfy { state.machine.has($0) }
            if hasAll { return reader.askedForGap ? .partial : .complete }
            return version.stored.isEmpty ? .none : .partial
        }
    }

    /// Returns at most `max` bytes at the position of the reader, or why there are none.
    package func next(max: Int) -> Step {
        guard let transforming else { return untransformed(max: max).step }
        if let failure = transforming.failure.withLock({ $0 }) { return .failed(failure) }
        return transformed(untransformed(max: max), transforming)
    }

    /// Returns a step whose bytes are transformed when they are read. Bytes in memory become such
    /// bytes, too: a transform may take long, and a door reads where it may take long.
    private func transformed(_ answer: (step: Step, position: Int64), _ transforming: Transforming) -> Step {
        let source: TransformedBytes.Source
        let range: ByteRange
        var isMemory = false
        switch answer.step {
        case .file(let file, let stored): (source, range) = (.file(file), stored)
        case .memory(let bytes):
            isMemory = true
            source = .memory(bytes, start: answer.position)
            range = ByteRange(lower: answer.position, upper: answer.position + Int64(bytes.count))
        case .wait, .end, .failed: return answer.step
        }
        transforming.isMemory.withLock { $0 = isMemory }
        return .file(TransformedBytes(source, transforming.transform, key: key, failure: transforming.failure), range)
    }

    private func untransformed(max: Int) -> (step: Step, position: Int64) {
        session.run { state, effects in
            let (step, actions) = state.machine.step(id, max: Int64(max), now: session.now, wallNow: session.wallNow)
            session.apply(actions, &state, &effects)
            switch step {
            case .stored(let range):
                guard let file = state.file(of: state.machine.toldVersion(of: id)) else {
                    return (contradiction("stored bytes without a file: \(range)"), 0)
                }
                return (.file(file, file.descriptor == nil ? range.endingWithBlock : range), range.lowerBound)
            case .memory(let fetch, let range):
                return (memory(range, of: fetch, state), range.lowerBound)
            case .wait: return (.wait, 0)
            case .end: return (.end, 0)
            case .failed(let failure): return (.failed(CacheError(failure, key: key)), 0)
            }
        }
    }

    private func memory(_ range: ByteRange, of fetch: FetchID, _ state: ResourceSession.State) -> Step {
        guard let buffer = state.intakes[fetch]?.buffers.first(where: { $0.start <= range.lowerBound && range.lowerBound < $0.end })
        else { return contradiction("remembered bytes without a buffer: \(range)") }
        return .memory(buffer.bytes(from: range.lowerBound, limit: Int(range.count)))
    }

    /// The failure of an answer whose session contradicts itself. The bytes of such an answer are
    /// not certain, so it ends; the server and its other answers go on.
    private func contradiction(_ reason: String) -> Step {
        assertionFailure("\(reason) of \(key)")
        return .failed(CacheError(.store, "\(reason) of \(key)", key: key))
    }

    /// The lane on which a door that must not block reads the bytes of a `.file` step without a
    /// descriptor. Such bytes are opened or transformed by the read.
    package var readingLane: any Mailbox {
        session.shared.environment.dataLane(for: session.state.withLock { $0.fileGeneration } ?? GenerationID(rawValue: 0))
    }

    /// Moves the position on by the `count` bytes that the consumer took.
    ///
    /// - Parameter fromOrigin: Whether they came from memory. For the statistics only.
    package func advance(by count: Int, fromOrigin: Bool) {
        guard count > 0 else { return }
        opening?.end()
        let fromOrigin = fromOrigin || (transforming?.isMemory.withLock { $0 } == true)
        session.run { $0.readerAdvanced(id, by: Int64(count), now: session.now) }
        session.shared.counters.add { counters in
            if fromOrigin { counters.bytesFromOrigin += Int64(count) } else { counters.bytesFromStore += Int64(count) }
        }
    }

    /// Returns stored bytes, or nil if they can't be read. In that case they are a gap, and `next`
    /// answers anew.
    func read(_ range: ByteRange, of file: any StoredBytes) -> [UInt8]? {
        do throws(StoreError) {
            let bytes = try file.bytes(in: range)
            if bytes.count == Int(range.count) { return bytes }
            reportLost(range, .corrupt(key, range))
        } catch { reportLost(range, error) }
        return nil
    }

    /// Handles stored bytes that turned out to be unreadable: they are a gap again, and `next`
    /// answers anew. Only an error that means loss takes them out of the index.
    package func reportLost(_ range: ByteRange, _ error: StoreError) {
        // The bytes are intact: only the transform could not use them.
        guard transforming?.failure.withLock({ $0 }) == nil else { return }
        guard error.losesBytes else { return session.passOn(range, unreadableTo: id, error) }
        // For sealed bytes the error names the damaged block; the others stay.
        var range = range
        if case .corrupt(_, let damaged) = error, damaged.overlaps(range) {
            range = damaged
            session.shared.record(.damageFound(key, bytes: damaged.count))
        }
        session.shared.record(.storeTrouble("read \(range) of \(key.forLog): \(error)"))
        let reported = session.state.withLock { state -> (generation: GenerationID, losses: Int)? in
            guard let generation = state.machine.toldVersion(of: id) else { return nil }
            // The old entry is queued for removal before the bytes are fetched again. In the other
            // order, a slow thread here took out bytes that were fetched and committed meanwhile.
            state.queueDiscard(ByteRangeSet([range]), of: generation)
            state.losses += 1
            return (generation, state.losses)
        }
        guard let (generation, losses) = reported else { return }
        if losses == ResourceSession.lossLimit { session.stopStoring(generation, because: error) }
        session.writes.postQueuedChanges()
        session.run { $0.lost(range, of: generation, now: session.now) }
    }

    /// Marks the stored version as changed at the origin by another request.
    package func invalidate() {
        session.run { $0.invalidated() }
    }

    /// Ends the reader. Idempotent.
    ///
    /// - Parameter explicitly: Whether the rest is not needed by its consumer again, so that the
    ///   fetch closes at once.
    package func leave(explicitly: Bool = false) {
        leave { machine, now in machine.readerLeft(id, explicitly: explicitly, now: now) }
    }

    /// Ends the reader by an event that removes it from the machine. Idempotent.
    func leave(by event: (inout SessionStateMachine, MonotonicInstant) -> [SessionAction]) {
        session.run { state, effects in
            guard state.wakes.removeValue(forKey: id) != nil else { return }
            state.interims[id] = nil
            state.asks[id] = nil
            // A resource that was played to its end was also used at that moment.
            effects.append(.call { [session] in session.shared.committer.touch(session.access) })
            session.apply(event(&state.machine, session.now), &state, &effects)
            session.fetching.setDemand(nil, of: id, &state, &effects)
        }
    }
}

extension ByteRange {
    /// The range up to its last block border, if it has one. Bytes that are opened or transformed
    /// by blocks are then read by blocks.
    fileprivate var endingWithBlock: ByteRange {
        ByteRange(lowerBound, upperBound - upperBound % Piece.blockBytes) ?? self
    }
}
