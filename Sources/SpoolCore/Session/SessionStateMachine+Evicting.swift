// Eviction from a resource in use: whole blocks that no reader needs soon.

extension SessionStateMachine {
    /// Chooses whole blocks with about `bytes` stored bytes for eviction, and withholds them from
    /// readers. The shell then deletes them and calls `evicted`.
    ///
    /// Until then the bytes are neither used nor fetched again, and a reader that comes to them
    /// waits. Only fully stored blocks are chosen, so that no fetch brings a byte of them in the
    /// meantime.
    ///
    /// These bytes stay: bytes that are being compared with their checksums; the bytes that a
    /// reader holds, its window, and `SessionLimits.keptBehindBytes` behind it; the goal of a fetch
    /// policy; and `spared`.
    ///
    /// - Returns: the chosen bytes; empty if all stored bytes are needed soon.
    package mutating func evict(_ bytes: Int64, sparing spared: ByteRangeSet, regions: [EvictionCut.Region]) -> ByteRangeSet {
        guard phase == .ready, let version, version.evicting.isEmpty else { return ByteRangeSet() }
        var cut = EvictionCut(blockBytes: limits.blockBytes)
        // Bytes that all players have passed go first, from the beginning. Then bytes far ahead go,
        // from the end. Without readers, the bytes that the last fetch brought are likely to be
        // needed next.
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

    /// Chooses whole blocks that can never be entered into the index, and withholds them from
    /// readers. The shell then deletes them and calls `evicted`.
    ///
    /// The version is only passed on by then, and the index could not take these bytes. The bytes
    /// that readers hold or come to next stay. A version whose parts can't be requested separately
    /// keeps everything while it has readers.
    /// - Parameter named: the bytes that the index names; no chosen block has one of them.
    /// - Returns: the chosen bytes; empty if none may go.
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

    /// Whether stored bytes of the version that the index does not name may be released.
    package var mayRelease: Bool {
        switch phase {
        case .ready, .ended(.closed): version?.passReason != nil
        default: false
        }
    }

    /// Withholds bytes from readers by the same mechanism as bytes that are being compared with
    /// their checksums.
    private mutating func takeAway(_ bytes: ByteRangeSet) {
        version?.evicting = bytes
        version?.unverified.formUnion(bytes)
        version?.verifying.formUnion(bytes)
    }

    /// Ends an eviction or release.
    /// - Parameter isGone: whether the bytes were deleted. If not, they are compared with their
    ///   checksums before their next use.
    package mutating func evicted(
        _ blocks: ByteRangeSet, of generation: GenerationID, isGone: Bool, now: MonotonicInstant
    ) -> [SessionAction] {
        guard version?.generation == generation else { return [] }
        version?.evicting.subtract(blocks)
        version?.verifying.subtract(blocks)
        if isGone { version?.forget(blocks) }
        return wakeReaders() + replan(now: now)
    }

    /// The blocks of which every byte is stored. The last block ends with the resource.
    private func wholeBlocks(of version: Version) -> ByteRangeSet {
        let size = limits.blockBytes, length = version.representation.length
        return ByteRangeSet(
            version.stored.ranges.compactMap { run in
                let upper = run.upperBound == length ? run.upperBound : run.upperBound - run.upperBound % size
                return ByteRange((run.lowerBound + size - 1) / size * size, upper)
            })
    }

    /// The bytes that readers, fetches and the goal are about to use.
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
