import SpoolCore

/// The seals of a data file's pieces, as far as they are known in this process.
///
/// Whole blocks stand in arrays of 64, one for each group that has any: 28 bytes for 64 KiB of media. The pieces that are parts of blocks
/// stand beside them. Later entries replace earlier ones of the same bytes.
struct SealTable {
    private struct Group {
        /// One place for each block; only those with their bit set mean something.
        var whole: [Seal]
        var present: UInt64 = 0
        /// Parts of blocks, in order.
        var parts: [(range: ByteRange, seal: Seal)] = []
    }

    private var groups: [Int64: Group] = [:]

    /// The piece that has the byte at `offset`, and its seal; nil when it is not known.
    func piece(at offset: Int64) -> (range: ByteRange, seal: Seal)? {
        guard let group = groups[offset / PieceRow.groupBytes] else { return nil }
        let block = offset / Piece.blockBytes
        let place = Int(block % PieceRow.groupBlocks)
        if group.present & (1 << UInt64(place)) != 0 {
            return (ByteRange(lower: block * Piece.blockBytes, upper: (block + 1) * Piece.blockBytes), group.whole[place])
        }
        return group.parts.first { $0.range.contains(offset) }
    }

    /// Enters the seal of a piece that lies in one block.
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

    /// Enters every sealed block of a piece; pieces without seals are passed over.
    mutating func enter(_ piece: Piece) {
        guard let checks = piece.checks, checks.kind == .sealed else { return }
        for (block, range) in piece.blockRanges.enumerated() { enter(range, Seal(checks[block])) }
    }
}
