public import Intervals

// Removal makes elements inactive. An element without any coordinate is removed at once (Rangeable
// RFC v2, §4.10), and comes last if it is inserted again.

extension Rangeable {
    /// Makes `element` inactive from `start` through `end`, where it is active.
    ///
    ///     try styles.remove("bold", start: 4, end: 5)
    ///     styles.getRange(of: "bold")  // [2...3, 6...7]
    /// - Throws: ``RangeableError/invalidInterval(start:end:)`` when `start` comes after `end`.
    /// - Complexity: O(log *n*), amortised over the intervals that go.
    @inlinable public mutating func remove(_ element: Element, start: Int, end: Int) throws(RangeableError) {
        remove(element, over: try ClosedRange(start: start, end: end))
    }

    /// Makes `element` inactive over `range`, where it is active.
    ///
    ///     styles.remove("bold", over: 4...5)
    /// - Complexity: O(log *n*), amortised over the intervals that go.
    @inlinable public mutating func remove(_ element: Element, over range: ClosedRange<Int>) {
        note(take(range, from: element))
    }

    /// Removes `element`. Ignored unless it is in the container.
    ///
    ///     styles.remove("bold")
    ///     styles.count  // 1
    /// - Complexity: O(*r* log *n*), *r* being the number of its intervals.
    @inlinable public mutating func remove(_ element: Element) {
        note(take(Int.min...Int.max, from: element))
    }

    /// Removes all elements.
    ///
    ///     styles.removeAll()
    ///     styles.isEmpty  // true
    /// - Complexity: O(*n*).
    @inlinable public mutating func removeAll() {
        note(!isEmpty)
        members = []
        serials = [:]
        boundaries = BoundaryIndex()
    }

    /// Makes all elements inactive from `start` through `end`.
    ///
    ///     try styles.removeRanges(start: 3, end: 5)
    ///     styles[4].isEmpty  // true
    /// - Throws: ``RangeableError/invalidInterval(start:end:)`` when `start` comes after `end`.
    /// - Complexity: O((1 + *r*) log *n*), *r* being the number of intervals that lie there.
    @inlinable public mutating func removeRanges(start: Int, end: Int) throws(RangeableError) {
        removeRanges(over: try ClosedRange(start: start, end: end))
    }

    /// Makes all elements inactive over `range`.
    ///
    ///     styles.removeRanges(over: 3...5)
    /// - Complexity: O((1 + *r*) log *n*), *r* being the number of intervals that lie there.
    @inlinable public mutating func removeRanges(over range: ClosedRange<Int>) {
        // An element is active in the range if it is active at its beginning or opens later. One
        // element may open several times.
        let opening = transitions(over: range).filter { $0.kind == .open && $0.coordinate! <= range.upperBound }
        let elements = self[range.lowerBound].objs + opening.map(\.element)
        note(elements.reduce(false) { take(range, from: $1) || $0 })
    }

    // MARK: One element

    /// Makes `element` inactive over `range`.
    /// - Returns: whether that changed something.
    @inlinable mutating func take(_ range: ClosedRange<Int>, from element: Element) -> Bool {
        guard let serial = serials[element] else { return false }
        let touched = members[serial]!.intervals.members(overlapping: range)
        guard let first = touched.first, let last = touched.last else { return false }
        members[serial]!.intervals.remove(range)

        var remainders: [ClosedRange<Int>] = []
        if first.lowerBound < range.lowerBound { remainders.append(first.lowerBound...range.lowerBound - 1) }
        if last.upperBound > range.upperBound { remainders.append(range.upperBound + 1...last.upperBound) }
        boundaries.replace(touched, with: remainders, of: serial)
        if members[serial]!.intervals.isEmpty { drop(element, serial) }
        return true
    }

    @inlinable mutating func drop(_ element: Element, _ serial: Int) {
        serials[element] = nil
        members[serial] = nil
        // The removals that left the vacancies pay for the renumbering.
        if members.count - serials.count > boundaries.intervalCount { renumber() }
    }

    /// Gives each element the number of elements before it as its serial. The order of all
    /// boundaries stays.
    @inlinable mutating func renumber() {
        var renumbered = Array(repeating: 0, count: members.count)
        for (new, old) in members.indices.filter({ members[$0] != nil }).enumerated() { renumbered[old] = new }
        members = members.filter { $0 != nil }
        serials = serials.mapValues { renumbered[$0] }
        boundaries = boundaries.renumbered { renumbered[$0] }
    }
}
