package import SpoolCore
package import SpoolStore
package import SpoolSystem

/// One consumer of a resource, as doors see it: pull-based, callable from any one thread at a time, never blocking.
///
/// First `prepare` (what is it?), then `seek`, then `next` and `advance` by turns. Where an answer is `.wait`, the wake-up
/// closure is called from any thread, once or more; then ask again. `leave` ends it, as does letting go.
package final class SessionReader: Sendable {
    /// What there is at the reader's position.
    package enum Step {
        /// Bytes that are read: where there is a descriptor, by `sendfile`, too. Use them now, then `advance`.
        case file(any StoredBytes, ByteRange)
        /// Bytes of a running fetch; `keepAlive` owns them.
        case memory(UnsafeRawBufferPointer, keepAlive: AnyObject)
        case wait
        case end
        case failed(CacheError)
    }

    package enum Preparation {
        case ready(GenerationID, Representation)
        case wait
        case failed(CacheError)
    }

    package let key: ResourceKey
    let session: ResourceSession
    let id: ReaderID
    /// What changes the bytes on their way, if anything does.
    private let transforming: Transforming?

    private final class Transforming: Sendable {
        let transform: any ContentTransform
        /// Why the transform failed: the reader is over then.
        let failure = Locked<CacheError?>(nil)
        /// Whether the last step was memory of a fetch.
        let isMemory = Locked(false)

        init(_ transform: any ContentTransform) { self.transform = transform }
    }

    init(
        session: ResourceSession, start: Int64, end: Int64?, policy: FetchPolicy, rules: UseRules, site: String? = nil, wantsBytes: Bool,
        endsSoon: Bool = false, priority: ReadPriority = .playing, transform: (any ContentTransform)? = nil,
        wake: @escaping @Sendable () -> Void
    ) {
        self.session = session
        transforming = transform.map(Transforming.init)
        key = session.key
        id = session.run { state, effects in
            let (id, actions) = state.machine.readerJoined(
                start: start, end: end, policy: policy, rules: rules, site: site, wantsBytes: wantsBytes, endsSoon: endsSoon)
            state.wakes[id] = wake
            state.claims -= 1
            session.prioritize(id, priority, &state, &effects)
            session.apply(actions, &state, &effects)
            return id
        }
    }

    /// A reader that joined already, as a hit.
    init(session: ResourceSession, id: ReaderID) {
        self.session = session
        self.id = id
        transforming = nil
        key = session.key
    }

    deinit {
        if session.state.withLock({ $0.wakes[id] != nil }) { leave() }
    }

    /// What the reader reads, or `.wait`. Until `markTold` the answer may change from call to call.
    ///
    /// - Parameter withFirstByte: the consumer answers with the first byte, so that it need not be woken before that is there.
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

    /// The consumer has used what `prepare` said: from now on it is served this version or an error.
    package func markTold() {
        session.state.withLock { $0.machine.readerTold(id) }
    }

    /// Goes to `[start, end)`; `end` nil for the end of the resource.
    package func seek(to start: Int64, end: Int64?) {
        session.run { state, effects in
            session.apply(state.machine.readerMoved(id, to: start, end: end, now: session.now), &state, &effects)
        }
    }

    /// How urgent its bytes are from now on. Not after `leave`.
    package func prioritize(_ priority: ReadPriority) {
        session.run { state, effects in
            guard state.wakes[id] != nil else { return }
            session.prioritize(id, priority, &state, &effects)
        }
    }

    /// Whether the version that it reads was known when it came; false when the origin had to be asked for it.
    package var foundVersion: Bool {
        session.state.withLock { $0.machine.foundVersion(id) }
    }

    /// Whether the origin was asked first whether what is stored is current.
    package var wasValidated: Bool {
        session.state.withLock { $0.machine.awaitedValidation(id) }
    }

    /// Whether what it reads is a page that came instead of media, which is passed on as a whole.
    package var readsPage: Bool {
        session.state.withLock { $0.machine.readsPage(id) }
    }

    /// Whether its bytes may come from several responses. Without a strong validator all come from one.
    package var isCombinable: Bool {
        session.state.withLock { $0.machine.isCombinable && !$0.machine.readsOwnResponse(id) }
    }

    /// The values of `Set-Cookie` in the answer that the origin gave for this very reader; once, then none.
    package func takeCookies() -> [String] {
        session.state.withLock { $0.machine.takeCookies(for: id) }
    }

    /// How much of what a reader wants is stored.
    package enum Coverage: Sendable {
        case complete
        /// Some of these bytes, or others of the same version.
        case partial
        /// Nothing, or nothing was when the reader came.
        case none
    }

    /// How much of `ranges` (of the whole resource when there are none) is stored now.
    package func coverage(of ranges: [ByteRange]) -> Coverage {
        session.state.withLock { state in
            guard let version = state.machine.version, state.machine.foundVersion(id), !state.machine.readsOwnResponse(id) else {
                return .none
            }
            if ranges.isEmpty ? version.isComplete : ranges.allSatisfy(version.stored.contains) { return .complete }
            return version.stored.isEmpty ? .none : .partial
        }
    }

    /// At most `max` bytes at the reader's position.
    package func next(max: Int) -> Step {
        guard let transforming else { return untransformed(max: max).step }
        if let failure = transforming.failure.withLock({ $0 }) { return .failed(failure) }
        return transformed(untransformed(max: max), transforming)
    }

    /// The step with bytes that are changed when they are read. Those in memory become such ones, too: changing them may take long,
    /// and a door reads where it may take long.
    private func transformed(_ answer: (step: Step, position: Int64), _ transforming: Transforming) -> Step {
        let source: TransformedBytes.Source
        let range: ByteRange
        var isMemory = false
        switch answer.step {
        case .file(let file, let stored): (source, range) = (.file(file), stored)
        case .memory(let bytes, let keepAlive):
            isMemory = true
            source = .memory(bytes, start: answer.position, keepAlive: keepAlive)
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
                guard let file = state.file else { preconditionFailure("stored bytes without a file: \(range) of \(key)") }
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
        guard let segment = state.intakes[fetch]?.segments.first(where: { $0.start <= range.lowerBound && range.lowerBound < $0.end })
        else {
            preconditionFailure("remembered bytes without a segment: \(range) of \(key)")
        }
        return .memory(segment.bytes(from: range.lowerBound, limit: Int(range.count)), keepAlive: segment)
    }

    /// Where a door that must not block reads bytes of a `.file` step that has no descriptor: they are opened or changed on the way.
    package var readingLane: any Mailbox {
        session.shared.environment.dataLane(for: session.state.withLock { $0.fileGeneration } ?? GenerationID(rawValue: 0))
    }

    /// The consumer took `count` bytes. `fromOrigin` when they came from memory, for the statistics.
    package func advance(by count: Int, fromOrigin: Bool) {
        guard count > 0 else { return }
        let fromOrigin = fromOrigin || (transforming?.isMemory.withLock { $0 } ?? false)
        session.run { state, effects in
            session.apply(state.machine.readerAdvanced(id, by: Int64(count), now: session.now), &state, &effects)
        }
        session.shared.counters.add { counters in
            if fromOrigin { counters.bytesFromOrigin += Int64(count) } else { counters.bytesFromStore += Int64(count) }
        }
    }

    /// Stored bytes turned out to be unreadable: they are a gap again, and `next` answers anew. Only an error that says that the bytes are
    /// lost takes them out of the index.
    package func reportLost(_ range: ByteRange, _ error: StoreError) {
        // The bytes are there: it is the transform that could not use them.
        guard transforming?.failure.withLock({ $0 }) == nil else { return }
        guard error.losesBytes else { return session.passOn(range, unreadableTo: id, error) }
        // Of sealed bytes it is known which block is damaged; the others stay.
        var range = range
        if case .corrupt(_, let damaged) = error, damaged.overlaps(range) {
            range = damaged
            session.shared.record(.damageFound(key, bytes: damaged.count))
        }
        session.shared.record(.storeTrouble("read \(range) of \(key.forLog): \(error)"))
        let reported = session.state.withLock { state -> (generation: GenerationID, losses: Int)? in
            guard let generation = state.machine.toldVersion(of: id) else { return nil }
            state.dirty = state.dirty.flatMap { $0.removing(range) }
            state.losses += 1
            return (generation, state.losses)
        }
        guard let (generation, losses) = reported else { return }
        if losses == ResourceSession.lossLimit { session.stopStoring(generation, because: error) }
        // The old claim is on its way out before anyone fetches the bytes anew: the other way round, a slow thread here took out what was
        // fetched and committed meanwhile.
        session.discard(ByteRangeSet([range]), of: generation)
        session.run { state, effects in
            session.apply(state.machine.lost(range, of: generation, now: session.now), &state, &effects)
        }
    }

    /// The consumer has gone. Idempotent. `explicitly` when nobody will want the rest: the fetch closes at once.
    package func leave(explicitly: Bool = false) {
        session.run { state, effects in
            guard state.wakes.removeValue(forKey: id) != nil else { return }
            // What was played to its end was used at its end, too.
            effects.append(.call { [session] in session.shared.committer.touch(session.accessTime) })
            session.apply(state.machine.readerLeft(id, explicitly: explicitly, now: session.now), &state, &effects)
            session.prioritize(id, nil, &state, &effects)
        }
    }
}

extension ByteRange {
    /// The range up to its last border of blocks, where it has one: what is opened or changed by blocks is then asked for by blocks.
    fileprivate var endingWithBlock: ByteRange {
        ByteRange(lowerBound, upperBound - upperBound % Piece.blockBytes) ?? self
    }
}
