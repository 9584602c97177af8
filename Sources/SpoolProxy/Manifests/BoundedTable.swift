/// A table with a bound on the number of its entries, and on the bytes that they hold.
///
/// An entry beyond a bound drops all others. So it suits what is cheap to lose: each entry that is
/// missing costs one question to an origin.
struct BoundedTable<Key: Hashable, Value> {
    private let capacity: Int
    private let capacityBytes: Int
    /// The bytes that a key and its value hold.
    private let heldBytes: @Sendable (Key, Value) -> Int
    private var entries: [Key: Value] = [:]
    private var bytes = 0

    /// Creates an empty table.
    init(capacity: Int, bytes: Int, holding heldBytes: @escaping @Sendable (Key, Value) -> Int) {
        self.capacity = capacity
        capacityBytes = bytes
        self.heldBytes = heldBytes
    }

    /// The value of a key.
    subscript(key: Key) -> Value? {
        get { entries[key] }
        set {
            if let old = entries.removeValue(forKey: key) { bytes -= heldBytes(key, old) }
            guard let newValue else { return }
            let new = heldBytes(key, newValue)
            if entries.count >= capacity || bytes + new > capacityBytes { (entries, bytes) = ([:], 0) }
            entries[key] = newValue
            bytes += new
        }
    }
}
