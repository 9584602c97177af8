import SpoolCore

/// Finds the resources that eviction may remove.
struct EvictionQuery {
    private let database: IndexDatabase

    init(_ database: IndexDatabase) {
        self.database = database
    }

    /// Returns up to `limit` unpinned resources after `last` that occupy more than `bytes`, longest
    /// unused first. Resources with equal times are in the order of their keys' hashes.
    func candidates(
        after last: EvictionCandidate?, largerThan bytes: Int64 = -1, limit: Int
    ) throws(StoreError) -> [EvictionCandidate] {
        try database.with(
            """
            SELECT key, key_hash, last_access, length, allocated_bytes
            FROM resources JOIN representations USING (resource) LEFT JOIN sizes USING (generation)
            WHERE (last_access, key_hash) > (?1, ?2) AND variant = '' AND is_current = 1
                AND coalesce(allocated_bytes, 0) > ?4 AND key_hash NOT IN (SELECT key_hash FROM pins)
                AND key_hash NOT IN (SELECT key_hash FROM downloads)
                AND key_hash NOT IN (SELECT key_hash FROM download_parts)
            ORDER BY last_access, key_hash LIMIT ?3
            """
        ) { (select) throws(StoreError) in
            select.bind(1, last?.lastAccess.nanoseconds ?? .min)
            select.bind(2, last.map { database.fields.hash(of: $0.key) } ?? [])
            select.bind(3, Int64(max(0, limit)))
            select.bind(4, bytes)
            var found: [EvictionCandidate] = []
            while try select.step() {
                guard let key = database.openKey(select, 0, hash: select.bytes(1)) else { continue }
                found.append(
                    EvictionCandidate(
                        key: key, allocatedBytes: max(0, select.optionalInt64(4) ?? 0),
                        length: select.optionalInt64(3).flatMap { $0 >= 0 ? $0 : nil },
                        lastAccess: Timestamp(nanoseconds: select.int64(2))))
            }
            if let last, let end = found.last, !isAfter(last, end) { throw .rowsOutOfOrder }
            return found
        }
    }

    private func isAfter(_ last: EvictionCandidate, _ found: EvictionCandidate) -> Bool {
        guard found.lastAccess == last.lastAccess else { return found.lastAccess > last.lastAccess }
        return database.fields.hash(of: last.key).lexicographicallyPrecedes(database.fields.hash(of: found.key))
    }

    /// Returns up to `limit` resources without a pin and without a stored byte, longest unused
    /// first, as far as there are more than `kept`.
    func emptyResources(beyond kept: Int, limit: Int) throws(StoreError) -> [ResourceKey] {
        // Most calls end here: these two counts read no row.
        let versions = try database.connection.int64("SELECT count(*) FROM representations") ?? 0
        guard try versions - (database.connection.int64("SELECT count(*) FROM sizes WHERE allocated_bytes > 0") ?? 0) > Int64(kept) else {
            return []
        }
        let found = try database.connection.int64(
            """
            SELECT count(*) FROM resources JOIN representations USING (resource)
            WHERE is_current = 1 AND length IS NOT 0 AND NOT EXISTS (SELECT 1 FROM pieces WHERE generation = representations.generation)
                AND key_hash NOT IN (SELECT key_hash FROM pins)
                AND key_hash NOT IN (SELECT key_hash FROM downloads)
                AND key_hash NOT IN (SELECT key_hash FROM download_parts)
            """)
        let excess = (found ?? 0) - Int64(kept)
        guard excess > 0 else { return [] }
        return try database.with(
            """
            SELECT key, key_hash FROM resources JOIN representations USING (resource)
            WHERE is_current = 1 AND length IS NOT 0 AND NOT EXISTS (SELECT 1 FROM pieces WHERE generation = representations.generation)
                AND key_hash NOT IN (SELECT key_hash FROM pins)
                AND key_hash NOT IN (SELECT key_hash FROM downloads)
                AND key_hash NOT IN (SELECT key_hash FROM download_parts)
            ORDER BY last_access, key_hash LIMIT ?1
            """
        ) { (select) throws(StoreError) in
            select.bind(1, min(excess, Int64(max(0, limit))))
            var keys: [ResourceKey] = []
            while try select.step() {
                if let key = database.openKey(select, 0, hash: select.bytes(1)) { keys.append(key) }
            }
            return keys
        }
    }
}
