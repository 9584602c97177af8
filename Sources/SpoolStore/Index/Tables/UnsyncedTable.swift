import SpoolCore

/// The table `unsynced`: the generations with pieces that wait for a durable point.
final class UnsyncedTable {
    private let database: IndexDatabase
    /// Generations that may have pieces of the current epoch.
    private(set) var generations: Set<GenerationID> = []
    /// Generations that are certainly in the table.
    private var entered: Set<GenerationID> = []

    init(_ database: IndexDatabase) {
        self.database = database
    }

    /// Discards the cached state after a failed transaction.
    func forget() { entered = [] }

    /// Continues with the generations that an earlier process left in the table.
    func adopt(_ found: Set<GenerationID>) {
        generations = found
        entered = found
    }

    /// Enters that a generation has pieces of the current epoch.
    func insert(_ generation: GenerationID) throws(StoreError) {
        generations.insert(generation)
        guard !entered.contains(generation) else { return }
        try enter(generation)
        entered.insert(generation)
    }

    private func enter(_ generation: GenerationID) throws(StoreError) {
        try database.connection.run("INSERT OR IGNORE INTO unsynced (generation) VALUES (?1)", generation)
    }

    /// Removes a generation from the table. Its pieces wait for no durable point.
    func delete(_ generation: GenerationID) throws(StoreError) {
        try database.connection.run("DELETE FROM unsynced WHERE generation = ?1", generation)
    }

    /// Discards the cached state of a generation that was removed.
    func forget(_ generation: GenerationID) {
        generations.remove(generation)
        entered.remove(generation)
    }

    /// Discards the generations, because every resource was removed.
    func forgetAll() { generations = [] }

    // MARK: Durable points

    /// Takes the generations for a durable point. Later commits belong to the next point.
    func take() -> Set<GenerationID> { exchange(&generations, with: []) }

    /// Puts the generations of an abandoned point back.
    func putBack(_ taken: Set<GenerationID>) { generations.formUnion(taken) }

    /// Replaces the rows by the generations of the current epoch, because a point covers all
    /// others.
    func replaceRows() throws(StoreError) {
        try database.connection.run("DELETE FROM unsynced")
        for generation in generations.sorted() { try enter(generation) }
    }

    /// Notes that `replaceRows` was committed.
    func rowsReplaced() { entered = generations }

    /// Returns the files of the generations in the table.
    func files() throws(StoreError) -> [DataFileID] {
        try database.connection.rows(
            """
            SELECT generation, coalesce(file_hash, key_hash), file_extension
            FROM unsynced JOIN representations USING (generation) JOIN resources USING (resource) ORDER BY generation
            """, row: DataFileID.init)
    }
}
