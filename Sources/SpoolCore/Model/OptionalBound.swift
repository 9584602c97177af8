// Comparisons with a bound that may be missing.

extension Comparable {
    /// Whether it is below the bound. Without a bound, every value is.
    package func isBelow(_ bound: Self?) -> Bool {
        guard let bound else { return true }
        return self < bound
    }

    /// Whether it is at the bound or beyond it. Without a bound, no value is.
    func reaches(_ bound: Self?) -> Bool { !isBelow(bound) }
}
