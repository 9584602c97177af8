import SpoolCore

#if os(Linux)
import CSQLite
#else
import SQLite3
#endif

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
        return try database.with("SELECT resource, key FROM resources WHERE key_hash = ?1") { (select) throws(StoreError) in
            select.bind(1, hash)
            guard try select.step() else { return nil }
            // The query finds the row by its hash, and the comparison of the keys rejects a
            // collision.
            let found = fields.text(select, 1, .key, of: IndexFields.Owner(keyHash: hash))
            return isRow(withKey: found, of: key) ? select.int64(0) : nil
        }
    }

    /// Whether a row that was found by the hash of `key` is that of `key`. In an encrypted store
    /// the hash alone is enough, because only a holder of the key can compute it. A row without a
    /// key is accepted.
    private func isRow(withKey found: String?, of key: ResourceKey) -> Bool {
        guard !fields.isSealed, let found else { return true }
        return ResourceKey(normalized: found) == key
    }

    /// Returns the number of the row of a commit's key, and inserts the row when it is missing.
    func enter(_ commit: StoreCommit) throws(StoreError) -> Int64 {
        let owner = IndexFields.Owner(keyHash: fields.hash(of: commit.key))
        let found = try database.with("SELECT resource, url, key FROM resources WHERE key_hash = ?1") { (select) throws(StoreError) in
            select.bind(1, owner.keyHash)
            guard try select.step() else { return (resource: Int64, url: String?, key: String?)?.none }
            return (select.int64(0), fields.text(select, 1, .url, of: owner), fields.text(select, 2, .key, of: owner))
        }
        guard let found else { return try insert(commit, owner) }
        // Two keys have the same hash: the first one stays, and the other is not stored.
        guard isRow(withKey: found.key, of: commit.key) else {
            throw .index(code: SQLITE_CONSTRAINT, message: "another key has this key's hash in commit")
        }
        if found.url != commit.url { try setURL(commit.url, of: found.resource, owner) }
        return found.resource
    }

    private func insert(_ commit: StoreCommit, _ owner: IndexFields.Owner) throws(StoreError) -> Int64 {
        knownKeys?.insert(owner.keyHash)
        return try database.with(
            """
            INSERT INTO resources (key, key_hash, url, created, last_access) VALUES (?1, ?2, ?3, ?4, ?4) RETURNING resource
            """
        ) { (insert) throws(StoreError) in
            fields.bind(commit.key.string, .key, of: owner, to: insert, at: 1)
            insert.bind(2, owner.keyHash)
            fields.bind(commit.url, .url, of: owner, to: insert, at: 3)
            insert.bind(4, commit.time.nanoseconds)
            guard try insert.step() else { preconditionFailure("an inserted row has a number") }
            let resource = insert.int64(0)
            // The insertion is complete only when the statement is, so step to its end.
            _ = try insert.step()
            total.change(from: 0, to: 1)
            noteAccess(commit.time)
            return resource
        }
    }

    private func setURL(_ url: String, of resource: Int64, _ owner: IndexFields.Owner) throws(StoreError) {
        try database.with("UPDATE resources SET url = ?2 WHERE resource = ?1") { (update) throws(StoreError) in
            update.bind(1, resource)
            fields.bind(url, .url, of: owner, to: update, at: 2)
            try update.run()
        }
    }

    /// Sets the access time of a key. Ignored when the key is not stored.
    func touch(_ key: ResourceKey, _ time: Timestamp) throws(StoreError) {
        try database.with("UPDATE resources SET last_access = ?2 WHERE key_hash = ?1") { (update) throws(StoreError) in
            update.bind(1, fields.hash(of: key))
            update.bind(2, time.nanoseconds)
            try update.run()
            noteAccess(time)
        }
    }

    /// Returns the newest access time, from the index of the column.
    func lastAccess() throws(StoreError) -> Timestamp? {
        try database.connection.int64("SELECT max(last_access) FROM resources").map(Timestamp.init(nanoseconds:))
    }

    func delete(_ resource: Int64) throws(StoreError) {
        try database.run("DELETE FROM resources WHERE resource = ?1", resource)
        total.change(from: 1, to: 0)
    }

    func removeAll() throws(StoreError) { try database.connection.run("DELETE FROM resources") }

    func count(isSoleWriter: Bool) throws(StoreError) -> Int {
        Int(
            clamping: try total.value(isKept: isSoleWriter) { () throws(StoreError) in
                try database.connection.int64("SELECT count(*) FROM resources")
            })
    }

    /// Returns up to `limit` hashes of keys after `hash`, in order.
    func keyHashes(after hash: [UInt8], limit: Int) throws(StoreError) -> [[UInt8]] {
        try database.with("SELECT key_hash FROM resources WHERE key_hash > ?1 ORDER BY key_hash LIMIT ?2") { (select) throws(StoreError) in
            select.bind(1, hash)
            select.bind(2, Int64(limit))
            var hashes: [[UInt8]] = []
            while try select.step() { hashes.append(select.bytes(0)) }
            if let last = hashes.last, !hash.lexicographicallyPrecedes(last) { throw .rowsOutOfOrder }
            return hashes
        }
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
        try database.with("SELECT resource, key, key_hash, url FROM resources WHERE resource > ?1 ORDER BY resource LIMIT ?2") {
            (select) throws(StoreError) in
            select.bind(1, resource)
            select.bind(2, Int64(limit))
            var page: [SealedFields] = []
            while try select.step() {
                let owner = IndexFields.Owner(keyHash: select.bytes(2))
                page.append(
                    SealedFields(
                        resource: select.int64(0), keyHash: owner.keyHash, key: fields.text(select, 1, .key, of: owner),
                        url: fields.text(select, 3, .url, of: owner)))
            }
            return page
        }
    }

    /// Seals the fields of a row with other keys.
    func reseal(_ resource: Int64, key: String, url: String, to owner: IndexFields.Owner, _ new: IndexFields) throws(StoreError) {
        try database.with("UPDATE resources SET key = ?2, key_hash = ?3, url = ?4 WHERE resource = ?1") { (update) throws(StoreError) in
            update.bind(1, resource)
            new.bind(key, .key, of: owner, to: update, at: 2)
            update.bind(3, owner.keyHash)
            new.bind(url, .url, of: owner, to: update, at: 4)
            try update.run()
        }
    }
}
