import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Which seeds a test runs.
package enum Seeds {
    /// The one of `SPOOL_SEED` where it is set; else 1 to `count`; where `SPOOL_DEPTH` is `nightly`, ten times as many fresh ones.
    ///
    /// So a change is judged on the same ground as the one before it, and the nights look at new ground; a failure prints its
    /// seed (``Simulator/report(_:)``).
    ///
    /// - Parameter nightly: how many they are in the nights; ten times as many as else when nil.
    package static func list(count: Int, nightly: Int? = nil) -> [UInt64] {
        if let text = environment("SPOOL_SEED"), let seed = UInt64(text) { return [seed] }
        guard isNightly else { return (1...UInt64(count)).map { $0 } }
        let random = SystemRandom()
        // Short numbers are easier to read aloud and to copy.
        return (0..<(nightly ?? count * 10)).map { _ in random.next() >> 24 }
    }

    /// Whether the full figures are wanted (`SPOOL_DEPTH` is `nightly`).
    package static var isNightly: Bool { environment("SPOOL_DEPTH") == "nightly" }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
