/// The pauses between failed requests.
struct BackOff: Hashable, Sendable {
    /// Fetches are retried no earlier than this. A waiting reader that has seen no failure yet gets
    /// one immediate attempt.
    var retryAt: MonotonicInstant?
    private(set) var failuresInARow = 0
    private var jitter: UInt64 = 0

    /// Whether the pause has passed.
    func mayTry(now: MonotonicInstant) -> Bool {
        retryAt == nil || now.reaches(retryAt)
    }

    /// Whether a fetch may start for this reader now. A waiting reader that has seen no failure yet
    /// may try at once, so that it does not pay for the failures of other readers.
    func mayTry(for reader: ReaderState, now: MonotonicInstant) -> Bool {
        mayTry(now: now) || (reader.waitsFor != .nothing && reader.patience.failures == 0)
    }

    /// Ends the pause if it has passed.
    mutating func timePassed(now: MonotonicInstant) {
        if let retryAt, retryAt <= now { self.retryAt = nil }
    }

    /// Ends the row of failures.
    mutating func succeeded() { failuresInARow = 0 }

    /// Sets the earliest time of the next attempt: twice as late for each failure in a row, or as
    /// late as the origin asks for.
    /// - Returns: whether to give up what no reader waits for.
    mutating func failed(_ error: OriginError, _ limits: SessionLimits, now: MonotonicInstant) -> Bool {
        failuresInARow += 1
        let delay = min(limits.retryDelay << Int64(min(failuresInARow - 1, 16)), limits.longestRetryDelay)
        let asked = min(error.askedDelay ?? 0, limits.longestAskedDelay)
        retryAt = now + max(jittered(delay, seed: limits.jitterSeed), asked)
        return !error.isRetryable || failuresInARow > limits.failures
    }

    /// A random delay between half of `delay` and all of it, so that sessions that failed together
    /// don't retry together.
    private mutating func jittered(_ delay: Nanoseconds, seed: UInt64) -> Nanoseconds {
        guard seed != 0 else { return delay }
        // xorshift64 spreads the load; it protects no secret.
        if jitter == 0 { jitter = seed }
        jitter ^= jitter << 13
        jitter ^= jitter >> 7
        jitter ^= jitter << 17
        return delay - Int64(jitter % UInt64(max(delay / 2, 1)))
    }
}

extension OriginError {
    /// Whether another attempt may succeed.
    package var isRetryable: Bool {
        switch self {
        case .unreachable, .timeout, .truncated: true
        case .status(let code, _): code == 408 || code == 429 || code >= 500
        case .malformed: true
        case .tls, .representationChanged, .rangeNotSatisfiable, .redirect, .notAsked, .unsupportedURL, .networkRefused: false
        }
    }

    /// The delay that the origin asks for (RFC 9110 §10.2.3).
    /// - Returns: nil if the response has no `Retry-After`, or none that can be parsed.
    package var askedDelay: Nanoseconds? {
        guard case .status(_, let fields) = self, let value = fields[.retryAfter] else { return nil }
        if let seconds = CacheControl.deltaSeconds(value) { return .seconds(seconds) }
        guard let until = HTTPDate.parse(value), let date = fields[.date].flatMap({ HTTPDate.parse($0) }) else { return nil }
        return max(0, until.nanoseconds.subtractingSaturated(date.nanoseconds))
    }

    /// Whether the origin states that the resource no longer exists.
    var isGone: Bool {
        if case .status(let code, _) = self { code == 404 || code == 410 } else { false }
    }

    /// Whether the origin states that the resource will not come back (RFC 9110 §15.5.11).
    var isLasting: Bool {
        if case .status(410, _) = self { true } else { false }
    }

    /// Whether the error concerns only the way to the origin or its present state, and not the
    /// resource (RFC 9111 §4.3.3).
    package var isTransient: Bool {
        switch self {
        case .unreachable, .timeout, .tls, .truncated, .malformed, .redirect, .notAsked, .networkRefused: true
        case .status(let code, _): code >= 500 || code == 429 || code == 408
        case .representationChanged, .rangeNotSatisfiable, .unsupportedURL: false
        }
    }
}
