package import SpoolCore

/// One row of the index's table of pieces: bytes inside one block, or a run of whole blocks of one
/// group.
///
/// A *group* is 64 blocks, 4 MiB, aligned. No row crosses the border of a group, so a complete
/// resource has one row for each group.
package struct PieceRow: Hashable, Sendable {
    /// The bytes of the row.
    package var range: ByteRange
    /// The number of the durable point that makes the bytes durable.
    package var epoch: Int64
    /// One check for each block, or nil for a row without checks.
    package var checks: PieceChecks?

    /// Creates a row.
    package init(range: ByteRange, epoch: Int64, checks: PieceChecks? = nil) {
        self.range = range
        self.epoch = epoch
        self.checks = checks
    }

    private init(_ piece: Piece, epoch: Int64) {
        self.init(range: piece.range, epoch: epoch, checks: piece.checks)
    }

    /// The row without its epoch.
    package var piece: Piece { Piece(range: range, checks: checks) }

    /// The number of blocks in a group.
    package static let groupBlocks: Int64 = 64
    /// The number of bytes in a group.
    package static let groupBytes = groupBlocks * Piece.blockBytes

    /// The number of the group that contains the row.
    package var group: Int64 { range.lowerBound / Self.groupBytes }

    /// Whether the row is a run of whole blocks.
    package var isWhole: Bool {
        range.lowerBound % Piece.blockBytes == 0 && range.upperBound % Piece.blockBytes == 0
    }

    /// Whether the row begins its group, so that no earlier row belongs to the group.
    package var beginsGroup: Bool { range.lowerBound % Self.groupBytes == 0 }

    /// Whether the row ends its group, so that no later row belongs to the group.
    package var endsGroup: Bool { range.upperBound % Self.groupBytes == 0 }

    private var isInsideOneBlock: Bool {
        range.lowerBound / Piece.blockBytes == (range.upperBound - 1) / Piece.blockBytes
    }
}

// MARK: - Cutting

extension PieceRow {
    /// Returns the rows of a piece: cut at the borders of groups, and where a partial block meets
    /// whole blocks.
    package static func rows(of piece: Piece, epoch: Int64) -> [PieceRow] {
        let whole = PieceRow(piece, epoch: epoch)
        if whole.isShaped { return [whole] }
        var rows: [PieceRow] = []
        var lower = piece.range.lowerBound
        while lower < piece.range.upperBound {
            let range = ByteRange(lower: lower, upper: end(ofRowAt: lower, before: piece.range.upperBound))
            rows.append(PieceRow(piece.part(range), epoch: epoch))
            lower = range.upperBound
        }
        return rows
    }

    /// Returns the parts of the row that remain without the bytes of `range`.
    ///
    /// A check covers all bytes of a block that are stored together, so a row with checks loses
    /// every block that `range` touches.
    package func removing(_ range: ByteRange) -> [PieceRow] {
        piece.removing(range).flatMap { PieceRow.rows(of: $0, epoch: epoch) }
    }

    /// Whether the row obeys the rules of the table.
    package var isShaped: Bool {
        if isInsideOneBlock { return true }
        return isWhole && group == (range.upperBound - 1) / Self.groupBytes
    }

    /// Returns the end of the row that begins at `lower`. A row that begins or ends inside a block
    /// ends with that block. Other rows end with the last whole block of the group.
    private static func end(ofRowAt lower: Int64, before limit: Int64) -> Int64 {
        let blockEnd = (lower / Piece.blockBytes).nextMultiple(of: Piece.blockBytes)
        guard lower % Piece.blockBytes == 0, limit > blockEnd else { return min(limit, blockEnd) }
        let groupEnd = (lower / groupBytes).nextMultiple(of: groupBytes)
        return min(groupEnd, limit - limit % Piece.blockBytes)
    }
}

// MARK: - Merging

extension PieceRow {
    /// Returns this row and the following one as one row, or nil when the rules keep them apart.
    ///
    /// Rows inside one block merge when their checks can be combined. Whole blocks merge inside a
    /// group. The result is durable only when both rows are.
    package func merged(with next: PieceRow) -> PieceRow? {
        guard range.upperBound == next.range.lowerBound,
            PieceRow(range: ByteRange(lower: range.lowerBound, upper: next.range.upperBound), epoch: 0).isShaped
        else { return nil }
        return piece.joined(with: next.piece).map { PieceRow($0, epoch: max(epoch, next.epoch)) }
    }
}

extension ByteRangeSet {
    /// Returns the next bytes at or after `position`, up to the end of their group, or nil after the
    /// last ones. One row of the index has the checks of a group.
    package func nextRun(at position: Int64) -> ByteRange? {
        guard let run = firstRange(atOrAfter: position) else { return nil }
        let end = (run.lowerBound / PieceRow.groupBytes).nextMultiple(of: PieceRow.groupBytes)
        return ByteRange(run.lowerBound, Swift.min(run.upperBound, end))
    }
}
