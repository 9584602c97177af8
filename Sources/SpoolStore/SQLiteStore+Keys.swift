public import SpoolCore
import SpoolSystem

// Which keys are certainly not stored: an answer without the index, for a store that this process has written since it was opened.
//
// Another process that writes, or another opening, brings keys that are not known here. An encrypted store's hashes need its keys, and
// these may change: it gives no such answer.

extension SQLiteStore {
    public func certainlyLacks(_ key: ResourceKey) -> Bool {
        guard let known = knownKeys.withLock({ $0 }) else { return false }
        return known.excludes(options.keyHash(key.string))
    }

    public func expect(_ key: ResourceKey) {
        knownKeys.withLock { $0 }?.insert(options.keyHash(key.string))
    }

    public func readKeys(limit: Int) throws(StoreError) -> Bool {
        guard let known = knownKeys.withLock({ $0 }), let cursor = known.cursor else { return true }
        let hashes = try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.keyHashes(after: cursor, limit: limit) }
        }
        known.read(hashes, isEnd: hashes.count < limit)
        return hashes.count < limit
    }
}
