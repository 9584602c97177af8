// How many pieces what is stored may fall into.

extension SessionStateMachine {
    /// Makes room for a fetch from `offset` on: the block that it begins in becomes a gap when it has too many stored runs already.
    ///
    /// Answers where the fetch has to begin and end then. Not when another fetch brings bytes of the block: no byte is asked twice.
    mutating func clearCrowdedBlock(at offset: Int64, end: Int64?) -> (lower: Int64, end: Int64?, actions: [SessionAction]) {
        guard let version, version.isCombinable, version.passReason == nil, let block = block(at: offset),
            version.stored.intersection(block).rangeCount >= limits.runsPerBlock,
            !readers.contains(where: { $0.onlyStored && block.contains($0.position) }),
            !fetches.contains(where: { !$0.isRelay && $0.released < block.upperBound && $0.upper.map { $0 > block.lowerBound } ?? true })
        else { return (offset, end, []) }
        // The bytes are right, and who has them in hand may use them: the same ones are written in their place.
        let gone = version.stored.intersection(block)
        self.version?.forget(gone)
        return (block.lowerBound, end.map { max($0, block.upperBound) }, [.discard(gone, version.generation)])
    }

    /// The block that `offset` is in, as far as the version goes.
    private func block(at offset: Int64) -> ByteRange? {
        let lower = offset - offset % limits.blockBytes
        return ByteRange(lower, min(lower.addingClamped(limits.blockBytes), version?.representation.length ?? .max))
    }

    /// Gives up the shortest stored runs when there are too many, but for `written` and those that readers stand in.
    ///
    /// A sixteenth of them at a time, so that the sorting is rare.
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
