// Bounds on the number of stored runs.

extension SessionStateMachine {
    /// Makes the block that contains `offset` a gap if it has too many stored runs, so that a fetch
    /// can bring it as a whole.
    ///
    /// Leaves the block alone while another fetch brings bytes of it: no byte is requested twice.
    /// - Returns: where the fetch has to begin and end, and the actions that follow.
    mutating func clearCrowdedBlock(at offset: Int64, end: Int64?) -> (lower: Int64, end: Int64?, actions: [SessionAction]) {
        guard let version, version.isCombinable, version.passReason == nil, let block = block(at: offset),
            version.stored.intersection(block).rangeCount >= limits.runsPerBlock,
            !readers.contains(where: { $0.onlyStored && block.contains($0.position) }),
            !fetches.contains(where: { !$0.isRelay && $0.released < block.upperBound && $0.upper.map { $0 > block.lowerBound } ?? true })
        else { return (offset, end, []) }
        // The discarded bytes are correct, so a reader that holds them may go on. The fetch writes
        // the same bytes in their place.
        let gone = version.stored.intersection(block)
        self.version?.forget(gone)
        return (block.lowerBound, end.map { max($0, block.upperBound) }, [.discard(gone, version.generation)])
    }

    /// The block that contains `offset`, clipped to the length of the version.
    private func block(at offset: Int64) -> ByteRange? {
        let lower = offset - offset % limits.blockBytes
        return ByteRange(lower, min(lower.addingClamped(limits.blockBytes), version?.representation.length ?? .max))
    }

    /// Discards the shortest stored runs if there are too many, except `written` and the runs that
    /// readers are in.
    ///
    /// Discards a sixteenth of the runs at a time, so that the sorting is rare.
    mutating func dropShortestRuns(sparing written: ByteRange) -> [SessionAction] {
        guard let version, version.stored.rangeCount > limits.storedRuns else { return [] }
        let shortest = version.stored.ranges
            .filter { run in
                !run.contains(written) && version.evicting.intersection(run).isEmpty && !readers.contains { run.contains($0.position) }
            }
            .sorted { ($0.count, $0.lowerBound) < ($1.count, $1.lowerBound) }
            .prefix(limits.storedRuns / 16 + 1)
        guard !shortest.isEmpty else { return [] }
        let gone = ByteRangeSet(shortest)
        self.version?.forget(gone)
        return [.discard(gone, version.generation)]
    }
}
