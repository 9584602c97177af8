import SpoolCore

extension StoreIndex {
    /// The state in which the last opening for writing left the store.
    struct LastOpening {
        var wasClosedCleanly: Bool
        /// The boot of the machine during that opening, or nil when it was not recorded.
        var bootID: String?
    }

    // MARK: Opening and closing

    /// Reads the state in which the store was left, and its last durable point.
    func lastOpening() throws(StoreError) -> LastOpening {
        let durable = try meta.number(.durableEpoch) ?? 0
        guard 0...Self.numberLimit ~= durable else {
            throw .damagedIndex("durable point \(durable) can't be in open")
        }
        // A durable point that was begun and not finished left pieces of a later epoch.
        pieces.epochs = PieceTable.Epochs(durable: durable, current: max(durable, try pieces.lastEpoch()) + 1)
        return LastOpening(
            wasClosedCleanly: try meta.number(.isClosedCleanly) ?? 1 != 0,
            bootID: try meta.text(.bootID).flatMap { $0.isEmpty ? nil : $0 })
    }

    /// Marks the store as in use, and reserves generation numbers.
    ///
    /// The transaction is not synced. The frames of the log are valid only in order: a power loss
    /// that loses this transaction also loses all that follow. The store is then as it was when it
    /// was closed.
    ///
    /// - Parameter lastOnDisk: the highest number of a file that is missing in the index.
    /// - Returns: the first number that may be handed out.
    func beginUse(bootID: String?, behind lastOnDisk: Int64, makeStoreID: () -> [UInt8]) throws(StoreError) -> Int64 {
        openings = max(0, min(try meta.number(.openings) ?? 0, Self.numberLimit)) + 1
        let storeID = try meta.bytes(.storeID) ?? makeStoreID()
        // A damaged number must not lead to a number that is in use.
        let used = try representations.lastGeneration()
        let last = max(try meta.number(.lastGeneration) ?? 0, used, lastOnDisk)
        guard last <= Self.numberLimit else {
            throw .damagedIndex("generation \(last) can't be in open")
        }
        try change { () throws(StoreError) in
            try meta.set(.storeID, storeID)
            try meta.set(.durableEpoch, pieces.epochs.durable)
            try meta.set(.isClosedCleanly, 0 as Int64)
            try meta.set(.bootID, bootID ?? "")
            try meta.set(.lastGeneration, last + Self.generationBlock)
            try meta.set(.openings, openings)
        }
        reservedGeneration = last + Self.generationBlock
        return last + 1
    }

    /// Reserves more numbers after `last`, the last number that was handed out, when few are left.
    ///
    /// Each response of an origin uses a number, even one that is not stored. The numbers of
    /// commits alone therefore do not show how many are left.
    func reserveGenerations(behind last: Int64) throws(StoreError) {
        reservedGeneration = try change { () throws(StoreError) in try enterReservation(including: last) }
    }

    /// Reserves more numbers when half of them are used or a number beyond them appears. Runs
    /// inside a transaction.
    ///
    /// - Returns: the last reserved number.
    func enterReservation(including generation: Int64) throws(StoreError) -> Int64 {
        guard generation > reservedGeneration - Self.generationBlock / 2 else { return reservedGeneration }
        let last = max(reservedGeneration, generation) + Self.generationBlock
        try meta.set(.lastGeneration, last)
        return last
    }

    /// Marks the store as closed, after a durable point.
    func markClosed() throws(StoreError) {
        try changeDurably { () throws(StoreError) in try meta.set(.isClosedCleanly, 1 as Int64) }
        // The connection's close deletes the log, as a whole. A log that is truncated before could
        // keep its first pages in a power loss, and SQLite would replay an old state.
        try database.connection.checkpoint(.passive)
    }

    // MARK: Durable points

    /// Begins a durable point. Later commits belong to the next one.
    func beginPoint() {
        precondition(point == nil, "one durable point at a time")
        point = PointUnderWay(
            epoch: pieces.epochs.current, hasChanges: hasChanges, unsynced: unsynced.take(), touchedGroups: pieces.touchedGroups)
        pieces.epochs.current += 1
        pieces.touchedGroups = [:]
        hasChanges = false
    }

    /// Abandons a durable point. The commits that it covers belong to the next one.
    func abandonPoint() {
        guard let point else { return }
        self.point = nil
        hasChanges = hasChanges || point.hasChanges
        unsynced.putBack(point.unsynced)
        pieces.touchedGroups.merge(point.touchedGroups) { $0.union($1) }
    }

    /// Raises the durable epoch to that of the point. The data files were synced before, and the
    /// commit is on disk when this method returns.
    func finishPoint() throws(StoreError) {
        guard let point else { return }
        let (before, hadChanges) = (pieces.epochs.durable, hasChanges)
        pieces.epochs.durable = point.epoch
        do throws(StoreError) {
            try changeDurably { () throws(StoreError) in
                try pieces.mergeRows(of: point.touchedGroups)
                try unsynced.replaceRows()
                try meta.set(.durableEpoch, point.epoch)
            }
        } catch {
            pieces.epochs.durable = before
            throw error
        }
        self.point = nil
        unsynced.rowsReplaced()
        hasChanges = hadChanges
        shortenLog(beyond: Self.logFrameLimit)
    }

    /// Removes the pieces of a generation that wait for a durable point.
    func dropSuspects(of generation: GenerationID) throws(StoreError) {
        try change { () throws(StoreError) in
            try pieces.dropSuspects(of: generation)
            try unsynced.delete(generation)
        }
        forgetUnsynced(generation)
    }

    /// Removes the pieces of a generation that a power loss may have damaged. Returns whether there
    /// were any.
    func dropUnchecked(of generation: GenerationID) throws(StoreError) -> Bool {
        try change { () throws(StoreError) in try pieces.dropUnchecked(of: generation) }
    }
}
