package import SpoolCore
import SpoolSystem

// Detection of keys that are certainly not stored, without the index. It works for a plain store
// that this process has written since it was opened.
//
// Another writing process or another opening can add keys that this process has not seen. The
// hashes of an encrypted store depend on keys that may change, so it has no such filter.

extension SQLiteStore {
    /// Whether the filter certainly does not contain the key. False when the store has no filter.
    package func certainlyLacks(_ key: ResourceKey) -> Bool {
        guard let known = knownKeys.withLock({ $0 }) else { return false }
        return known.excludes(options.keyHash(key.string))
    }

    /// Inserts the key into the filter.
    package func expect(_ key: ResourceKey) {
        knownKeys.withLock { $0 }?.insert(options.keyHash(key.string))
    }

    /// Reads up to `limit` hashes of stored keys into the filter. Returns true when all are read.
    package func readKeys(limit: Int) throws(StoreError) -> Bool {
        guard let known = knownKeys.withLock({ $0 }), let cursor = known.cursor else { return true }
        let hashes = try read { (index) throws(StoreError) in
            try index.resources.keyHashes(after: cursor, limit: limit)
        }
        known.read(hashes, isEnd: hashes.count < limit)
        return hashes.count < limit
    }
}
