import SpoolCore
import SpoolSystem

/// The SQLite side of a store: the stored resources, their versions, their pieces and the state of
/// durability.
///
/// Confined to the store's index lane. The index does not access data files. Callers pass the sizes
/// of files, and methods return the generations that lost their entry. docs/disk-format.md
/// describes the columns.
final class StoreIndex {
    let database: SQLiteConnection
    /// Writes and reads the sensitive columns. Set before the first row is read, and when the store
    /// gets another key.
    var fields = IndexFields.plain
    /// The filter of keys that the index may contain, or nil when no caller needs it.
    var knownKeys: KnownKeys?
    /// Called for a resource whose row is sealed and does not open, or does not match its check.
    var onUnreadable: () -> Void = {}

    /// Called with the error when the write-ahead log could not be shortened.
    var onLogKept: (SQLiteError) -> Void = { _ in }

    /// The number of the last finished durable point.
    var durableEpoch: Int64 = 0
    /// The number of the durable point that will cover the current commits: the next one to begin.
    var currentEpoch: Int64 = 1
    /// The durable point that was begun and is not finished.
    var point: PointUnderWay?
    /// The number of openings for writing, including this one. A different number than before means
    /// that another process wrote.
    var openings: Int64 = 0
    /// The last reserved generation number. A later opening of the store hands out none of the
    /// numbers up to it.
    var reservedGeneration: Int64 = 0
    /// Whether the index changed since the last durable point began.
    var hasChanges = false
    /// Generations that may have pieces of the current epoch.
    var unsynced: Set<GenerationID> = []
    /// Generations that are certainly in the table `unsynced`.
    var notedUnsynced: Set<GenerationID> = []
    /// Groups with new rows beside other rows since the last durable point began. The point merges
    /// them.
    var touchedGroups: [GenerationID: Set<Int64>] = [:]
    /// The facts that the last commits entered. The next commit of the same generation writes only
    /// new facts.
    var known: [GenerationID: KnownGeneration] = [:]
    /// An upper limit of the offset where a generation's rows end, for generations that were looked
    /// at. Bytes after it overlap no row.
    var ends: [GenerationID: Int64] = [:]
    /// The sum of all sizes, after the first request for it. It is kept up to date afterwards,
    /// because no other process writes.
    var totalSizeBytes: Int64?

    /// The facts that the index has about one generation.
    struct KnownGeneration {
        var resource: Int64
        var url: String
        var representation: Representation
        var fileExtension: String
        var allocatedBytes: Int64
    }

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
    /// The maximum number of generations in `known`. Beyond it the table is emptied, and the facts
    /// are read again.
    static let knownLimit = 256
    /// The number of generation numbers that are reserved at a time.
    static let generationBlock: Int64 = 65_536
    /// The maximum length of the write-ahead log after a durable point, in pages of 4 KiB.
    static let logFrameLimit = 1_024
    /// The maximum length of the write-ahead log between durable points, in pages. A longer log
    /// makes a commit run a checkpoint, which syncs.
    static let logFrameHardLimit = 16_384

    init(database: SQLiteConnection) {
        self.database = database
    }

    /// Opens the index of a store.
    ///
    /// - Parameters:
    ///   - vfs: the layer for the index's own I/O, or nil for SQLite's built-in one. A layer has no
    ///     shared memory.
    ///   - isAlone: whether no other process may use the index, so that it needs no shared memory.
    static func open(
        path: String, access: SQLiteConnection.Access, vfs: SpoolVFS?, isAlone: Bool = false
    ) throws(SQLiteError) -> StoreIndex {
        let database = try SQLiteConnection(path: path, access: access, vfs: vfs)
        // Without shared memory, the write-ahead log's index must be in this process. The mode must
        // be set before the first access.
        if vfs != nil || isAlone { try database.execute("PRAGMA locking_mode=EXCLUSIVE") }
        try database.execute("PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF")
        return StoreIndex(database: database)
    }

    /// Returns the format of the database, 0 for an empty one, or nil when it is not an index of
    /// Spool.
    func readFormat() throws(SQLiteError) -> Int? {
        let format = try database.int64("PRAGMA user_version") ?? 0
        if try database.int64("PRAGMA application_id") == IndexSchema.applicationID { return Int(clamping: format) }
        let tables = try database.int64("SELECT count(*) FROM sqlite_schema") ?? 0
        return format == 0 && tables == 0 ? 0 : nil
    }

    /// Prepares the database for writing: sets the mode of the journal and applies the missing
    /// migrations.
    func prepareForWriting(from format: Int) throws(SQLiteError) {
        // WAL: a commit is one append, and readers of other processes do not block it.
        try database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=16777216")
        database.countFrames()
        for migration in IndexSchema.migrations where migration.number > format {
            try database.transaction { () throws(SQLiteError) in
                try database.execute(migration.statements)
                try database.execute("PRAGMA application_id=\(IndexSchema.applicationID); PRAGMA user_version=\(migration.number)")
            }
        }
    }

    /// Discards the cached state of the database after a failed transaction.
    func forget() {
        known = [:]
        ends = [:]
        notedUnsynced = []
        totalSizeBytes = nil
    }

    /// Runs a write transaction, and discards the cached state when it fails.
    func change<R>(_ body: () throws(SQLiteError) -> R) throws(SQLiteError) -> R {
        do throws(SQLiteError) {
            let result = try database.transaction(body)
            hasChanges = true
            shortenLog(beyond: Self.logFrameHardLimit)
            return result
        } catch {
            forget()
            throw error
        }
    }

    /// Moves the log into the database when it is longer than `limit` pages.
    ///
    /// The change that made the log long is already committed. A failure here therefore only calls
    /// `onLogKept`, and the next change tries again.
    func shortenLog(beyond limit: Int) {
        guard database.logFrames > limit else { return }
        do throws(SQLiteError) { try database.checkpoint(.passive) } catch { onLogKept(error) }
    }
}

// MARK: - Single values

extension StoreIndex {
    /// The names of the index's single values.
    enum MetaName: String {
        case storeID = "store_id"
        case lastGeneration = "last_generation"
        case durableEpoch = "durable_epoch"
        case isClosedCleanly = "is_closed_cleanly"
        case bootID = "boot_id"
        case openings
        case owesSweep = "owes_sweep"
        case cipher
        case keyCheck = "key_check"
        case keySalt = "key_salt"
        case keyIterations = "key_iterations"
        case previousKeys = "previous_keys"
        case previousCipher = "previous_cipher"
        case previousGeneration = "previous_generation"
    }

    func metaNumber(_ name: MetaName) throws(SQLiteError) -> Int64? {
        try database.with("SELECT value FROM meta WHERE name = ?1") { (select) throws(SQLiteError) in
            select.bind(1, name.rawValue)
            return try select.step() ? select.int64(0) : nil
        }
    }

    func metaText(_ name: MetaName) throws(SQLiteError) -> String? {
        try database.with("SELECT value FROM meta WHERE name = ?1") { (select) throws(SQLiteError) in
            select.bind(1, name.rawValue)
            return try select.step() ? select.text(0) : nil
        }
    }

    func metaBytes(_ name: MetaName) throws(SQLiteError) -> [UInt8]? {
        try database.with("SELECT value FROM meta WHERE name = ?1") { (select) throws(SQLiteError) in
            select.bind(1, name.rawValue)
            return try select.step() ? select.bytes(0) : nil
        }
    }

    func setMeta(_ name: MetaName, _ value: Int64) throws(SQLiteError) {
        try setMeta(name) { $0.bind(2, value) }
    }

    func setMeta(_ name: MetaName, _ value: String) throws(SQLiteError) {
        try setMeta(name) { $0.bind(2, value) }
    }

    func setMeta(_ name: MetaName, _ value: [UInt8]) throws(SQLiteError) {
        try setMeta(name) { $0.bind(2, value) }
    }

    private func setMeta(_ name: MetaName, _ bindValue: (SQLiteStatement) -> Void) throws(SQLiteError) {
        try database.with("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)") { (insert) throws(SQLiteError) in
            insert.bind(1, name.rawValue)
            bindValue(insert)
            try insert.run()
        }
    }
}
