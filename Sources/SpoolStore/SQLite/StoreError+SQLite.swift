#if os(Linux)
import CSQLite
#else
import SQLite3
#endif

extension StoreError {
    /// `SQLITE_IOERR_SHMSIZE`, a C macro that combines two numbers.
    private static let sharedMemorySize = SQLITE_IOERR | (19 << 8)

    /// Returns the error for a failed call of SQLite.
    ///
    /// - Parameters:
    ///   - code: the extended result code.
    ///   - message: SQLite's text for the code.
    ///   - context: the statement or call that failed.
    static func sqlite(_ code: Int32, _ message: String, in context: String) -> StoreError {
        switch code & 0xFF {
        // The memory that connections share is a file as well. SQLite reports only that it could
        // not grow.
        case SQLITE_IOERR where code == sharedMemorySize: .full
        case SQLITE_FULL: .full
        case SQLITE_BUSY, SQLITE_LOCKED: .locked(by: nil)
        default: .index(code: code, message: "\(message) in \(context)")
        }
    }

    /// Returns the error for an index that SQLite reads and whose content cannot be right.
    static func damagedIndex(_ reason: String) -> StoreError { .index(code: SQLITE_CORRUPT, message: reason) }

    /// The error for rows that SQLite finds in another order than it wrote them. SQLite trusts the
    /// order of its pages, so in a damaged index it may return a row that a query excludes, or not
    /// find a row that it returned. Every loop over such rows checks that it moves forward.
    static var rowsOutOfOrder: StoreError { damagedIndex("rows of the index are not in order") }

    /// The error for a key whose hash is that of another stored key.
    static var sharedHash: StoreError { .index(code: SQLITE_CONSTRAINT, message: "another key has this key's hash in commit") }

    /// SQLite's result code without its extension, or nil for an error that has none.
    private var primaryCode: Int32? {
        if case .index(let code, _) = self { code & 0xFF } else { nil }
    }

    /// Whether the index is not a database, or its pages contradict each other.
    var isCorruption: Bool { primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB }

    /// Whether a table or column of the index is missing.
    var meansMissingTable: Bool { primaryCode == SQLITE_ERROR }

    /// Whether the index can be read and not written.
    var meansReadOnlyIndex: Bool { primaryCode == SQLITE_READONLY }

    /// Whether the file of the index can't be opened.
    var meansUnopenedIndex: Bool { primaryCode == SQLITE_CANTOPEN }
}
