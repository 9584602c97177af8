import SpoolCore

// The needs of the players of a cache, for which preloads pause.

extension Engine {
    /// Returns the present needs of the readers with the priority of playback.
    ///
    /// Only preloads that run ask this, some times a second, so reads do nothing for it.
    /// - Complexity: O(*n*), *n* being the readers of all sessions.
    func players(besideHost host: String?) -> PreloadYield.Players {
        var players = PreloadYield.Players()
        for session in sessions.withLock({ $0.all }) {
            let (isShort, isFetching) = session.playback
            if isShort { players.areShort = true }
            if isFetching, session.host == host { players.areFetching = true }
        }
        return players
    }
}

extension ResourceSession {
    /// Whether a player waits for the origin, and whether bytes for a player are on their way.
    fileprivate var playback: (isShort: Bool, isFetching: Bool) {
        state.withLock { state in
            guard state.demand.priority == .playing else { return (false, false) }
            let isShort = state.machine.readers.contains { reader in
                state.demands[reader.id]?.priority == .playing && reader.failure == nil && reader.waitsFor != .nothing
            }
            return (isShort, state.machine.fetches.contains { !$0.isPaused && $0.lingersSince == nil })
        }
    }
}
