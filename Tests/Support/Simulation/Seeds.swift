import SpoolLibc
import SpoolSystem

/// The seeds that a test runs.
package enum Seeds {
    /// Returns the seed of `SPOOL_SEED` if it is set, and otherwise 1 to `count`. If `SPOOL_DEPTH`
    /// is `nightly`, it returns ten times as many fresh seeds.
    ///
    /// So each change runs the same seeds as the one before it, and nightly runs try new ones. A
    /// failure prints its seed (``Simulator/report(_:)``).
    ///
    /// - Parameters:
    ///   - count: The number of seeds.
    ///   - nightly: The number of seeds in nightly runs, or nil for ten times `count`.
    package static func list(count: Int, nightly: Int? = nil) -> [UInt64] {
        if let text = environment("SPOOL_SEED"), let seed = UInt64(text) { return [seed] }
        guard isNightly else { return (1...UInt64(count)).map { $0 } }
        let random = SystemRandom()
        // Short numbers are easier to read aloud and to copy.
        return (0..<(nightly ?? count * 10)).map { _ in random.next() >> 24 }
    }

    /// Whether the long runs are requested (`SPOOL_DEPTH` is `nightly`).
    package static var isNightly: Bool { environment("SPOOL_DEPTH") == "nightly" }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
