import SpoolCore

// Rows during a rotation of the store's key.

extension RepresentationTable {
    /// Describes a generation with other keys. The row keeps the hash that names its file.
    func reseal(_ version: StoredResource, fileHash: [UInt8], _ new: IndexFields) throws(StoreError) {
        try update(StoreCommit(version), new)
        try database.connection.run("UPDATE representations SET file_hash = ?2 WHERE generation = ?1", version.generation, fileHash)
    }

    /// Returns the amount of data up to generation `last` that must still be resealed with the new
    /// keys.
    func backlog(upTo last: GenerationID) throws(StoreError) -> KeyRotation.Backlog {
        try database.connection.first(
            """
            SELECT (SELECT count(*) FROM representations WHERE generation <= ?1),
                (SELECT min(total(max(upper - lower, 0)), 1 << 60) FROM pieces WHERE generation <= ?1)
            """, last
        ) { KeyRotation.Backlog(resources: Int(clamping: $0.int64(0)), bytes: $0.int64(1)) } ?? KeyRotation.Backlog()
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

extension StoreCommit {
    /// A commit that repeats what the index has about a resource.
    init(_ resource: StoredResource) {
        self.init(
            key: resource.key, url: resource.url, generation: resource.generation, representation: resource.representation,
            fileExtension: resource.fileExtension, pieces: [], time: resource.lastAccess)
    }
}
