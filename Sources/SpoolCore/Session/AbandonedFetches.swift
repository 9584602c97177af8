/// The fetches that a reader left in the middle of a play.
///
/// A fetch without readers lingers, in case its reader comes back (`SessionLimits.linger`). Meanwhile
/// its origin goes on sending until the buffers are full. On a slow line those bytes arrive beside
/// the ones that a reader waits for now. So the fetch ends when a reader waits elsewhere.
enum AbandonedFetches {
    /// Marks the fetch that a reader leaves, if the reader has taken so much in a row that it was in
    /// the middle of a play. One that took less may have looked for the index of a file, and comes
    /// back.
    static func mark(leftBy reader: ReaderState, in session: inout SessionState) {
        guard reader.takenInARow >= session.limits.playBytes, reader.policy == .whilePlaying, let version = session.version,
            version.isCombinable, !version.refusesRanges
        else { return }
        for index in session.fetches.indices where !session.fetches[index].isRelay && isAhead(session.fetches[index], of: reader, session) {
            session.fetches[index].isAbandoned = true
        }
    }

    /// Ends the marked fetches that no reader will come to. One of which little is left stays.
    static func endUnneeded(in session: inout SessionState) -> [SessionAction] {
        let unneeded = session.fetches.filter { fetch in
            fetch.isAbandoned && fetch.isOpen && FetchPlanner.demand(of: fetch, session) == nil
                && !session.readers.contains { isAhead(fetch, of: $0, session) }
                && fetch.upper.map { $0 - fetch.front > session.limits.lostBytes.upperBound } != false
        }
        return unneeded.isEmpty ? [] : end(unneeded.map(\.id), in: &session)
    }

    /// Ends every fetch of a session that ends.
    static func endAll(in session: inout SessionState) -> [SessionAction] { end(session.fetches.filter(\.isOpen).map(\.id), in: &session) }

    /// Ends fetches that no reader needs. Those that are stored first take the bytes that have
    /// arrived already. These have crossed the network, and would have to cross it again.
    static func end(_ ids: [FetchID], in session: inout SessionState) -> [SessionAction] {
        var actions: [SessionAction] = []
        for index in session.fetches.indices where ids.contains(session.fetches[index].id) && isStored(session.fetches[index], session) {
            session.fetches[index].close()
            actions.append(.stop(session.fetches[index].id))
        }
        return actions + session.endFetches(ids.filter { id in !session.fetches.contains { $0.id == id && $0.isClosing } })
    }

    /// Whether the bytes that a fetch receives become stored bytes of the version.
    private static func isStored(_ fetch: FetchState, _ session: SessionState) -> Bool {
        guard let version = session.version, fetch.isReceiving, !fetch.isRelay, !fetch.isOwn else { return false }
        return version.passReason == nil && fetch.generation == version.generation
    }

    /// Whether a reader will come to the bytes of a fetch. The fetch may have filled its window.
    private static func isAhead(_ fetch: FetchState, of reader: ReaderState, _ session: SessionState) -> Bool {
        guard reader.failure == nil, reader.draws(from: fetch), let window = session.window(of: reader) else { return false }
        return window.lowerBound <= fetch.front && window.upperBound.addingSaturated(session.limits.readAheadBytes) > fetch.front
    }
}
