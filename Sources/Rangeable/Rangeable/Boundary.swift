public import Intervals

/// One end of an element's interval.
///
/// Boundaries are in the order of coordinates. At one coordinate openings come first, in the order
/// of serials, then closings in the reverse order (Rangeable RFC v2, §4.5). An element that was
/// inserted earlier has a lower serial. Two integers, position and rank, express the whole order.
@usableFromInline struct Boundary: TreeEntry, Sendable {
    /// The coordinate. A closing after `Int.max` also has the position `Int.max`.
    @usableFromInline let position: Int
    @usableFromInline let rank: Int
    /// The farthest coordinate: for an opening, the last of the interval; for a closing, `Int.min`,
    /// because it reaches nothing; for a digest, the farthest of the entries.
    @usableFromInline let reach: Int

    @inlinable init(position: Int, rank: Int, reach: Int) {
        self.position = position
        self.rank = rank
        self.reach = reach
    }

    @inlinable static func opening(of interval: ClosedRange<Int>, _ serial: Int) -> Boundary {
        Boundary(position: interval.lowerBound, rank: openings + serial, reach: interval.upperBound)
    }

    @inlinable static func closing(of interval: ClosedRange<Int>, _ serial: Int) -> Boundary {
        let isLast = interval.upperBound == .max
        return Boundary(
            position: isLast ? .max : interval.upperBound + 1, rank: (isLast ? lastClosings : closings) - serial, reach: .min)
    }

    /// A probe that comes before all boundaries at `coordinate`, and after those at lower
    /// coordinates.
    @inlinable static func first(at coordinate: Int) -> Boundary {
        Boundary(position: coordinate, rank: .min, reach: .min)
    }

    // MARK: Rank

    // Ranks of openings ascend from the first value, and ranks of closings descend from the second.
    // Closings after all integers descend from the third. No container has so many elements that
    // the ranges meet.
    @inlinable static var openings: Int { .min }
    @inlinable static var closings: Int { .max / 2 }
    @inlinable static var lastClosings: Int { .max }

    @inlinable var kind: TransitionKind { rank < 0 ? .open : .close }

    /// The coordinate; nil for the closing of an element that is active at `Int.max`.
    @inlinable var coordinate: Int? { rank > Self.closings ? nil : position }

    @inlinable var serial: Int { rank < 0 ? rank - Self.openings : (rank > Self.closings ? Self.lastClosings : Self.closings) - rank }

    @inlinable func with(serial: Int) -> Boundary {
        Boundary(position: position, rank: kind == .open ? rank - self.serial + serial : rank + self.serial - serial, reach: reach)
    }

    // MARK: In the tree

    @inlinable static var nodeCapacity: Int { 62 }

    @inlinable func precedes(_ other: Boundary) -> Bool {
        position == other.position ? rank < other.rank : position < other.position
    }

    @inlinable static func digest(of boundaries: [Boundary]) -> Boundary {
        let last = boundaries[boundaries.count - 1]
        var reach = last.reach
        for boundary in boundaries { reach = Swift.max(reach, boundary.reach) }
        return Boundary(position: last.position, rank: last.rank, reach: reach)
    }

    @inlinable func absorbing(_ boundary: Boundary) -> Boundary {
        let last = precedes(boundary) ? boundary : self
        return Boundary(position: last.position, rank: last.rank, reach: Swift.max(reach, boundary.reach))
    }
}
