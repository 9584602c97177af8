private import Intervals

/// A set of byte offsets, stored as sorted ranges that neither overlap nor touch.
///
/// Stores which bytes of a resource are on disk. It is a typed wrapper of `IntervalSet<Int64>`:
/// searches are O(log *n*), *n* being the number of ranges, and an insertion at the end is
/// amortised O(1).
public struct ByteRangeSet: Hashable, Sendable {
    private var members = IntervalSet<Int64>()

    /// An empty set.
    public init() {}

    /// The bytes of `ranges`, which may come in any order, overlap and touch.
    public init(_ ranges: some Sequence<ByteRange>) {
        for range in ranges { insert(range) }
    }

    private init(_ members: IntervalSet<Int64>) {
        self.members = members
    }

    // MARK: Contents

    /// The ranges in ascending order; they are disjoint, with a gap between neighbours.
    public var ranges: [ByteRange] { members.map(ByteRange.init) }

    /// Whether no byte is in the set.
    public var isEmpty: Bool { members.isEmpty }

    /// The number of bytes.
    /// - Complexity: O(*n*).
    public var totalBytes: Int64 {
        // The sum cannot overflow: offsets lie below `Int64.max`, and ranges don't overlap.
        members.reduce(0) { $0 + ($1.upperBound - $1.lowerBound + 1) }
    }

    /// The number of ranges.
    package var rangeCount: Int { members.intervalCount }

    /// The offset after the last byte, or nil if the set is empty.
    package var upperBound: Int64? { members.max.map { $0 + 1 } }

    // MARK: Changes

    /// Adds the bytes of `range`.
    public mutating func insert(_ range: ByteRange) { members.insert(range.interval) }

    /// Removes the bytes of `range`.
    public mutating func remove(_ range: ByteRange) { members.remove(range.interval) }

    /// Adds the bytes of `other`.
    package mutating func formUnion(_ other: ByteRangeSet) { members.formUnion(other.members) }

    /// Removes the bytes of `other`.
    package mutating func subtract(_ other: ByteRangeSet) { members.subtract(other.members) }

    // MARK: Combining sets

    /// The bytes of either set.
    public func union(_ other: ByteRangeSet) -> ByteRangeSet { ByteRangeSet(members.union(other.members)) }

    /// The bytes that `other` does not have.
    public func subtracting(_ other: ByteRangeSet) -> ByteRangeSet { ByteRangeSet(members.subtracting(other.members)) }

    /// The bytes that both sets have.
    public func intersection(_ other: ByteRangeSet) -> ByteRangeSet { ByteRangeSet(members.intersection(other.members)) }

    /// The bytes that lie in `range`.
    public func intersection(_ range: ByteRange) -> ByteRangeSet { ByteRangeSet(members.intersection(range.interval)) }

    // MARK: Searching

    /// Whether the byte at `offset` is in the set.
    public func contains(_ offset: Int64) -> Bool { members.contains(offset) }

    /// Whether every byte of `range` is in the set.
    public func contains(_ range: ByteRange) -> Bool { members.contains(range.interval) }

    /// The parts of `range` that are not in the set, in order.
    ///
    /// The result is empty when the range is fully in the set.
    /// - Complexity: O(log *n* + *g*), *g* being the number of gaps.
    public func gaps(in range: ByteRange) -> [ByteRange] { members.gaps(in: range.interval).map(ByteRange.init) }

    /// The first part of `range` that is not in the set, or nil if the whole range is.
    /// - Complexity: O(log *n*).
    package func firstGap(in range: ByteRange) -> ByteRange? { members.firstGap(in: range.interval).map(ByteRange.init) }

    /// The run of member bytes that begins exactly at `offset`, clipped to `limit`.
    /// - Returns: nil if `offset` is not a member, or if `limit` is not after it.
    /// - Complexity: O(log *n*).
    package func prefix(from offset: Int64, upTo limit: Int64) -> ByteRange? {
        members.prefix(from: offset, upTo: limit).flatMap(ByteRange.init)
    }

    /// The first run of members at or after `offset`, clipped on its left to `offset`.
    /// - Returns: Nil without one.
    /// - Complexity: O(log *n*).
    package func firstRange(atOrAfter offset: Int64) -> ByteRange? {
        members.firstInterval(atOrAfter: offset).map(ByteRange.init)
    }
}

extension ByteRangeSet: CustomStringConvertible {
    /// The ranges in brackets, separated by commas.
    public var description: String {
        "[" + ranges.map(\.description).joined(separator: ", ") + "]"
    }
}

extension ByteRange {
    /// The offsets of the first and the last byte.
    fileprivate var interval: ClosedRange<Int64> { lowerBound...upperBound - 1 }

    /// The bytes from the first offset to the last. The bounds come from a byte range, so `+ 1`
    /// can't overflow.
    fileprivate init(_ interval: ClosedRange<Int64>) {
        self.init(lower: interval.lowerBound, upper: interval.upperBound + 1)
    }
}
