/// A sorted set of disjoint integer intervals, coalesced where they touch.
///
/// Can contain every interval that `Bound` can express, extremes included, because the set stores
/// closed bounds. Methods also accept and return half-open ranges. An empty range is ignored, and
/// every set contains it. A half-open range can't reach `Bound.max`; the closed range
/// `lower...Bound.max` does.
///
///     var seen = IntervalSet<Int>()
///     seen.insert(0..<10)
///     seen.insert(10..<20)
///     seen.intervals          // [0...19]
///     seen.gaps(in: 15..<30)  // [20..<30]
///
/// A value type: a copy is O(1), and the first change of a copy duplicates only the nodes on the
/// way to the change. In the complexities, *n* is the number of intervals, not of elements. Up to
/// 126 intervals lie in one flat array, and more in a shallow tree of such arrays. A change moves
/// the elements of at most one array on each level.
public struct IntervalSet<Bound: FixedWidthInteger & Sendable>: Sendable {
    @usableFromInline var tree = SortedTree<ClosedRange<Bound>>()

    /// An empty set.
    @inlinable public init() {}

    /// Creates the set of the elements of `intervals`, which may come in any order, overlap and
    /// touch.
    ///
    ///     IntervalSet([20...29, 0...9, 5...12]).intervals  // [0...12, 20...29]
    /// - Complexity: O(*k* log *k*), *k* being the number of `intervals`; O(*k*) when they are in
    ///   order.
    @inlinable public init(_ intervals: some Sequence<ClosedRange<Bound>>) {
        for interval in intervals { insert(interval) }
    }

    /// Creates the set of `intervals`, which are in ascending order, disjoint and apart.
    @inlinable init(ascending intervals: [ClosedRange<Bound>]) {
        tree = SortedTree(ascending: intervals)
    }

    /// The intervals in ascending order; they are disjoint, with a gap between neighbours.
    ///
    /// Iterating over the set itself visits them without an array.
    ///
    ///     IntervalSet([0...9, 20...29]).intervals  // [0...9, 20...29]
    /// - Complexity: O(*n*).
    @inlinable public var intervals: [ClosedRange<Bound>] { Array(tree) }

    /// Whether the set is empty.
    ///
    ///     IntervalSet<Int>().isEmpty  // true
    /// - Complexity: O(1).
    @inlinable public var isEmpty: Bool { tree.count == 0 }

    /// The number of intervals, not of elements.
    ///
    ///     IntervalSet([0...9, 20...29]).intervalCount  // 2
    /// - Complexity: O(1).
    @inlinable public var intervalCount: Int { tree.count }

    /// The number of elements; nil only when the set has every value of `Bound`. That number is one
    /// more than a magnitude can express.
    ///
    ///     IntervalSet([0...9, 20...29]).elementCount          // 20
    ///     IntervalSet([UInt8.min...UInt8.max]).elementCount   // nil
    /// - Complexity: O(*n*).
    @inlinable public var elementCount: Bound.Magnitude? {
        if min == .min && max == .max && intervalCount == 1 { return nil }
        // No sum overflows, because at least one value of the type is missing.
        return reduce(0) { $0 + Bound.Magnitude(truncatingIfNeeded: $1.upperBound &- $1.lowerBound) + 1 }
    }

    /// The smallest element, if there is one.
    ///
    ///     IntervalSet([3...9, 20...29]).min  // 3
    /// - Complexity: O(log *n*).
    @inlinable public var min: Bound? { tree.first?.lowerBound }

    /// The largest element, if there is one.
    ///
    ///     IntervalSet([3...9, 20...29]).max  // 29
    /// - Complexity: O(1).
    @inlinable public var max: Bound? { tree.lastDigest?.upperBound }
}

extension ClosedRange: TreeEntry where Bound: FixedWidthInteger {
    @inlinable package static var nodeCapacity: Int { 126 }

    @inlinable package func precedes(_ other: ClosedRange) -> Bool { upperBound < other.lowerBound }

    /// Returns the last interval. Intervals of a set are disjoint, so it begins last and ends last.
    @inlinable package static func digest(of intervals: [ClosedRange]) -> ClosedRange { intervals[intervals.count - 1] }

    @inlinable package func absorbing(_ interval: ClosedRange) -> ClosedRange { precedes(interval) ? interval : self }
}

extension ClosedRange where Bound: FixedWidthInteger {
    /// The elements of a half-open range.
    /// - Returns: Nil without one.
    @inlinable init?(nonEmpty range: Range<Bound>) {
        guard !range.isEmpty else { return nil }
        self.init(uncheckedBounds: (range.lowerBound, range.upperBound - 1))
    }

    /// The interval with the elements beside it. An interval that touches this one has one of them.
    /// There is no element beyond the extremes of the type.
    @inlinable package var widened: ClosedRange {
        ClosedRange(
            uncheckedBounds: (
                lowerBound == .min ? .min : lowerBound - 1,
                upperBound == .max ? .max : upperBound + 1
            ))
    }

    /// The smallest interval that contains both.
    @inlinable package func hull(_ other: ClosedRange) -> ClosedRange {
        ClosedRange(uncheckedBounds: (Swift.min(lowerBound, other.lowerBound), Swift.max(upperBound, other.upperBound)))
    }
}
