// Containers against containers: element by element, each as a set of coordinates (Rangeable RFC v2, §6.10–6.13).
//
// This container's elements keep their order, those that only the other has follow in the other's.
// The forms that change a container count as one change, or none; those that give a new one give it version 0.

extension Rangeable {
    /// Makes elements active where `other` has them active.
    ///
    ///     styles.formUnion(links)
    /// - Complexity: O(*m* log(*n* + *m*)), *m* being the number of the other's intervals.
    @inlinable public mutating func formUnion(_ other: Rangeable) {
        let pieces = other.pieces
        note(pieces.reduce(false) { insert($1.element, $1.interval) || $0 })
    }

    /// What is active in either container.
    ///
    ///     let all = styles.union(links)
    /// - Complexity: O(*m* log(*n* + *m*)), and O(*e*) for the copy.
    @inlinable public func union(_ other: Rangeable) -> Rangeable { changed { $0.formUnion(other) } }

    /// Makes elements inactive where `other` hasn't them active.
    ///
    ///     styles.formIntersection(visible)
    /// - Complexity: O(*n* + *m*), and O(log *n*) for each interval that goes.
    @inlinable public mutating func formIntersection(_ other: Rangeable) {
        let lost = pieces { $0.intervals.subtracting(other.intervals(of: $0.element)) }
        note(lost.reduce(false) { take($1.interval, from: $1.element) || $0 })
    }

    /// What is active in both containers.
    ///
    ///     let seen = styles.intersection(visible)
    /// - Complexity: O(*n* + *m*), and O(log *n*) for each interval that goes.
    @inlinable public func intersection(_ other: Rangeable) -> Rangeable { changed { $0.formIntersection(other) } }

    /// Makes elements inactive where `other` has them active.
    ///
    ///     styles.subtract(links)
    /// - Complexity: O(*m* log *n*).
    @inlinable public mutating func subtract(_ other: Rangeable) {
        let pieces = other.pieces
        note(pieces.reduce(false) { take($1.interval, from: $1.element) || $0 })
    }

    /// What is active in this container and not in `other`.
    ///
    ///     let rest = styles.subtracting(links)
    /// - Complexity: O(*m* log *n*), and O(*e*) for the copy.
    @inlinable public func subtracting(_ other: Rangeable) -> Rangeable { changed { $0.subtract(other) } }

    /// Makes elements inactive where `other` has them active too, and active where only `other` has.
    ///
    ///     styles.formSymmetricDifference(links)
    /// - Complexity: O(*n* + *m* log(*n* + *m*)).
    @inlinable public mutating func formSymmetricDifference(_ other: Rangeable) {
        let common = other.pieces { $0.intervals.intersection(intervals(of: $0.element)) }
        let added = other.pieces { $0.intervals.subtracting(intervals(of: $0.element)) }
        // First what is new: an element that stays is never without a place, and keeps it.
        let hasGrown = added.reduce(false) { insert($1.element, $1.interval) || $0 }
        let hasShrunk = common.reduce(false) { take($1.interval, from: $1.element) || $0 }
        note(hasGrown || hasShrunk)
    }

    /// What is active in one container and not in the other.
    ///
    ///     let changed = styles.symmetricDifference(published)
    /// - Complexity: O(*n* + *m* log(*n* + *m*)).
    @inlinable public func symmetricDifference(_ other: Rangeable) -> Rangeable { changed { $0.formSymmetricDifference(other) } }

    // MARK: Pieces

    @usableFromInline typealias Piece = (element: Element, interval: ClosedRange<Int>)

    /// Parts of elements, in the order of first insertion.
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
