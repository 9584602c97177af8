/// A closed interval of integer coordinates: both ends belong to it (Rangeable RFC v2, §4.1).
///
///     Interval(lo: 2, hi: 5).contains(5)  // true
public struct Interval: Hashable, Sendable {
    /// The first coordinate.
    public let lo: Int
    /// The last coordinate, not before `lo`.
    public let hi: Int

    /// Creates the interval from `lo` through `hi`, which must not lie before `lo`.
    @inlinable public init(lo: Int, hi: Int) {
        precondition(lo <= hi, "an interval ends before it begins: \(lo), \(hi)")
        self.lo = lo
        self.hi = hi
    }

    @inlinable init(_ range: ClosedRange<Int>) {
        lo = range.lowerBound
        hi = range.upperBound
    }

    /// Whether `coordinate` lies in the interval, ends included.
    ///
    ///     Interval(lo: 2, hi: 5).contains(6)  // false
    @inlinable public func contains(_ coordinate: Int) -> Bool { lo <= coordinate && coordinate <= hi }
}

extension Interval: CustomStringConvertible {
    /// The interval, as `2...5`.
    public var description: String { "\(lo)...\(hi)" }
}

extension ClosedRange<Int> {
    /// Creates the range from `start` through `end`. A reversed interval is rejected and not turned
    /// round (Rangeable RFC v2, §4.4).
    @inlinable init(start: Int, end: Int) throws(RangeableError) {
        guard start <= end else { throw .invalidInterval(start: start, end: end) }
        self.init(uncheckedBounds: (start, end))
    }
}
