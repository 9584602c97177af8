import SpoolCore

// Rows during a rotation of the store's key.

extension RepresentationTable {
    /// The sealed fields of a generation's row.
    struct SealedFields {
        var generation: GenerationID
        var facts: [Int64]
        /// Nil when the row has none.
        var validator: [UInt8]?
        var hasUnreadableValidator: Bool
        /// Nil when it does not open.
        var header: [UInt8]?

        /// Whether every field opened.
        var isReadable: Bool { header != nil && !hasUnreadableValidator }
    }

    /// The amount of data that is still sealed with the previous keys.
    struct Backlog {
        var resources = 0
        var bytes: Int64 = 0
    }

    /// Returns the sealed fields of every generation of a resource.
    func sealedFields(of resource: Int64, keyHash: [UInt8]) throws(StoreError) -> [SealedFields] {
        try database.with(
            """
            SELECT generation, length, validator_kind, validator, header_block, request_time, response_time
            FROM representations WHERE resource = ?1
            """
        ) { (select) throws(StoreError) in
            select.bind(1, resource)
            var rows: [SealedFields] = []
            while try select.step() { rows.append(sealedFields(select, keyHash)) }
            return rows
        }
    }

    private func sealedFields(_ row: SQLiteStatement, _ keyHash: [UInt8]) -> SealedFields {
        let plain = IndexFields.Owner(keyHash: keyHash, generation: GenerationID(rawValue: row.int64(0)))
        var vouched = plain
        vouched.facts = RepresentationColumns.authenticatedFacts(
            kind: row.int64(2), length: row.optionalInt64(1), requestTime: row.int64(5), responseTime: row.int64(6))
        let validator = row.isNull(3) ? nil : database.fields.bytes(row, 3, .validator, of: plain)
        return SealedFields(
            generation: GenerationID(rawValue: row.int64(0)), facts: vouched.facts, validator: validator,
            hasUnreadableValidator: !row.isNull(3) && validator == nil,
            header: database.fields.bytes(row, 4, .headerBlock, of: vouched))
    }

    /// Seals the fields of a row with other keys. The row keeps the hash that names its file.
    func reseal(_ row: SealedFields, fileHash: [UInt8], to owner: IndexFields.Owner, _ new: IndexFields) throws(StoreError) {
        try database.with("UPDATE representations SET validator = ?2, header_block = ?3, file_hash = ?4 WHERE generation = ?1") {
            (update) throws(StoreError) in
            var owner = owner
            owner.generation = row.generation
            update.bind(1, row.generation.rawValue)
            if let validator = row.validator {
                new.bind(validator, .validator, of: owner, to: update, at: 2)
            } else {
                update.bind(2, nil as Int64?)
            }
            owner.facts = row.facts
            new.bind(row.header ?? [], .headerBlock, of: owner, to: update, at: 3)
            update.bind(4, fileHash)
            try update.run()
        }
    }

    /// Returns the amount of data up to generation `last` that must still be resealed with the new
    /// keys.
    func backlog(upTo last: GenerationID) throws(StoreError) -> Backlog {
        try database.with(
            """
            SELECT (SELECT count(*) FROM representations WHERE generation <= ?1),
                (SELECT coalesce(sum(upper - lower), 0) FROM pieces WHERE generation <= ?1)
            """
        ) { (select) throws(StoreError) in
            select.bind(1, last.rawValue)
            return try select.step() ? Backlog(resources: Int(clamping: select.int64(0)), bytes: select.int64(1)) : Backlog()
        }
    }

    /// Returns the first generation after one, up to the last one that the previous keys seal, with
    /// its resource's key. The key is nil when it does not open.
    func nextToReseal(
        after generation: GenerationID, upTo last: GenerationID
    ) throws(StoreError) -> (generation: GenerationID, key: ResourceKey?)? {
        try database.with(
            """
            SELECT generation, key, key_hash FROM representations JOIN resources USING (resource)
            WHERE generation > ?1 AND generation <= ?2 ORDER BY generation LIMIT 1
            """
        ) { (select) throws(StoreError) in
            select.bind(1, generation.rawValue)
            select.bind(2, last.rawValue)
            guard try select.step() else { return nil }
            return (GenerationID(rawValue: select.int64(0)), database.openKey(select, 1, hash: select.bytes(2)))
        }
    }
}
