#if os(Linux)
import CSQLite
#else
import SQLite3
#endif

/// A prepared statement. Parameters are numbered from 1, columns from 0.
///
/// `SQLiteConnection` binds the values, passes the statement to a closure for each row, and resets it
/// afterwards. Callers must not keep it.
final class SQLiteStatement {
    private let handle: OpaquePointer
    private let database: OpaquePointer
    /// The code of the first failed bind. `step` throws it, so binding needs no error handling.
    private var bindCode = SQLITE_OK
    private var isInUse = false

    /// The manual: "If the fifth argument has the value SQLITE_TRANSIENT, then SQLite makes its own
    /// private copy of the data immediately, before the sqlite3_bind_*() routine returns."
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(handle: OpaquePointer, database: OpaquePointer) {
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    func begin() {
        precondition(!isInUse, "a statement is used inside itself: \(text)")
        isInUse = true
    }

    /// Resets the statement for its next use. Ends the read transaction of an unfinished query.
    func end() {
        // The manual: "If the most recent call to sqlite3_step(S) … indicated an error, then
        // sqlite3_reset(S) returns an appropriate error code." `step` has already thrown it.
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
        bindCode = SQLITE_OK
        isInUse = false
    }

    // MARK: Binding

    func bind(_ index: Int32, _ value: Int64) { note(sqlite3_bind_int64(handle, index, value)) }

    func bindNull(_ index: Int32) { note(sqlite3_bind_null(handle, index)) }

    func bind(_ index: Int32, _ value: String) {
        var value = value
        let code = value.withUTF8 { bytes in
            // A null pointer would bind NULL, and an empty string may have no storage.
            guard let start = bytes.baseAddress else { return sqlite3_bind_text(handle, index, "", 0, Self.transient) }
            return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                sqlite3_bind_text(handle, index, $0, Int32(clamping: bytes.count), Self.transient)
            }
        }
        note(code)
    }

    func bind(_ index: Int32, _ value: [UInt8]) {
        guard !value.isEmpty else { return note(sqlite3_bind_zeroblob(handle, index, 0)) }
        note(
            value.withUnsafeBytes { sqlite3_bind_blob(handle, index, $0.baseAddress, Int32(clamping: $0.count), Self.transient) })
    }

    private func note(_ code: Int32) {
        if bindCode == SQLITE_OK { bindCode = code }
    }

    // MARK: Running

    /// Moves to the next row. Returns false when there is none.
    func step() throws(StoreError) -> Bool {
        guard bindCode == SQLITE_OK else { throw StoreError.sqlite(bindCode, "cannot bind a value", in: text) }
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            throw .sqlite(sqlite3_extended_errcode(database), String(cString: sqlite3_errmsg(database)), in: text)
        }
    }

    /// Runs a statement that returns no rows.
    func run() throws(StoreError) {
        let hasRow = try step()
        precondition(!hasRow, "a statement that is run has no rows: \(text)")
    }

    // MARK: Columns

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func isText(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_TEXT }

    func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }

    /// Returns the column as text, or nil for NULL. Bytes that are not UTF-8 are repaired.
    func optionalText(_ column: Int32) -> String? {
        // The manual: call sqlite3_column_text() first, sqlite3_column_bytes() after it.
        guard let start = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func text(_ column: Int32) -> String { optionalText(column) ?? "" }

    /// Returns the column's bytes, or nil for NULL.
    func optionalBytes(_ column: Int32) -> [UInt8]? {
        if isNull(column) { return nil }
        // "The return value from sqlite3_column_blob() for a zero-length BLOB is a NULL pointer."
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    func bytes(_ column: Int32) -> [UInt8] { optionalBytes(column) ?? [] }

    private var text: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }
}
