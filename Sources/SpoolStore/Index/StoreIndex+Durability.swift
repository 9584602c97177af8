import SpoolCore

#if os(Linux)
import CSQLite
#else
import SQLite3
#endif

extension StoreIndex {
    /// The state in which the last opening for writing left the store.
    struct LastUse {
        var wasClosedCleanly: Bool
        /// The boot of the machine during that opening, or nil when it was not recorded.
        var bootID: String?
    }

    // MARK: Opening and closing

    /// Reads the state in which the store was left, and its last durable point.
    func lastUse() throws(SQLiteError) -> LastUse {
        durableEpoch = try metaNumber(.durableEpoch) ?? 0
        guard 0...Self.numberLimit ~= durableEpoch else {
            throw SQLiteError(code: SQLITE_CORRUPT, message: "durable point \(durableEpoch) can't be", context: "open")
        }
        // A durable point that was begun and not finished left pieces of a later epoch.
        currentEpoch = max(durableEpoch, try lastEpoch()) + 1
        return LastUse(
            wasClosedCleanly: try metaNumber(.isClosedCleanly) ?? 1 != 0,
            bootID: try metaText(.bootID).flatMap { $0.isEmpty ? nil : $0 })
    }

    /// Marks the store as in use, and reserves generation numbers.
    ///
    /// The transaction is not synced. The frames of the log are valid only in order: a power loss
    /// that loses this transaction also loses all that follow. The store is then as it was when it
    /// was closed.
    ///
    /// - Parameter lastOnDisk: the highest number of a file that is missing in the index.
    /// - Returns: the first number that may be handed out.
    func beginUse(bootID: String?, behind lastOnDisk: Int64, makeStoreID: () -> [UInt8]) throws(SQLiteError) -> Int64 {
        openings = max(0, min(try metaNumber(.openings) ?? 0, Self.numberLimit)) + 1
        let storeID = try metaBytes(.storeID) ?? makeStoreID()
        // A damaged number must not lead to a number that is in use.
        let used = try database.int64("SELECT max(generation) FROM representations") ?? 0
        let last = max(try metaNumber(.lastGeneration) ?? 0, used, lastOnDisk)
        guard last <= Self.numberLimit else {
            throw SQLiteError(code: SQLITE_CORRUPT, message: "generation \(last) can't be", context: "open")
        }
        try change { () throws(SQLiteError) in
            try setMeta(.storeID, storeID)
            try setMeta(.durableEpoch, durableEpoch)
            try setMeta(.isClosedCleanly, 0 as Int64)
            try setMeta(.bootID, bootID ?? "")
            try setMeta(.lastGeneration, last + Self.generationBlock)
            try setMeta(.openings, openings)
        }
        reservedGeneration = last + Self.generationBlock
        return last + 1
    }

    /// Reserves more numbers after `last`, the last number that was handed out, when few are left.
    ///
    /// Each response of an origin uses a number, even one that is not stored. The numbers of
    /// commits alone therefore do not show how many are left.
    func reserveGenerations(behind last: Int64) throws(SQLiteError) {
        reservedGeneration = try change { () throws(SQLiteError) in try enterReservation(including: last) }
    }

    /// Reserves more numbers when half of them are used or a number beyond them appears. Runs
    /// inside a transaction.
    ///
    /// - Returns: the last reserved number.
    func enterReservation(including generation: Int64) throws(SQLiteError) -> Int64 {
        guard generation > reservedGeneration - Self.generationBlock / 2 else { return reservedGeneration }
        let last = max(reservedGeneration, generation) + Self.generationBlock
        try setMeta(.lastGeneration, last)
        return last
    }

    /// Marks the store as closed, after a durable point.
    func markClosed() throws(SQLiteError) {
        try database.durably { () throws(SQLiteError) in
            try change { () throws(SQLiteError) in try setMeta(.isClosedCleanly, 1 as Int64) }
        }
        // The connection's close deletes the log, as a whole. A log that is truncated before could
        // keep its first pages in a power loss, and SQLite would replay an old state.
        try database.checkpoint(.passive)
    }

    // MARK: Durable points

    /// Records that a generation has pieces of the current epoch. Runs inside a transaction.
    func markUnsynced(_ generation: GenerationID) throws(SQLiteError) {
        unsynced.insert(generation)
        guard !notedUnsynced.contains(generation) else { return }
        try noteUnsynced(generation)
        notedUnsynced.insert(generation)
    }

    private func noteUnsynced(_ generation: GenerationID) throws(SQLiteError) {
        try database.with("INSERT OR IGNORE INTO unsynced (generation) VALUES (?1)") { (insert) throws(SQLiteError) in
            insert.bind(1, generation.rawValue)
            try insert.run()
        }
    }

    /// Records that no piece of the generation waits for a durable point any more.
    func forgetUnsynced(_ generation: GenerationID) {
        unsynced.remove(generation)
        notedUnsynced.remove(generation)
        touchedGroups[generation] = nil
        point?.unsynced.remove(generation)
        point?.touchedGroups[generation] = nil
    }

    /// Returns the generations that have pieces later than the last durable point, with the values
    /// that name their files.
    func unsyncedGenerations() throws(SQLiteError) -> [Retired] {
        try database.with(
            """
            SELECT generation, coalesce(file_hash, key_hash), file_extension
            FROM unsynced JOIN representations USING (generation) JOIN resources USING (resource) ORDER BY generation
            """
        ) { (select) throws(SQLiteError) in
            var found: [Retired] = []
            while try select.step() {
                found.append(
                    Retired(
                        generation: GenerationID(rawValue: select.int64(0)), keyHash: select.bytes(1),
                        fileExtension: select.text(2)))
            }
            return found
        }
    }

    /// Begins a durable point. Later commits belong to the next one.
    func beginPoint() {
        precondition(point == nil, "one durable point at a time")
        point = PointUnderWay(epoch: currentEpoch, hasChanges: hasChanges, unsynced: unsynced, touchedGroups: touchedGroups)
        currentEpoch += 1
        hasChanges = false
        unsynced = []
        touchedGroups = [:]
    }

    /// Abandons a durable point. The commits that it covers belong to the next one.
    func abandonPoint() {
        guard let point else { return }
        self.point = nil
        hasChanges = hasChanges || point.hasChanges
        unsynced.formUnion(point.unsynced)
        touchedGroups.merge(point.touchedGroups) { $0.union($1) }
    }

    /// Raises the durable epoch to that of the point. The data files were synced before, and the
    /// commit is on disk when this method returns.
    func finishPoint() throws(SQLiteError) {
        guard let point else { return }
        let (before, hadChanges) = (durableEpoch, hasChanges)
        durableEpoch = point.epoch
        do throws(SQLiteError) {
            try database.durably { () throws(SQLiteError) in
                try change { () throws(SQLiteError) in
                    try mergeRows(of: point.touchedGroups)
                    try database.run("DELETE FROM unsynced")
                    for generation in unsynced.sorted() { try noteUnsynced(generation) }
                    try setMeta(.durableEpoch, point.epoch)
                }
            }
        } catch {
            durableEpoch = before
            throw error
        }
        self.point = nil
        notedUnsynced = unsynced
        hasChanges = hadChanges
        shortenLog(beyond: Self.logFrameLimit)
    }

    /// Removes the pieces of a generation that no durable point covers.
    func dropSuspects(of generation: GenerationID) throws(SQLiteError) {
        try change { () throws(SQLiteError) in
            try database.with("DELETE FROM pieces WHERE generation = ?1 AND epoch > ?2") { (delete) throws(SQLiteError) in
                delete.bind(1, generation.rawValue)
                delete.bind(2, durableEpoch)
                try delete.run()
            }
            try database.with("DELETE FROM unsynced WHERE generation = ?1") { (delete) throws(SQLiteError) in
                delete.bind(1, generation.rawValue)
                try delete.run()
            }
        }
        forgetUnsynced(generation)
    }

    /// Removes the pieces of a generation that no durable point covers, except whole blocks with
    /// checks. Returns whether there were any.
    ///
    /// A part of a block would sooner or later be merged with a durable part. The one check of both
    /// would then reject the durable bytes together with the lost ones.
    func dropUnchecked(of generation: GenerationID) throws(SQLiteError) -> Bool {
        try change { () throws(SQLiteError) in
            try database.with(
                """
                DELETE FROM pieces WHERE generation = ?1 AND epoch > ?2
                    AND ((checks IS NULL AND nonce IS NULL) OR lower % 65536 != 0 OR upper % 65536 != 0)
                """
            ) { (delete) throws(SQLiteError) in
                delete.bind(1, generation.rawValue)
                delete.bind(2, durableEpoch)
                try delete.run()
            }
            return database.changes > 0
        }
    }

    /// Returns the highest epoch of the pieces of unsynced generations, or 0 when there is none.
    ///
    /// `CROSS JOIN` fixes the order of the loops (The SQLite Query Optimizer Overview, on query
    /// plans and CROSS JOIN). Without it the planner reads every piece of the store to find the few
    /// unsynced ones.
    func lastEpoch() throws(SQLiteError) -> Int64 {
        try database.with("SELECT max(epoch) FROM unsynced CROSS JOIN pieces USING (generation) WHERE epoch <= ?1") {
            (select) throws(SQLiteError) in
            select.bind(1, Self.numberLimit)
            return try select.step() ? select.int64(0) : 0
        }
    }
}
