// Stored bytes of a resource in use go: whole blocks that nobody needs soon.

extension SessionStateMachine {
    /// Takes whole blocks with up to `bytes` stored bytes, or a little more, away from readers, because room is needed; empty when all that
    /// is stored is needed soon. `evicted` follows once they are gone.
    ///
    /// Until then the bytes are neither used nor fetched anew: who comes to them waits. Only blocks that are stored as a whole go, so that
    /// no fetch brings a byte of them meanwhile. What is compared with its checks just now, what a reader has in hand, its window and a
    /// little behind it, what a policy wants, and `spared` stay.
    package mutating func evict(_ bytes: Int64, sparing spared: ByteRangeSet, regions: [EvictionCut.Region]) -> ByteRangeSet {
        guard phase == .ready, let version, version.evicting.isEmpty else { return ByteRangeSet() }
        var cut = EvictionCut(blockBytes: limits.blockBytes)
        // What players have left behind goes first, from where they began; then what lies far ahead, from its end.
        // Without readers it is what the last fetch brought that is wanted next.
        let positions = readers.filter { $0.failure == nil }.map(\.position)
        let lowest = positions.min() ?? fetches.filter { !$0.isRelay }.map(\.released).min() ?? 0
        let behind = ByteRange(0, lowest).map { EvictionCut.Region($0, isTailFirst: false) }
        let ahead = ByteRange(lowest, .max).map { EvictionCut.Region($0) }
        cut.regions = [behind, ahead].compactMap { $0 } + regions
        cut.protected = neededSoon.union(spared).union(version.verifying)
        let whole = wholeBlocks(of: version)
        let gone = cut.blocks(of: whole, wanted: bytes).intersection(whole)
        takeAway(gone)
        return gone
    }

    /// Takes stored bytes away from readers that the index could not enter, and never will: the version is passed on only.
    ///
    /// Answers whole blocks without a byte of `named`; empty when none may go. `evicted` follows once they are gone. The bytes that
    /// readers hold or come to next stay for them. A version that can't be asked for in parts keeps everything while it has readers.
    package mutating func release(allBut named: ByteRangeSet) -> ByteRangeSet {
        guard mayRelease, let version, version.evicting.isEmpty else { return ByteRangeSet() }
        var kept = named.union(version.verifying)
        for reader in readers {
            if let hold = reader.hold { kept.insert(hold) }
            guard reader.failure == nil else { continue }
            guard version.isCombinable else { return ByteRangeSet() }
            if let next = ByteRange(reader.position, reader.position.addingClamped(limits.readAheadBytes)) { kept.insert(next) }
        }
        var cut = EvictionCut(blockBytes: limits.blockBytes)
        cut.protected = kept
        let gone = cut.blocks(of: version.stored, wanted: .max).intersection(version.stored)
        takeAway(gone)
        return gone
    }

    /// Whether stored bytes of the version may be released that the index does not name.
    package var mayRelease: Bool {
        switch phase {
        case .ready, .ended(.closed): version?.passReason != nil
        default: false
        }
    }

    /// To readers it is as if the bytes were being compared with their checks, and found wanting.
    private mutating func takeAway(_ bytes: ByteRangeSet) {
        version?.evicting = bytes
        version?.unverified.formUnion(bytes)
        version?.verifying.formUnion(bytes)
    }

    /// What `evict` or `release` took is gone; or it is not, and then it is compared with its checks before its next use.
    package mutating func evicted(
        _ blocks: ByteRangeSet, of generation: GenerationID, isGone: Bool, now: MonotonicInstant
    ) -> [SessionAction] {
        guard version?.generation == generation else { return [] }
        version?.evicting.subtract(blocks)
        version?.verifying.subtract(blocks)
        if isGone { version?.forget(blocks) }
        return wakeReaders() + replan(now: now)
    }

    /// The blocks of which every byte is stored; the last one ends with the resource.
    private func wholeBlocks(of version: Version) -> ByteRangeSet {
        let size = limits.blockBytes, length = version.representation.length
        return ByteRangeSet(
            version.stored.ranges.compactMap { run in
                let upper = run.upperBound == length ? run.upperBound : run.upperBound - run.upperBound % size
                return ByteRange((run.lowerBound + size - 1) / size * size, upper)
            })
    }

    /// What readers, fetches and policies are about to use.
    private var neededSoon: ByteRangeSet {
        var needed = ByteRangeSet()
        for reader in readers where reader.failure == nil {
            let lower = max(0, reader.position - limits.keptBehindBytes)
            let upper = window(of: reader)?.upperBound ?? reader.position.addingClamped(limits.readAheadBytes)
            if let window = ByteRange(lower, max(upper, reader.position.addingClamped(1))) { needed.insert(window) }
            if let hold = reader.hold { needed.insert(hold) }
        }
        for fetch in fetches where !fetch.isRelay {
            if let front = ByteRange(max(0, fetch.released - 1), fetch.front.addingClamped(1)) { needed.insert(front) }
        }
        if let goal { needed.insert(goal) }
        return needed
    }
}
