import SpoolCore

extension StoreIndex {
    /// Removes a resource with all its generations. Returns nil when there is none.
    func remove(_ key: ResourceKey) throws(SQLiteError) -> [Retired]? {
        try change { () throws(SQLiteError) -> [Retired]? in
            guard let resource = try resource(of: key) else { return nil }
            let retired = try takeOutGenerations(of: resource)
            try delete(from: "DELETE FROM resources WHERE resource = ?1", resource)
            return retired
        }
    }

    /// Removes every resource and every pin.
    func removeAll() throws(SQLiteError) {
        try change { () throws(SQLiteError) in
            try database.run("DELETE FROM pieces")
            try database.run("DELETE FROM sizes")
            try database.run("DELETE FROM unsynced")
            try database.run("DELETE FROM pins")
            try database.run("DELETE FROM representations")
            try database.run("DELETE FROM resources")
        }
        forget()
        unsynced = []
        touchedGroups = [:]
        point?.unsynced = []
        point?.touchedGroups = [:]
    }

    /// Removes ranges of a generation.
    func discard(_ ranges: ByteRangeSet, of generation: GenerationID) throws(SQLiteError) {
        try change { () throws(SQLiteError) in
            for range in ranges.ranges { try takeOut(range, of: generation) }
        }
    }

    /// Removes the bytes of a generation at and after `offset`, because its file ends there.
    func clip(_ generation: GenerationID, to offset: Int64, allocatedBytes: Int64) throws(SQLiteError) {
        let before = try size(of: generation)
        try change { () throws(SQLiteError) in
            if offset < .max { try takeOut(ByteRange(lower: offset, upper: .max), of: generation) }
            try setSize(of: generation, allocatedBytes, was: before)
        }
    }

    /// Sets access times. Keys that are not stored are skipped.
    func touch(_ accesses: [ResourceKey: Timestamp]) throws(SQLiteError) {
        try change { () throws(SQLiteError) in
            for (key, time) in accesses.sorted(by: { $0.key < $1.key }) {
                try database.with("UPDATE resources SET last_access = ?2 WHERE key_hash = ?1") { (update) throws(SQLiteError) in
                    update.bind(1, fields.hash(of: key))
                    update.bind(2, time.nanoseconds)
                    try update.run()
                }
            }
        }
    }

    /// Removes every generation of a resource. Runs inside a transaction.
    func takeOutGenerations(of resource: Int64) throws(SQLiteError) -> [Retired] {
        let retired = try database.with(
            """
            SELECT generation, coalesce(file_hash, key_hash), file_extension FROM representations JOIN resources USING (resource) WHERE resource = ?1
            """
        ) { (select) throws(SQLiteError) -> [Retired] in
            select.bind(1, resource)
            var retired: [Retired] = []
            while try select.step() {
                retired.append(
                    Retired(
                        generation: GenerationID(rawValue: select.int64(0)), keyHash: select.bytes(1),
                        fileExtension: select.text(2)))
            }
            return retired
        }
        for generation in retired.map(\.generation) { try takeOut(generation) }
        return retired
    }

    /// Removes everything that belongs to a generation. Runs inside a transaction.
    func takeOut(_ generation: GenerationID) throws(SQLiteError) {
        if let total = totalSizeBytes { totalSizeBytes = total - (try size(of: generation)) }
        try delete(from: "DELETE FROM pieces WHERE generation = ?1", generation.rawValue)
        try delete(from: "DELETE FROM sizes WHERE generation = ?1", generation.rawValue)
        try delete(from: "DELETE FROM unsynced WHERE generation = ?1", generation.rawValue)
        try delete(from: "DELETE FROM representations WHERE generation = ?1", generation.rawValue)
        known[generation] = nil
        ends[generation] = nil
        forgetUnsynced(generation)
    }

    func delete(from sql: StaticString, _ number: Int64) throws(SQLiteError) {
        try database.with(sql) { (delete) throws(SQLiteError) in
            delete.bind(1, number)
            try delete.run()
        }
    }
}
