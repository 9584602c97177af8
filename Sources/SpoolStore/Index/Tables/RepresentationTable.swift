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
        return try database.with("SELECT 1 FROM representations WHERE generation = ?1") { (select) throws(StoreError) in
            select.bind(1, generation.rawValue)
            return try select.step()
        }
    }

    /// Returns the current generation of a resource.
    func current(of resource: Int64) throws(StoreError) -> GenerationID? {
        try database.with(
            "SELECT generation FROM representations WHERE resource = ?1 AND variant = '' AND is_current = 1"
        ) { (select) throws(StoreError) in
            select.bind(1, resource)
            return try select.step() ? GenerationID(rawValue: select.int64(0)) : nil
        }
    }

    /// Returns the time at which a generation was entered first.
    func created(_ generation: GenerationID) throws(StoreError) -> Timestamp? {
        try database.with("SELECT created FROM representations WHERE generation = ?1") { (select) throws(StoreError) in
            select.bind(1, generation.rawValue)
            return try select.step() ? Timestamp(nanoseconds: select.int64(0)) : nil
        }
    }

    /// Returns the highest number of a generation, or 0.
    func lastGeneration() throws(StoreError) -> Int64 {
        try database.connection.int64("SELECT max(generation) FROM representations") ?? 0
    }

    func insert(_ commit: StoreCommit, resource: Int64) throws(StoreError) {
        try database.with(
            """
            INSERT INTO representations (generation, resource, is_current, length, validator_kind, validator, header_block,
                request_time, response_time, content_coding, file_extension, created, cipher, cipher_key, facts_check, file_hash)
            VALUES (?1, ?9, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?10, ?11, ?12, ?13, ?14, ?15)
            """
        ) { (insert) throws(StoreError) in
            let fields = database.fields
            fields.bindDescription(of: commit, to: insert)
            insert.bind(9, resource)
            insert.bind(10, fields.isSealed ? "" : commit.fileExtension)
            insert.bind(11, commit.time.nanoseconds)
            let keys = fields.keys?.media(of: commit.generation)
            insert.bind(12, keys?.cipher.algorithm.rawValue ?? 0)
            insert.bind(13, keys?.identifier)
            insert.bind(15, fields.fileHash(of: commit.key, commit.generation))
            try insert.run()
        }
    }

    /// Updates the description of a generation. Keeps the extension, because it is part of the
    /// file's name.
    func update(_ commit: StoreCommit) throws(StoreError) {
        try database.with(
            """
            UPDATE representations SET length = ?2, validator_kind = ?3, validator = ?4, header_block = ?5,
                request_time = ?6, response_time = ?7, content_coding = ?8, facts_check = ?14
            WHERE generation = ?1
            """
        ) { (update) throws(StoreError) in
            database.fields.bindDescription(of: commit, to: update)
            try update.run()
        }
    }

    func delete(_ generation: GenerationID) throws(StoreError) {
        try database.run("DELETE FROM representations WHERE generation = ?1", generation.rawValue)
        known[generation] = nil
    }

    func removeAll() throws(StoreError) { try database.connection.run("DELETE FROM representations") }

    // MARK: Files

    /// Returns the files of every generation of a resource.
    func files(of resource: Int64) throws(StoreError) -> [DataFileID] {
        try database.with(
            """
            SELECT generation, coalesce(file_hash, key_hash), file_extension FROM representations JOIN resources USING (resource) WHERE resource = ?1
            """
        ) { (select) throws(StoreError) -> [DataFileID] in
            select.bind(1, resource)
            var files: [DataFileID] = []
            while try select.step() {
                files.append(
                    DataFileID(
                        generation: GenerationID(rawValue: select.int64(0)), keyHash: select.bytes(1),
                        fileExtension: select.text(2)))
            }
            return files
        }
    }

    /// Returns the file of a generation, or nil when the generation is not in the index.
    func file(of generation: GenerationID) throws(StoreError) -> DataFileID? {
        try database.with(
            """
            SELECT coalesce(file_hash, key_hash), file_extension FROM representations JOIN resources USING (resource) WHERE generation = ?1
            """
        ) { (select) throws(StoreError) in
            select.bind(1, generation.rawValue)
            guard try select.step() else { return nil }
            return DataFileID(generation: generation, keyHash: select.bytes(0), fileExtension: select.text(1))
        }
    }

    /// Returns the next generation that has a row in any table.
    func nextGeneration(after generation: Int64) throws(StoreError) -> Int64? {
        try database.with(
            """
            SELECT min(generation) FROM (
                SELECT min(generation) AS generation FROM representations WHERE generation > ?1
                UNION ALL SELECT min(generation) FROM pieces WHERE generation > ?1
                UNION ALL SELECT min(generation) FROM sizes WHERE generation > ?1
                UNION ALL SELECT min(generation) FROM unsynced WHERE generation > ?1)
            """
        ) { (select) throws(StoreError) in
            select.bind(1, generation)
            return try select.step() ? select.optionalInt64(0) : nil
        }
    }
}
