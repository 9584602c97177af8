// Insertion and removal work leaf by leaf. Each turn replaces all intervals of one leaf that the
// change touches, and returns the part that may reach into the next leaf. Every turn but the last
// removes at least one interval, which bounds the number of turns.

extension IntervalSet {
    /// Adds every element of `interval`.
    ///
    ///     var set: IntervalSet = [0...9, 20...29]
    ///     set.insert(10...12)
    ///     set.intervals  // [0...12, 20...29]
    /// - Complexity: O(log *n*), amortised over the intervals that become one.
    @inlinable public mutating func insert(_ interval: ClosedRange<Bound>) {
        var rest: ClosedRange<Bound>? = interval
        while let interval = rest { rest = insertIntoLeaf(interval) }
    }

    /// Adds every element of `range`. An empty range is ignored.
    ///
    ///     var set: IntervalSet<Int> = []
    ///     set.insert(0..<10)  // [0...9]
    /// - Complexity: O(log *n*), amortised over the intervals that become one.
    @inlinable public mutating func insert(_ range: Range<Bound>) {
        if let interval = ClosedRange(nonEmpty: range) { insert(interval) }
    }

    /// Removes every element of `interval`.
    ///
    ///     var set: IntervalSet = [0...9, 20...29]
    ///     set.remove(5...24)
    ///     set.intervals  // [0...4, 25...29]
    /// - Complexity: O(log *n*), amortised over the intervals that go.
    @inlinable public mutating func remove(_ interval: ClosedRange<Bound>) {
        var rest: ClosedRange<Bound>? = interval
        while let interval = rest { rest = removeFromLeaf(interval) }
    }

    /// Removes every element of `range`. An empty range is ignored.
    ///
    ///     var set: IntervalSet = [0...9]
    ///     set.remove(5..<10)  // [0...4]
    /// - Complexity: O(log *n*), amortised over the intervals that go.
    @inlinable public mutating func remove(_ range: Range<Bound>) {
        if let interval = ClosedRange(nonEmpty: range) { remove(interval) }
    }

    /// Removes every element.
    ///
    ///     set.removeAll()
    ///     set.isEmpty  // true
    @inlinable public mutating func removeAll() { self = IntervalSet() }

    // MARK: One leaf

    /// Inserts `interval` if it touches no other interval. A separate query would cost a second
    /// search.
    /// - Returns: whether it was inserted.
    @inlinable package mutating func insertIfApart(_ interval: ClosedRange<Bound>) -> Bool {
        let near = interval.widened
        return tree.edit(notBefore: near) { leaf, first in
            guard leaf.run(from: first, through: near.upperBound).isEmpty else { return false }
            leaf.insert(interval, at: first)
            return true
        }
    }

    /// Inserts `interval` into the leaf of its first neighbour.
    ///
    /// If intervals of the next leaf may have to be merged with it, this removes the intervals that
    /// it touches here instead.
    /// - Returns: the union of `interval` and the removed intervals, which is still to be inserted,
    ///   or nil.
    @inlinable mutating func insertIntoLeaf(_ interval: ClosedRange<Bound>) -> ClosedRange<Bound>? {
        let near = interval.widened, end = max
        return tree.edit(notBefore: near) { leaf, first in
            let touched = leaf.run(from: first, through: near.upperBound)
            guard let last = touched.last else {
                leaf.insert(interval, at: first)
                return nil
            }
            let merged = interval.hull(leaf[first]).hull(leaf[last])
            guard leaf.goesOn(after: last, interval, end: end) else {
                leaf.replace(touched, with: merged)
                return nil
            }
            leaf.removeSubrange(touched)
            return merged
        }
    }

    /// Removes `interval` from the leaf of its first member.
    /// - Returns: the part of `interval` that may lie in the next leaf, or nil.
    @inlinable mutating func removeFromLeaf(_ interval: ClosedRange<Bound>) -> ClosedRange<Bound>? {
        let end = max
        return tree.edit(notBefore: interval) { leaf, first in
            let touched = leaf.run(from: first, through: interval.upperBound)
            guard let last = touched.last else { return nil }
            let lower = leaf[first].lowerBound, upper = leaf[last].upperBound
            let goesOn = leaf.goesOn(after: last, interval, end: end)

            // Neither `- 1` nor `+ 1` can overflow, because there is an element on that side.
            let left = lower < interval.lowerBound ? lower...interval.lowerBound - 1 : nil
            let right = upper > interval.upperBound ? interval.upperBound + 1...upper : nil
            switch (left, right) {
            case (nil, nil): leaf.removeSubrange(touched)
            case (let left?, let right?):
                leaf.replace(touched, with: left)
                leaf.insert(right, at: first + 1)
            case (let remainder?, nil), (nil, let remainder?): leaf.replace(touched, with: remainder)
            }
            return goesOn ? upper + 1...interval.upperBound : nil
        }
    }
}

// The intervals of one leaf.
extension Array {
    /// The indices from `first` on whose intervals begin at or before `upper`. A linear scan
    /// suffices, because the caller replaces or removes all of them.
    @inlinable func run<Bound>(from first: Int, through upper: Bound) -> Range<Int> where Element == ClosedRange<Bound> {
        var end = first
        while end < count && self[end].lowerBound <= upper { end += 1 }
        return first..<end
    }

    /// Whether an interval that touches the one at `index` may touch one of the next leaf: there is
    /// one, and nothing ends it here.
    @inlinable func goesOn<Bound>(after index: Int, _ interval: ClosedRange<Bound>, end: Bound?) -> Bool
    where Element == ClosedRange<Bound> {
        index == count - 1 && interval.upperBound > self[index].upperBound && self[index].upperBound != end
    }

    @inlinable mutating func replace(_ run: Range<Int>, with element: Element) {
        self[run.lowerBound] = element
        if run.count > 1 { removeSubrange(run.dropFirst()) }
    }
}
