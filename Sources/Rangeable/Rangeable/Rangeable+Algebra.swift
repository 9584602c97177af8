public import Intervals

// Operations on two containers: element by element, each as a set of coordinates (Rangeable RFC v2,
// §6.10–6.13).
//
// Elements of this container keep their order. Elements that only the other has follow, in its
// order. An operation that changes a container counts as one change, or as none. An operation that
// returns a new container gives it version 0.

extension Rangeable {
    /// Makes elements active where `other` has them active.
    ///
    ///     styles.formUnion(links)
    /// - Complexity: O(*m* log(*n* + *m*)), *m* being the number of the other's intervals.
    @inlinable public mutating func formUnion(_ other: Rangeable) {
        let pieces = other.pieces
        note(pieces.reduce(false) { insert($1.element, $1.interval) || $0 })
    }

    /// Returns a container in which each element is active where it is active in either container.
    ///
    ///     let all = styles.union(links)
    /// - Complexity: O(*m* log(*n* + *m*)), and O(*e*) for the copy.
    @inlinable public func union(_ other: Rangeable) -> Rangeable { changed { $0.formUnion(other) } }

    /// Makes elements inactive where they are not active in `other`.
    ///
    ///     styles.formIntersection(visible)
    /// - Complexity: O(*n* + *m*), and O(log *n*) for each interval that goes.
    @inlinable public mutating func formIntersection(_ other: Rangeable) {
        let lost = pieces { $0.intervals.subtracting(other.intervals(of: $0.element)) }
        note(lost.reduce(false) { take($1.interval, from: $1.element) || $0 })
    }

    /// Returns a container in which each element is active where it is active in both containers.
    ///
    ///     let seen = styles.intersection(visible)
    /// - Complexity: O(*n* + *m*), and O(log *n*) for each interval that goes.
    @inlinable public func intersection(_ other: Rangeable) -> Rangeable { changed { $0.formIntersection(other) } }

    /// Makes elements inactive where they are active in `other`.
    ///
    ///     styles.subtract(links)
    /// - Complexity: O(*m* log *n*).
    @inlinable public mutating func subtract(_ other: Rangeable) {
        let pieces = other.pieces
        note(pieces.reduce(false) { take($1.interval, from: $1.element) || $0 })
    }

    /// Returns a container in which each element is active where it is active in this container and
    /// not in `other`.
    ///
    ///     let rest = styles.subtracting(links)
    /// - Complexity: O(*m* log *n*), and O(*e*) for the copy.
    @inlinable public func subtracting(_ other: Rangeable) -> Rangeable { changed { $0.subtract(other) } }

    /// Makes elements inactive where they are active in both containers, and active where they are
    /// active only in `other`.
    ///
    ///     styles.formSymmetricDifference(links)
    /// - Complexity: O(*n* + *m* log(*n* + *m*)).
    @inlinable public mutating func formSymmetricDifference(_ other: Rangeable) {
        let common = other.pieces { $0.intervals.intersection(intervals(of: $0.element)) }
        let added = other.pieces { $0.intervals.subtracting(intervals(of: $0.element)) }
        // Insertions come first. An element that remains is then never without an interval, and
        // keeps its place in the order.
        let hasGrown = added.reduce(false) { insert($1.element, $1.interval) || $0 }
        let hasShrunk = common.reduce(false) { take($1.interval, from: $1.element) || $0 }
        note(hasGrown || hasShrunk)
    }

    /// Returns a container in which each element is active where it is active in exactly one of the
    /// containers.
    ///
    ///     let changed = styles.symmetricDifference(published)
    /// - Complexity: O(*n* + *m* log(*n* + *m*)).
    @inlinable public func symmetricDifference(_ other: Rangeable) -> Rangeable { changed { $0.formSymmetricDifference(other) } }

    // MARK: Pieces

    @usableFromInline typealias Piece = (element: Element, interval: ClosedRange<Int>)

    /// Parts of the elements, in the order of first insertion.
    @inlinable func pieces(_ part: (Member) -> IntervalSet<Int>) -> [Piece] {
        members.flatMap { member in
            member.map { member in part(member).map { (member.element, $0) } } ?? []
        }
    }

    @inlinable var pieces: [Piece] { pieces(\.intervals) }

    @inlinable func changed(_ change: (inout Rangeable) -> Void) -> Rangeable {
        var result = self
        change(&result)
        result.changes = 0
        return result
    }
}
