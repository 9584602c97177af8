/// A table with a bound on its entries. Beyond it, the entries that were made first are dropped.
///
/// A new value of a key keeps the place of its entry. Each change takes constant time on average.
package struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let limit: Int
    private var values: [Key: (value: Value, number: UInt64)] = [:]
    private var order: [(key: Key, number: UInt64)] = []
    /// The place in the order from which on entries may be in the table.
    private var first = 0
    private var made: UInt64 = 0

    /// Creates an empty table with this bound.
    package init(limit: Int) { self.limit = limit }

    /// The value of a key.
    package subscript(key: Key) -> Value? {
        get { values[key]?.value }
        set {
            guard let newValue else {
                values[key] = nil
                return
            }
            if let number = values[key]?.number {
                values[key] = (newValue, number)
                return
            }
            made += 1
            values[key] = (newValue, made)
            order.append((key, made))
            while values.count > limit {
                if isIn(order[first]) { values[order[first].key] = nil }
                first += 1
            }
            // Entries of removed keys stay in the order until here, so it has at most twice as
            // many.
            guard order.count > 2 * limit else { return }
            order = order.filter(isIn)
            first = 0
        }
    }

    private func isIn(_ entry: (key: Key, number: UInt64)) -> Bool { values[entry.key]?.number == entry.number }
}
