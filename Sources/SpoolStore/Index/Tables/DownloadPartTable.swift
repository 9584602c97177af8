import SpoolCore

/// The table `download_parts`: the resources of downloads that are presentations, stored or not.
struct DownloadPartTable {
    let database: IndexDatabase

    /// Enters a part. One that is entered already stays.
    func insert(_ key: ResourceKey, of download: ResourceKey) throws(StoreError) {
        try insert(key, of: database.fields.hash(of: download), database.fields)
    }

    private func insert(_ key: ResourceKey, of download: [UInt8], _ fields: IndexFields) throws(StoreError) {
        let hash = fields.hash(of: key)
        try database.connection.run(
            "INSERT OR IGNORE INTO download_parts (key_hash, download, key) VALUES (?1, ?2, ?3)", hash, download,
            fields.value(key.string, .downloadPart, of: IndexFields.Owner(keyHash: hash)))
    }

    func delete(_ key: ResourceKey, of download: ResourceKey) throws(StoreError) {
        try database.connection.run(
            "DELETE FROM download_parts WHERE key_hash = ?1 AND download = ?2", database.fields.hash(of: key),
            database.fields.hash(of: download))
    }

    /// Removes all parts of a download.
    func deleteAll(of download: ResourceKey) throws(StoreError) {
        try database.connection.run("DELETE FROM download_parts WHERE download = ?1", database.fields.hash(of: download))
    }

    /// Returns the parts of some downloads, up to the bound of a store. A part that does not open is
    /// left out.
    ///
    /// - Parameter names: the keys of the downloads by their hashes.
    func all(of names: [[UInt8]: ResourceKey]) throws(StoreError) -> [ResourceKey: [ResourceKey]] {
        var found = Dictionary(names.values.map { ($0, [ResourceKey]()) }, uniquingKeysWith: { first, _ in first })
        for row in try rows(limit: StoredDownload.maximumPartCount) {
            if let download = names[row.download] { found[download, default: []].append(row.key) }
        }
        return found
    }

    private func rows(limit: Int) throws(StoreError) -> [(key: ResourceKey, download: [UInt8])] {
        let fields = database.fields
        return try database.connection.rows(
            "SELECT key_hash, download, key FROM download_parts ORDER BY key_hash, download LIMIT ?1", Int64(max(0, limit))
        ) { row in
            fields.text(row, 2, .downloadPart, of: IndexFields.Owner(keyHash: row.bytes(0)))
                .map { (ResourceKey(normalized: $0), row.bytes(1)) }
        }
    }

    /// Returns the number of stored bytes of a download: those of its own resource and of its parts.
    func storedBytes(of download: ResourceKey) throws(StoreError) -> Int64 {
        try database.connection.int64(
            """
            SELECT min(total(max(upper - lower, 0)), 1 << 60) FROM resources JOIN representations USING (resource) JOIN pieces USING (generation)
            WHERE variant = '' AND is_current = 1
                AND key_hash IN (SELECT ?1 UNION ALL SELECT key_hash FROM download_parts WHERE download = ?1)
            """, database.fields.hash(of: download)) ?? 0
    }

    // MARK: Rotation of the key

    /// Seals all parts with other keys. A part of no download is left out.
    func reseal(of names: [[UInt8]: ResourceKey], _ new: IndexFields) throws(StoreError) {
        let parts = try all(of: names)
        try database.connection.run("DELETE FROM download_parts")
        for (download, keys) in parts {
            for key in keys { try insert(key, of: new.hash(of: download), new) }
        }
    }
}

extension StoreIndex {
    /// Enters or removes a part of a download.
    func setDownloadPart(_ key: ResourceKey, of download: ResourceKey, _ isPart: Bool) throws(StoreError) {
        try change { () throws(StoreError) in
            eviction.forget()
            try sizes.listing(key) { () throws(StoreError) in
                if isPart { try downloadParts.insert(key, of: download) } else { try downloadParts.delete(key, of: download) }
            }
        }
    }
}
