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

    /// The marked fetches that no reader will come to. One of which little is left stays.
    static func unneeded(in session: SessionState) -> [FetchID] {
        let unneeded = session.fetches.filter { fetch in
            fetch.isAbandoned && !fetch.isDraining && FetchPlanner.demand(of: fetch, session) == nil
                && !session.readers.contains { isAhead(fetch, of: $0, session) }
                && fetch.upper.map { $0 - fetch.front > session.limits.lostBytes.upperBound } != false
        }
        return unneeded.map(\.id)
    }

    /// Whether a reader will come to the bytes of a fetch. The fetch may have filled its window.
    private static func isAhead(_ fetch: FetchState, of reader: ReaderState, _ session: SessionState) -> Bool {
        guard reader.failure == nil, reader.draws(from: fetch), let window = session.window(of: reader) else { return false }
        return window.lowerBound <= fetch.front && window.upperBound.addingClamped(session.limits.readAheadBytes) > fetch.front
    }
}
