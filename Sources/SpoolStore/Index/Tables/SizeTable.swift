import SpoolCore

/// The table `sizes`: the bytes that data files occupy.
///
/// A damaged index may have any number here. Every size and every sum that is read from it is from
/// 0 to 2⁶⁰, so that sums of them do not overflow. `sum` of SQLite fails where `total` does not.
final class SizeTable {
    private let database: IndexDatabase
    /// The sum of all sizes.
    private var total = RunningTotal()
    /// The sum of the sizes of downloads and their parts.
    private var downloaded = RunningTotal()

    init(_ database: IndexDatabase) {
        self.database = database
    }

    /// Discards the cached sums after a failed transaction.
    func forget() {
        total.forget()
        downloaded.forget()
    }

    /// Returns the bytes that a generation's file occupied when they were last entered.
    func size(of generation: GenerationID) throws(StoreError) -> Int64 {
        try database.connection.int64(
            "SELECT min(total(max(allocated_bytes, 0)), 1 << 60) FROM sizes WHERE generation = ?1", generation) ?? 0
    }

    /// Enters the bytes that a generation's file occupies.
    func set(_ bytes: Int64, of generation: GenerationID, was before: Int64) throws(StoreError) {
        guard bytes != before else { return }
        try database.connection.run("INSERT OR REPLACE INTO sizes (generation, allocated_bytes) VALUES (?1, ?2)", generation, bytes)
        try change(of: generation, from: before, to: bytes)
    }

    /// Removes the size of a generation, while its resource still has its row.
    func remove(_ generation: GenerationID) throws(StoreError) {
        try change(of: generation, from: try size(of: generation), to: 0)
        try database.connection.run("DELETE FROM sizes WHERE generation = ?1", generation)
    }

    private func change(of generation: GenerationID, from before: Int64, to bytes: Int64) throws(StoreError) {
        guard bytes != before else { return }
        total.change(from: before, to: bytes)
        if downloaded.isKnown, try isDownloaded(generation) { downloaded.change(from: before, to: bytes) }
    }

    // MARK: Sums

    /// Returns the bytes that all data files occupy, as far as commits and look-ups have seen them.
    func sum(isSoleWriter: Bool) throws(StoreError) -> Int64 {
        try total.value(isKept: isSoleWriter) { () throws(StoreError) in
            try database.connection.int64("SELECT min(total(max(allocated_bytes, 0)), 1 << 60) FROM sizes")
        }
    }

    // MARK: Downloads

    /// Returns the bytes that the files of downloads and of their parts occupy.
    func downloadedSum(isSoleWriter: Bool) throws(StoreError) -> Int64 {
        try downloaded.value(isKept: isSoleWriter) { () throws(StoreError) in
            try database.connection.int64(
                """
                SELECT min(total(max(allocated_bytes, 0)), 1 << 60) FROM resources JOIN representations USING (resource) JOIN sizes USING (generation)
                WHERE key_hash IN (SELECT key_hash FROM downloads UNION SELECT key_hash FROM download_parts)
                """)
        }
    }

    /// Returns the bytes that the files of pinned resources occupy, apart from downloads. Reads the
    /// rows of all pins.
    func pinnedSum() throws(StoreError) -> Int64 {
        try database.connection.int64(
            """
            SELECT min(total(max(allocated_bytes, 0)), 1 << 60) FROM resources JOIN representations USING (resource) JOIN sizes USING (generation)
            WHERE key_hash IN (SELECT key_hash FROM pins EXCEPT SELECT key_hash FROM downloads EXCEPT SELECT key_hash FROM download_parts)
            """) ?? 0
    }

    /// Runs a change of the list of downloads that adds or removes one key, and corrects the sum.
    func listing(_ key: ResourceKey, _ change: () throws(StoreError) -> Void) throws(StoreError) {
        guard downloaded.isKnown else { return try change() }
        let before = try downloadedBytes(of: key)
        try change()
        downloaded.change(from: before, to: try downloadedBytes(of: key))
    }

    /// Discards the sum of downloads, because many keys leave the list at once.
    func forgetDownloaded() { downloaded.forget() }

    /// Returns the bytes of a key that belong to downloads: all of them, or none.
    private func downloadedBytes(of key: ResourceKey) throws(StoreError) -> Int64 {
        try database.connection.int64(
            """
            SELECT min(total(max(allocated_bytes, 0)), 1 << 60) FROM resources JOIN representations USING (resource) JOIN sizes USING (generation)
            WHERE key_hash = ?1 AND (EXISTS (SELECT 1 FROM downloads WHERE key_hash = ?1)
                OR EXISTS (SELECT 1 FROM download_parts WHERE key_hash = ?1))
            """, database.fields.hash(of: key)) ?? 0
    }

    private func isDownloaded(_ generation: GenerationID) throws(StoreError) -> Bool {
        try database.connection.int64(
            """
            SELECT 1 FROM representations JOIN resources AS listed USING (resource) WHERE generation = ?1
                AND (EXISTS (SELECT 1 FROM downloads WHERE key_hash = listed.key_hash)
                    OR EXISTS (SELECT 1 FROM download_parts WHERE key_hash = listed.key_hash))
            """, generation) != nil
    }
}

/// A sum over the rows of a table. The first request reads it, and each change corrects it
/// afterwards, so that no later request depends on the number of rows.
struct RunningTotal {
    /// Nil before the first request.
    private var sum: Int64?

    var isKnown: Bool { sum != nil }

    mutating func forget() { sum = nil }

    mutating func change(from before: Int64, to value: Int64) {
        if let sum { self.sum = sum.subtractingSaturated(before).addingSaturated(value) }
    }

    /// Returns the sum.
    ///
    /// - Parameters:
    ///   - isKept: whether no other process writes, so that the sum stays right.
    ///   - read: reads the sum from the rows; nil when there are none.
    mutating func value(isKept: Bool, _ read: () throws(StoreError) -> Int64?) throws(StoreError) -> Int64 {
        if isKept, let sum { return sum }
        let found = try read() ?? 0
        if isKept { sum = found }
        return found
    }
}
