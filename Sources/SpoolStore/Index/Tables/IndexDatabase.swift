import SpoolCore

/// The database of an index, with the keys of its sensitive columns. Every table of the index works
/// on it.
final class IndexDatabase {
    let connection: SQLiteConnection
    /// Writes and reads the sensitive columns. Set before the first row is read, and when the store
    /// gets another key.
    var fields = IndexFields.plain
    /// Called for a resource whose row is sealed and does not open, or does not match its check.
    var onUnreadable: () -> Void = {}

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    /// Runs `body` with the prepared statement of `sql`.
    func with<R>(_ sql: StaticString, _ body: (SQLiteStatement) throws(StoreError) -> R) throws(StoreError) -> R {
        try connection.with(sql, body)
    }

    /// Runs a statement whose one parameter is a number.
    func run(_ sql: StaticString, _ number: Int64) throws(StoreError) {
        try with(sql) { (statement) throws(StoreError) in
            statement.bind(1, number)
            try statement.run()
        }
    }

    /// Returns the key of a row. When it does not open, calls `onUnreadable` and returns nil.
    func openKey(_ row: SQLiteStatement, _ column: Int32, hash: [UInt8]) -> ResourceKey? {
        let text = fields.text(row, column, .key, of: IndexFields.Owner(keyHash: hash))
        if text == nil { onUnreadable() }
        return text.map(ResourceKey.init(normalized:))
    }
}

/// The values that name a data file: its generation, and the parts of its path.
struct DataFileID {
    var generation: GenerationID
    var keyHash: [UInt8]
    var fileExtension: String
}
