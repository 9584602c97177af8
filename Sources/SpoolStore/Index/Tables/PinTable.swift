import SpoolCore

/// The table `pins`: the keys that eviction spares, stored or not.
struct PinTable {
    let database: IndexDatabase

    func has(_ key: ResourceKey) throws(StoreError) -> Bool {
        try database.connection.int64("SELECT 1 FROM pins WHERE key_hash = ?1", database.fields.hash(of: key)) != nil
    }

    func insert(_ key: ResourceKey, time: Timestamp) throws(StoreError) {
        let hash = database.fields.hash(of: key)
        // For a key without stored bytes, only this row contains the key. The list of pins and a
        // change of the store's key need it.
        try database.connection.run(
            "INSERT INTO pins (key_hash, created, key) VALUES (?1, ?2, ?3)", hash, time,
            database.fields.value(key.string, .key, of: IndexFields.Owner(keyHash: hash)))
    }

    func delete(_ key: ResourceKey) throws(StoreError) {
        try database.connection.run("DELETE FROM pins WHERE key_hash = ?1", database.fields.hash(of: key))
    }

    /// Returns up to `limit` pinned keys of which nothing is stored, in the order of their hashes,
    /// after that of `key`. A pin of an earlier format without its key is left out.
    func withoutBytes(after key: ResourceKey?, limit: Int) throws(StoreError) -> [ResourceKey] {
        let start = key.map { database.fields.hash(of: $0) } ?? []
        return try database.connection.rows(
            """
            SELECT key_hash, key FROM pins
            WHERE key_hash > ?1 AND key IS NOT NULL AND key_hash NOT IN (SELECT key_hash FROM resources)
            ORDER BY key_hash LIMIT ?2
            """, start, Int64(limit)
        ) { (row) throws(StoreError) in
            guard start.lexicographicallyPrecedes(row.bytes(0)) else { throw .rowsOutOfOrder }
            return database.openKey(row, 1, hash: row.bytes(0))
        }
    }

    // MARK: Rotation of the key

    /// Returns up to `limit` pins after a hash, in order. The key is nil when it does not open.
    func page(after hash: [UInt8], limit: Int) throws(StoreError) -> [(hash: [UInt8], key: String?)] {
        try database.connection.rows("SELECT key_hash, key FROM pins WHERE key_hash > ?1 ORDER BY key_hash LIMIT ?2", hash, Int64(limit)) {
            row in
            (row.bytes(0), database.fields.text(row, 1, .key, of: IndexFields.Owner(keyHash: row.bytes(0))))
        }
    }

    /// Seals the pin with this hash, if there is one, with other keys.
    func reseal(
        _ oldHash: [UInt8], to owner: IndexFields.Owner, _ key: String, _ new: IndexFields
    ) throws(StoreError) {
        try database.connection.run(
            "UPDATE pins SET key_hash = ?2, key = ?3 WHERE key_hash = ?1", oldHash, owner.keyHash, new.value(key, .key, of: owner))
    }
}
