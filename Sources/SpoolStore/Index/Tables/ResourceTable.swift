import SpoolCore

/// The table `resources`: the keys, URLs and access times of the stored resources.
final class ResourceTable {
    private let database: IndexDatabase
    /// The filter of keys that the index may contain, or nil when no caller needs it.
    var knownKeys: KnownKeys?
    /// An access time before which no resource may be evicted. Nil when none is known.
    var firstEvictable: Int64?
    private var total = RunningTotal()

    init(_ database: IndexDatabase) {
        self.database = database
    }

    private var fields: IndexFields { database.fields }

    /// Discards the cached state after a failed transaction.
    func forget() {
        firstEvictable = nil
        total.forget()
    }

    private func noteAccess(_ time: Timestamp) {
        if let first = firstEvictable, time.nanoseconds < first { firstEvictable = nil }
    }

    /// Returns the row number of a key's resource.
    func row(of key: ResourceKey) throws(StoreError) -> Int64? {
        let hash = fields.hash(of: key)
        return try database.connection.first("SELECT resource, key FROM resources WHERE key_hash = ?1", hash) { row in
            // The query finds the row by its hash, and the comparison of the keys rejects a
            // collision.
            if let found = database.key(row, 1, hash: hash), found != key { return nil }
            return row.int64(0)
        }
    }

    /// Returns the number of the row of a commit's key, and inserts the row when it is missing.
    func enter(_ commit: StoreCommit) throws(StoreError) -> Int64 {
        let owner = IndexFields.Owner(keyHash: fields.hash(of: commit.key))
        let found = try database.connection.first("SELECT resource, url, key FROM resources WHERE key_hash = ?1", owner.keyHash) { row in
            (resource: row.int64(0), url: fields.text(row, 1, .url, of: owner), key: database.key(row, 2, hash: owner.keyHash))
        }
        guard let found else { return try insert(commit, owner) }
        // Two keys have the same hash: the first one stays, and the other is not stored.
        if let key = found.key, key != commit.key { throw .sharedHash }
        if found.url != commit.url || found.key == nil { try setNames(commit, of: found.resource, owner) }
        return found.resource
    }

    private func insert(_ commit: StoreCommit, _ owner: IndexFields.Owner) throws(StoreError) -> Int64 {
        knownKeys?.insert(owner.keyHash)
        // The insertion is complete only when the statement is, so all of its rows are read.
        let inserted = try database.connection.rows(
            "INSERT INTO resources (key, key_hash, url, created, last_access) VALUES (?1, ?2, ?3, ?4, ?4) RETURNING resource",
            fields.value(commit.key.string, .key, of: owner), owner.keyHash, fields.value(commit.url, .url, of: owner), commit.time
        ) { $0.int64(0) }
        guard let resource = inserted.first else { preconditionFailure("an inserted row has a number") }
        total.change(from: 0, to: 1)
        noteAccess(commit.time)
        return resource
    }

    private func setNames(_ commit: StoreCommit, of resource: Int64, _ owner: IndexFields.Owner) throws(StoreError) {
        try database.connection.run(
            "UPDATE resources SET key = ?2, url = ?3 WHERE resource = ?1", resource, fields.value(commit.key.string, .key, of: owner),
            fields.value(commit.url, .url, of: owner))
    }

    /// Sets the access time of a key. Ignored when the key is not stored.
    func touch(_ key: ResourceKey, _ time: Timestamp) throws(StoreError) {
        try database.connection.run("UPDATE resources SET last_access = ?2 WHERE key_hash = ?1", fields.hash(of: key), time)
        noteAccess(time)
    }

    /// Returns the newest access time, from the index of the column.
    func lastAccess() throws(StoreError) -> Timestamp? {
        try database.connection.int64("SELECT max(last_access) FROM resources").map(Timestamp.init(nanoseconds:))
    }

    func delete(_ resource: Int64) throws(StoreError) {
        try database.connection.run("DELETE FROM resources WHERE resource = ?1", resource)
        total.change(from: 1, to: 0)
    }

    func count(isSoleWriter: Bool) throws(StoreError) -> Int {
        Int(
            clamping: try total.value(isKept: isSoleWriter) { () throws(StoreError) in
                try database.connection.int64("SELECT count(*) FROM resources")
            })
    }

    /// Returns up to `limit` hashes of keys after `hash`, in order.
    func keyHashes(after hash: [UInt8], limit: Int) throws(StoreError) -> [[UInt8]] {
        let hashes = try database.connection.rows(
            "SELECT key_hash FROM resources WHERE key_hash > ?1 ORDER BY key_hash LIMIT ?2", hash, Int64(limit)
        ) { $0.bytes(0) }
        if let last = hashes.last, !hash.lexicographicallyPrecedes(last) { throw .rowsOutOfOrder }
        return hashes
    }

    // MARK: Rotation of the key

    /// The fields of a resource that a rotation changes.
    struct SealedFields {
        var resource: Int64
        var keyHash: [UInt8]
        /// Nil when the row did not open.
        var key: String?
        var url: String?
    }

    /// Returns up to `limit` rows after one, in order.
    func page(after resource: Int64, limit: Int) throws(StoreError) -> [SealedFields] {
        try database.connection.rows(
            "SELECT resource, key, key_hash, url FROM resources WHERE resource > ?1 ORDER BY resource LIMIT ?2", resource, Int64(limit)
        ) { row in
            let owner = IndexFields.Owner(keyHash: row.bytes(2))
            return SealedFields(
                resource: row.int64(0), keyHash: owner.keyHash, key: database.key(row, 1, hash: owner.keyHash)?.string,
                url: fields.text(row, 3, .url, of: owner))
        }
    }

    /// Seals the fields of a row with other keys.
    func reseal(_ resource: Int64, key: String, url: String, to owner: IndexFields.Owner, _ new: IndexFields) throws(StoreError) {
        try database.connection.run(
            "UPDATE resources SET key = ?2, key_hash = ?3, url = ?4 WHERE resource = ?1", resource, new.value(key, .key, of: owner),
            owner.keyHash, new.value(url, .url, of: owner))
    }
}
