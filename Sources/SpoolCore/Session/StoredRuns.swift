/// The bounds on the number of stored runs of a version: which bytes to discard when there are too
/// many runs.
enum StoredRuns {
    /// Makes the block at the beginning of `gap` a gap as a whole if it has too many stored runs,
    /// and widens `gap` to the block.
    static func clearCrowdedBlock(at gap: inout FetchPlanner.Request, in session: inout SessionState) -> [SessionAction] {
        guard let crowded = crowded(at: gap, session) else { return [] }
        // The discarded bytes are correct, so a reader that holds them may go on. The fetch writes
        // the same bytes in their place.
        session.ledger.version?.forget(crowded.bytes)
        gap.lower = crowded.block.lowerBound
        gap.upper = gap.upper.map { max($0, crowded.block.upperBound) }
        return [.discard(crowded.bytes, crowded.generation)]
    }

    /// Discards the shortest stored runs if there are too many.
    static func dropShortest(sparing written: ByteRange, in session: inout SessionState) -> [SessionAction] {
        guard let gone = shortest(sparing: written, session) else { return [] }
        session.ledger.version?.forget(gone.bytes)
        return [.discard(gone.bytes, gone.generation)]
    }

    /// The stored bytes of the block at the beginning of `gap`, if it has too many runs. Its bytes
    /// are then fetched again as one run.
    ///
    /// Leaves the block alone while another fetch brings bytes of it: no byte is requested twice.
    private static func crowded(
        at gap: FetchPlanner.Request, _ session: SessionState
    ) -> (block: ByteRange, bytes: ByteRangeSet, generation: GenerationID)? {
        let limits = session.limits
        guard let version = session.version, version.isCombinable, version.passReason == nil,
            let block = version.block(at: gap.lower, limits), version.stored.intersection(block).rangeCount >= limits.runsPerBlock,
            !session.readers.contains(where: { $0.onlyStored && block.contains($0.position) }),
            !session.fetches.contains(where: { mayBring(bytesOf: block, $0) })
        else { return nil }
        return (block, version.stored.intersection(block), version.generation)
    }

    private static func mayBring(bytesOf block: ByteRange, _ fetch: FetchState) -> Bool {
        !fetch.isRelay && fetch.released < block.upperBound && block.lowerBound.isBelow(fetch.upper)
    }

    /// The shortest stored runs, if there are too many, except `written` and the runs that readers
    /// are in.
    ///
    /// Returns a sixteenth of the runs at a time, so that the sorting is rare.
    private static func shortest(sparing written: ByteRange, _ session: SessionState) -> (bytes: ByteRangeSet, generation: GenerationID)? {
        let limit = session.limits.storedRuns
        guard let version = session.version, version.stored.rangeCount > limit else { return nil }
        let shortest = version.stored.ranges
            .filter { run in
                !run.contains(written) && version.evicting.intersection(run).isEmpty
                    && !session.readers.contains { run.contains($0.position) }
            }
            .sorted { ($0.count, $0.lowerBound) < ($1.count, $1.lowerBound) }
            .prefix(limit / 16 + 1)
        return shortest.isEmpty ? nil : (ByteRangeSet(shortest), version.generation)
    }
}
