/// A sorted set of disjoint integer intervals, coalesced where they touch.
///
/// Holds every interval that `Bound` can express, extremes included, because bounds are closed inside.
/// Half-open ranges are taken and given too; an empty one is a no-op, and is contained in every set.
/// A half-open range can't reach `Bound.max`: whoever wants that element says `lower...Bound.max`.
///
///     var seen = IntervalSet<Int>()
///     seen.insert(0..<10)
///     seen.insert(10..<20)
///     seen.intervals          // [0...19]
///     seen.gaps(in: 15..<30)  // [20..<30]
///
/// A value type: a copy is O(1), and the first change of a copy duplicates no more than the nodes on the way to the change.
/// In the complexities, *n* is the number of intervals, not of elements. Up to 128 intervals lie in one flat array,
/// more in a shallow tree of such arrays, which are moved in memory by a change, but never more than one of each level.
public struct IntervalSet<Bound: FixedWidthInteger & Sendable>: Sendable {
    @usableFromInline var tree = SortedTree<ClosedRange<Bound>>()

    /// An empty set.
    @inlinable public init() {}

    /// The set of the elements of `intervals`, which may come in any order, overlap and touch.
    ///
    ///     IntervalSet([20...29, 0...9, 5...12]).intervals  // [0...12, 20...29]
    /// - Complexity: O(*k* log *k*), *k* being the number of `intervals`; O(*k*) when they are in order.
    @inlinable public init(_ intervals: some Sequence<ClosedRange<Bound>>) {
        for interval in intervals { insert(interval) }
    }

    /// The set of `intervals`, which are in ascending order, disjoint and apart.
    @inlinable init(ascending intervals: [ClosedRange<Bound>]) {
        tree = SortedTree(ascending: intervals)
    }

    /// The intervals in ascending order; no two overlap or touch.
    ///
    /// To look at them one after the other without an array, walk the set itself.
    ///
    ///     IntervalSet([0...9, 20...29]).intervals  // [0...9, 20...29]
    /// - Complexity: O(*n*).
    @inlinable public var intervals: [ClosedRange<Bound>] { Array(tree) }

    /// Whether the set has no element.
    ///
    ///     IntervalSet<Int>().isEmpty  // true
    /// - Complexity: O(1).
    @inlinable public var isEmpty: Bool { tree.count == 0 }

    /// The number of intervals, not of elements.
    ///
    ///     IntervalSet([0...9, 20...29]).intervalCount  // 2
    /// - Complexity: O(1).
    @inlinable public var intervalCount: Int { tree.count }

    /// The number of elements; nil only when the set has every value of `Bound`,
    /// whose number is one more than a magnitude can express.
    ///
    ///     IntervalSet([0...9, 20...29]).elementCount          // 20
    ///     IntervalSet([UInt8.min...UInt8.max]).elementCount   // nil
    /// - Complexity: O(*n*).
    @inlinable public var elementCount: Bound.Magnitude? {
        if min == .min && max == .max && intervalCount == 1 { return nil }
        // No sum overflows: without the whole line, at least one value is missing.
        return reduce(0) { $0 + Bound.Magnitude(truncatingIfNeeded: $1.upperBound &- $1.lowerBound) + 1 }
    }

    /// The smallest element, or nil when there is none.
    ///
    ///     IntervalSet([3...9, 20...29]).min  // 3
    /// - Complexity: O(log *n*).
    @inlinable public var min: Bound? { tree.first?.lowerBound }

    /// The largest element, or nil when there is none.
    ///
    ///     IntervalSet([3...9, 20...29]).max  // 29
    /// - Complexity: O(1).
    @inlinable public var max: Bound? { tree.lastDigest?.upperBound }
}

extension ClosedRange: TreeEntry where Bound: FixedWidthInteger {
    @inlinable static var nodeCapacity: Int { 126 }

    @inlinable func precedes(_ other: ClosedRange) -> Bool { upperBound < other.lowerBound }

    /// Intervals of a set are disjoint: the last begins last and ends last.
    @inlinable static func digest(of intervals: [ClosedRange]) -> ClosedRange { intervals[intervals.count - 1] }

    @inlinable func absorbing(_ interval: ClosedRange) -> ClosedRange { precedes(interval) ? interval : self }
}

extension ClosedRange where Bound: FixedWidthInteger {
    /// The elements of a half-open range, or nil when it has none.
    @inlinable init?(nonEmpty range: Range<Bound>) {
        guard !range.isEmpty else { return nil }
        self.init(uncheckedBounds: (range.lowerBound, range.upperBound - 1))
    }

    /// The interval with the elements beside it, which an interval that touches it has; the type's extremes have none beyond.
    @inlinable var widened: ClosedRange {
        ClosedRange(
            uncheckedBounds: (
                lowerBound == .min ? .min : lowerBound - 1,
                upperBound == .max ? .max : upperBound + 1
            ))
    }

    /// The least interval that has the elements of both.
    @inlinable func hull(_ other: ClosedRange) -> ClosedRange {
        ClosedRange(uncheckedBounds: (Swift.min(lowerBound, other.lowerBound), Swift.max(upperBound, other.upperBound)))
    }
}
