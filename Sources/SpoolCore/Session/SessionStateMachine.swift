/// Decides everything about one resource: its readers, its fetches, its stored bytes and its
/// version.
///
/// The machine is a value without clock, disk, network or closure. Events arrive as method calls,
/// and decisions leave as `SessionAction`s. The shell (`ResourceSession`) keeps the machine behind
/// one lock and carries out the actions after it has released the lock. An action may therefore be
/// late or repeated. Each one is a level and not an edge, so repetition is harmless.
///
/// Terms:
///
/// - A *reader* has a position and a *window*: the bytes from there on that it will need soon.
/// - A *fetch* is one origin request. Its *lease* is `[front, upper)`: the bytes that no other
///   fetch may ask for. Its *memory* is `[released, front)`: bytes that are received, not yet
///   stored, and readable.
/// - The *version* is the representation that the session serves now.
/// - A *relay* is a fetch whose bytes go to its readers and are not stored.
/// - A reader *commits to* a version when its consumer receives the length, the type or bytes of it
///   (`ReaderState.Commitment`). From then on it gets bytes of that version or an error. The commit
///   of bytes to the index is unrelated.
///
/// How readers, fetches and versions interact:
///
/// 1. The first reader makes the session open the index (`readerJoined`, `.open`). The index
///    returns a stored version or none (`opened`).
/// 2. Without a version, one fetch discovers it: the head of the response becomes the version, and
///    the body serves the readers (`FetchPlanner.discovery`, `ReceivedHead`).
/// 3. With a version, each reader first decides whether it may use that version
///    (`ReaderState.Validation`). If it may not, one conditional request asks the origin, and the
///    reader waits (`FetchPlanner.revalidation`).
/// 4. A reader calls `prepare` for the representation and `step` for bytes. A step returns stored
///    bytes, bytes in the memory of a fetch, or `.wait`.
/// 5. After most events `SessionState.replan` compares the windows with the leases. It starts
///    fetches for gaps, and pauses, resumes or ends the fetches that run.
/// 6. The shell offers body bytes (`intake`), stores what the machine keeps, and reports each write
///    (`wrote`). The written bytes then leave the memory of the fetch and become stored bytes of
///    the version.
/// 7. A response of another version replaces the current one (`SessionState.replaceVersion`).
///    Readers that have committed to the old version go on with it as a *past version*: with its
///    stored bytes and the fetches that were running. A reader fails at a gap, because bytes of two
///    versions never mix. The other readers prepare again.
/// 8. A version without a strong validator cannot combine responses. Each of its readers takes all
///    of its bytes from one response (`SourceChoice`).
///
/// The machine itself only routes events. `SessionState` has the readers, the fetches and the
/// version.
package struct SessionStateMachine: Sendable {
    /// Changed by this type and its extension for the store only.
    var state: SessionState

    /// Creates a machine in phase `.new`, which plans by `limits` and stores by `rules`.
    package init(limits: SessionLimits = SessionLimits(), rules: StoringRules = StoringRules()) {
        state = SessionState(limits: limits, rules: rules)
    }

    /// The stage of the session's life cycle.
    package var phase: SessionPhase { state.phase }
    /// The representation that is served now; nil until the index or the origin supplies one.
    package var version: SessionVersion? { state.ledger.version }
    /// The readers, in the order in which they came.
    package var readers: [ReaderState] { state.readers }
    /// The fetches, in the order in which they were started.
    package var fetches: [FetchState] { state.fetches }
    /// The bytes that a fetch policy still asks for after its reader has left.
    package var goal: ByteRange? { state.goal }
    /// Back-off: fetches are retried no earlier than this (`BackOff.retryAt`).
    package var retryAt: MonotonicInstant? { state.backOff.retryAt }
    /// The number of failed requests in a row.
    package var failuresInARow: Int { state.backOff.failuresInARow }
    /// The broken invariants, in words; empty when the state is consistent.
    package var violations: [String] { SessionInvariants(state).violations }

    // MARK: Readers

    /// Adds a reader, which calls `prepare` next.
    ///
    /// - Returns: the identity of the reader, and the actions that follow.
    package mutating func readerJoined(_ request: ReaderRequest) -> (ReaderID, [SessionAction]) {
        var reader = ReaderState(id: state.makeReaderID(), request, asks: state.ledger.asks, confirmations: state.ledger.confirmations)
        var actions: [SessionAction] = []
        switch phase {
        case .new:
            state.phase = .opening
            actions.append(.open)
        case .ended(let failure): reader.failure = failure
        case .opening: break
        case .ready: reader.awaitedVersion = version == nil
        }
        state.readers.append(reader)
        return (reader.id, actions)
    }

    /// Returns the version that the reader may read, or makes the reader wait for it.
    ///
    /// Until the consumer commits to the version (`readerTold`), another version may take its
    /// place.
    ///
    /// - Parameter withFirstByte: whether the consumer can use the version only together with its
    ///   first byte. While the byte at its position is the next that its fetch brings, the reader
    ///   is woken with that byte and not before.
    package mutating func prepare(
        _ id: ReaderID, withFirstByte: Bool = false, now: MonotonicInstant, wallNow: Timestamp
    ) -> (SessionPreparation, [SessionAction]) {
        guard let index = state.index(of: id) else { return (.failed(.closed), []) }
        return state.prepare(index, withFirstByte: withFirstByte, now: now, wallNow: wallNow)
    }

    /// Commits the reader to the version that `prepare` returned. From now on it gets bytes of that
    /// version or an error.
    package mutating func readerTold(_ id: ReaderID) {
        guard let index = state.index(of: id), case .prepared(let generation) = readers[index].commitment else { return }
        // Another version may have become current between the call of `prepare` and this one.
        if readers[index].source == .replaced(generation) { state.readers[index].bind(to: .body(generation)) }
        let body = state.body(of: readers[index])
        state.readers[index].commit(to: body)
        if readers[index].failure == nil, generation != body?.generation {
            state.readers[index].failure = .origin(.representationChanged)
        }
    }

    /// Moves the reader to `[start, end)`. Also called when its consumer has learnt its range.
    package mutating func readerMoved(_ id: ReaderID, to start: Int64, end: Int64?, now: MonotonicInstant) -> [SessionAction] {
        guard let index = state.index(of: id) else { return [] }
        return state.move(index, to: min(start, ByteRange.maximumOffset), end: end.map { min($0, ByteRange.maximumOffset) }, now: now)
    }

    /// Returns the bytes at the reader's position, at most `max` of them, or makes the reader wait.
    package mutating func step(_ id: ReaderID, max: Int64, now: MonotonicInstant, wallNow: Timestamp) -> (SessionStep, [SessionAction]) {
        guard let index = state.index(of: id) else { return (.failed(.closed), []) }
        let (step, actions) = state.step(index, max: max, now: now, wallNow: wallNow)
        return (step, step == .wait ? UnreadFetches.read(by: id, in: &state, now: now) + actions : actions)
    }

    /// Moves the reader past `count` bytes that its consumer took.
    package mutating func readerAdvanced(_ id: ReaderID, by count: Int64, now: MonotonicInstant) -> [SessionAction] {
        guard let index = state.index(of: id), count > 0 else { return [] }
        state.origin.contradictions = 0
        return UnreadFetches.read(by: id, in: &state, now: now) + state.advance(index, by: count, now: now)
    }

    /// Removes the reader.
    /// - Parameter explicitly: whether the consumer announced that the rest is not needed. Then no
    ///   fetch lingers for it.
    package mutating func readerLeft(_ id: ReaderID, explicitly: Bool, now: MonotonicInstant) -> [SessionAction] {
        guard let index = state.index(of: id) else { return [] }
        return state.remove(index, explicitly: explicitly, now: now)
    }

    /// Serves a reader at once, if everything for it is at hand (`HitRequest`).
    ///
    /// - Parameter spec: the requested range; nil for the whole.
    /// - Parameter max: the number of bytes that the reader takes first.
    /// - Parameter mayFetch: whether a gap behind these bytes could be fetched.
    /// - Parameter fields: the configured fields of a request for them.
    /// - Returns: nil if a condition does not hold; then nothing has changed.
    package mutating func hit(
        _ spec: RangeHeader.Spec?, policy: CachePolicy, isShared: Bool, fetchPolicy: FetchPolicy, max: Int64, mayFetch: Bool,
        fields: HTTPFields = HTTPFields(), wallNow: Timestamp
    ) -> SessionHit? {
        HitRequest(
            spec: spec, policy: policy, isShared: isShared, fetchPolicy: fetchPolicy, max: max, mayFetch: mayFetch, fields: fields
        )
        .serve(&state, wallNow: wallNow)
    }

    /// Removes the reader of a hit after it took `count` bytes that the machine has not counted
    /// yet.
    package mutating func hitLeft(_ id: ReaderID, after count: Int64, now: @autoclosure () -> MonotonicInstant) -> [SessionAction] {
        guard let index = state.index(of: id) else { return [] }
        if HitRequest.remove(index, after: count, from: &state) { return [] }
        let now = now()
        return readerAdvanced(id, by: count, now: now) + readerLeft(id, explicitly: false, now: now)
    }

    // MARK: Variants

    /// Returns the current version without using it: no freshness is checked, and no request is
    /// caused.
    ///
    /// - Parameter wantsBytes: whether the reader needs bytes if no version is stored.
    package mutating func look(_ id: ReaderID, wantsBytes: Bool) -> Look {
        state.index(of: id).map { state.look($0, wantsBytes: wantsBytes) } ?? .unknown
    }

    /// Makes the window of the reader count, although it joined without need of bytes.
    package mutating func readerWantsBytes(_ id: ReaderID) {
        if let index = state.index(of: id) { state.readers[index].wantsBytes = true }
    }

    /// Removes a reader that goes on to another variant. It leaves no goal behind.
    package mutating func readerWithdrew(_ id: ReaderID, now: MonotonicInstant) -> [SessionAction] {
        guard let index = state.index(of: id) else { return [] }
        if readers[index].failure == nil { state.readers[index].failure = .closed }
        return state.remove(index, explicitly: false, now: now)
    }

    /// Lets the request of `client` have the current version, because the origin confirmed it for
    /// that request.
    package mutating func admit(_ client: ClientSelection) -> [SessionAction] { state.ledger.changeMark { $0.admit(client) } }

    /// Takes the current version from the credentials of `client`, because the origin refused it to
    /// them.
    package mutating func revoke(_ client: ClientSelection) -> [SessionAction] { state.ledger.changeMark { $0.revoke(client) } }

    /// Sets whether the resource is in the list of downloads.
    package mutating func noteDownload(_ isDownload: Bool) { state.ledger.isDownload = isDownload }

    // MARK: Fields for one reader, and sources

    /// Removes and returns the fields in the response to this reader's request that are for its
    /// client alone (`fieldsForAsker`).
    /// - Returns: no fields for every other reader, and from the second call on.
    package mutating func takeAskersFields(for id: ReaderID) -> HTTPFields {
        guard let body = state.reader(id).flatMap({ state.body(of: $0) }), let own = body.askersFields, own.reader == id else { return [:] }
        state.change(body.generation) { $0.askersFields = nil }
        return own.fields
    }

    /// The reader with this identity, or nil if it has left.
    package func reader(_ id: ReaderID) -> ReaderState? { state.reader(id) }

    /// The fetch with this identity, or nil if it is over.
    package func fetch(_ id: FetchID) -> FetchState? { fetches.first { $0.id == id } }

    /// Whether every byte of `range` is stored or in memory; nil stands for the whole resource.
    package func has(_ range: ByteRange?) -> Bool {
        guard let version else { return false }
        guard let range else { return ReaderView.hasWhole(version, state) }
        return ReaderView.has(range.lowerBound, upTo: range.upperBound, version, state)
    }

    /// The way in which a reader beyond the end of the stored version asks the origin before the
    /// end counts, or nil if it does not.
    package mutating func claimEndQuestion(now: MonotonicInstant) -> EndQuestion? { state.ledger.claimEndQuestion(now: now) }

    /// The body with this generation, if readers read it beside the current version.
    package func body(apart generation: GenerationID) -> SessionVersion? { state.bodies.first { $0.generation == generation } }

    /// The version that the reader has committed to, or nil before that.
    package func toldVersion(of id: ReaderID) -> GenerationID? { state.reader(id)?.told }

    /// Whether the reader's own response is a page that came instead of media.
    package func readsPage(_ id: ReaderID) -> Bool { state.reader(id).flatMap { state.body(of: $0) }?.isPage == true }

    /// The part that the reader's response brings, if no other response may continue it.
    package func servedPart(_ id: ReaderID) -> ByteRange? {
        guard let reader = state.reader(id), reader.source != .undecided, let body = state.body(of: reader), !body.isCombinable else {
            return nil
        }
        return body.servedPart
    }

    /// Whether bytes of several responses may be combined into what readers get. Parts of the
    /// resource may then be requested separately.
    package var isCombinable: Bool { version?.isCombinable == true }

    // MARK: The index and time

    /// Handles the result of the index lookup: the stored version, or nil.
    ///
    /// - Parameter unverified: the stored bytes that have to be compared with their checksums
    ///   before their first use.
    /// - Parameter passReason: the reason why nothing may be stored, or nil.
    package mutating func opened(
        _ stored: (GenerationID, Representation, ByteRangeSet)?, unverified: ByteRangeSet = ByteRangeSet(), passReason: NotStoredReason?,
        now: MonotonicInstant
    ) -> [SessionAction] {
        guard phase == .opening else { return [] }
        state.phase = .ready
        var actions: [SessionAction] = []
        if let (generation, representation, spans) = stored,
            let unusable = state.ledger.open(generation, representation, stored: spans, unverified: unverified, passReason: passReason)
        {
            actions.append(.unfinished(unusable))
        }
        if version == nil { state.awaitDiscovery() }
        if state.owesInvalidation { actions += VersionDoubt.invalidate(&state) }
        return actions + state.wakeReaders() + state.replan(now: now)
    }

    /// Marks the version as changed at the origin by another request (RFC 9111 §4.4). Its bytes are
    /// used again once the origin has confirmed them.
    package mutating func invalidated() -> [SessionAction] { VersionDoubt.invalidate(&state) }

    /// Applies the deadlines that have passed by `now`. Late and repeated calls are harmless.
    package mutating func timePassed(now: MonotonicInstant) -> [SessionAction] { state.timePassed(now: now) }

    /// Ends the session because the resource was removed or the cache closed: readers fail and
    /// fetches stop.
    package mutating func end(_ failure: ReadFailure) -> [SessionAction] { state.end(failure) }

    // MARK: The origin

    /// Sets the request of readers that bring none, and of fetches without a reader, until the next
    /// answer.
    package mutating func willAsk(by source: RequestSource) { state.ledger.asks = CopyOnWrite(source) }

    /// Records that the request is sent now.
    ///
    /// - Parameter isForOneUser: whether the request also has credentials of one client.
    package mutating func sent(_ id: FetchID, isForOneUser: Bool = false) {
        guard let index = state.index(of: id) else { return }
        state.fetches[index].isForOneUser = isForOneUser
    }

    /// Handles the head of a response: confirms or replaces the version, prepares for the body, or
    /// ends the fetch.
    ///
    /// - Parameter newGeneration: the generation to use if the response is of another version than
    ///   the current one.
    /// - Parameter passReason: a reason of the shell not to store the body, or nil.
    /// - Parameter isDownload: whether the resource is in the list of downloads.
    package mutating func headReceived(
        _ id: FetchID, _ head: ResponseHead, requestTime: Timestamp, responseTime: Timestamp,
        newGeneration: GenerationID, passReason: NotStoredReason?, isDownload: Bool = false, now: MonotonicInstant
    ) -> [SessionAction] {
        state.ledger.isDownload = isDownload
        var received = ReceivedHead(
            head, requestTime: requestTime, responseTime: responseTime, newGeneration: newGeneration, passReason: passReason)
        return received.receive(id, &state, now: now)
    }

    /// Decides about the next `available` body bytes or fewer.
    ///
    /// - Parameter isFirst: whether these are the first bytes of a call of the transport. Only then
    ///   may the answer be `.pause`.
    package mutating func intake(_ id: FetchID, available: Int, isFirst: Bool) -> BodyIntake {
        OfferedBody(id: id, available: available, isFirst: isFirst).take(&state)
    }

    /// Pauses the fetch because no buffer is free. The same bytes will be offered again.
    package mutating func pausedForBuffer(_ id: FetchID) {
        if let index = state.index(of: id) { state.fetches[index].flow = .starved }
    }

    /// Pauses the fetch because the store is suspended, unless a reader waits for its bytes. The
    /// same bytes will be offered again.
    /// - Returns: whether the fetch is paused.
    package mutating func pausedForSuspension(_ id: FetchID) -> Bool {
        guard let index = state.index(of: id) else { return false }
        let fetch = state.fetches[index]
        guard !readers.contains(where: { $0.failure == nil && $0.isWaiting(for: fetch) }) else { return false }
        state.fetches[index].flow = .held
        return true
    }

    /// Ends one batch of bytes, and wakes the readers that waited for them.
    package mutating func batchEnded(_ id: FetchID, now: MonotonicInstant) -> [SessionAction] {
        UnreadFetches.bytesCame(id, in: &state, now: now) + state.batchEnded(id, now: now)
    }

    /// Handles the end of a transfer.
    /// - Parameter error: nil if the body was complete by its framing.
    package mutating func finished(_ id: FetchID, error: OriginError?, now: MonotonicInstant) -> [SessionAction] {
        FetchEnd(id: id, error: error).apply(to: &state, now: now)
    }

    /// Whether another request could bring the rest of the fetch's response.
    package func isContinuable(_ id: FetchID) -> Bool {
        fetch(id).map { FetchPlanner.isContinuable($0, state) } ?? true
    }

    /// Whether `preempt` would end the fetch now. The limiter calls it.
    package func isIdle(_ id: FetchID) -> Bool { FetchPlanner.isIdle(id, state) }

    /// Ends a fetch that is paused or lingers, because the limiter needs its slot. Its reader, if
    /// it has one, starts another fetch when it needs bytes.
    package mutating func preempt(_ id: FetchID, now: MonotonicInstant) -> [SessionAction] {
        guard FetchPlanner.isIdle(id, state), let fetch = fetch(id),
            !readers.contains(where: { $0.isWaiting(for: fetch) })
        else { return [] }
        return AbandonedFetches.end([id], in: &state) + state.replan(now: now)
    }

    /// Ends a fetch that no reader needs, because its host refuses a further connection. Does
    /// nothing if a reader needs the fetch.
    package mutating func endUnneeded(_ id: FetchID, now: MonotonicInstant) -> [SessionAction] {
        guard fetch(id)?.lingersSince != nil else { return [] }
        return AbandonedFetches.end([id], in: &state) + state.replan(now: now)
    }

    /// Whether readers without a byte wait for this fetch, so that a refusal that another
    /// connection of this cache caused may be followed by a second request.
    package func mayAskAgain(_ id: FetchID) -> Bool {
        fetch(id).map { FetchEnd.mayAskAgain($0, state) } ?? false
    }

    /// Lets the readers of a refused fetch ask again after a pause, because a connection of this
    /// cache caused the refusal, and has ended.
    package mutating func refusedBesideOwn(_ id: FetchID, _ error: OriginError, now: MonotonicInstant) -> [SessionAction] {
        FetchEnd(id: id, error: error).askAgain(in: &state, now: now) + [.cancel(id)]
    }
}
