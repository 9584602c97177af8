import SpoolCore

/// Reads the stored resources, each with the current generation of its key: one by its key, or many
/// in order.
struct EntryQuery {
    let database: IndexDatabase
    let pieces: PieceTable

    private var fields: IndexFields { database.fields }

    /// A resource as the index has it, with the hash that names its data file's directory.
    struct Entry {
        var resource: StoredResource
        var keyHash: [UInt8]
    }

    /// Returns the current generation of a key, with its spans.
    func entry(of key: ResourceKey) throws(StoreError) -> Entry? {
        let found = try database.connection.first(
            """
            SELECT key, key_hash, url, last_access, generation, length, validator_kind, validator, header_block,
                   request_time, response_time, file_extension, facts_check, key_hash IN (SELECT key_hash FROM pins)
            FROM resources JOIN representations USING (resource)
            WHERE key_hash = ?1 AND variant = '' AND is_current = 1
            """, fields.hash(of: key), row: entry)
        // The query finds the row by its hash. The comparison of the keys rejects a collision.
        guard var entry = found, entry.resource.key == key else { return nil }
        (entry.resource.spans, entry.resource.unverified) = try pieces.spans(of: entry.resource.generation)
        return entry
    }

    /// Returns up to `limit` entries after `key`, in the order of the keys' bytes.
    func list(after key: ResourceKey?, limit: Int) throws(StoreError) -> [Entry] {
        if fields.isSealed { return try sealedEntries(after: key, limit: limit) }
        // Numbers sort before texts, so every key follows the number.
        let start: any SQLiteValue = if let key { key.string } else { Int64.min }
        var entries = try database.connection.rows(
            """
            SELECT key, key_hash, url, last_access, generation, length, validator_kind, validator, header_block,
                   request_time, response_time, file_extension, facts_check, key_hash IN (SELECT key_hash FROM pins)
            FROM resources JOIN representations USING (resource)
            WHERE key > ?1 AND variant = '' AND is_current = 1
            ORDER BY key LIMIT ?2
            """, start, Int64(max(0, limit)), row: entry)
        if let key, let last = entries.last, last.resource.key <= key { throw .rowsOutOfOrder }
        for index in entries.indices {
            (entries[index].resource.spans, entries[index].resource.unverified) = try pieces.spans(of: entries[index].resource.generation)
        }
        return entries
    }

    /// Returns each generation of a resource, current or not, without its spans. The version is nil
    /// when it does not open.
    func versions(of resource: Int64) throws(StoreError) -> [(generation: GenerationID, version: StoredResource?)] {
        try database.connection.rows(
            """
            SELECT key, key_hash, url, last_access, generation, length, validator_kind, validator, header_block,
                   request_time, response_time, file_extension, facts_check, 0
            FROM resources JOIN representations USING (resource) WHERE resource = ?1
            """, resource
        ) { ($0.generation(4), entry($0)?.resource) }
    }

    // MARK: An encrypted index

    // SQLite orders the rows of a plain index by key. It can't do so with sealed keys, so this
    // method sorts them in memory.

    /// Returns up to `limit` entries after `key`, in the order of the keys' bytes.
    ///
    /// - Complexity: opens every key of the store; keeps at most 2 · `limit` of them in memory.
    private func sealedEntries(after key: ResourceKey?, limit: Int) throws(StoreError) -> [Entry] {
        guard limit > 0 else { return [] }
        var smallest: [ResourceKey] = []
        try database.connection.each(
            "SELECT key, key_hash FROM resources JOIN representations USING (resource) WHERE variant = '' AND is_current = 1"
        ) { row in
            guard let found = database.openKey(row, 0, hash: row.bytes(1)), isAfter(key, found) else { return }
            smallest.append(found)
            if smallest.count / 2 >= limit { smallest = Array(smallest.sorted().prefix(limit)) }
        }
        var entries: [Entry] = []
        for key in smallest.sorted().prefix(limit) {
            if let entry = try entry(of: key) { entries.append(entry) }
        }
        return entries
    }

    private func isAfter(_ key: ResourceKey?, _ found: ResourceKey) -> Bool {
        guard let key else { return true }
        return key < found
    }

    // MARK: Rows

    /// Returns a row as an entry without its spans. When the row is sealed and does not open, or
    /// does not match its check, calls `onUnreadable` and returns nil.
    private func entry(_ row: SQLiteStatement) -> Entry? {
        let keyHash = row.bytes(1)
        let owner = IndexFields.Owner(keyHash: keyHash)
        let version = IndexFields.Owner(keyHash: keyHash, generation: row.generation(4))
        var vouched = version
        vouched.facts = RepresentationColumns.authenticatedFacts(
            kind: row.int64(6), length: row.optionalInt64(5), requestTime: row.int64(9), responseTime: row.int64(10))
        guard let key = database.key(row, 0, hash: keyHash), let url = fields.text(row, 2, .url, of: owner),
            let validator = fields.validator(row, column: 6, of: version), let block = fields.bytes(row, 8, .headerBlock, of: vouched)
        else {
            database.onUnreadable()
            return nil
        }
        let (versionFields, mark) = FieldBlock.decodeVersion(block)
        var representation = Representation(
            status: FieldBlock.status(block), length: row.size(5), validator: validator, fields: versionFields, requestTime: row.time(9),
            responseTime: row.time(10))
        representation.mark = mark
        let check = RepresentationColumns.factsCheck(keyHash: keyHash, generation: version.generation, representation)
        // A row of an earlier format has no check.
        if !fields.isSealed, let found = row.optionalInt64(12), found != check {
            database.onUnreadable()
            return nil
        }
        return Entry(
            resource: StoredResource(
                key: key, url: url, generation: row.generation(4),
                representation: representation, spans: ByteRangeSet(),
                fileExtension: fields.keys?.media(of: row.generation(4)) == nil ? row.text(11) : FieldBlock.firstLine(block),
                lastAccess: row.time(3), isPinned: row.int64(13) != 0),
            keyHash: keyHash)
    }
}
