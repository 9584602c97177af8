import SpoolCore
import SpoolSystem

extension StoreIndex {
    /// Removes a resource with all its generations. Returns nil when there is none.
    func remove(_ key: ResourceKey) throws(StoreError) -> [DataFileID]? {
        try change { () throws(StoreError) -> [DataFileID]? in
            guard let resource = try resources.row(of: key) else { return nil }
            return try takeOutResource(resource)
        }
    }

    /// Removes every resource, pin and download, and the history. The rows are overwritten, because
    /// their URLs and titles would stay in free pages of the database.
    func removeAll() throws(StoreError) {
        try overwriting { () throws(StoreError) in
            for table in ["pieces", "sizes", "unsynced", "pins", "downloads", "download_parts", "representations", "resources"] {
                try database.connection.execute("DELETE FROM \(table)")
            }
            try meta.remove(.history)
        }
        forget()
        unsynced.forgetAll()
        pieces.touchedGroups = [:]
        point?.unsynced = []
        point?.touchedGroups = [:]
    }

    /// Runs `body` as a change. The pages of rows that it removes or replaces are overwritten.
    func overwriting(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try database.connection.execute("PRAGMA secure_delete=ON")
        // After an error here, later removals take longer, and nothing else changes.
        defer { do { try database.connection.execute("PRAGMA secure_delete=OFF") } catch {} }
        try change(body)
    }

    /// Removes ranges of a generation.
    func discard(_ ranges: ByteRangeSet, of generation: GenerationID) throws(StoreError) {
        try change { () throws(StoreError) in
            for range in ranges.ranges { try pieces.takeOut(range, of: generation) }
        }
    }

    /// Removes the bytes of a generation after the end of its file.
    func clip(_ generation: GenerationID, to file: FileStatus) throws(StoreError) {
        let before = try sizes.size(of: generation)
        try change { () throws(StoreError) in
            if let lost = ByteRange(file.size, .max) { try pieces.takeOut(lost, of: generation) }
            try setSize(of: generation, try occupiedBytes(of: generation, file), was: before)
        }
    }

    /// Sets access times. Keys that are not stored are skipped.
    func touch(_ accesses: [ResourceKey: Timestamp]) throws(StoreError) {
        try change { () throws(StoreError) in
            for (key, time) in accesses.sorted(by: { $0.key < $1.key }) { try resources.touch(key, time) }
        }
    }

    /// Enters or removes a pin. Returns false when nothing changed.
    func setPinned(_ key: ResourceKey, _ isPinned: Bool, time: Timestamp) throws(StoreError) -> Bool {
        guard try pins.has(key) != isPinned else { return false }
        try change { () throws(StoreError) in
            if isPinned { return try pins.insert(key, time: time) }
            eviction.forget()
            try pins.delete(key)
        }
        return true
    }

    // MARK: Inside a transaction

    /// Removes a resource with every generation.
    func takeOutResource(_ resource: Int64) throws(StoreError) -> [DataFileID] {
        let files = try takeOutGenerations(of: resource)
        try resources.delete(resource)
        return files
    }

    /// Removes every generation of a resource.
    func takeOutGenerations(of resource: Int64) throws(StoreError) -> [DataFileID] {
        let files = try representations.files(of: resource)
        for file in files { try takeOut(file.generation) }
        return files
    }

    /// Removes everything that belongs to a generation.
    func takeOut(_ generation: GenerationID) throws(StoreError) {
        try pieces.removeAll(of: generation)
        try sizes.remove(generation)
        try unsynced.delete(generation)
        try representations.delete(generation)
        forgetUnsynced(generation)
    }

    /// Discards the cached state about a generation of which no piece waits for a durable point any
    /// more.
    func forgetUnsynced(_ generation: GenerationID) {
        unsynced.forget(generation)
        pieces.touchedGroups[generation] = nil
        point?.unsynced.remove(generation)
        point?.touchedGroups[generation] = nil
    }

    // MARK: The sweep for orphans

    /// Removes rows without a resource, of up to `limit` generations after `generation`.
    ///
    /// - Returns: the last generation that was examined, or nil when there was none.
    func sweepRows(after generation: Int64, limit: Int) throws(StoreError) -> Int64? {
        var last: Int64?
        for _ in 0..<limit {
            guard let next = try representations.nextGeneration(after: last ?? generation) else { break }
            guard next > last ?? generation else { throw .rowsOutOfOrder }
            last = next
            let id = GenerationID(rawValue: next)
            guard try representations.file(of: id) == nil else { continue }
            try change { () throws(StoreError) in try takeOut(id) }
        }
        return last
    }

    /// Enters whether there may be orphans.
    func noteSweep(isOwed: Bool) throws(StoreError) {
        guard try (meta.number(.owesSweep) ?? 0 != 0) != isOwed else { return }
        try change { () throws(StoreError) in try meta.set(.owesSweep, Int64(isOwed ? 1 : 0)) }
    }
}
