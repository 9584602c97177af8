import SpoolCore

// The queries of eviction: candidates, empty resources, sizes and pins.

extension StoreIndex {
    /// Returns up to `limit` unpinned resources after `last` that occupy more than `bytes`, longest
    /// unused first. Resources with equal times are in the order of their keys' hashes.
    func evictionCandidates(
        after last: EvictionCandidate?, largerThan bytes: Int64 = -1, limit: Int
    ) throws(SQLiteError) -> [EvictionCandidate] {
        try database.with(
            """
            SELECT key, key_hash, last_access, length, allocated_bytes
            FROM resources JOIN representations USING (resource) LEFT JOIN sizes USING (generation)
            WHERE (last_access, key_hash) > (?1, ?2) AND variant = '' AND is_current = 1
                AND coalesce(allocated_bytes, 0) > ?4 AND key_hash NOT IN (SELECT key_hash FROM pins)
            ORDER BY last_access, key_hash LIMIT ?3
            """
        ) { (select) throws(SQLiteError) in
            select.bind(1, last?.lastAccess.nanoseconds ?? .min)
            select.bind(2, last.map { fields.hash(of: $0.key) } ?? [])
            select.bind(3, Int64(max(0, limit)))
            select.bind(4, bytes)
            var found: [EvictionCandidate] = []
            while try select.step() {
                guard let key = openKey(select, 0, hash: select.bytes(1)) else { continue }
                found.append(
                    EvictionCandidate(
                        key: key, allocatedBytes: max(0, select.optionalInt64(4) ?? 0),
                        length: select.optionalInt64(3).flatMap { $0 >= 0 ? $0 : nil },
                        lastAccess: Timestamp(nanoseconds: select.int64(2))))
            }
            return found
        }
    }

    /// Returns up to `limit` resources without a pin and without a stored byte, longest unused
    /// first, as far as there are more than `kept`.
    func emptyResources(beyond kept: Int, limit: Int) throws(SQLiteError) -> [ResourceKey] {
        // Most calls end here: these two counts read no row.
        let versions = try database.int64("SELECT count(*) FROM representations") ?? 0
        guard try versions - (database.int64("SELECT count(*) FROM sizes WHERE allocated_bytes > 0") ?? 0) > Int64(kept) else { return [] }
        let found = try database.int64(
            """
            SELECT count(*) FROM resources JOIN representations USING (resource)
            WHERE is_current = 1 AND length IS NOT 0 AND NOT EXISTS (SELECT 1 FROM pieces WHERE generation = representations.generation)
                AND key_hash NOT IN (SELECT key_hash FROM pins)
            """)
        let excess = (found ?? 0) - Int64(kept)
        guard excess > 0 else { return [] }
        return try database.with(
            """
            SELECT key, key_hash FROM resources JOIN representations USING (resource)
            WHERE is_current = 1 AND length IS NOT 0 AND NOT EXISTS (SELECT 1 FROM pieces WHERE generation = representations.generation)
                AND key_hash NOT IN (SELECT key_hash FROM pins)
            ORDER BY last_access, key_hash LIMIT ?1
            """
        ) { (select) throws(SQLiteError) in
            select.bind(1, min(excess, Int64(max(0, limit))))
            var keys: [ResourceKey] = []
            while try select.step() {
                if let key = openKey(select, 0, hash: select.bytes(1)) { keys.append(key) }
            }
            return keys
        }
    }

    /// Enters the bytes that the file of a generation occupies now, if the generation is in the
    /// index.
    func enterSize(of generation: GenerationID, _ bytes: Int64) throws(SQLiteError) {
        guard try has(generation) else { return }
        let before = try size(of: generation)
        guard bytes != before else { return }
        try change { () throws(SQLiteError) in try setSize(of: generation, bytes, was: before) }
    }

    /// Enters or removes a pin. Returns false when nothing changed.
    func setPinned(_ key: ResourceKey, _ isPinned: Bool, time: Timestamp) throws(SQLiteError) -> Bool {
        let hash = fields.hash(of: key)
        let isNew = try database.with("SELECT 1 FROM pins WHERE key_hash = ?1") { (select) throws(SQLiteError) in
            select.bind(1, hash)
            return try select.step() != isPinned
        }
        guard isNew else { return false }
        try change { () throws(SQLiteError) in
            if isPinned {
                try database.with("INSERT INTO pins (key_hash, created, key) VALUES (?1, ?2, ?3)") { (insert) throws(SQLiteError) in
                    insert.bind(1, hash)
                    insert.bind(2, time.nanoseconds)
                    // For a key without stored bytes, only this column contains the key. The list
                    // of pins and a change of the store's key need it.
                    fields.bind(key.string, .key, of: IndexFields.Owner(keyHash: hash), to: insert, at: 3)
                    try insert.run()
                }
            } else {
                try database.with("DELETE FROM pins WHERE key_hash = ?1") { (delete) throws(SQLiteError) in
                    delete.bind(1, hash)
                    try delete.run()
                }
            }
        }
        return true
    }

    /// Returns up to `limit` pinned keys of which nothing is stored, in the order of their hashes,
    /// after that of `key`. A pin of an earlier format without its key is left out.
    func pinsWithoutBytes(after key: ResourceKey?, limit: Int) throws(SQLiteError) -> [ResourceKey] {
        try database.with(
            """
            SELECT key_hash, key FROM pins
            WHERE key_hash > ?1 AND key IS NOT NULL AND key_hash NOT IN (SELECT key_hash FROM resources)
            ORDER BY key_hash LIMIT ?2
            """
        ) { (select) throws(SQLiteError) in
            select.bind(1, key.map { fields.hash(of: $0) } ?? [])
            select.bind(2, Int64(limit))
            var keys: [ResourceKey] = []
            while try select.step() {
                guard let text = fields.text(select, 1, .key, of: IndexFields.Owner(keyHash: select.bytes(0))) else {
                    onUnreadable()
                    continue
                }
                keys.append(ResourceKey(normalized: text))
            }
            return keys
        }
    }
}
