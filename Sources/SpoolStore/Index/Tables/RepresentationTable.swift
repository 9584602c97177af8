import SpoolCore

/// The table `representations`: the versions of the stored resources.
final class RepresentationTable {
    let database: IndexDatabase
    /// The facts that the last commits entered. The next commit of the same generation writes only
    /// new facts.
    private var known: [GenerationID: KnownGeneration] = [:]

    /// The facts that the index has about one generation.
    struct KnownGeneration {
        var resource: Int64
        var url: String
        var representation: Representation
        var fileExtension: String
        var allocatedBytes: Int64

        /// Whether a commit repeats these facts.
        func isRepeated(by commit: StoreCommit) -> Bool {
            url == commit.url && representation == commit.representation
        }
    }

    /// The maximum number of generations in `known`. Beyond it the table is emptied, and the facts
    /// are read again.
    static let knownLimit = 256

    init(_ database: IndexDatabase) {
        self.database = database
    }

    // MARK: Known facts

    /// Discards the known facts after a failed transaction.
    func forget() { known = [:] }

    /// Returns the facts that an earlier commit entered, if they are still known.
    func knownFacts(of generation: GenerationID) -> KnownGeneration? { known[generation] }

    func remember(_ generation: GenerationID, _ facts: KnownGeneration) {
        if known.count >= Self.knownLimit { known = [:] }
        known[generation] = facts
    }

    /// Notes that another size was entered for a generation.
    func noteSize(_ bytes: Int64, of generation: GenerationID) {
        known[generation]?.allocatedBytes = bytes
    }

    // MARK: Rows

    /// Whether the generation is in the index.
    func has(_ generation: GenerationID) throws(StoreError) -> Bool {
        if known[generation] != nil { return true }
        return try database.connection.int64("SELECT 1 FROM representations WHERE generation = ?1", generation) != nil
    }

    /// Returns the current generation of a resource.
    func current(of resource: Int64) throws(StoreError) -> GenerationID? {
        try database.connection.first(
            "SELECT generation FROM representations WHERE resource = ?1 AND variant = '' AND is_current = 1", resource
        ) { $0.generation(0) }
    }

    /// Returns the time at which a generation was entered first.
    func created(_ generation: GenerationID) throws(StoreError) -> Timestamp? {
        try database.connection.first("SELECT created FROM representations WHERE generation = ?1", generation) { $0.time(0) }
    }

    /// Returns the highest number of a generation, or 0.
    func lastGeneration() throws(StoreError) -> Int64 {
        try database.connection.int64("SELECT max(generation) FROM representations") ?? 0
    }

    func insert(_ commit: StoreCommit, resource: Int64) throws(StoreError) {
        let fields = database.fields
        let keys = fields.keys?.media(of: commit.generation)
        try database.connection.run(
            """
            INSERT INTO representations (generation, length, validator_kind, validator, header_block, request_time, response_time,
                content_coding, facts_check, resource, is_current, file_extension, created, cipher, cipher_key, file_hash)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1, ?11, ?12, ?13, ?14, ?15)
            """,
            fields.description(of: commit) + [
                resource, keys == nil ? commit.fileExtension : "", commit.time, keys?.cipher.algorithm.rawValue ?? 0,
                keys?.identifier, fields.fileHash(of: commit.key, commit.generation),
            ])
    }

    /// Updates the description of a generation. Keeps the extension, because it is part of the
    /// file's name.
    func update(_ commit: StoreCommit) throws(StoreError) { try update(commit, database.fields) }

    func update(_ commit: StoreCommit, _ fields: IndexFields) throws(StoreError) {
        try database.connection.run(
            """
            UPDATE representations SET length = ?2, validator_kind = ?3, validator = ?4, header_block = ?5,
                request_time = ?6, response_time = ?7, content_coding = ?8, facts_check = ?9
            WHERE generation = ?1
            """, fields.description(of: commit))
    }

    func delete(_ generation: GenerationID) throws(StoreError) {
        try database.connection.run("DELETE FROM representations WHERE generation = ?1", generation)
        known[generation] = nil
    }

    // MARK: Files

    /// Returns the files of every generation of a resource.
    func files(of resource: Int64) throws(StoreError) -> [DataFileID] {
        try database.connection.rows(
            """
            SELECT generation, coalesce(file_hash, key_hash), file_extension FROM representations JOIN resources USING (resource) WHERE resource = ?1
            """, resource, row: DataFileID.init)
    }

    /// Returns the file of a generation, or nil when the generation is not in the index.
    func file(of generation: GenerationID) throws(StoreError) -> DataFileID? {
        try database.connection.first(
            """
            SELECT generation, coalesce(file_hash, key_hash), file_extension FROM representations JOIN resources USING (resource) WHERE generation = ?1
            """, generation, row: DataFileID.init)
    }

    /// Returns the next generation that has a row in any table.
    func nextGeneration(after generation: Int64) throws(StoreError) -> Int64? {
        try database.connection.int64(
            """
            SELECT min(generation) FROM (
                SELECT min(generation) AS generation FROM representations WHERE generation > ?1
                UNION ALL SELECT min(generation) FROM pieces WHERE generation > ?1
                UNION ALL SELECT min(generation) FROM sizes WHERE generation > ?1
                UNION ALL SELECT min(generation) FROM unsynced WHERE generation > ?1)
            """, generation)
    }
}
