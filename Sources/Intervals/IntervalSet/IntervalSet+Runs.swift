// Alternating members and gaps, which the queries for gaps and runs are built on.

extension IntervalSet {
    /// A part of the line that is wholly in the set, or wholly outside.
    ///
    ///     IntervalSet<Int>.Run(interval: 0...9, isMember: true)
    public struct Run: Hashable, Sendable {
        /// The elements of the run.
        public var interval: ClosedRange<Bound>
        /// Whether its elements are in the set.
        public var isMember: Bool

        /// Creates a run of elements that are all in a set, or all outside.
        @inlinable public init(interval: ClosedRange<Bound>, isMember: Bool) {
            self.interval = interval
            self.isMember = isMember
        }
    }

    /// The parts of `interval` between changes of membership. The runs adjoin each other, and
    /// members and gaps alternate.
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

    /// Calls `body` with the runs of `interval` one by one, until it returns false.
    @inlinable func walkRuns(in interval: ClosedRange<Bound>, _ body: (Run) -> Bool) {
        // The beginning of the next run; nil when there is none, or when `body` has returned false.
        var next: Bound? = interval.lowerBound
        tree.walk(notBefore: interval) { member in
            guard let start = next, member.lowerBound <= interval.upperBound else { return false }
            next = nil
            // Neither `- 1` nor `+ 1` can overflow, because there is an element on that side.
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
