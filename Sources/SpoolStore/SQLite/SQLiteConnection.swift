#if os(Linux)
import CSQLite
#else
import SQLite3
#endif

/// A connection to one database, with its prepared statements.
///
/// The connection uses SQLite's multi-thread mode, which has no locks, so only one thread at a time
/// may use it. The owner ensures that (`Confined`).
final class SQLiteConnection {
    private let handle: OpaquePointer
    /// Kept because the layer must outlive the connection.
    private let layer: (any IndexLayer)?
    /// Statements by the address of their text. A literal is prepared once, and found without
    /// hashing its text.
    private var statements: [UInt: SQLiteStatement] = [:]
    /// The number of frames in the write-ahead log after the last commit.
    private let frames: UnsafeMutablePointer<Int32>

    /// The time that a statement waits for another process's lock on the index, in milliseconds.
    /// Spool's transactions take microseconds, so only a person's tool that opens the index can
    /// hold the lock for long.
    static let busyTimeoutMilliseconds: Int32 = 2_000
    /// The maximum size of a text or blob that is read or written, in bytes. It limits the memory
    /// that a damaged index can allocate.
    static let valueLimitBytes: Int32 = 16 << 20

    enum Access {
        case readOnly, readWrite
    }

    /// Opens the database at `path`, and creates it when it is missing and `access` is for writing.
    ///
    /// - Parameter layer: the file system layer, or nil for SQLite's own.
    init(path: String, access: Access, layer: (any IndexLayer)?) throws(StoreError) {
        // The manual: with SQLITE_OPEN_NOMUTEX "the new database connection will use the
        // 'multi-thread' threading mode"; a library built single-threaded ignores it.
        guard sqlite3_threadsafe() != 0 else {
            throw StoreError.sqlite(SQLITE_MISUSE, "this SQLite was built without thread support", in: "open \(path)")
        }
        let modes = access == .readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, modes | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, layer?.name)
        guard code == SQLITE_OK, let opened else {
            // "Whether or not an error occurs when it is opened, resources associated with the
            // database connection handle should be released by passing it to sqlite3_close()."
            let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close(opened)
            throw StoreError.sqlite(code, message, in: "open \(path)")
        }
        handle = opened
        self.layer = layer
        frames = .allocate(capacity: 1)
        frames.initialize(to: 0)
        sqlite3_busy_timeout(handle, Self.busyTimeoutMilliseconds)
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Self.valueLimitBytes)
    }

    deinit {
        statements.removeAll()
        sqlite3_close_v2(handle)
        frames.deallocate()
    }

    // MARK: Statements

    // The parameters of a statement get the values in order: the first one is `?1`.

    /// Runs a statement that returns no rows.
    func run(_ sql: StaticString, _ values: any SQLiteValue...) throws(StoreError) { try run(sql, values) }

    /// Runs a statement that returns no rows.
    func run(_ sql: StaticString, _ values: [any SQLiteValue]) throws(StoreError) {
        try with(sql, values) { (statement) throws(StoreError) in try statement.run() }
    }

    /// Returns the first row as `row` reads it, or nil without one.
    func first<Row>(
        _ sql: StaticString, _ values: any SQLiteValue..., row: (SQLiteStatement) throws(StoreError) -> Row?
    ) throws(StoreError) -> Row? {
        try with(sql, values) { (statement) throws(StoreError) in try statement.step() ? row(statement) : nil }
    }

    /// Returns the first column of the first row, if there is one.
    func int64(_ sql: StaticString, _ values: any SQLiteValue...) throws(StoreError) -> Int64? {
        try with(sql, values) { (statement) throws(StoreError) in try statement.step() ? statement.optionalInt64(0) : nil }
    }

    /// Returns up to `limit` rows as `row` reads them. Leaves out those for which it returns nil.
    func rows<Row>(
        _ sql: StaticString, _ values: any SQLiteValue..., limit: Int = .max, row: (SQLiteStatement) throws(StoreError) -> Row?
    ) throws(StoreError) -> [Row] {
        try with(sql, values) { (statement) throws(StoreError) in
            var rows: [Row] = []
            while rows.count < limit, try statement.step() {
                if let found = try row(statement) { rows.append(found) }
            }
            return rows
        }
    }

    /// Calls `row` with each row.
    func each(_ sql: StaticString, _ values: any SQLiteValue..., row: (SQLiteStatement) -> Void) throws(StoreError) {
        try with(sql, values) { (statement) throws(StoreError) in while try statement.step() { row(statement) } }
    }

    /// Runs `body` with the prepared statement of `sql`, and resets the statement afterwards.
    private func with<R>(
        _ sql: StaticString, _ values: [any SQLiteValue], _ body: (SQLiteStatement) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let statement = try prepared(sql)
        statement.begin()
        defer { statement.end() }
        for (index, value) in values.enumerated() { value.bind(to: statement, at: Int32(index + 1)) }
        return try body(statement)
    }

    private func prepared(_ sql: StaticString) throws(StoreError) -> SQLiteStatement {
        let address = UInt(bitPattern: sql.utf8Start)
        if let known = statements[address] { return known }
        let statement = try prepare(sql.description)
        statements[address] = statement
        return statement
    }

    private func prepare(_ sql: String) throws(StoreError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw error(code, sql) }
        return SQLiteStatement(handle: statement, database: handle)
    }

    /// Runs several statements and ignores their rows. Used for pragmas and schema changes.
    func execute(_ sql: String) throws(StoreError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, sql) }
    }

    private func error(_ code: Int32, _ context: String) -> StoreError {
        .sqlite(code, String(cString: sqlite3_errmsg(handle)), in: context)
    }

    /// The number of rows that the last statement changed.
    var changes: Int { Int(sqlite3_changes(handle)) }

    // MARK: Transactions

    /// Runs `body` in a write transaction: all of its changes are committed, or none.
    ///
    /// `BEGIN IMMEDIATE` takes the write lock first. A transaction that begins with a read and then
    /// writes fails with SQLITE_BUSY, without waiting, when another one wrote in between.
    func transaction<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        try run("BEGIN IMMEDIATE")
        do throws(StoreError) {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // "If the transaction is rolled back automatically" (disk full, I/O error), a second
            // rollback would be an error.
            if sqlite3_get_autocommit(handle) == 0 { try rollback(after: error) }
            throw error
        }
    }

    private func rollback(after cause: StoreError) throws(StoreError) {
        do throws(StoreError) { try run("ROLLBACK") } catch {
            guard case .index(let code, let message) = cause else { throw cause }
            throw .index(code: code, message: "\(message); rollback failed: \(error)")
        }
    }

    /// Runs `body` so that its commits are on disk when it returns.
    ///
    /// The manual on WAL: with `synchronous=NORMAL` the log is synced only before a checkpoint,
    /// with FULL after each transaction. The setting can't be changed inside a transaction, and a
    /// prepared statement for it would have no effect: "some pragmas run during the SQL compilation
    /// stage, not the execution stage".
    func durably<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        try execute("PRAGMA synchronous=FULL")
        do throws(StoreError) {
            let result = try body()
            try execute("PRAGMA synchronous=NORMAL")
            return result
        } catch {
            try execute("PRAGMA synchronous=NORMAL")
            throw error
        }
    }

    // MARK: Write-ahead log

    /// Disables automatic checkpoints: they sync, and an ordinary commit must not.
    ///
    /// The hook replaces SQLite's automatic checkpoint and only records the length of the log.
    func countFrames() {
        sqlite3_wal_hook(
            handle,
            { context, _, _, count in
                context?.assumingMemoryBound(to: Int32.self).pointee = count
                return SQLITE_OK
            }, frames)
    }

    /// The number of pages in the write-ahead log after the last commit.
    var logFrames: Int { Int(frames.pointee) }

    /// The state of the log once its pages are in the database.
    enum Checkpoint {
        /// The log stays as it is.
        case passive
        /// The next commit begins the log anew.
        case restart
        /// The log's file is emptied. Only safe when the log's first commit is the last one.
        case truncate

        fileprivate var mode: Int32 {
            switch self {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        }
    }

    /// Moves the pages of the log into the database.
    ///
    /// A reader in another process may keep some pages in the log. That is not an error.
    func checkpoint(_ checkpoint: Checkpoint) throws(StoreError) {
        let code = sqlite3_wal_checkpoint_v2(handle, nil, checkpoint.mode, nil, nil)
        guard code == SQLITE_OK || code & 0xFF == SQLITE_BUSY else { throw error(code, "checkpoint") }
        if code == SQLITE_OK { frames.pointee = 0 }
    }
}
