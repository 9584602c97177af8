import SpoolCore

/// The SQLite side of a store: the stored resources, their versions, their pieces and the state of
/// durability.
///
/// The index composes one type for each table. The methods of a table run inside a transaction that
/// the index begins. The index is confined to the store's index lane. It does not access data
/// files. Callers pass the sizes of files, and methods return the files of generations that lost
/// their entry. docs/disk-format.md describes the columns.
final class StoreIndex {
    let database: IndexDatabase
    let meta: MetaTable
    let resources: ResourceTable
    let representations: RepresentationTable
    let pieces: PieceTable
    let sizes: SizeTable
    let pins: PinTable
    let downloads: DownloadTable
    let downloadParts: DownloadPartTable
    let unsynced: UnsyncedTable
    /// Reads the stored resources.
    let entries: EntryQuery
    /// Finds the resources that eviction may remove.
    let eviction: EvictionQuery

    /// Called with the error when the write-ahead log could not be shortened.
    var onLogKept: (StoreError) -> Void = { _ in }
    /// The durable point that was begun and is not finished.
    var point: PointUnderWay?
    /// Whether the index changed since the last durable point began.
    var hasChanges = false
    /// The number of openings for writing, including this one. A different number than before means
    /// that another process wrote.
    var openings: Int64 = 0
    /// The last reserved generation number. A later opening of the store hands out none of the
    /// numbers up to it.
    var reservedGeneration: Int64 = 0

    /// The contents of a durable point. Commits made while its data is synced belong to the next
    /// point.
    struct PointUnderWay {
        var epoch: Int64
        var hasChanges: Bool
        var unsynced: Set<GenerationID>
        var touchedGroups: [GenerationID: Set<Int64>]
    }

    /// The first number of versions that are served and never stored, which a process that only
    /// reads hands out.
    static let firstUnstoredGeneration: Int64 = 1 << 61
    /// The highest number of an epoch or generation that is accepted. A damaged index may contain
    /// any number.
    static let numberLimit: Int64 = 1 << 60
    /// The number of generation numbers that are reserved at a time.
    static let generationBlock: Int64 = 65_536
    /// The maximum length of the write-ahead log after a durable point, in pages of 4 KiB.
    static let logFrameLimit = 1_024
    /// The maximum length of the write-ahead log between durable points, in pages. A longer log
    /// makes a commit run a checkpoint, which syncs.
    static let logFrameHardLimit = 16_384

    init(_ connection: SQLiteConnection) {
        database = IndexDatabase(connection)
        meta = MetaTable(database: database)
        resources = ResourceTable(database)
        representations = RepresentationTable(database)
        pieces = PieceTable(database)
        sizes = SizeTable(database)
        pins = PinTable(database: database)
        downloads = DownloadTable(database: database)
        downloadParts = DownloadPartTable(database: database)
        unsynced = UnsyncedTable(database)
        entries = EntryQuery(database: database, pieces: pieces)
        eviction = EvictionQuery(database: database, resources: resources)
    }

    /// Opens the index of a store.
    ///
    /// - Parameters:
    ///   - layer: the layer for the index's own I/O, or nil for SQLite's built-in one.
    ///   - isAlone: whether no other process may use the index, so that it needs no shared memory.
    static func open(
        path: String, access: SQLiteConnection.Access, layer: (any IndexLayer)?, isAlone: Bool = false
    ) throws(StoreError) -> StoreIndex {
        let connection = try SQLiteConnection(path: path, access: access, layer: layer)
        // Without shared memory, the write-ahead log's index must be in this process. The mode must
        // be set before the first access.
        if layer != nil || isAlone { try connection.execute("PRAGMA locking_mode=EXCLUSIVE") }
        try connection.execute("PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF")
        return StoreIndex(connection)
    }

    /// Returns the format of the database, 0 for an empty one, or nil when it is not an index of
    /// Spool.
    func readFormat() throws(StoreError) -> Int? {
        let connection = database.connection
        let format = try connection.int64("PRAGMA user_version") ?? 0
        if try connection.int64("PRAGMA application_id") == IndexSchema.applicationID { return Int(clamping: format) }
        let tables = try connection.int64("SELECT count(*) FROM sqlite_schema") ?? 0
        return format == 0 && tables == 0 ? 0 : nil
    }

    /// Whether the index has no row: no program has used it since its tables were made.
    var isEmpty: Bool {
        do throws(StoreError) {
            return try database.connection.int64("SELECT EXISTS (SELECT 1 FROM meta) OR EXISTS (SELECT 1 FROM resources)") == 0
        } catch {
            // A table is missing or unreadable, so there may be rows.
            return false
        }
    }

    /// Whether an opening for writing has used the index.
    func isUsed() throws(StoreError) -> Bool { try meta.number(.openings) != nil }

    /// Whether the index has the key of a resource, a pin or a download.
    func hasKeys() throws(StoreError) -> Bool {
        try database.connection.int64(
            """
            SELECT EXISTS (SELECT 1 FROM resources) OR EXISTS (SELECT 1 FROM pins) OR EXISTS (SELECT 1 FROM downloads)
                OR EXISTS (SELECT 1 FROM download_parts)
            """) != 0
    }

    /// Prepares the database for writing: sets the mode of the journal, and makes the tables of an
    /// empty index.
    ///
    /// - Parameter format: The format of the database: the current one, or 0 for an empty one.
    func prepareForWriting(from format: Int) throws(StoreError) {
        let connection = database.connection
        // WAL: a commit is one append, and readers of other processes do not block it.
        try connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=16777216")
        connection.countFrames()
        guard format == 0 else { return }
        try connection.transaction { () throws(StoreError) in
            try connection.execute(IndexSchema.creation)
            try connection.execute("PRAGMA application_id=\(IndexSchema.applicationID); PRAGMA user_version=\(IndexSchema.currentFormat)")
        }
    }

    // MARK: Transactions

    /// Discards the cached state of the database after a failed transaction.
    func forget() {
        representations.forget()
        pieces.forget()
        unsynced.forget()
        sizes.forget()
        resources.forget()
    }

    /// Runs a write transaction, and discards the cached state when it fails.
    func change<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        do throws(StoreError) {
            let result = try database.connection.transaction(body)
            hasChanges = true
            shortenLog(beyond: Self.logFrameHardLimit)
            return result
        } catch {
            forget()
            throw error
        }
    }

    /// Runs a write transaction that is on disk when the method returns.
    func changeDurably<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        try database.connection.durably { () throws(StoreError) in try change(body) }
    }

    /// Moves the log into the database when it is longer than `limit` pages.
    ///
    /// The change that made the log long is already committed. A failure here therefore only calls
    /// `onLogKept`, and the next change tries again.
    func shortenLog(beyond limit: Int) {
        let connection = database.connection
        guard connection.logFrames > limit else { return }
        do throws(StoreError) { try connection.checkpoint(.passive) } catch { onLogKept(error) }
    }
}
