extension IntervalSet {
    /// Traps unless the intervals are in order, disjoint and apart by at least one element.
    ///
    /// For tests, which call it after each change.
    ///
    ///     set.checkInvariants()
    /// - Complexity: O(*n*).
    public func checkInvariants() {
        tree.checkInvariants()
        var before: Bound?
        for interval in self {
            // Both halves: above the one before, and not adjacent to it.
            let isApart = before.map { interval.lowerBound > $0 && interval.lowerBound - 1 > $0 } ?? true
            precondition(isApart, "intervals overlap, touch or are out of order near \(interval): \(self)")
            before = interval.upperBound
        }
    }
}
