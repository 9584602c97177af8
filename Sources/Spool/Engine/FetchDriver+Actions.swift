import SpoolCore
import SpoolOrigin

// The actions of the state machine about fetches. Called under the lock of the session.

extension FetchDriver {
    func begin(_ id: FetchID, _ ask: OriginAsk, _ state: inout State, _ effects: inout [Effect]) {
        let asker = state.machine.fetch(id)?.askedBy.flatMap { state.asks[$0] } ?? state.lastAsk
        let intake = FetchIntake(id: id, ask: ask, asker: asker, session: session)
        state.intakes[id] = intake
        effects.append(.submit(intake))
    }

    func resume(_ id: FetchID, _ state: State, _ effects: inout [Effect]) {
        guard let intake = state.intakes[id] else { return }
        resume(intake, &effects)
    }

    /// Resumes a transfer after the lock is released, or as soon as it exists.
    func resume(_ intake: FetchIntake, _ effects: inout [Effect]) {
        if let transfer = intake.transfer { effects.append(.call { transfer.resume() }) } else { intake.owesResume = true }
    }

    func cancel(_ id: FetchID, _ state: State, _ effects: inout [Effect]) {
        guard let intake = state.intakes[id], !intake.isCancelled else { return }
        intake.isCancelled = true
        if !intake.isStarted { intake.isFinished = true }
        let (transfer, ticket, limiter) = (intake.transfer, intake.ticket, session.shared.limiter)
        effects.append(
            .call {
                transfer?.cancel()
                if let ticket { limiter.finished(ticket) }
            })
    }

    /// Ends a transfer after it has offered the bytes that have arrived already, or at once if they
    /// could be stored only in place of others.
    func takeArrived(_ id: FetchID, _ state: State, _ effects: inout [Effect]) {
        // A transfer that the transport has not returned yet is stopped by `start`.
        guard let intake = state.intakes[id], let transfer = intake.transfer else { return }
        effects.append(.call { [self] in stop(transfer, of: intake) })
    }

    func stop(_ transfer: any Transfer, of intake: FetchIntake) {
        session.shared.environment.indexLane.post { [session] in
            if session.shared.evictor.hasSpareRoom(for: OriginRequest.arrivedBytesLimit) { transfer.stop() } else { transfer.cancel() }
        }
        if let ticket = session.state.withLock({ _ in intake.ticket }) { session.shared.limiter.finished(ticket) }
    }

    func end(_ id: FetchID, _ error: OriginError?, _ state: inout State, _ effects: inout [Effect]) {
        // The pause after a 503 is that of the resource (`BackOff`). Rate limits count for all of
        // it.
        if case .status(429, _) = error, let delay = error?.askedDelay {
            effects.append(
                .schedule { [session] scheduler, now in
                    scheduler.refused(host: session.host, resource: session.number, for: delay, now: now)
                })
        }
        guard let intake = state.intakes[id] else { return }
        session.writes.handOverRest(of: intake, &state, &effects)
        let (fetchedBytes, signpost) = (intake.fetchedBytes, intake.signpost)
        effects.append(.event(.fetchEnded(session.key, bytes: fetchedBytes, reason: error.map { "\($0)" })))
        effects.append(
            .call { [session] in
                signpost?.end()
                session.shared.logFetchEnd(session.host, fetchedBytes, error)
            })
        effects.append(.flush)
    }

    /// Removes the intakes of fetches that are over, with their memory.
    func dropDrainedIntakes(_ state: inout State, _ effects: inout [Effect]) {
        guard !state.intakes.isEmpty else { return }
        for (id, intake) in state.intakes where intake.isFinished && state.machine.fetch(id) == nil {
            effects.append(.free(intake.buffers))
            state.intakes[id] = nil
        }
    }
}
