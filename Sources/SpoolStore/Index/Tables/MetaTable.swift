/// The table `meta`: the index's single values.
struct MetaTable {
    let database: IndexDatabase

    /// The names of the values.
    enum Name: String {
        case storeID = "store_id"
        case lastGeneration = "last_generation"
        case durableEpoch = "durable_epoch"
        case isClosedCleanly = "is_closed_cleanly"
        case bootID = "boot_id"
        case openings
        case history
        case owesSweep = "owes_sweep"
        case cipher
        case keyCheck = "key_check"
        case keySalt = "key_salt"
        case keyIterations = "key_iterations"
        case previousKeys = "previous_keys"
        case previousCipher = "previous_cipher"
        case previousGeneration = "previous_generation"
    }

    func number(_ name: Name) throws(StoreError) -> Int64? { try value(name) { $0.int64(0) } }

    func text(_ name: Name) throws(StoreError) -> String? { try value(name) { $0.text(0) } }

    func bytes(_ name: Name) throws(StoreError) -> [UInt8]? { try value(name) { $0.bytes(0) } }

    private func value<Value>(_ name: Name, _ read: (SQLiteStatement) -> Value) throws(StoreError) -> Value? {
        try database.connection.first("SELECT value FROM meta WHERE name = ?1", name.rawValue, row: read)
    }

    func set(_ name: Name, _ value: some SQLiteValue) throws(StoreError) {
        try database.connection.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)", name.rawValue, value)
    }

    func remove(_ name: Name) throws(StoreError) {
        try database.connection.run("DELETE FROM meta WHERE name = ?1", name.rawValue)
    }
}
