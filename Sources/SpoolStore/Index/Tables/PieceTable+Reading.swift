import SpoolCore

// The stored bytes of a generation, and the rows that wait for a durable point.

extension PieceTable {
    /// Returns the pieces of a generation that have bytes in `range`, in order.
    func pieces(of generation: GenerationID, in range: ByteRange) throws(StoreError) -> [Piece] {
        // No row crosses into another group, so no row that begins before this group has bytes of
        // it.
        let start = range.lowerBound - range.lowerBound % PieceRow.groupBytes
        return try database.connection.rows(
            """
            SELECT lower, upper, epoch, checks, nonce, tag FROM pieces
            WHERE generation = ?1 AND lower >= ?2 AND lower < ?3 ORDER BY lower LIMIT ?4
            """, generation, start, range.upperBound, Int64(Self.rowLimit)
        ) { Self.row($0).flatMap { row in row.range.overlaps(range) ? row.piece : nil } }
    }

    /// Returns the bytes of a generation that have pieces in the index, and the part of them that
    /// has checks.
    func spans(of generation: GenerationID) throws(StoreError) -> (all: ByteRangeSet, checked: ByteRangeSet) {
        var all = JoiningRanges(), plain = JoiningRanges()
        try database.connection.each(
            "SELECT lower, upper, checks IS NULL AND nonce IS NULL FROM pieces WHERE generation = ?1 ORDER BY lower LIMIT ?2", generation,
            Int64(Self.rowLimit)
        ) { row in
            guard let range = ByteRange(row.int64(0), row.int64(1)) else { return }
            all.append(range)
            if row.int64(2) != 0 { plain.append(range) }
        }
        let spans = all.finish(), unchecked = plain.finish()
        // Usually both sets are equal and share their memory.
        return (spans, unchecked.isEmpty ? spans : spans.subtracting(unchecked))
    }

    /// Returns the number of stored bytes of a generation.
    func byteCount(of generation: GenerationID) throws(StoreError) -> Int64 {
        try database.connection.int64(
            "SELECT min(total(max(upper - lower, 0)), 1 << 60) FROM pieces WHERE generation = ?1", generation) ?? 0
    }

    // MARK: Without a durable point

    /// Removes the pieces of a generation that wait for a durable point.
    func dropSuspects(of generation: GenerationID) throws(StoreError) {
        try database.connection.run("DELETE FROM pieces WHERE generation = ?1 AND epoch > ?2", generation, epochs.durable)
    }

    /// Removes the pieces of a generation that wait for a durable point, except whole blocks with
    /// checks. Returns whether there were any.
    ///
    /// A part of a block would sooner or later be merged with a durable part. The one check of both
    /// would then reject the durable bytes together with the lost ones.
    func dropUnchecked(of generation: GenerationID) throws(StoreError) -> Bool {
        try database.connection.run(
            """
            DELETE FROM pieces WHERE generation = ?1 AND epoch > ?2
                AND ((checks IS NULL AND nonce IS NULL) OR lower % 65536 != 0 OR upper % 65536 != 0)
            """, generation, epochs.durable)
        return database.connection.changes > 0
    }

    /// Returns the highest epoch of the pieces of unsynced generations, or 0 when there is none.
    ///
    /// `CROSS JOIN` fixes the order of the loops (The SQLite Query Optimizer Overview, on query
    /// plans and CROSS JOIN). Without it the planner reads every piece of the store to find the few
    /// unsynced ones.
    func lastEpoch() throws(StoreError) -> Int64 {
        try database.connection.int64(
            "SELECT max(epoch) FROM unsynced CROSS JOIN pieces USING (generation) WHERE epoch <= ?1", StoreIndex.numberLimit) ?? 0
    }
}

extension ByteRange {
    /// Returns this range and a later one as one range, or nil when bytes lie between them.
    fileprivate func joined(with later: ByteRange) -> ByteRange? {
        guard later.lowerBound <= upperBound else { return nil }
        return ByteRange(lower: lowerBound, upper: max(upperBound, later.upperBound))
    }
}

/// Joins ascending ranges that touch, so that the set gets one insertion for each span instead of
/// one for each row.
private struct JoiningRanges {
    private var set = ByteRangeSet()
    private var open: ByteRange?

    mutating func append(_ range: ByteRange) {
        if let joined = open?.joined(with: range) {
            open = joined
        } else {
            if let open { set.insert(open) }
            open = range
        }
    }

    mutating func finish() -> ByteRangeSet {
        if let open { set.insert(open) }
        open = nil
        return set
    }
}
