#if os(Linux)
import CSQLite
#else
import SQLite3
#endif

/// A failed call of SQLite.
struct SQLiteError: Error, Hashable {
    /// The extended result code.
    var code: Int32
    /// SQLite's text for the code.
    var message: String
    /// The statement or call that failed.
    var context: String

    /// The result code without its extension.
    var primaryCode: Int32 { code & 0xFF }

    /// Whether the file is not a database, or its pages contradict each other.
    var isCorruption: Bool { Self.isCorruption(code) }

    /// `SQLITE_IOERR_SHMSIZE`, a C macro that combines two numbers.
    fileprivate static let sharedMemorySize = SQLITE_IOERR | (19 << 8)

    /// Whether a result code means corruption.
    static func isCorruption(_ code: Int32) -> Bool { code & 0xFF == SQLITE_CORRUPT || code & 0xFF == SQLITE_NOTADB }
}

extension SQLiteError: CustomStringConvertible {
    var description: String { "SQLite: \(message) (\(code)) in \(context)" }
}

extension StoreError {
    /// Converts a failure of the index into the error that the store's caller gets.
    init(_ error: SQLiteError) {
        switch error.primaryCode {
        // The memory that connections share is a file as well. SQLite reports only that it could
        // not grow.
        case SQLITE_IOERR where error.code == SQLiteError.sharedMemorySize: self = .full
        case SQLITE_FULL: self = .full
        case SQLITE_BUSY, SQLITE_LOCKED: self = .locked(by: nil)
        default: self = .index(code: error.code, message: "\(error.message) in \(error.context)")
        }
    }
}
