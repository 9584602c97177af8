import SpoolCore

// Ordered listing of an encrypted index. SQLite orders the rows of a plain index by key. It can't
// do so with sealed keys, so these methods sort them in memory.

extension StoreIndex {
    /// Returns up to `limit` entries after `key`, in the order of the keys' bytes.
    ///
    /// - Complexity: opens every key of the store; keeps at most 2 · `limit` of them in memory.
    func sealedEntries(after key: ResourceKey?, limit: Int) throws(SQLiteError) -> [Entry] {
        guard limit > 0 else { return [] }
        var smallest: [ResourceKey] = []
        try database.with("SELECT key, key_hash FROM resources JOIN representations USING (resource) WHERE variant = '' AND is_current = 1")
        { (select) throws(SQLiteError) in
            while try select.step() {
                guard let found = openKey(select, 0, hash: select.bytes(1)), key.map({ $0 < found }) ?? true else { continue }
                smallest.append(found)
                if smallest.count / 2 >= limit { smallest = Array(smallest.sorted().prefix(limit)) }
            }
        }
        var entries: [Entry] = []
        for key in smallest.sorted().prefix(limit) {
            if let entry = try lookup(key) { entries.append(entry) }
        }
        return entries
    }

    /// Returns the key of a row. When it does not open, calls `onUnreadable` and returns nil.
    func openKey(_ row: SQLiteStatement, _ column: Int32, hash: [UInt8]) -> ResourceKey? {
        let text = fields.text(row, column, .key, of: IndexFields.Owner(keyHash: hash))
        if text == nil { onUnreadable() }
        return text.map(ResourceKey.init(normalized:))
    }
}
