import SpoolCore

/// The table `pieces`: the stored bytes of each generation, with the epochs and the checks of their
/// rows.
final class PieceTable {
    let database: IndexDatabase
    var epochs = Epochs()
    /// Groups with new rows beside other rows since the last durable point began. The point merges
    /// them.
    var touchedGroups: [GenerationID: Set<Int64>] = [:]
    /// An upper limit of the offset where a generation's rows end, for generations that were looked
    /// at. Bytes after it overlap no row.
    private var ends: [GenerationID: Int64] = [:]

    /// The durable points that cover the rows.
    struct Epochs {
        /// The number of the last finished durable point.
        var durable: Int64 = 0
        /// The number of the durable point that will cover the current commits: the next one to
        /// begin.
        var current: Int64 = 1
    }

    /// The maximum number of piece rows that are read for one generation. Bytes of further rows
    /// count as not stored.
    static let rowLimit = 1 << 20
    /// The maximum number of generations in `ends`. Beyond it the table is emptied, and the ends are
    /// read again.
    private static let endLimit = 256

    init(_ database: IndexDatabase) {
        self.database = database
    }

    /// Discards the cached ends after a failed transaction.
    func forget() { ends = [:] }

    // MARK: Changes

    /// Enters a piece as rows that are merged with adjacent ones. The rows get the current epoch
    /// unless `epoch` names a durable one.
    func enter(_ piece: Piece, of generation: GenerationID, epoch: Int64? = nil) throws(StoreError) {
        for row in PieceRow.rows(of: piece, epoch: epoch ?? epochs.current) { try enter(row, of: generation) }
    }

    private func enter(_ row: PieceRow, of generation: GenerationID) throws(StoreError) {
        // A file that is fetched in order grows at its end. There is then no later row to look for.
        let end = try end(of: generation)
        var before =
            end <= row.lastEndApart ? nil : try lastRow(of: generation, below: row.range.upperBound, reachingBeyond: row.lastEndApart)
        if let claimed = before, claimed.range.upperBound > row.range.lowerBound {
            // Stored bytes should never be written again. If they were, the old claim is removed
            // first, because its check does not match any more.
            try takeOut(row.range, of: generation)
            before = try lastRow(of: generation, below: row.range.lowerBound, reachingBeyond: row.lastEndApart)
        }
        var row = row, after: PieceRow?
        var absorbed: [PieceRow] = []
        // Each merge completes a block or extends a run inside one group, so neither loop runs more
        // than three times.
        while let left = before, let joined = merge(left, row) {
            absorbed.append(left)
            row = joined
            before = row.beginsGroup ? nil : try lastRow(of: generation, below: row.range.lowerBound, reachingBeyond: row.lastEndApart)
        }
        after = try rowBehind(row, of: generation, end: end)
        while let right = after, let joined = merge(row, right) {
            absorbed.append(right)
            row = joined
            after = try rowBehind(row, of: generation, end: end)
        }
        // A durable point may join rows that are adjacent now. Most groups are already one row, and
        // the point does not read those again.
        if before != nil || after != nil { touchedGroups[generation, default: []].insert(row.group) }
        for old in absorbed where old.range.lowerBound != row.range.lowerBound {
            try delete(rowAt: old.range.lowerBound, of: generation)
        }
        try insert(row, of: generation)
    }

    /// Returns the row of the same group that begins where this one ends, or nil.
    private func rowBehind(_ row: PieceRow, of generation: GenerationID, end: Int64) throws(StoreError) -> PieceRow? {
        row.endsGroup || end <= row.range.upperBound ? nil : try self.row(of: generation, at: row.range.upperBound)
    }

    /// Returns the two rows as one, or nil. A row never joins one that becomes durable later: the
    /// loss of the later row would also lose its bytes.
    private func merge(_ row: PieceRow, _ next: PieceRow) -> PieceRow? {
        guard row.epoch == next.epoch || max(row.epoch, next.epoch) <= epochs.durable else { return nil }
        return row.merged(with: next)
    }

    /// Removes the bytes of a range from the index.
    func takeOut(_ range: ByteRange, of generation: GenerationID) throws(StoreError) {
        // Each iteration continues below the row before, also in a damaged index.
        var offset = range.upperBound
        while let row = try lastRow(of: generation, below: offset, reachingBeyond: range.lowerBound) {
            offset = row.range.lowerBound
            try delete(rowAt: row.range.lowerBound, of: generation)
            for part in row.removing(range) { try insert(part, of: generation) }
        }
    }

    /// Removes every row of a generation.
    func removeAll(of generation: GenerationID) throws(StoreError) {
        try database.connection.run("DELETE FROM pieces WHERE generation = ?1", generation)
        ends[generation] = nil
    }

    // MARK: Merging

    /// Merges the rows of groups that became durable together.
    func mergeRows(of groups: [GenerationID: Set<Int64>]) throws(StoreError) {
        for (generation, groups) in groups.sorted(by: { $0.key < $1.key }) {
            for group in groups.sorted() { try mergeRows(of: generation, group: group) }
        }
    }

    private func mergeRows(of generation: GenerationID, group: Int64) throws(StoreError) {
        let rows = try rows(of: generation, group: group)
        var merged: [PieceRow] = []
        for row in rows {
            // A row that completes its block may join the run before that block.
            var row = row
            while let before = merged.last, let joined = merge(before, row) {
                merged.removeLast()
                row = joined
            }
            merged.append(row)
        }
        guard merged.count < rows.count else { return }
        for row in rows { try delete(rowAt: row.range.lowerBound, of: generation) }
        for row in merged { try insert(row, of: generation) }
    }

    // MARK: Rows

    /// Returns the last row that begins below `offset`, or nil when there is none or it ends at
    /// `limit` or before.
    ///
    /// The method deletes an invalid row on the way, because it would hide the rows before it.
    private func lastRow(
        of generation: GenerationID, below offset: Int64, reachingBeyond limit: Int64
    ) throws(StoreError) -> PieceRow? {
        var offset = offset
        while true {
            let found = try database.connection.first(
                "SELECT lower, upper, epoch, checks, nonce, tag FROM pieces WHERE generation = ?1 AND lower < ?2 ORDER BY lower DESC LIMIT 1",
                generation, offset
            ) { select -> (lower: Int64, row: PieceRow?)? in
                // The checks of a row that ends before `limit` are not read.
                if let range = ByteRange(select.int64(0), select.int64(1)), range.upperBound <= limit { return nil }
                return (select.int64(0), Self.row(select))
            }
            guard let found else { return nil }
            guard found.lower < offset else { throw .rowsOutOfOrder }
            if let row = found.row { return row }
            try delete(rowAt: found.lower, of: generation)
            offset = found.lower
        }
    }

    /// Returns the row that begins at `offset`, or nil.
    private func row(of generation: GenerationID, at offset: Int64) throws(StoreError) -> PieceRow? {
        try database.connection.first(
            "SELECT lower, upper, epoch, checks, nonce, tag FROM pieces WHERE generation = ?1 AND lower = ?2", generation, offset,
            row: Self.row)
    }

    /// Returns the rows of one group, in order; at most 16 for each block.
    private func rows(of generation: GenerationID, group: Int64) throws(StoreError) -> [PieceRow] {
        let start = group * PieceRow.groupBytes
        return try database.connection.rows(
            "SELECT lower, upper, epoch, checks, nonce, tag FROM pieces WHERE generation = ?1 AND lower >= ?2 AND lower < ?3 ORDER BY lower",
            generation, start, start + min(PieceRow.groupBytes, .max - start), row: Self.row)
    }

    /// Returns an upper limit of the offset where the rows of a generation end. The database is
    /// asked once. Rows do not overlap, so the last row also ends last.
    private func end(of generation: GenerationID) throws(StoreError) -> Int64 {
        if let end = ends[generation] { return end }
        let end =
            try database.connection.int64("SELECT upper FROM pieces WHERE generation = ?1 ORDER BY lower DESC LIMIT 1", generation) ?? 0
        if ends.count >= Self.endLimit { ends = [:] }
        ends[generation] = end
        return end
    }

    private func insert(_ row: PieceRow, of generation: GenerationID) throws(StoreError) {
        if let end = ends[generation] { ends[generation] = max(end, row.range.upperBound) }
        let checks = CheckColumns(row.checks)
        try database.connection.run(
            "INSERT OR REPLACE INTO pieces (generation, lower, upper, epoch, checks, nonce, tag) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            generation, row.range.lowerBound, row.range.upperBound, row.epoch, checks.checks, checks.nonce, checks.tag)
    }

    private func delete(rowAt lower: Int64, of generation: GenerationID) throws(StoreError) {
        try database.connection.run("DELETE FROM pieces WHERE generation = ?1 AND lower = ?2", generation, lower)
        // Only rows that were just read are deleted.
        guard database.connection.changes == 1 else { throw .rowsOutOfOrder }
    }

    /// Returns the row as it was written, or nil for one that Spool does not write.
    static func row(_ select: SQLiteStatement) -> PieceRow? {
        guard let range = ByteRange(select.int64(0), select.int64(1)) else { return nil }
        let columns = CheckColumns(checks: select.optionalBytes(3), nonce: select.optionalBytes(4), tag: select.optionalBytes(5))
        guard columns.isEmpty else {
            guard let checks = columns.pieceChecks, checks.count == range.blockCount else { return nil }
            return PieceRow(range: range, epoch: select.int64(2), checks: checks)
        }
        return PieceRow(range: range, epoch: select.int64(2))
    }
}

extension PieceRow {
    /// The largest end of an earlier row that can neither overlap this one nor be joined with it.
    fileprivate var lastEndApart: Int64 { beginsGroup ? range.lowerBound : range.lowerBound - 1 }
}
