extension Int64 {
    /// The difference, clamped to the range of `Int64`.
    package func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    /// The sum, clamped to the range of `Int64`.
    package func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The product, clamped to the range of `Int64`.
    package func multipliedSaturated(by other: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }

    /// Creates the whole part of a number, clamped to the range of `Int64`. It is 0 for no number.
    package init(saturating value: Double) {
        self = value.isNaN ? 0 : Int64(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
    }

    /// Creates the whole nanoseconds of a duration, clamped to the range of `Int64`.
    package init(saturating duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = seconds.multipliedSaturated(by: 1_000_000_000).addingSaturated(attoseconds / 1_000_000_000)
    }
}

extension Sequence<Int64> {
    /// The sum, clamped to the range of `Int64`.
    package var saturatedSum: Int64 { reduce(0) { $0.addingSaturated($1) } }
}

extension Collection<Int64> {
    /// Estimates the sum of `count` lengths, of which these are known. The others count as long as
    /// the known ones are on average.
    ///
    /// - Returns: nil without a known length. An announced length may be any number, so the
    ///   estimate is at most `ByteRange.maximumOffset`.
    package func estimatedSum(of count: Int) -> Int64? {
        guard !isEmpty else { return nil }
        let others = (saturatedSum / Int64(self.count)).multipliedSaturated(by: Int64(Swift.max(0, count - self.count)))
        return Swift.min(saturatedSum.addingSaturated(others), ByteRange.maximumOffset)
    }
}
