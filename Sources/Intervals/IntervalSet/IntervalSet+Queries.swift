// Queries about a part of the line: its members and its gaps.

extension IntervalSet {
    // MARK: Membership

    /// Whether `element` is in the set.
    ///
    ///     IntervalSet([0...9]).contains(9)  // true
    /// - Complexity: O(log *n*).
    @inlinable public func contains(_ element: Bound) -> Bool {
        contains(element...element)
    }

    /// Whether every element of `interval` is in the set.
    ///
    ///     IntervalSet([0...9]).contains(5...10)  // false
    /// - Complexity: O(log *n*).
    @inlinable public func contains(_ interval: ClosedRange<Bound>) -> Bool {
        guard let member = member(endingAtOrAfter: interval.lowerBound) else { return false }
        return member.lowerBound <= interval.lowerBound && member.upperBound >= interval.upperBound
    }

    /// Whether every element of `range` is in the set; true when the range is empty.
    ///
    ///     IntervalSet([0...9]).contains(5..<10)  // true
    /// - Complexity: O(log *n*).
    @inlinable public func contains(_ range: Range<Bound>) -> Bool {
        ClosedRange(nonEmpty: range).map { contains($0) } ?? true
    }

    @inlinable func member(endingAtOrAfter position: Bound) -> ClosedRange<Bound>? {
        tree.first(notBefore: position...position)
    }

    // MARK: Members

    /// The members that begin exactly at `position` and continue without a gap, up to `limit` at
    /// most.
    /// - Returns: nil if `position` is not a member, or if `limit` is not after it.
    ///
    ///     IntervalSet([0...9]).prefix(from: 5, upTo: 100)  // 5..<10
    /// - Complexity: O(log *n*).
    @inlinable public func prefix(from position: Bound, upTo limit: Bound) -> Range<Bound>? {
        guard position < limit else { return nil }
        return prefix(from: position, through: limit - 1).map { $0.lowerBound..<$0.upperBound + 1 }
    }

    /// The members that begin exactly at `position` and continue without a gap, through `last` at
    /// most.
    /// - Returns: nil if `position` is not a member, or if `last` lies before it.
    ///
    ///     IntervalSet([0...9]).prefix(from: 5, through: 7)  // 5...7
    /// - Complexity: O(log *n*).
    @inlinable public func prefix(from position: Bound, through last: Bound) -> ClosedRange<Bound>? {
        guard position <= last, let member = member(endingAtOrAfter: position), member.lowerBound <= position else { return nil }
        return position...Swift.min(member.upperBound, last)
    }

    /// The first run of members at or after `position`, clipped on its left to `position`, if there
    /// is one.
    ///
    ///     IntervalSet([0...9, 20...29]).firstInterval(atOrAfter: 12)  // 20...29
    /// - Complexity: O(log *n*).
    @inlinable public func firstInterval(atOrAfter position: Bound) -> ClosedRange<Bound>? {
        member(endingAtOrAfter: position).map { Swift.max($0.lowerBound, position)...$0.upperBound }
    }

    /// The members that lie in `interval`, in order, clipped to it.
    ///
    ///     IntervalSet([0...9, 20...29]).intervals(in: 5...24)  // [5...9, 20...24]
    /// - Complexity: O(log *n* + *r*), *r* being the number of results.
    @inlinable public func intervals(in interval: ClosedRange<Bound>) -> [ClosedRange<Bound>] {
        members(overlapping: interval).map { $0.clamped(to: interval) }
    }

    /// The intervals that share an element with `interval`, in order and whole.
    @inlinable package func members(overlapping interval: ClosedRange<Bound>) -> [ClosedRange<Bound>] {
        var result: [ClosedRange<Bound>] = []
        tree.walk(notBefore: interval) { member in
            guard member.lowerBound <= interval.upperBound else { return false }
            result.append(member)
            return true
        }
        return result
    }

    // MARK: Gaps

    /// The parts of `interval` that are not in the set, in order.
    ///
    /// Empty when every element is a member.
    ///
    ///     IntervalSet([0...9, 20...29]).gaps(in: 5...40)  // [10...19, 30...40]
    /// - Complexity: O(log *n* + *g*), *g* being the number of gaps.
    @inlinable public func gaps(in interval: ClosedRange<Bound>) -> [ClosedRange<Bound>] {
        var gaps: [ClosedRange<Bound>] = []
        walkRuns(in: interval) { run in
            if !run.isMember { gaps.append(run.interval) }
            return true
        }
        return gaps
    }

    /// The parts of `range` that are not in the set, in order.
    ///
    ///     IntervalSet([0...9, 20...29]).gaps(in: 5..<40)  // [10..<20, 30..<40]
    /// - Complexity: O(log *n* + *g*), *g* being the number of gaps.
    @inlinable public func gaps(in range: Range<Bound>) -> [Range<Bound>] {
        guard let interval = ClosedRange(nonEmpty: range) else { return [] }
        // `+ 1` can't overflow: a gap ends before `range.upperBound`.
        return gaps(in: interval).map { $0.lowerBound..<$0.upperBound + 1 }
    }

    /// The first part of `interval` that is not in the set, or nil when every element is a member.
    ///
    ///     IntervalSet([0...9, 20...29]).firstGap(in: 5...40)  // 10...19
    /// - Complexity: O(log *n*).
    @inlinable public func firstGap(in interval: ClosedRange<Bound>) -> ClosedRange<Bound>? {
        var gap: ClosedRange<Bound>?
        // Of two adjacent runs, one is a gap.
        walkRuns(in: interval) { run in
            gap = run.isMember ? nil : run.interval
            return run.isMember
        }
        return gap
    }

    /// The first part of `range` that is not in the set, or nil when every element is a member.
    ///
    ///     IntervalSet([0...9, 20...29]).firstGap(in: 5..<40)  // 10..<20
    /// - Complexity: O(log *n*).
    @inlinable public func firstGap(in range: Range<Bound>) -> Range<Bound>? {
        guard let interval = ClosedRange(nonEmpty: range) else { return nil }
        return firstGap(in: interval).map { $0.lowerBound..<$0.upperBound + 1 }
    }
}
