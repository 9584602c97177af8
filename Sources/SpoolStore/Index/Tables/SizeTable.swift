import SpoolCore

/// The table `sizes`: the bytes that data files occupy.
final class SizeTable {
    private let database: IndexDatabase
    /// The sum of all sizes, after the first request for it. It is kept up to date afterwards,
    /// because no other process writes.
    private var total: Int64?

    init(_ database: IndexDatabase) {
        self.database = database
    }

    /// Discards the cached sum after a failed transaction.
    func forget() { total = nil }

    /// Returns the bytes that a generation's file occupied when they were last entered.
    func size(of generation: GenerationID) throws(StoreError) -> Int64 {
        try database.with("SELECT allocated_bytes FROM sizes WHERE generation = ?1") { (select) throws(StoreError) in
            select.bind(1, generation.rawValue)
            return try select.step() ? select.int64(0) : 0
        }
    }

    /// Enters the bytes that a generation's file occupies.
    func set(_ bytes: Int64, of generation: GenerationID, was before: Int64) throws(StoreError) {
        guard bytes != before else { return }
        try database.with("INSERT OR REPLACE INTO sizes (generation, allocated_bytes) VALUES (?1, ?2)") {
            (insert) throws(StoreError) in
            insert.bind(1, generation.rawValue)
            insert.bind(2, bytes)
            try insert.run()
        }
        if let sum = total { total = sum.subtractingSaturated(before).addingSaturated(bytes) }
    }

    /// Removes the size of a generation.
    func remove(_ generation: GenerationID) throws(StoreError) {
        if let sum = total { total = sum.subtractingSaturated(try size(of: generation)) }
        try database.run("DELETE FROM sizes WHERE generation = ?1", generation.rawValue)
    }

    func removeAll() throws(StoreError) { try database.connection.run("DELETE FROM sizes") }

    /// Returns the bytes that all data files occupy, as far as commits and look-ups have seen them.
    func sum(isSoleWriter: Bool) throws(StoreError) -> Int64 {
        if isSoleWriter, let total { return total }
        let sum = try database.connection.int64("SELECT sum(allocated_bytes) FROM sizes") ?? 0
        if isSoleWriter { total = sum }
        return sum
    }
}
