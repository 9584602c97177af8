import Rangeable

/// A naive model of an interval set: one `Bool` for each value of a world.
struct Bitmap<Bound: FixedWidthInteger & Sendable>: Equatable {
    let world: ClosedRange<Bound>
    var bits: [Bool]

    init(_ world: ClosedRange<Bound>) {
        self.world = world
        bits = Array(repeating: false, count: Int(world.upperBound) - Int(world.lowerBound) + 1)
    }

    private func offset(_ value: Bound) -> Int { Int(value) - Int(world.lowerBound) }
    private func value(_ offset: Int) -> Bound { Bound(Int(world.lowerBound) + offset) }

    mutating func set(_ interval: ClosedRange<Bound>, _ isMember: Bool) {
        for index in offset(interval.lowerBound)...offset(interval.upperBound) { bits[index] = isMember }
    }

    subscript(value: Bound) -> Bool { bits[offset(value)] }

    /// The maximal runs of bits that equal `isMember` inside `interval`.
    func runs(of isMember: Bool, in interval: ClosedRange<Bound>) -> [ClosedRange<Bound>] {
        var result: [ClosedRange<Bound>] = []
        var start: Int?
        let last = offset(interval.upperBound)
        for index in offset(interval.lowerBound)...last {
            if bits[index] == isMember {
                start = start ?? index
                if index == last { result.append(value(start!)...value(index)) }
            } else if let begun = start {
                result.append(value(begun)...value(index - 1))
                start = nil
            }
        }
        return result
    }

    /// All runs of set bits.
    var intervals: [ClosedRange<Bound>] { runs(of: true, in: world) }

    func combined(with other: Bitmap, _ rule: (Bool, Bool) -> Bool) -> Bitmap {
        var result = self
        for index in bits.indices { result.bits[index] = rule(bits[index], other.bits[index]) }
        return result
    }
}

/// A set and its naive model, which receive the same changes.
struct Pair<Bound: FixedWidthInteger & Sendable> {
    var set = IntervalSet<Bound>()
    var bitmap: Bitmap<Bound>

    mutating func insert(_ interval: ClosedRange<Bound>) {
        set.insert(interval)
        bitmap.set(interval, true)
    }

    mutating func remove(_ interval: ClosedRange<Bound>) {
        set.remove(interval)
        bitmap.set(interval, false)
    }
}
