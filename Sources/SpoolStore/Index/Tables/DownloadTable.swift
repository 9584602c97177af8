import SpoolCore

/// The table `downloads`: the entries of the list of downloads, stored or not.
struct DownloadTable {
    private let database: IndexDatabase

    init(_ database: IndexDatabase) {
        self.database = database
    }

    /// Enters or replaces the entry of a key.
    func set(_ key: ResourceKey, _ entry: String) throws(StoreError) {
        let hash = database.fields.hash(of: key)
        try database.with("INSERT OR REPLACE INTO downloads (key_hash, entry) VALUES (?1, ?2)") { (insert) throws(StoreError) in
            insert.bind(1, hash)
            database.fields.bind(entry, .download, of: IndexFields.Owner(keyHash: hash), to: insert, at: 2)
            try insert.run()
        }
    }

    func delete(_ key: ResourceKey) throws(StoreError) {
        try database.with("DELETE FROM downloads WHERE key_hash = ?1") { (delete) throws(StoreError) in
            delete.bind(1, database.fields.hash(of: key))
            try delete.run()
        }
    }

    func removeAll() throws(StoreError) { try database.connection.run("DELETE FROM downloads") }

    /// Returns up to `limit` entries. An entry that does not open is left out.
    func all(limit: Int) throws(StoreError) -> [String] {
        try database.with("SELECT key_hash, entry FROM downloads ORDER BY key_hash LIMIT ?1") { (select) throws(StoreError) in
            select.bind(1, Int64(max(0, limit)))
            var entries: [String] = []
            while try select.step() {
                let owner = IndexFields.Owner(keyHash: select.bytes(0))
                if let entry = database.fields.text(select, 1, .download, of: owner) { entries.append(entry) }
            }
            return entries
        }
    }

    /// Returns the entries that can be read, up to the bound of a list.
    func all() throws(StoreError) -> [StoredDownload] {
        try all(limit: StoredDownload.maximumCount).compactMap(StoredDownload.init)
    }

    // MARK: Rotation of the key

    /// Seals all entries with other keys.
    func reseal(_ new: IndexFields) throws(StoreError) {
        let old = database.fields
        let entries = try database.with("SELECT key_hash, entry FROM downloads") {
            (select) throws(StoreError) -> [String] in
            var entries: [String] = []
            while try select.step() {
                if let entry = old.text(select, 1, .download, of: IndexFields.Owner(keyHash: select.bytes(0))) { entries.append(entry) }
            }
            return entries
        }
        try removeAll()
        for entry in entries {
            guard let key = StoredDownload(entry)?.key else { continue }
            let hash = new.hash(of: key)
            try database.with("INSERT OR REPLACE INTO downloads (key_hash, entry) VALUES (?1, ?2)") { (insert) throws(StoreError) in
                insert.bind(1, hash)
                new.bind(entry, .download, of: IndexFields.Owner(keyHash: hash), to: insert, at: 2)
                try insert.run()
            }
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
