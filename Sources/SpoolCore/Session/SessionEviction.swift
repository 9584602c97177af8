/// The choice of stored bytes that are taken away from readers, so that the shell can delete them.
///
/// Until `SessionStateMachine.evicted` the bytes are neither used nor fetched again, and a reader
/// that comes to them waits.
enum SessionEviction {
    /// Chooses whole blocks with about `bytes` stored bytes. Only fully stored blocks are chosen,
    /// so that no fetch brings a byte of them in the meantime.
    /// - Returns: the chosen bytes; empty if all stored bytes are needed soon.
    static func unneeded(
        _ bytes: Int64, sparing spared: ByteRangeSet, regions: [EvictionCut.Region], _ session: SessionState
    ) -> ByteRangeSet {
        guard session.phase == .ready, let version = session.version, version.evicting.isEmpty else { return ByteRangeSet() }
        var cut = EvictionCut(blockBytes: session.limits.blockBytes)
        // Bytes that all players have passed go first, from the beginning. Then bytes far ahead go,
        // from the end. Without readers, the bytes that the last fetch brought are likely to be
        // needed next.
        let positions = session.readers.filter { $0.failure == nil }.map(\.position)
        let lowest = positions.min() ?? session.fetches.filter { !$0.isRelay }.map(\.released).min() ?? 0
        let behind = ByteRange(0, lowest).map { EvictionCut.Region($0, isTailFirst: false) }
        let ahead = ByteRange(lowest, .max).map { EvictionCut.Region($0) }
        cut.regions = [behind, ahead].compactMap { $0 } + regions
        cut.protected = neededSoon(session).union(spared).union(version.verifying)
        // Without a strong validator, bytes ahead of a reader would never come back.
        if !version.isCombinable, !positions.isEmpty, let ahead = ByteRange(lowest, .max) { cut.protected.insert(ahead) }
        let whole = version.wholeBlocks(session.limits)
        return cut.blocks(of: whole, wanted: bytes).intersection(whole)
    }

    /// Chooses whole blocks that can never be entered into the index: the version is only passed
    /// on, and the index could not take these bytes.
    ///
    /// The bytes that readers hold or come to next stay. A version whose parts can't be requested
    /// separately keeps everything while it has readers.
    /// - Parameter named: the bytes that the index names; no chosen block has one of them.
    /// - Returns: the chosen bytes; empty if none may go.
    static func unnamed(allBut named: ByteRangeSet, _ session: SessionState) -> ByteRangeSet {
        guard let version = session.version, version.evicting.isEmpty else { return ByteRangeSet() }
        var kept = named.union(version.verifying)
        for reader in session.readers {
            if let hold = reader.hold { kept.insert(hold) }
            guard reader.failure == nil else { continue }
            guard version.isCombinable else { return ByteRangeSet() }
            if let next = ByteRange(reader.position, reader.position.addingSaturated(session.limits.readAheadBytes)) { kept.insert(next) }
        }
        var cut = EvictionCut(blockBytes: session.limits.blockBytes)
        cut.protected = kept
        return cut.blocks(of: version.stored, wanted: .max).intersection(version.stored)
    }

    /// The bytes that readers, fetches and the goal are about to use.
    private static func neededSoon(_ session: SessionState) -> ByteRangeSet {
        let limits = session.limits
        var needed = ByteRangeSet()
        for reader in session.readers where reader.failure == nil {
            let lower = max(0, reader.position - limits.keptBehindBytes)
            let upper = session.window(of: reader)?.upperBound ?? reader.position.addingSaturated(limits.readAheadBytes)
            if let window = ByteRange(lower, max(upper, reader.position.addingSaturated(1))) { needed.insert(window) }
            if let hold = reader.hold { needed.insert(hold) }
        }
        for fetch in session.fetches where !fetch.isRelay {
            if let front = ByteRange(max(0, fetch.released - 1), fetch.front.addingSaturated(1)) { needed.insert(front) }
        }
        if let goal = session.goal { needed.insert(goal) }
        return needed
    }
}
