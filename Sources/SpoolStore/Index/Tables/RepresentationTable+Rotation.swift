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
        try database.connection.rows(
            """
            SELECT generation, length, validator_kind, validator, header_block, request_time, response_time
            FROM representations WHERE resource = ?1
            """, resource
        ) { sealedFields($0, keyHash) }
    }

    private func sealedFields(_ row: SQLiteStatement, _ keyHash: [UInt8]) -> SealedFields {
        let plain = IndexFields.Owner(keyHash: keyHash, generation: row.generation(0))
        var vouched = plain
        vouched.facts = RepresentationColumns.authenticatedFacts(
            kind: row.int64(2), length: row.optionalInt64(1), requestTime: row.int64(5), responseTime: row.int64(6))
        let validator = row.isNull(3) ? nil : database.fields.bytes(row, 3, .validator, of: plain)
        return SealedFields(
            generation: row.generation(0), facts: vouched.facts, validator: validator,
            hasUnreadableValidator: !row.isNull(3) && validator == nil,
            header: database.fields.bytes(row, 4, .headerBlock, of: vouched))
    }

    /// Seals the fields of a row with other keys. The row keeps the hash that names its file.
    func reseal(_ row: SealedFields, fileHash: [UInt8], to owner: IndexFields.Owner, _ new: IndexFields) throws(StoreError) {
        var owner = owner
        owner.generation = row.generation
        let validator: any SQLiteValue =
            if let validator = row.validator { new.value(validator, .validator, of: owner) } else { nil as Int64? }
        owner.facts = row.facts
        try database.connection.run(
            "UPDATE representations SET validator = ?2, header_block = ?3, file_hash = ?4 WHERE generation = ?1", row.generation, validator,
            new.value(row.header ?? [], .headerBlock, of: owner), fileHash)
    }

    /// Returns the amount of data up to generation `last` that must still be resealed with the new
    /// keys.
    func backlog(upTo last: GenerationID) throws(StoreError) -> Backlog {
        try database.connection.first(
            """
            SELECT (SELECT count(*) FROM representations WHERE generation <= ?1),
                (SELECT coalesce(sum(upper - lower), 0) FROM pieces WHERE generation <= ?1)
            """, last
        ) { Backlog(resources: Int(clamping: $0.int64(0)), bytes: $0.int64(1)) } ?? Backlog()
    }

    /// Returns the first generation after one, up to the last one that the previous keys seal, with
    /// its resource's key. The key is nil when it does not open.
    func nextToReseal(
        after generation: GenerationID, upTo last: GenerationID
    ) throws(StoreError) -> (generation: GenerationID, key: ResourceKey?)? {
        try database.connection.first(
            """
            SELECT generation, key, key_hash FROM representations JOIN resources USING (resource)
            WHERE generation > ?1 AND generation <= ?2 ORDER BY generation LIMIT 1
            """, generation, last
        ) { ($0.generation(0), database.openKey($0, 1, hash: $0.bytes(2))) }
    }
}
