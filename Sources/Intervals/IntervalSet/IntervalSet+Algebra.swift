// Operations on two sets. All of them sweep over the edges of both sets, and differ only in the
// rule for membership. Where one set is small beside the other, its intervals are looked up one by
// one instead.

extension IntervalSet {
    // MARK: Union

    /// Adds every element of `other`.
    ///
    ///     var set: IntervalSet = [0...9]
    ///     set.formUnion([10...12, 20...29])  // [0...12, 20...29]
    /// - Complexity: O(*n* + *m*); O(*m* log *n*) where *m*, the number of the other's intervals,
    ///   is small.
    @inlinable public mutating func formUnion(_ other: IntervalSet) {
        if other.isSmall(beside: self) {
            for interval in other { insert(interval) }
        } else {
            self = isSmall(beside: other) ? other.union(self) : combined(with: other) { $0 || $1 }
        }
    }

    /// The elements of either set.
    ///
    ///     IntervalSet([0...9]).union([10...12])  // [0...12]
    /// - Complexity: O(*n* + *m*).
    @inlinable public func union(_ other: IntervalSet) -> IntervalSet {
        var result = self
        result.formUnion(other)
        return result
    }

    // MARK: Intersection

    /// The elements that both sets have.
    ///
    ///     IntervalSet([0...9, 20...29]).intersection([5...24])  // [5...9, 20...24]
    /// - Complexity: O(*n* + *m*); O(log *n*) for each interval of a small set, and what is
    ///   returned.
    @inlinable public func intersection(_ other: IntervalSet) -> IntervalSet {
        if other.isSmall(beside: self) { return IntervalSet(ascending: other.flatMap { intervals(in: $0) }) }
        if isSmall(beside: other) { return other.intersection(self) }
        return combined(with: other) { $0 && $1 }
    }

    /// The elements that lie in `interval`.
    ///
    ///     IntervalSet([0...9, 20...29]).intersection(5...24)  // [5...9, 20...24]
    /// - Complexity: O(log *n* + *r*), *r* being the number of intervals of the result.
    @inlinable public func intersection(_ interval: ClosedRange<Bound>) -> IntervalSet {
        IntervalSet(ascending: intervals(in: interval))
    }

    /// Removes every element that `other` does not have.
    ///
    ///     var set: IntervalSet = [0...9]
    ///     set.formIntersection([5...24])  // [5...9]
    /// - Complexity: O(*n* + *m*).
    @inlinable public mutating func formIntersection(_ other: IntervalSet) {
        self = intersection(other)
    }

    // MARK: Difference

    /// Removes every element of `other`.
    ///
    ///     var set: IntervalSet = [0...9]
    ///     set.subtract([5...24])  // [0...4]
    /// - Complexity: O(*n* + *m*); O(*m* log *n*) where *m*, the number of the other's intervals,
    ///   is small.
    @inlinable public mutating func subtract(_ other: IntervalSet) {
        if other.isSmall(beside: self) {
            for interval in other { remove(interval) }
        } else {
            self = combined(with: other) { $0 && !$1 }
        }
    }

    /// The elements that `other` does not have.
    ///
    ///     IntervalSet([0...9]).subtracting([3...4])  // [0...2, 5...9]
    /// - Complexity: O(*n* + *m*).
    @inlinable public func subtracting(_ other: IntervalSet) -> IntervalSet {
        var result = self
        result.subtract(other)
        return result
    }

    // MARK: Symmetric difference

    /// The elements that one set has and the other has not.
    ///
    ///     IntervalSet([0...9]).symmetricDifference([5...14])  // [0...4, 10...14]
    /// - Complexity: O(*n* + *m*).
    @inlinable public func symmetricDifference(_ other: IntervalSet) -> IntervalSet {
        combined(with: other) { $0 != $1 }
    }

    /// Removes the elements that `other` has too, and adds those that only `other` has.
    ///
    ///     var set: IntervalSet = [0...9]
    ///     set.formSymmetricDifference([5...14])  // [0...4, 10...14]
    /// - Complexity: O(*n* + *m*).
    @inlinable public mutating func formSymmetricDifference(_ other: IntervalSet) {
        self = symmetricDifference(other)
    }

    // MARK: Comparison

    /// Whether `other` has every element of this set.
    ///
    ///     IntervalSet([3...4]).isSubset(of: [0...9])  // true
    /// - Complexity: O(*n* log *m*) at most; stops at the first element that is missing.
    @inlinable public func isSubset(of other: IntervalSet) -> Bool {
        allSatisfy { other.contains($0) }
    }

    /// Whether this set has every element of `other`.
    ///
    ///     IntervalSet([0...9]).isSuperset(of: [3...4])  // true
    /// - Complexity: O(*m* log *n*) at most; stops at the first element that is missing.
    @inlinable public func isSuperset(of other: IntervalSet) -> Bool {
        other.isSubset(of: self)
    }

    /// Whether the sets are disjoint.
    ///
    ///     IntervalSet([0...9]).isDisjoint(with: [10...12])  // true
    /// - Complexity: O(log *m*) for each interval of the set with fewer intervals, *m* being the
    ///   number of the other's.
    @inlinable public func isDisjoint(with other: IntervalSet) -> Bool {
        if other.intervalCount < intervalCount { return other.isDisjoint(with: self) }
        return allSatisfy { interval in
            other.member(endingAtOrAfter: interval.lowerBound).map { $0.lowerBound > interval.upperBound } ?? true
        }
    }

    // MARK: The sweep

    /// Whether a look-up for each of this set's intervals costs less than a walk over all of
    /// `other`'s.
    @inlinable func isSmall(beside other: IntervalSet) -> Bool {
        intervalCount <= 1 + other.intervalCount / 16
    }

    /// Returns the elements for which `isMember` is true. Its arguments are whether the element is
    /// in this set, and whether it is in `other`. It is not called for elements in neither.
    /// - Complexity: O(*n* + *m*).
    @inlinable func combined(with other: IntervalSet, _ isMember: (Bool, Bool) -> Bool) -> IntervalSet {
        var result: [ClosedRange<Bound>] = []
        var mine = Edges(self), theirs = Edges(other)
        var start: Bound?
        while let position = [mine.position, theirs.position].compactMap({ $0 }).min() {
            if mine.position == position { mine.cross() }
            if theirs.position == position { theirs.cross() }
            let isInside = isMember(mine.isInside, theirs.isInside)
            if isInside {
                start = start ?? position
            } else if let begun = start {
                result.append(begun...position - 1)
                start = nil
            }
        }
        // A run that reaches `Bound.max` has no edge there.
        if let start { result.append(start...Bound.max) }
        return IntervalSet(ascending: result)
    }

    /// The positions where a set's membership changes, in order: the first element of each
    /// interval, and the element after its last.
    @usableFromInline struct Edges {
        @usableFromInline var members: SortedTree<ClosedRange<Bound>>.Iterator
        @usableFromInline var member: ClosedRange<Bound>?
        /// The next edge; nil after the last interval, and after the beginning of an interval that
        /// contains `Bound.max`.
        @usableFromInline var position: Bound?
        /// Whether the elements before `position` are members.
        @usableFromInline var isInside = false

        @inlinable init(_ set: IntervalSet) {
            members = set.tree.makeIterator()
            member = members.next()
            position = member?.lowerBound
        }

        @inlinable mutating func cross() {
            isInside.toggle()
            if isInside {
                position = member.flatMap { $0.upperBound == .max ? nil : $0.upperBound + 1 }
            } else {
                member = members.next()
                position = member?.lowerBound
            }
        }
    }
}
