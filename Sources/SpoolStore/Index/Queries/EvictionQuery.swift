import SpoolCore

/// Finds the resources that eviction may remove.
struct EvictionQuery {
    let database: IndexDatabase
    let resources: ResourceTable

    /// Discards the place of the first candidate, because an older resource may have become one.
    func forget() { resources.firstEvictable = nil }

    /// Returns up to `limit` unpinned resources after `last` that occupy more than `bytes`, longest
    /// unused first. Resources with equal times are in the order of their keys' hashes.
    ///
    /// A search from the beginning starts at the first candidate of the search before, so that it
    /// does not pass all older downloads and pins again.
    func candidates(
        after last: EvictionCandidate?, largerThan bytes: Int64, limit: Int
    ) throws(StoreError) -> [EvictionCandidate] {
        var isFirst = last == nil
        let found = try database.connection.rows(
            """
            SELECT key, key_hash, last_access, length, min(allocated_bytes, 1 << 60)
            FROM resources JOIN representations USING (resource) LEFT JOIN sizes USING (generation)
            WHERE (last_access, key_hash) > (?1, ?2) AND variant = '' AND is_current = 1
                AND key_hash NOT IN (SELECT key_hash FROM pins)
                AND key_hash NOT IN (SELECT key_hash FROM downloads)
                AND key_hash NOT IN (SELECT key_hash FROM download_parts)
            ORDER BY last_access, key_hash
            """, last?.lastAccess.nanoseconds ?? resources.firstEvictable ?? Int64.min, last.map { database.fields.hash(of: $0.key) } ?? [],
            limit: limit
        ) { row -> EvictionCandidate? in
            if isFirst { resources.firstEvictable = row.int64(2) }
            isFirst = false
            let size = row.size(4) ?? 0
            guard size > bytes, let key = database.openKey(row, 0, hash: row.bytes(1)) else { return nil }
            return EvictionCandidate(key: key, allocatedBytes: size, length: row.size(3), lastAccess: row.time(2))
        }
        if let last, let end = found.last, !isAfter(last, end) { throw .rowsOutOfOrder }
        return found
    }

    private func isAfter(_ last: EvictionCandidate, _ found: EvictionCandidate) -> Bool {
        guard found.lastAccess == last.lastAccess else { return found.lastAccess > last.lastAccess }
        return database.fields.hash(of: last.key).lexicographicallyPrecedes(database.fields.hash(of: found.key))
    }
}
