import SpoolCore

/// The pauses between the attempts of a download. A value without clock and randomness.
package enum DownloadBackOff {
    /// The longest first pause. Each failure in a row doubles it.
    static let first: Nanoseconds = .seconds(2)
    /// The longest pause.
    package static let longest: Nanoseconds = .seconds(300)
    /// The number of failures in a row, without a new byte, after which a download fails. Failures
    /// of the network do not count.
    package static let maximumFailures = 8
    /// The number of steps into which the second half of a pause is divided.
    private static let steps: UInt64 = 1024

    /// Returns the pause after a number of failures in a row: between half of the longest pause for
    /// that number and all of it.
    ///
    /// - Parameter jitter: A random number.
    package static func pause(afterFailures failures: Int, jitter: UInt64) -> Nanoseconds {
        var pause = first
        for _ in 1..<max(2, failures) where pause < longest { pause *= 2 }
        pause = min(pause, longest)
        return pause / 2 + pause / 2 * Nanoseconds(jitter % steps) / Nanoseconds(steps)
    }
}

/// Holds downloads to a number of bytes in a second. A value without a clock.
package struct DownloadPace {
    /// The most seconds whose bytes may be fetched at once after a pause.
    private static let burstSeconds = 1.0

    private var credit = 0.0
    private var last: MonotonicInstant?

    /// Creates a pace that has seen nothing.
    package init() {}

    /// Returns whether downloads may fetch now.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that were fetched since the last call.
    ///   - limit: The most bytes in a second, or nil for no limit.
    package mutating func mayRun(fetched bytes: Int64, limit: Int64?, now: MonotonicInstant) -> Bool {
        guard let limit else {
            (credit, last) = (0, nil)
            return true
        }
        let rate = Double(max(1, limit))
        let seconds = last.map { Double(max(0, now - $0)) / 1e9 } ?? Self.burstSeconds
        last = now
        credit = min(credit + seconds * rate, Self.burstSeconds * rate) - Double(bytes)
        return credit > 0
    }
}
