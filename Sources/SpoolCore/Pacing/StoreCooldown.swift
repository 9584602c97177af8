/// Decides when a store that fails repeatedly is left unused for a while.
///
/// Every write to a full or broken disk fails. Trying each one would cost readers time and fill the
/// log. Stored bytes remain readable during the rest.
package struct StoreCooldown: Sendable {
    /// The number of failures within `window` after which the store rests.
    package static let failureLimit = 3
    /// The time in which failures are counted together.
    package static let window: Nanoseconds = .seconds(60)
    /// The length of the first rest. It doubles with each further rest, up to `longestRest`, and is
    /// reset by a `window` without a rest.
    package static let firstRest: Nanoseconds = .seconds(30)
    /// The longest rest.
    package static let longestRest: Nanoseconds = .seconds(600)

    private var failures: [MonotonicInstant] = []
    private var until: MonotonicInstant?
    private var lastRest: Nanoseconds = 0

    /// Creates the state of a store without failures.
    package init() {}

    /// Whether the store rests now, so that nothing is stored.
    package func isResting(now: MonotonicInstant) -> Bool { until != nil && now.isBelow(until) }

    /// Counts a failed call of the store.
    /// - Returns: the length of the rest if one begins now, or nil.
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
