import SpoolCore

/// The table `pins`: the keys that eviction spares, stored or not.
struct PinTable {
    private let database: IndexDatabase

    init(_ database: IndexDatabase) {
        self.database = database
    }

    func has(_ key: ResourceKey) throws(StoreError) -> Bool {
        try database.with("SELECT 1 FROM pins WHERE key_hash = ?1") { (select) throws(StoreError) in
            select.bind(1, database.fields.hash(of: key))
            return try select.step()
        }
    }

    func insert(_ key: ResourceKey, time: Timestamp) throws(StoreError) {
        let hash = database.fields.hash(of: key)
        try database.with("INSERT INTO pins (key_hash, created, key) VALUES (?1, ?2, ?3)") { (insert) throws(StoreError) in
            insert.bind(1, hash)
            insert.bind(2, time.nanoseconds)
            // For a key without stored bytes, only this column contains the key. The list of pins
            // and a change of the store's key need it.
            database.fields.bind(key.string, .key, of: IndexFields.Owner(keyHash: hash), to: insert, at: 3)
            try insert.run()
        }
    }

    func delete(_ key: ResourceKey) throws(StoreError) {
        try database.with("DELETE FROM pins WHERE key_hash = ?1") { (delete) throws(StoreError) in
            delete.bind(1, database.fields.hash(of: key))
            try delete.run()
        }
    }

    func removeAll() throws(StoreError) { try database.connection.run("DELETE FROM pins") }

    /// Returns up to `limit` pinned keys of which nothing is stored, in the order of their hashes,
    /// after that of `key`. A pin of an earlier format without its key is left out.
    func withoutBytes(after key: ResourceKey?, limit: Int) throws(StoreError) -> [ResourceKey] {
        try database.with(
            """
            SELECT key_hash, key FROM pins
            WHERE key_hash > ?1 AND key IS NOT NULL AND key_hash NOT IN (SELECT key_hash FROM resources)
            ORDER BY key_hash LIMIT ?2
            """
        ) { (select) throws(StoreError) in
            let start = key.map { database.fields.hash(of: $0) } ?? []
            select.bind(1, start)
            select.bind(2, Int64(limit))
            var keys: [ResourceKey] = []
            while try select.step() {
                let hash = select.bytes(0)
                guard start.lexicographicallyPrecedes(hash) else { throw .rowsOutOfOrder }
                if let key = database.openKey(select, 1, hash: hash) { keys.append(key) }
            }
            return keys
        }
    }

    // MARK: Rotation of the key

    /// Returns up to `limit` pins after a hash, in order. The key is nil when it does not open.
    func page(after hash: [UInt8], limit: Int) throws(StoreError) -> [(hash: [UInt8], key: String?)] {
        try database.with("SELECT key_hash, key FROM pins WHERE key_hash > ?1 ORDER BY key_hash LIMIT ?2") {
            (select) throws(StoreError) -> [(hash: [UInt8], key: String?)] in
            select.bind(1, hash)
            select.bind(2, Int64(limit))
            var page: [(hash: [UInt8], key: String?)] = []
            while try select.step() {
                let owner = IndexFields.Owner(keyHash: select.bytes(0))
                page.append((owner.keyHash, database.fields.text(select, 1, .key, of: owner)))
            }
            return page
        }
    }

    /// Seals the pin with this hash, if there is one, with other keys.
    func reseal(
        _ oldHash: [UInt8], to owner: IndexFields.Owner, _ key: String, _ new: IndexFields
    ) throws(StoreError) {
        try database.with("UPDATE pins SET key_hash = ?2, key = ?3 WHERE key_hash = ?1") { (update) throws(StoreError) in
            update.bind(1, oldHash)
            update.bind(2, owner.keyHash)
            new.bind(key, .key, of: owner, to: update, at: 3)
            try update.run()
        }
    }
}
