import SpoolCore

/// Reads the summaries of all resources, in the order of the hashes of their keys.
struct SummaryQuery {
    let database: IndexDatabase

    /// Returns up to `limit` summaries after that of `key`. Skips rows that are sealed and do not
    /// open.
    func list(after key: ResourceKey?, limit: Int) throws(StoreError) -> [StoredSummary] {
        guard limit > 0 else { return [] }
        return try database.connection.rows(
            """
            SELECT key, key_hash, url, last_access, length, min(allocated_bytes, 1 << 60)
            FROM resources JOIN representations USING (resource) LEFT JOIN sizes USING (generation)
            WHERE key_hash > ?1 AND variant = '' AND is_current = 1
            ORDER BY key_hash
            """, key.map { database.fields.hash(of: $0) } ?? [], limit: limit
        ) { row in
            let hash = row.bytes(1)
            guard let key = database.openKey(row, 0, hash: hash),
                let url = database.fields.text(row, 2, .url, of: IndexFields.Owner(keyHash: hash))
            else { return nil }
            return StoredSummary(key: key, url: url, length: row.size(4), storedBytes: row.size(5) ?? 0, lastAccess: row.time(3))
        }
    }
}
