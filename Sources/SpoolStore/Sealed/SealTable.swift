import SpoolCore

/// The seals of a data file's pieces that this process has written or read from the index.
///
/// The seals of whole blocks are in arrays of 64, one for each group that has any: 28 bytes for
/// each 64 KiB of media. Partial blocks are in a list beside them. Later entries replace earlier
/// ones of the same bytes.
struct SealTable {
    private struct Group {
        /// One element for each block. Only elements with their bit set in `present` are valid.
        var whole: [Seal]
        var present: UInt64 = 0
        /// The partial blocks, in order.
        var parts: [(range: ByteRange, seal: Seal)] = []
    }

    private var groups: [Int64: Group] = [:]

    /// Returns the piece that contains the byte at `offset`, with its seal, or nil when it is not
    /// in the table.
    func piece(at offset: Int64) -> (range: ByteRange, seal: Seal)? {
        guard let group = groups[offset / PieceRow.groupBytes] else { return nil }
        let block = offset / Piece.blockBytes
        let place = Int(block % PieceRow.groupBlocks)
        if group.present & (1 << UInt64(place)) != 0 {
            return (ByteRange(lower: block * Piece.blockBytes, upper: (block + 1) * Piece.blockBytes), group.whole[place])
        }
        return group.parts.first { $0.range.contains(offset) }
    }

    /// Enters the seal of a piece that is inside one block.
    mutating func enter(_ range: ByteRange, _ seal: Seal) {
        let number = range.lowerBound / PieceRow.groupBytes
        let place = Int(range.lowerBound / Piece.blockBytes % PieceRow.groupBlocks)
        var group = groups.removeValue(forKey: number) ?? Group(whole: [])
        group.parts.removeAll { $0.range.overlaps(range) }
        if range.count == Piece.blockBytes {
            if group.whole.isEmpty { group.whole = [Seal](repeating: seal, count: Int(PieceRow.groupBlocks)) }
            group.whole[place] = seal
            group.present |= 1 << UInt64(place)
        } else {
            group.present &= ~(1 << UInt64(place))
            group.parts.insert((range, seal), at: group.parts.firstIndex { $0.range.lowerBound > range.lowerBound } ?? group.parts.count)
        }
        groups[number] = group
    }

    /// Enters every sealed block of a piece. Pieces without seals are skipped.
    mutating func enter(_ piece: Piece) {
        guard let checks = piece.checks, checks.kind == .sealed else { return }
        for (block, range) in piece.blockRanges.enumerated() { enter(range, Seal(checks[block])) }
    }
}
