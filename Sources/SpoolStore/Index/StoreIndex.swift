import SpoolCore
import SpoolSystem

/// The SQLite side of a store: what is stored, of which version, and what of it survived.
///
/// Confined to the store's index lane. Knows no files: it takes their sizes and says which ones lost their entry.
/// The columns are told in docs/disk-format.md.
final class StoreIndex {
    let database: SQLiteConnection
    /// How fields are kept that tell about the store's owner. Set before the first row is read, and when the store gets another key.
    var fields = IndexFields.plain
    /// Which keys the index may have; nil where nobody asks.
    var knownKeys: KnownKeys?
    /// Hears of a resource whose row is sealed and does not open.
    var onUnreadable: () -> Void = {}

    /// Hears why the write-ahead log could not be shortened.
    var onLogKept: (SQLiteError) -> Void = { _ in }

    /// The number of the last durable point that was finished.
    var durableEpoch: Int64 = 0
    /// The number of the durable point that will cover what is committed now: the next one to begin.
    var currentEpoch: Int64 = 1
    /// The durable point that was begun and is not finished.
    var point: PointUnderWay?
    /// How often the store was opened for writing, this time included: another number than before means that another process wrote.
    var openings: Int64 = 0
    /// Generation numbers up to this one will never be given out by a later opening of the store.
    var reservedGeneration: Int64 = 0
    /// Whether something was changed since the last durable point began.
    var hasChanges = false
    /// Generations that may have pieces of the current epoch.
    var unsynced: Set<GenerationID> = []
    /// Generations that are certainly in the table `unsynced`.
    var notedUnsynced: Set<GenerationID> = []
    /// Groups that got rows since the last durable point began which lie beside others; it merges them.
    var touchedGroups: [GenerationID: Set<Int64>] = [:]
    /// What the last commits entered, so that the next one of the same generation writes only what is new.
    var known: [GenerationID: KnownGeneration] = [:]
    /// Where the rows of a generation end at most, once they were looked at: bytes that come behind need no look.
    var ends: [GenerationID: Int64] = [:]
    /// The sum of all sizes once somebody asked for it; kept up to date afterwards, as nobody else writes.
    var totalSizeBytes: Int64?

    /// What is in the index about one generation.
    struct KnownGeneration {
        var resource: Int64
        var url: String
        var representation: Representation
        var fileExtension: String
        var allocatedBytes: Int64
    }

    /// What a durable point covers, so that what comes while its data is synced belongs to the next one.
    struct PointUnderWay {
        var epoch: Int64
        var hasChanges: Bool
        var unsynced: Set<GenerationID>
        var touchedGroups: [GenerationID: Set<Int64>]
    }

    /// Where the numbers of versions begin that are served and never stored: those of a process that only reads.
    static let firstUnstoredGeneration: Int64 = 1 << 61
    /// The highest number of an epoch or generation that is believed; a damaged index may say any.
    static let numberLimit: Int64 = 1 << 60
    /// How many generations are remembered as known; beyond, they are forgotten and read again.
    static let knownLimit = 256
    /// How many generation numbers are reserved at a time.
    static let generationBlock: Int64 = 65_536
    /// The longest write-ahead log that a durable point leaves behind, in pages of 4 KiB.
    static let logFrameLimit = 1_024
    /// The longest write-ahead log between durable points: a commit beyond it makes a checkpoint, which syncs.
    static let logFrameHardLimit = 16_384

    init(database: SQLiteConnection) {
        self.database = database
    }

    /// Opens the index of a store.
    ///
    /// - Parameter vfs: where the index's own I/O goes, nil for SQLite's built-in layer.
    static func open(path: String, access: SQLiteConnection.Access, vfs: SpoolVFS?) throws(SQLiteError) -> StoreIndex {
        let database = try SQLiteConnection(path: path, access: access, vfs: vfs)
        // Without shared memory the write-ahead log's index must live in this process: before the first access.
        if vfs != nil { try database.execute("PRAGMA locking_mode=EXCLUSIVE") }
        try database.execute("PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF")
        return StoreIndex(database: database)
    }

    /// The format of the database, 0 for an empty one, or nil when it is not one of ours.
    func readFormat() throws(SQLiteError) -> Int? {
        let format = try database.int64("PRAGMA user_version") ?? 0
        if try database.int64("PRAGMA application_id") == IndexSchema.applicationID { return Int(clamping: format) }
        let tables = try database.int64("SELECT count(*) FROM sqlite_schema") ?? 0
        return format == 0 && tables == 0 ? 0 : nil
    }

    /// Prepares for writing: the journal's mode, and the migrations that are missing.
    func prepareForWriting(from format: Int) throws(SQLiteError) {
        // WAL: a commit is one append, and readers of other processes are not in the way.
        try database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=16777216")
        database.countFrames()
        for migration in IndexSchema.migrations where migration.number > format {
            try database.transaction { () throws(SQLiteError) in
                try database.execute(migration.statements)
                try database.execute("PRAGMA application_id=\(IndexSchema.applicationID); PRAGMA user_version=\(migration.number)")
            }
        }
    }

    /// Forgets what is remembered of the database, after a transaction failed.
    func forget() {
        known = [:]
        ends = [:]
        notedUnsynced = []
        totalSizeBytes = nil
    }

    /// Runs a write transaction; what is remembered is forgotten when it fails.
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

    /// Moves the log into the database when it is longer than so many pages.
    ///
    /// The change that made it long is entered, whatever becomes of this: a failure is told, and the next change tries again.
    func shortenLog(beyond limit: Int) {
        guard database.logFrames > limit else { return }
        do throws(SQLiteError) { try database.checkpoint(truncating: false) } catch { onLogKept(error) }
    }
}

// MARK: - Single values

extension StoreIndex {
    /// The single values of the index.
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
