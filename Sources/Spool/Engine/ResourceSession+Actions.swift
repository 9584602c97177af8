import SpoolCore
import SpoolSystem

// The actions of the state machine. Each one changes the state of the session under the lock. The
// rest of it, if any, follows as an effect after the lock is released.

extension ResourceSession {
    /// Applies actions to the state. Called under the lock.
    func apply(_ actions: [SessionAction], _ state: inout State, _ effects: inout [Effect]) {
        for action in actions { apply(action, &state, &effects) }
        fetching.dropDrainedIntakes(&state, &effects)
    }

    private func apply(_ action: SessionAction, _ state: inout State, _ effects: inout [Effect]) {
        switch action {
        case .open, .verify, .usedUnvalidated, .passing: effects.append(.action(action))
        case .start(let id, let ask): fetching.begin(id, ask, &state, &effects)
        case .resume(let id): fetching.resume(id, state, &effects)
        case .prioritize(let id): fetching.prioritize(id, state, &effects)
        case .cancel(let id): fetching.cancel(id, state, &effects)
        case .stop(let id): fetching.takeArrived(id, state, &effects)
        case .ended(let id, let error): fetching.end(id, error, &state, &effects)
        case .release(let id, let below):
            guard let intake = state.intakes[id] else { return }
            writes.freeBuffers(intake.buffers.filter { $0.end <= below && !$0.isHandedOver }, of: intake, &effects)
        case .wake(let id):
            if let wake = state.wakes[id] { effects.append(.call(wake)) }
        case .discard(let ranges, let generation):
            state.queueDiscard(ranges, of: generation)
            effects.append(.call { [self] in writes.postQueuedChanges() })
        case .setTimer(let deadline):
            // A timer that is set for an earlier time asks the machine, which then sets this one.
            if let earlier = state.timerDeadline, earlier <= deadline { return }
            state.timerDeadline = deadline
            effects.append(.action(action))
        case .pastOver(let generation): pastFiles.drop(generation, &state, &effects)
        case .versionChanged(let old, let new): changeVersion(from: old, to: new, &state, &effects)
        case .representationUpdated:
            state.owesCommit = state.machine.mayEnterHead
            writes.setTick(&state, &effects)
        case .gone(let generation), .unfinished(let generation):
            if case .gone = action { effects.append(.event(.gone(key, generation))) }
            forget(generation, &state, &effects)
            effects.append(.forgetStored)
        case .forgotten(let generation):
            forget(generation, &state, &effects)
            // The next reader finds the finished download in the index.
            guard state.machine.replacesDownload, state.wakes.isEmpty else { return }
            effects.append(.call { [shared, key] in shared.makeStale(key) })
        }
    }

    private func changeVersion(
        from old: GenerationID?, to new: GenerationID, _ state: inout State, _ effects: inout [Effect]
    ) {
        pastFiles.takeFile(&state, &effects)
        if let old { writes.retire(old, &state, &effects) } else { writes.dropDirty(&state, &effects) }
        state.owesCommit = state.machine.mayEnterHead
        if let old {
            effects.append(.event(.representationReplaced(key, from: old, to: new)))
            if state.machine.replacesDownload {
                effects.append(.call { [shared, key] in shared.downloadReplaced(key) })
            } else {
                effects.append(.forgetStored)
            }
        }
        writes.setTick(&state, &effects)
    }

    /// Drops the version that was current, with its bytes that are on their way to the index.
    private func forget(_ generation: GenerationID, _ state: inout State, _ effects: inout [Effect]) {
        pastFiles.takeFile(&state, &effects)
        writes.retire(generation, &state, &effects)
        state.owesCommit = false
    }

    // MARK: After the lock

    func perform(_ effects: [Effect]) {
        for effect in effects {
            switch effect {
            case .action(let action): perform(action)
            case .submit(let intake): fetching.submit(intake)
            case .schedule(let event): shared.limiter.change(event)
            case .write(let buffer, let generation, let intake): writes.write(buffer, generation, intake)
            case .call(let call): call()
            case .event(let event): shared.record(event)
            case .flush: writes.commitUnlessWriting()
            case .forgetStored: writes.forgetStored()
            case .dropUncommitted(let generation, let promised): writes.dropUncommitted(generation, promised: promised)
            case .release(let generation): writes.releaseUnnamed(of: generation)
            case .free: break
            }
        }
    }

    private func perform(_ action: SessionAction) {
        switch action {
        case .open: open()
        case .verify(let range, let generation): StoredBytesCheck(session: self).verify(range, of: generation)
        case .setTimer(let deadline): setTimer(deadline)
        case .usedUnvalidated(let error):
            if error.isTransient { shared.hostAnswers.withLock { $0.failed(host, now: now) } }
            shared.record(.usedUnvalidated(key, reason: "\(error)"))
        case .passing(let reason): shared.record(.degradedToPassthrough(key, reason: "\(reason)"))
        case .discard, .start, .resume, .prioritize, .cancel, .stop, .wake, .release, .versionChanged, .pastOver, .representationUpdated,
            .gone, .unfinished, .forgotten, .ended:
            // Applied under the lock, with effects of their own.
            break
        }
    }
}
