// Conformances to protocols of the standard library.

extension IntervalSet: Sequence {
    /// Walks the intervals of a set in ascending order.
    public struct Iterator: IteratorProtocol {
        @usableFromInline var members: SortedTree<ClosedRange<Bound>>.Iterator

        @inlinable init(_ set: IntervalSet) { members = set.tree.makeIterator() }

        /// The next interval, or nil after the last.
        /// - Complexity: amortised O(1).
        @inlinable public mutating func next() -> ClosedRange<Bound>? { members.next() }
    }

    /// Walks the intervals in ascending order.
    ///
    ///     for interval in IntervalSet([0...9, 20...29]) { print(interval) }  // 0...9, 20...29
    @inlinable public func makeIterator() -> Iterator { Iterator(self) }

    /// The number of intervals.
    @inlinable public var underestimatedCount: Int { intervalCount }
}

extension IntervalSet: Hashable {
    /// Whether both sets have the same elements.
    /// - Complexity: O(*n*).
    @inlinable public static func == (a: IntervalSet, b: IntervalSet) -> Bool { a.tree == b.tree }

    /// Hashes the intervals.
    @inlinable public func hash(into hasher: inout Hasher) {
        hasher.combine(intervalCount)
        for interval in self { hasher.combine(interval) }
    }
}

extension IntervalSet: ExpressibleByArrayLiteral {
    /// Creates the set of the elements of `intervals`, which may come in any order, overlap and
    /// touch.
    ///
    ///     let set: IntervalSet = [0...9, 20...29]
    @inlinable public init(arrayLiteral intervals: ClosedRange<Bound>...) { self.init(intervals) }
}

extension IntervalSet: CustomStringConvertible {
    /// The intervals, as `[0...9, 20...29]`.
    public var description: String {
        "[" + map { "\($0.lowerBound)...\($0.upperBound)" }.joined(separator: ", ") + "]"
    }
}

/// A set is encoded as the list of its intervals, each a list of its first and its last element:
/// `[[0,9],[20,29]]`.
///
/// Encoded intervals may come in any order, overlap and touch. Decoding throws if the bounds of an
/// interval are reversed.
extension IntervalSet: Codable where Bound: Codable {
    /// Decodes a set from a list of intervals.
    @inlinable public init(from decoder: any Decoder) throws {
        self.init(try [ClosedRange<Bound>](from: decoder))
    }

    /// Encodes the intervals in ascending order.
    @inlinable public func encode(to encoder: any Encoder) throws {
        try intervals.encode(to: encoder)
    }
}
