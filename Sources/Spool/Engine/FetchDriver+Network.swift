import SpoolCore
import SpoolOrigin
import SpoolSystem

// The network policy, and players: a fetch that they refuse pauses until it is permitted.

extension FetchDriver {
    /// Pauses a fetch that the network policy refuses, or that yields to a player, or lets it go
    /// on. Called on any thread. A pause for a player is short and frequent, so it is no event, and
    /// only a watch takes it.
    func hold(_ intake: FetchIntake, _ change: FetchScheduler.Hold) {
        session.run { state, effects in
            guard change.number > intake.holdNumber, !intake.isFinished, !intake.isCancelled else { return }
            let before = intake.refusal
            (intake.holdNumber, intake.refusal) = (change.number, change.refusal)
            if let refusal = change.refusal, refusal != .playback {
                // A fetch that lingers after its last reader concerns no reader.
                if !state.demands.isEmpty {
                    intake.hasReportedHold = true
                    effects.append(.event(.networkRefused(session.key, reason: "\(refusal)")))
                }
                if before == nil || before == .playback { effects.append(.call { [self] in wait(intake) }) }
            } else if let refusal = change.refusal, before == nil {
                effects.append(.call { [session] in session.shared.feed.paused(session.key, because: "\(refusal)") })
            } else if before != nil {
                if intake.hasReportedHold { effects.append(.event(.networkPermitted(session.key))) }
                intake.hasReportedHold = false
                // The network permits it, and a player may still need the link.
                if change.refusal == nil { resume(intake, &effects) }
            }
        }
    }

    /// Waits for the permission of a held fetch. A revalidation waits for nothing, because stored
    /// bytes may be used in place of its answer.
    private func wait(_ intake: FetchIntake) {
        let control = session.shared.environment.control
        if intake.ask.revalidation != nil {
            return control.post { [self] in giveUp(intake) { _ in !intake.isStarted } }
        }
        let patience = session.shared.limiter.policy.waitForPermission.inNanoseconds
        _ = session.shared.environment.time.after(patience, on: control) { [self] in
            let isOver = giveUp(intake) { state in state.demand.priority == .playing }
            if !isOver { wait(intake) }
        }
    }

    /// Fails a fetch that is still held, with the reason.
    ///
    /// - Returns: Whether the fetch waits no more.
    @discardableResult
    private func giveUp(_ intake: FetchIntake, where isDue: (State) -> Bool) -> Bool {
        session.run { state, effects in
            guard let refusal = intake.refusal, !intake.isFinished, !intake.isCancelled else { return true }
            guard isDue(state) else { return false }
            session.apply(
                state.machine.finished(intake.id, error: .networkRefused(refusal), now: session.now), &state, &effects)
            cancel(intake.id, state, &effects)
            dropDrainedIntakes(&state, &effects)
            return true
        }
    }
}
