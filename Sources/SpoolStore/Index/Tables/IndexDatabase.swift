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

    /// Returns the key of a row, or nil when it is damaged: it does not open, or another key than
    /// this one has the hash of the row.
    func key(_ row: SQLiteStatement, _ column: Int32, hash: [UInt8]) -> ResourceKey? {
        let key = fields.text(row, column, .key, of: IndexFields.Owner(keyHash: hash)).map(ResourceKey.init(normalized:))
        // The seal of a key binds it to the hash.
        return key.flatMap { fields.isSealed || fields.hash(of: $0) == hash ? $0 : nil }
    }

    /// Returns the key of a row. When it is damaged, calls `onUnreadable` and returns nil.
    func openKey(_ row: SQLiteStatement, _ column: Int32, hash: [UInt8]) -> ResourceKey? {
        let key = key(row, column, hash: hash)
        if key == nil { onUnreadable() }
        return key
    }
}

/// The values that name a data file: its generation, and the parts of its path.
struct DataFileID {
    var generation: GenerationID
    var keyHash: [UInt8]
    var fileExtension: String
}

extension DataFileID {
    /// Reads the columns generation, hash and extension of a row.
    init(_ row: SQLiteStatement) {
        self.init(generation: row.generation(0), keyHash: row.bytes(1), fileExtension: row.text(2))
    }
}

extension SQLiteStatement {
    func generation(_ column: Int32) -> GenerationID { GenerationID(rawValue: int64(column)) }

    func time(_ column: Int32) -> Timestamp { Timestamp(nanoseconds: int64(column)) }

    /// Returns the column as a size, or nil for NULL and for a negative number of a damaged index.
    func size(_ column: Int32) -> Int64? { optionalInt64(column).flatMap { $0 >= 0 ? $0 : nil } }
}

extension GenerationID: SQLiteValue {
    func bind(to statement: SQLiteStatement, at index: Int32) { statement.bind(index, rawValue) }
}

extension Timestamp: SQLiteValue {
    func bind(to statement: SQLiteStatement, at index: Int32) { statement.bind(index, nanoseconds) }
}
