import SpoolCore

// The needs of players, for which preloads and downloads pause.

extension ResourceSession {
    /// Passes the need of the players on if it changed. Called under the lock, after each event: so
    /// a seek pauses less urgent fetches before the event is over.
    func noteNeed(_ state: inout State, _ effects: inout [Effect]) {
        // A resource whose bytes are all stored costs nothing here.
        guard !state.intakes.isEmpty || state.need != .nothing else { return }
        let need = state.presentNeed
        guard need != state.need else { return }
        state.need = need
        // A queued request waits for its turn by whether a reader waits for it.
        if state.intakes.values.contains(where: { !$0.isStarted }) { fetching.passDemandOn(&state, &effects) { !$0.isStarted } }
        effects.append(.call { [self] in passNeedOn() })
    }

    /// Calls the limiter until it has the present need. Calls of two threads may overtake each
    /// other, and the last one of them has read the need after both changes.
    private func passNeedOn() {
        var passed: BackgroundShare.Need?
        while true {
            let need = state.withLock { $0.need }
            if need == passed { return }
            shared.limiter.change { scheduler, now in scheduler.playersChanged(of: number, at: host, need, now: now) }
            passed = need
        }
    }
}

extension ResourceSession.State {
    /// The demand of all readers, and whether one of them waits for bytes.
    var presentDemand: FetchDemand {
        var demand = demand
        demand.isAwaited = need == .urgent
        return demand
    }

    /// The urgency of a fetch: that of the readers, or of a preload while none of them follows it.
    func priority(of id: FetchID) -> ReadPriority {
        let isUnread = machine.fetch(id)?.isUnread == true
        return isUnread ? min(demand.priority, .prefetch) : demand.priority
    }

    /// The need of the readers with the priority of playback.
    fileprivate var presentNeed: BackgroundShare.Need {
        guard demand.priority == .playing else { return .nothing }
        let isShort = machine.readers.contains { reader in
            demands[reader.id]?.priority == .playing && reader.failure == nil && reader.waitsFor != .nothing
        }
        if isShort { return .urgent }
        return machine.fetches.contains { !$0.isPaused && $0.lingersSince == nil } ? .bytes : .nothing
    }
}
