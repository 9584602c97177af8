import SpoolCore

/// Reads the summaries of all resources, in the order of the hashes of their keys.
struct SummaryQuery {
    private let database: IndexDatabase

    init(_ database: IndexDatabase) {
        self.database = database
    }

    /// Returns up to `limit` summaries after that of `key`. Skips rows that are sealed and do not
    /// open.
    func list(after key: ResourceKey?, limit: Int) throws(StoreError) -> [StoredSummary] {
        guard limit > 0 else { return [] }
        return try database.with(
            """
            SELECT key, key_hash, url, last_access, length, allocated_bytes
            FROM resources JOIN representations USING (resource) LEFT JOIN sizes USING (generation)
            WHERE key_hash > ?1 AND variant = '' AND is_current = 1
            ORDER BY key_hash
            """
        ) { (select) throws(StoreError) -> [StoredSummary] in
            select.bind(1, key.map { database.fields.hash(of: $0) } ?? [])
            var found: [StoredSummary] = []
            while found.count < limit, try select.step() {
                let hash = select.bytes(1)
                guard let key = database.openKey(select, 0, hash: hash),
                    let url = database.fields.text(select, 2, .url, of: IndexFields.Owner(keyHash: hash))
                else { continue }
                found.append(
                    StoredSummary(
                        key: key, url: url, length: select.optionalInt64(4).flatMap { $0 >= 0 ? $0 : nil },
                        storedBytes: max(0, select.optionalInt64(5) ?? 0), lastAccess: Timestamp(nanoseconds: select.int64(3))))
            }
            return found
        }
    }
}
