/// Decides when a store that fails again and again is left alone for a while.
///
/// A disk that is full or broken fails every write; to try each one costs readers time and the log its sense. Stored bytes are read all the
/// while.
package struct StoreRest: Sendable {
    /// Failures within `window` after which the store rests.
    package static let failureLimit = 3
    package static let window: Nanoseconds = .seconds(60)
    /// The first rest; doubled for each that follows before a rest-free `window`, up to `longestRest`.
    package static let firstRest: Nanoseconds = .seconds(30)
    package static let longestRest: Nanoseconds = .seconds(600)

    private var failures: [MonotonicInstant] = []
    private var until: MonotonicInstant?
    private var lastRest: Nanoseconds = 0

    package init() {}

    /// Whether nothing is stored now.
    package func isResting(now: MonotonicInstant) -> Bool { until.map { now < $0 } ?? false }

    /// A call of the store failed; how long it rests when it begins to.
    package mutating func failed(now: MonotonicInstant) -> Nanoseconds? {
        guard !isResting(now: now) else { return nil }
        if let until, now - until > Self.window { lastRest = 0 }
        failures.removeAll { now - $0 > Self.window }
        failures.append(now)
        guard failures.count >= Self.failureLimit else { return nil }
        failures = []
        lastRest = lastRest == 0 ? Self.firstRest : min(lastRest * 2, Self.longestRest)
        until = now + lastRest
        return lastRest
    }
}
