// Members and gaps by turns: what gaps, first gaps and runs are read from.

extension IntervalSet {
    /// A part of the line that is wholly in the set, or wholly outside.
    ///
    ///     IntervalSet<Int>.Run(interval: 0...9, isMember: true)
    public struct Run: Hashable, Sendable {
        /// Where the run lies.
        public var interval: ClosedRange<Bound>
        /// Whether its elements are in the set.
        public var isMember: Bool

        /// A run of elements that are all in a set, or all outside.
        @inlinable public init(interval: ClosedRange<Bound>, isMember: Bool) {
            self.interval = interval
            self.isMember = isMember
        }
    }

    /// `interval` cut where membership changes: the runs follow each other without a gap, and members and gaps alternate.
    ///
    ///     for run in IntervalSet([0...9]).runs(in: 5...40) {
    ///         print(run.isMember ? "stored" : "missing", run.interval)  // stored 5...9, missing 10...40
    ///     }
    /// - Complexity: O(log *n* + *r*), *r* being the number of runs.
    @inlinable public func runs(in interval: ClosedRange<Bound>) -> [Run] {
        var result: [Run] = []
        walkRuns(in: interval) { run in
            result.append(run)
            return true
        }
        return result
    }

    /// Hands `body` the runs of `interval` one by one until it returns false, and looks no further.
    @inlinable func walkRuns(in interval: ClosedRange<Bound>, _ body: (Run) -> Bool) {
        // Where the next run begins; nil when there is none, or none is wanted.
        var next: Bound? = interval.lowerBound
        tree.walk(notBefore: interval) { member in
            guard let start = next, member.lowerBound <= interval.upperBound else { return false }
            next = nil
            // Neither `- 1` nor `+ 1` can overflow: something lies on that side.
            if member.lowerBound > start {
                guard body(Run(interval: start...member.lowerBound - 1, isMember: false)) else { return false }
            }
            let run = member.clamped(to: interval)
            guard body(Run(interval: run, isMember: true)), run.upperBound < interval.upperBound else { return false }
            next = run.upperBound + 1
            return true
        }
        if let next { _ = body(Run(interval: next...interval.upperBound, isMember: false)) }
    }
}
