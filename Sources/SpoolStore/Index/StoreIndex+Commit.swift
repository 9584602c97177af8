import SpoolCore
import SpoolSystem

#if os(Linux)
import CSQLite
#else
import SQLite3
#endif

extension StoreIndex {
    /// A generation that was removed from the index, with the values that name its file.
    struct Retired {
        var generation: GenerationID
        var keyHash: [UInt8]
        var fileExtension: String
    }

    /// The result of a commit.
    enum CommitOutcome {
        /// The commit is in the index. The caller has to unlink the files of the replaced
        /// generations.
        case entered(replacing: [Retired])
        /// A later generation is current: the commit changed nothing.
        case outdated
    }

    /// Enters a commit in one transaction.
    ///
    /// - Parameters:
    ///   - file: the current status of the data file, or nil when there is none.
    ///   - lastGeneration: the last number that was handed out.
    func commit(_ commit: StoreCommit, file: FileStatus?, lastGeneration: Int64) throws(SQLiteError) -> CommitOutcome {
        var known: KnownGeneration?
        var reserved = reservedGeneration
        let outcome = try change { () throws(SQLiteError) -> CommitOutcome in
            reserved = try enterReservation(including: max(commit.generation.rawValue, lastGeneration))
            let (outcome, facts) = try enterFacts(commit)
            guard var facts else { return outcome }
            if !commit.pieces.isEmpty { try markUnsynced(commit.generation) }
            for piece in commit.pieces { try enter(piece, of: commit.generation) }
            if let file {
                let allocatedBytes = try occupiedBytes(of: commit.generation, file)
                try setSize(of: commit.generation, allocatedBytes, was: facts.allocatedBytes)
                facts.allocatedBytes = allocatedBytes
            }
            known = facts
            return outcome
        }
        reservedGeneration = reserved
        if let known { remember(commit.generation, known) }
        return outcome
    }

    /// Whether the generation is in the index.
    func has(_ generation: GenerationID) throws(SQLiteError) -> Bool {
        if known[generation] != nil { return true }
        return try database.with("SELECT 1 FROM representations WHERE generation = ?1") { (select) throws(SQLiteError) in
            select.bind(1, generation.rawValue)
            return try select.step()
        }
    }

    private func remember(_ generation: GenerationID, _ facts: KnownGeneration) {
        if known.count >= Self.knownLimit { known = [:] }
        known[generation] = facts
    }

    // MARK: Facts

    /// Enters the part of a commit besides its pieces. Returns no facts when the commit is
    /// outdated.
    private func enterFacts(_ commit: StoreCommit) throws(SQLiteError) -> (CommitOutcome, KnownGeneration?) {
        // The usual commit adds pieces to a generation whose facts are unchanged.
        if let known = known[commit.generation], known.says(commit) { return (.entered(replacing: []), known) }
        let resource = try enterResource(commit)
        var facts = KnownGeneration(
            resource: resource, url: commit.url, representation: commit.representation, fileExtension: commit.fileExtension,
            allocatedBytes: 0)
        let current = try currentGeneration(of: resource)
        if let current, current > commit.generation { return (.outdated, nil) }
        if current == commit.generation {
            try updateRepresentation(commit)
            facts.allocatedBytes = try size(of: commit.generation)
            return (.entered(replacing: []), facts)
        }
        let replaced = try takeOutGenerations(of: resource)
        try insertRepresentation(commit, resource: resource)
        return (.entered(replacing: replaced), facts)
    }

    /// Returns the number of the key's row, and inserts the row when it is missing.
    private func enterResource(_ commit: StoreCommit) throws(SQLiteError) -> Int64 {
        let owner = IndexFields.Owner(keyHash: fields.hash(of: commit.key))
        let found = try database.with("SELECT resource, url, key FROM resources WHERE key_hash = ?1") { (select) throws(SQLiteError) in
            select.bind(1, owner.keyHash)
            guard try select.step() else { return (resource: Int64, url: String?, key: String?)?.none }
            return (select.int64(0), fields.text(select, 1, .url, of: owner), fields.text(select, 2, .key, of: owner))
        }
        guard let found else { return try insertResource(commit, owner) }
        // Two keys have the same hash: the first one stays, and the other is not stored.
        guard fields.isSealed || found.key.map({ ResourceKey(normalized: $0) == commit.key }) ?? true else {
            throw SQLiteError(code: SQLITE_CONSTRAINT, message: "another key has this key's hash", context: "commit")
        }
        if found.url != commit.url {
            try database.with("UPDATE resources SET url = ?2 WHERE resource = ?1") { (update) throws(SQLiteError) in
                update.bind(1, found.resource)
                fields.bind(commit.url, .url, of: owner, to: update, at: 2)
                try update.run()
            }
        }
        return found.resource
    }

    private func insertResource(_ commit: StoreCommit, _ owner: IndexFields.Owner) throws(SQLiteError) -> Int64 {
        knownKeys?.insert(owner.keyHash)
        return try database.with(
            """
            INSERT INTO resources (key, key_hash, url, created, last_access) VALUES (?1, ?2, ?3, ?4, ?4) RETURNING resource
            """
        ) { (insert) throws(SQLiteError) in
            fields.bind(commit.key.string, .key, of: owner, to: insert, at: 1)
            insert.bind(2, owner.keyHash)
            fields.bind(commit.url, .url, of: owner, to: insert, at: 3)
            insert.bind(4, commit.time.nanoseconds)
            guard try insert.step() else { preconditionFailure("an inserted row has a number") }
            let resource = insert.int64(0)
            // The insertion is complete only when the statement is, so step to its end.
            _ = try insert.step()
            return resource
        }
    }

    private func currentGeneration(of resource: Int64) throws(SQLiteError) -> GenerationID? {
        try database.with(
            "SELECT generation FROM representations WHERE resource = ?1 AND variant = '' AND is_current = 1"
        ) { (select) throws(SQLiteError) in
            select.bind(1, resource)
            return try select.step() ? GenerationID(rawValue: select.int64(0)) : nil
        }
    }

    func insertRepresentation(_ commit: StoreCommit, resource: Int64) throws(SQLiteError) {
        try database.with(
            """
            INSERT INTO representations (generation, resource, is_current, length, validator_kind, validator, header_block,
                request_time, response_time, content_coding, file_extension, created, cipher, cipher_key, facts_check, file_hash)
            VALUES (?1, ?9, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?10, ?11, ?12, ?13, ?14, ?15)
            """
        ) { (insert) throws(SQLiteError) in
            bind(commit, to: insert)
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

    /// Keeps the extension, because it is part of the file's name.
    private func updateRepresentation(_ commit: StoreCommit) throws(SQLiteError) {
        try database.with(
            """
            UPDATE representations SET length = ?2, validator_kind = ?3, validator = ?4, header_block = ?5,
                request_time = ?6, response_time = ?7, content_coding = ?8, facts_check = ?14
            WHERE generation = ?1
            """
        ) { (update) throws(SQLiteError) in
            bind(commit, to: update)
            try update.run()
        }
    }

    private func bind(_ commit: StoreCommit, to statement: SQLiteStatement) {
        let representation = commit.representation
        var owner = IndexFields.Owner(keyHash: fields.hash(of: commit.key), generation: commit.generation)
        statement.bind(1, commit.generation.rawValue)
        statement.bind(2, representation.length)
        let kind = bind(representation.validator, of: owner, to: statement, at: 3)
        owner.facts = Self.authenticatedFacts(
            kind: kind.rawValue, length: representation.length, requestTime: representation.requestTime.nanoseconds,
            responseTime: representation.responseTime.nanoseconds)
        // In an encrypted store the sealed block also contains the extension. Its column is for the
        // names of files, and the names of encrypted files have no extension.
        let block = FieldBlock.encode(representation)
        let extensionLine = fields.isSealed ? Array(commit.fileExtension.utf8) + [UInt8(ascii: "\n")] : []
        fields.bind(extensionLine + block, .headerBlock, of: owner, to: statement, at: 5)
        statement.bind(6, representation.requestTime.nanoseconds)
        statement.bind(7, representation.responseTime.nanoseconds)
        statement.bind(8, fields.isSealed ? nil : representation.contentCoding)
        // Sealed fields are authenticated and need no check.
        let check = Self.factsCheck(keyHash: owner.keyHash, generation: commit.generation, representation)
        statement.bind(14, fields.isSealed ? nil : check)
    }

    /// Returns the CRC32C of the columns that describe a version. A damaged length would end a body
    /// too early, and no check of the bytes would detect that.
    static func factsCheck(keyHash: [UInt8], generation: GenerationID?, _ representation: Representation) -> Int64 {
        let validator: (ValidatorKind, [UInt8]) =
            switch representation.validator {
            case .strong(let tag), .weak(let tag): (ValidatorKind(representation.validator), Array(tag.utf8))
            case .lastModified(let time, _): (ValidatorKind(representation.validator), time.nanoseconds.littleEndianBytes)
            case .none: (.none, [])
            }
        let numbers = [
            generation?.rawValue ?? 0, validator.0.rawValue, representation.length ?? -1, representation.requestTime.nanoseconds,
            representation.responseTime.nanoseconds, Int64(validator.1.count),
        ]
        let bytes = keyHash + numbers.flatMap(\.littleEndianBytes) + validator.1 + FieldBlock.encode(representation)
        return Int64(bytes.withUnsafeBytes { CRC32C.of($0) })
    }

    /// Returns the columns that the sealed header block authenticates.
    static func authenticatedFacts(kind: Int64, length: Int64?, requestTime: Int64, responseTime: Int64) -> [Int64] {
        [kind, length ?? -1, requestTime, responseTime]
    }

    // MARK: Sizes

    /// Returns the bytes that a generation's file occupied when they were last entered.
    func size(of generation: GenerationID) throws(SQLiteError) -> Int64 {
        try database.with("SELECT allocated_bytes FROM sizes WHERE generation = ?1") { (select) throws(SQLiteError) in
            select.bind(1, generation.rawValue)
            return try select.step() ? select.int64(0) : 0
        }
    }

    /// Returns the bytes that a file occupies, at least the number of bytes stored in it.
    ///
    /// Some file systems (ZFS, Btrfs, NFS) count the blocks of a file only when they reach the
    /// disk. With their numbers alone, a fast origin could exceed the quota, and an eviction would
    /// appear to free nothing.
    func occupiedBytes(of generation: GenerationID, _ file: FileStatus) throws(SQLiteError) -> Int64 {
        // A file with as many blocks as its length needs is counted completely.
        guard file.allocatedBytes < file.size else { return file.allocatedBytes }
        let stored = try database.with("SELECT sum(upper - lower) FROM pieces WHERE generation = ?1") { (select) throws(SQLiteError) in
            select.bind(1, generation.rawValue)
            return try select.step() ? select.optionalInt64(0) ?? 0 : 0
        }
        return max(file.allocatedBytes, stored)
    }

    /// Enters the bytes that a generation's file occupies.
    func setSize(of generation: GenerationID, _ bytes: Int64, was before: Int64) throws(SQLiteError) {
        guard bytes != before else { return }
        try database.with("INSERT OR REPLACE INTO sizes (generation, allocated_bytes) VALUES (?1, ?2)") {
            (insert) throws(SQLiteError) in
            insert.bind(1, generation.rawValue)
            insert.bind(2, bytes)
            try insert.run()
        }
        if let total = totalSizeBytes { totalSizeBytes = total - before + bytes }
        known[generation]?.allocatedBytes = bytes
    }
}

extension StoreIndex.KnownGeneration {
    /// Whether a commit repeats the known facts.
    func says(_ commit: StoreCommit) -> Bool {
        url == commit.url && representation == commit.representation
    }
}
