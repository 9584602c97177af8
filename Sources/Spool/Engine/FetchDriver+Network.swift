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
            if !intake.isRefused { intake.permissionDeadline = nil }
            if let refusal = change.refusal, refusal != .playback {
                // A fetch that lingers after its last reader concerns no reader.
                if !state.demands.isEmpty {
                    intake.hasReportedHold = true
                    effects.append(.event(.networkRefused(session.key, reason: "\(refusal)")))
                }
                effects.append(.call { [self] in wait(intake) })
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

    /// Lets a player wait for the permission of a held fetch as long as the policy allows it. Called
    /// outside the lock, for each change of the refusal and of the demand. A later refusal ends the
    /// wait sooner, and never later.
    ///
    /// A revalidation waits for nothing, because stored bytes may be used in place of its answer.
    func wait(_ intake: FetchIntake) {
        let control = session.shared.environment.control
        if intake.ask.revalidation != nil {
            return control.post { [self] in giveUp(intake) { _ in !intake.isStarted } }
        }
        let patience = session.shared.limiter.policy.waitForPermission.inNanoseconds
        let deadline = session.now + patience
        let isSooner = session.state.withLock { state in
            guard intake.isRefused, state.demand.priority == .playing else {
                intake.permissionDeadline = nil
                return false
            }
            guard deadline.isBelow(intake.permissionDeadline) else { return false }
            intake.permissionDeadline = deadline
            return true
        }
        guard isSooner else { return }
        _ = session.shared.environment.time.after(patience, on: control) { [self] in
            giveUp(intake) { _ in intake.permissionDeadline == deadline }
        }
    }

    /// Fails a fetch that is still held, with the reason.
    private func giveUp(_ intake: FetchIntake, where isDue: (State) -> Bool) {
        session.run { state, effects in
            guard let refusal = intake.refusal, !intake.isFinished, !intake.isCancelled, isDue(state) else { return }
            session.apply(
                state.machine.finished(intake.id, error: .networkRefused(refusal), now: session.now), &state, &effects)
            cancel(intake.id, state, &effects)
            dropDrainedIntakes(&state, &effects)
        }
    }
}
