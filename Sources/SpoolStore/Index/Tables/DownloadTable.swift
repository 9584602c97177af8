import SpoolCore

/// The table `downloads`: the entries of the list of downloads, stored or not.
struct DownloadTable {
    let database: IndexDatabase

    /// Enters or replaces the entry of a key.
    func set(_ key: ResourceKey, _ entry: String) throws(StoreError) { try set(key, entry, database.fields) }

    private func set(_ key: ResourceKey, _ entry: String, _ fields: IndexFields) throws(StoreError) {
        let hash = fields.hash(of: key)
        try database.connection.run(
            "INSERT OR REPLACE INTO downloads (key_hash, entry) VALUES (?1, ?2)", hash,
            fields.value(entry, .download, of: IndexFields.Owner(keyHash: hash)))
    }

    func delete(_ key: ResourceKey) throws(StoreError) {
        try database.connection.run("DELETE FROM downloads WHERE key_hash = ?1", database.fields.hash(of: key))
    }

    /// Returns up to `limit` entries. An entry that does not open is left out.
    func all(limit: Int) throws(StoreError) -> [String] {
        try database.connection.rows("SELECT key_hash, entry FROM downloads ORDER BY key_hash LIMIT ?1", Int64(max(0, limit))) { row in
            database.fields.text(row, 1, .download, of: IndexFields.Owner(keyHash: row.bytes(0)))
        }
    }

    /// Returns the entries that can be read, up to the bound of a list.
    func all() throws(StoreError) -> [StoredDownload] {
        try all(limit: StoredDownload.maximumCount).compactMap(StoredDownload.init)
    }

    /// Returns the keys of the entries by their hashes, up to the bound of a list. Reads no other
    /// member, because an entry may have many bytes of fields and data.
    func keys() throws(StoreError) -> [[UInt8]: ResourceKey] {
        let found = try database.connection.rows(
            "SELECT key_hash, entry FROM downloads ORDER BY key_hash LIMIT ?1", Int64(StoredDownload.maximumCount)
        ) { row in
            database.fields.text(row, 1, .download, of: IndexFields.Owner(keyHash: row.bytes(0)))
                .flatMap(StoredDownload.key(ofText:)).map { (row.bytes(0), $0) }
        }
        return Dictionary(found, uniquingKeysWith: { first, _ in first })
    }

    // MARK: Rotation of the key

    /// Seals all entries with other keys.
    func reseal(_ new: IndexFields) throws(StoreError) {
        let entries = try all(limit: .max)
        try database.connection.run("DELETE FROM downloads")
        for entry in entries {
            guard let key = StoredDownload(entry)?.key else { continue }
            try set(key, entry, new)
        }
    }
}

extension StoreIndex {
    /// Enters, replaces or removes an entry of the list of downloads. A removal takes its parts
    /// along.
    func setDownload(_ key: ResourceKey, _ entry: StoredDownload?) throws(StoreError) {
        // An entry may contain credentials.
        try overwriting { () throws(StoreError) in
            eviction.forget()
            if let entry { return try sizes.listing(key) { () throws(StoreError) in try downloads.set(key, entry.text) } }
            sizes.forgetDownloaded()
            try downloads.delete(key)
            try downloadParts.deleteAll(of: key)
        }
    }
}
