import SpoolCore
import SpoolOrigin
import SpoolSystem

/// The requests of one session: what the limiter and the transport call, and what they are asked.
///
/// A view of the session that costs nothing. Methods with a state and effects run under the lock of
/// the session; the others take it themselves.
struct FetchDriver {
    typealias State = ResourceSession.State
    typealias Effect = ResourceSession.Effect

    let session: ResourceSession

    // MARK: Starting

    func submit(_ intake: FetchIntake) {
        let limiter = session.shared.limiter
        let (demand, sequence) = session.state.withLock { ($0.presentDemand, $0.demandSequence) }
        let ticket = limiter.submit(intake) { scheduler, now in
            scheduler.submitted(
                host: session.host, client: intake.asker.requester, isHeldBack: intake.asker.request.isHeldBack, demand,
                sequence: sequence, now: now)
        }
        let (isOver, newer, isEndless) = session.state.withLock { state in
            intake.ticket = ticket
            // Changes that came meanwhile had no ticket to name.
            let newer = state.demandSequence > sequence ? (state.presentDemand, state.demandSequence) : nil
            return (intake.isCancelled || intake.isFinished, newer, intake.isEndless)
        }
        if isOver { return limiter.finished(ticket) }
        limiter.change { scheduler, now in
            if let (demand, sequence) = newer { scheduler.demanded(ticket, demand, sequence: sequence, now: now) }
            if let isEndless { scheduler.answered(ticket, isEndless: isEndless, now: now) }
        }
    }

    /// Sets the demand of a reader, or removes it with nil when the reader leaves. The resource has
    /// the demand of all its readers. Called under the lock.
    func setDemand(_ demand: FetchDemand?, of reader: ReaderID, _ state: inout State, _ effects: inout [Effect]) {
        state.demands[reader] = demand
        let all = FetchDemand(of: state.demands.values)
        guard all != state.demand else { return }
        state.demand = all
        passDemandOn(&state, &effects) { _ in true }
        for id in state.intakes.keys.sorted() {
            prioritize(id, state, &effects)
            if let intake = state.intakes[id], intake.isRefused { effects.append(.call { [self] in wait(intake) }) }
        }
    }

    /// Passes the present demand on to the limiter, for these fetches. Called under the lock.
    func passDemandOn(_ state: inout State, _ effects: inout [Effect], for isMeant: (FetchIntake) -> Bool) {
        state.demandSequence += 1
        for id in state.intakes.keys.sorted() {
            guard let intake = state.intakes[id], let ticket = intake.ticket, isMeant(intake) else { continue }
            let (demand, sequence) = (state.presentDemand, state.demandSequence)
            effects.append(.schedule { scheduler, now in scheduler.demanded(ticket, demand, sequence: sequence, now: now) })
        }
    }

    func start(_ intake: FetchIntake, _ access: NetworkAccess) {
        let request = session.state.withLock { state -> OriginRequest? in
            guard !intake.isCancelled else { return nil }
            intake.requestTime = session.shared.environment.time.wallNow
            intake.isStarted = true
            intake.sentAt = session.now
            intake.retries = state.machine.failuresInARow
            state.machine.sent(intake.id, isForOneUser: intake.client?.selection.hasCredentials == true)
            var request = session.request(of: intake, state)
            request.priority = state.demand.priority
            request.clientRange = intake.ask.client
            intake.budget = state.besideOwn ?? RequestBudget()
            request.budget = intake.budget
            request.wait(intake.asker.patience, isBrief: intake.ask.isBrief || state.demand.priority < .playing)
            return request
        }
        guard var request else { return }
        request.access = access
        if let site = intake.ask.site { request.fields[.origin] = site }
        request.reach = session.shared.bounds.current
        request.decodesContent = playlistExtensions.contains(pathExtension(url: request.url))
        request.isWindow = intake.ask.isWindow
        // A manifest is read as a whole, and some servers count the bytes of its ranges wrong.
        if !request.decodesContent || intake.ask.lower > 0 || intake.ask.upper != nil { addRange(of: intake.ask, to: &request.fields) }
        addConditions(of: intake.ask, to: &request.fields)
        session.shared.record(.fetchStarted(session.key, lower: intake.ask.lower, upper: intake.ask.upper))
        session.shared.counters.add { $0.originRequests += 1 }
        session.shared.gapMet()
        let signpost = Signpost("fetch", session.key)
        let transfer = session.shared.environment.transport.start(request, receiver: intake)
        let (cancels, stops, resumes, isTold) = session.state.withLock { state in
            (intake.transfer, intake.signpost) = (transfer, signpost)
            defer { intake.owesResume = false }
            let stops = state.machine.fetch(intake.id)?.isClosing == true
            return (intake.isCancelled, stops, intake.owesResume, state.priority(of: intake.id) == request.priority)
        }
        if !isTold { tellPriority(intake) }
        if cancels { transfer.cancel() } else if stops { stop(transfer, of: intake) } else if resumes { transfer.resume() }
    }

    /// Tells the transfer of a fetch the urgency of the readers. A fetch that lingers keeps its
    /// own, because a player may come back to it.
    private func tellPriority(_ intake: FetchIntake) {
        session.state.withLock { _ in intake.transfer }?.setPriority(toPresent: {
            session.state.withLock { $0.demands.isEmpty ? nil : $0.priority(of: intake.id) }
        })
    }

    /// Tells the transfer of a fetch its urgency after the lock is released.
    func prioritize(_ id: FetchID, _ state: State, _ effects: inout [Effect]) {
        guard let intake = state.intakes[id], intake.transfer != nil else { return }
        effects.append(.call { [self] in tellPriority(intake) })
    }

    private func addRange(of ask: OriginAsk, to fields: inout HTTPFields) {
        if let suffix = ask.suffix {
            fields[.range] = "bytes=-\(suffix)"
        } else if !ask.isPlain {
            fields[.range] = ask.upper.map { "bytes=\(ask.lower)-\($0 - 1)" } ?? "bytes=\(ask.lower)-"
        }
    }

    private func addConditions(of ask: OriginAsk, to fields: inout HTTPFields) {
        if let ifRange = ask.ifRange { fields[.ifRange] = ifRange }
        if let revalidation = ask.revalidation {
            if let tag = revalidation.entityTag { fields[.ifNoneMatch] = tag }
            if let date = revalidation.lastModified { fields[.ifModifiedSince] = date }
        }
    }

    /// Ends a fetch so that another one may start, unless the machine answers without an action.
    func stop(_ id: FetchID, by event: (inout SessionStateMachine, MonotonicInstant) -> [SessionAction]) -> Bool {
        session.run { state, effects in
            let actions = event(&state.machine, session.now)
            session.apply(actions, &state, &effects)
            return !actions.isEmpty
        }
    }

    // MARK: Receiving

    /// Keeps an interim response for the reader that asked, if it takes such responses.
    func interimReceived(_ intake: FetchIntake, _ head: ResponseHead) {
        session.run { state, effects in
            guard let asker = state.machine.fetch(intake.id)?.askedBy, let wake = state.wakes[asker],
                let waiting = state.interims[asker], waiting.count < Self.maxInterims
            else { return }
            state.interims[asker] = waiting + [head]
            effects.append(.call(wake))
        }
    }

    /// The most interim responses that wait for one reader.
    private static let maxInterims = 8

    /// Notes that the answer to a request is late.
    func answerIsLate(_ intake: FetchIntake) {
        let ticket = session.state.withLock { _ in intake.isFinished ? nil : intake.ticket }
        if let ticket { session.shared.limiter.change { scheduler, _ in scheduler.late(ticket) } }
    }

    func headReceived(_ intake: FetchIntake, _ head: ResponseHead) {
        noteAnswer(intake)
        if Self.mayRefuseConnections.contains(head.status), asksAgain(intake, OriginError.status(head)) { return }
        let generation = session.shared.committer.makeGeneration()
        let responseTime = session.shared.environment.time.wallNow
        session.run { state, effects in
            var head = head
            head.mark = session.mark(of: head, for: intake, state)
            session.noteRefusal(head, of: intake, &state, &effects)
            if state.besideOwn != nil {
                state.besideOwn = nil
                let host = session.host
                if head.status < 400 { effects.append(.schedule { scheduler, now in scheduler.servesOneConnection(host, now: now) }) }
            }
            let actions = state.machine.headReceived(
                intake.id, head, requestTime: intake.requestTime, responseTime: responseTime, newGeneration: generation,
                passReason: state.passReason ?? session.passReason(for: head, intake),
                isDownload: session.shared.downloadKeys.contains(session.key), now: session.now)
            let isNews = actions.contains { if case .versionChanged = $0 { true } else { false } }
            if isNews { state.silent.versionChanged(for: intake.client?.fields, isGap: intake.ask.ifRange != nil, now: session.now) }
            // An own response has another generation than the version.
            let fetch = state.machine.fetch(intake.id)
            intake.generation = fetch?.generation
            if fetch?.isOwn != true, (200..<300).contains(head.status) || head.status == 304 { state.lastAsk = intake.asker }
            noteHead(intake, &state, &effects)
            session.apply(actions, &state, &effects)
        }
    }

    /// The statuses by which origins refuse a further connection of a client.
    private static let mayRefuseConnections: Set<Int> = [403, 429, 503, 509]

    /// Ends a fetch to the same host that no reader needs, and lets the readers of a refused one
    /// ask again.
    private func asksAgain(_ intake: FetchIntake, _ error: OriginError) -> Bool {
        guard error.askedDelay == nil, session.state.withLock({ $0.machine.mayAskAgain(intake.id) }),
            intake.budget?.allowsAnother() != false, session.shared.limiter.endUnneeded(at: session.host)
        else { return false }
        session.run { state, effects in
            state.besideOwn = intake.budget
            session.apply(state.machine.refusedBesideOwn(intake.id, error, now: session.now), &state, &effects)
        }
        return true
    }

    private func noteAnswer(_ intake: FetchIntake) {
        let now = session.now
        let sent = session.state.withLock { _ in intake.sentAt }
        guard let sent else { return }
        session.shared.hostAnswers.withLock { $0.answered(session.host, after: now - sent, now: now) }
    }

    /// Tells the limiter that an answer has begun. A web radio has no end, and no place of its
    /// host.
    private func noteHead(_ intake: FetchIntake, _ state: inout State, _ effects: inout [Effect]) {
        let fetch = state.machine.fetch(intake.id)
        let isEndless = fetch.map { $0.servedEnd == nil && $0.upper == nil } ?? false
        intake.isEndless = isEndless
        guard let ticket = intake.ticket else { return }
        effects.append(.schedule { scheduler, now in scheduler.answered(ticket, isEndless: isEndless, now: now) })
    }

    func bodyReceived(_ intake: FetchIntake, _ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        var waitsForBuffer = false, waitsForDisk = false, isForPlayer = false
        let answer = session.run { state, effects -> BodyAnswer in
            isForPlayer = state.demand.priority == .playing
            guard !intake.isCancelled else { return .enough }
            guard intake.refusal == nil else {
                state.machine.pausedForBuffer(intake.id)
                return .pause
            }
            // They could not be stored, and would be fetched again.
            if state.isStoreSuspended, state.machine.pausedForSuspension(intake.id) { return .pause }
            guard session.writes.makeRoom(bytes.count, in: intake, &state, &effects) else {
                waitsForDisk = intake.buffers.isEmpty
                waitsForBuffer = !waitsForDisk
                intake.isStarved = true
                state.machine.pausedForBuffer(intake.id)
                return .pause
            }
            return take(bytes, intake, &state, &effects)
        }
        if waitsForBuffer {
            session.shared.pool.whenAvailable { [self] in bufferAvailable(intake) }
        } else if waitsForDisk {
            session.shared.backlog.whenRoom { [self] in bufferAvailable(intake) }
        }
        if answer != .pause { session.shared.limiter.received(bytes.count, forPlayer: isForPlayer) }
        if answer == .pause, let ticket = session.state.withLock({ _ in intake.ticket }) {
            session.shared.limiter.change { scheduler, _ in scheduler.idle(ticket, true) }
        }
        return answer
    }

    /// Whether a fetch whose body brought no byte for `time` ends.
    ///
    /// Another request can bring the rest of a version that combines. Of any other body, an end
    /// would only lose the rest, so it ends only when no player waits for it.
    func bodyIsQuiet(_ intake: FetchIntake, for time: Duration) -> Bool {
        session.state.withLock { state in
            state.machine.isContinuable(intake.id) || (state.demand.priority < .playing && time >= intake.asker.patience.head)
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer, _ intake: FetchIntake, _ state: inout State, _ effects: inout [Effect]) -> BodyAnswer
    {
        var cursor = 0
        // Each turn takes or drops at least one byte.
        while cursor < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[cursor...])
            switch state.machine.intake(intake.id, available: rest.count, isFirst: cursor == 0) {
            case .keep(let offset, let count):
                session.writes.keep(UnsafeRawBufferPointer(rebasing: rest[0..<count]), at: offset, intake, &state, &effects)
                cursor += count
            case .drop(let count):
                cursor += count
            case .pause:
                session.writes.handOverWholeBlocks(of: intake, &state, &effects)
                return .pause
            case .enough:
                // The rest of the call belongs to another fetch or to none: it was not taken.
                count(cursor, intake)
                return .enough
            }
        }
        count(cursor, intake)
        return .taken
    }

    private func count(_ bytes: Int, _ intake: FetchIntake) {
        intake.fetchedBytes += Int64(bytes)
        session.shared.counters.add { $0.fetchedBytes += Int64(bytes) }
    }

    func batchEnded(_ intake: FetchIntake) {
        session.run { state, effects in
            session.apply(state.machine.batchEnded(intake.id, now: session.now), &state, &effects)
            session.writes.handOverFullBuffer(of: intake, &state, &effects)
            session.writes.setTick(&state, &effects)
        }
    }

    func measured(_ intake: FetchIntake, _ timings: TransferTimings) {
        let retries = session.state.withLock { _ in
            intake.arrivedBytes = timings.receivedBytes
            return intake.retries
        }
        session.shared.record(.fetchMeasured(session.key, timings, retries: retries))
    }

    func transferFinished(_ intake: FetchIntake, _ end: TransferEnd) {
        let ticket = session.run { state, effects in
            intake.isFinished = true
            intake.transfer = nil
            if end != .complete {
                let lost = max(0, intake.arrivedBytes.subtractingSaturated(intake.fetchedBytes))
                session.shared.counters.add { $0.lostBytes = $0.lostBytes.addingSaturated(lost) }
            }
            if case .failed = end { state.failedRequest = ResourceSession.FailedRequest(client: intake.client) }
            let error: OriginError? =
                switch end {
                case .complete: nil
                case .failed(let error): error
                case .cancelled: .truncated(afterBytes: intake.fetchedBytes)
                }
            session.apply(state.machine.finished(intake.id, error: error, now: session.now), &state, &effects)
            dropDrainedIntakes(&state, &effects)
            return intake.ticket
        }
        if let ticket { session.shared.limiter.finished(ticket) }
    }

    private func bufferAvailable(_ intake: FetchIntake) {
        let transfer = session.state.withLock { _ in
            intake.isStarved = false
            if intake.transfer == nil { intake.owesResume = true }
            return intake.transfer
        }
        transfer?.resume()
    }
}
