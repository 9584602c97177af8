/// A value for a parameter of a statement.
protocol SQLiteValue {
    func bind(to statement: SQLiteStatement, at index: Int32)
}

extension Int64: SQLiteValue {
    func bind(to statement: SQLiteStatement, at index: Int32) { statement.bind(index, self) }
}

extension String: SQLiteValue {
    func bind(to statement: SQLiteStatement, at index: Int32) { statement.bind(index, self) }
}

extension [UInt8]: SQLiteValue {
    func bind(to statement: SQLiteStatement, at index: Int32) { statement.bind(index, self) }
}

/// Nil is the value NULL.
extension Optional: SQLiteValue where Wrapped: SQLiteValue {
    func bind(to statement: SQLiteStatement, at index: Int32) {
        if let self { self.bind(to: statement, at: index) } else { statement.bindNull(index) }
    }
}
