// Retries: which readers survive a failed fetch, and how long the next attempt waits.

extension SessionStateMachine {
    /// Handles the failure of a fetch: backs off, and decides for each of its readers whether it
    /// fails or waits.
    mutating func fetchFailed(_ fetch: Fetch, _ error: OriginError, now: MonotonicInstant) {
        backOff(after: error, now: now)
        // A reader in the middle of its bytes waits for a retry. A reader without a byte fails at
        // once, as it would without a cache, because its client can still react. The client of the
        // AVFoundation door can't, so that door retries by itself.
        let arrived = fetch.front != fetch.start
        // A malformed response may come from one server of many, so each reader gets one more
        // attempt. A request from offset 0 on names no range in the next attempt, in case the
        // server fails on ranges.
        let isMalformed = if case .malformed = error { true } else { false }
        if isMalformed, version == nil, fetch.start == 0 { asksPlainly = true }
        for index in readers.indices where concerns(fetch, readers[index]) {
            let reader = readers[index]
            let hasPatience = reader.hasProgress || arrived || (isMalformed && reader.failures == 0)
            if !hasPatience || !waits(index, after: error, fetch) { readers[index].failure = .origin(error) }
        }
    }

    /// Counts a failure of the reader's fetch, and returns whether the reader waits for another
    /// attempt.
    ///
    /// An accepted response that ends without a new byte is worse than none. A reader whose client
    /// can repeat the request by itself fails after `limits.emptyAnswers` of them in a row.
    mutating func waits(_ index: Int, after error: OriginError, _ fetch: Fetch) -> Bool {
        guard error.isRetryable, error.askedDelay ?? 0 <= limits.longestAskedDelay, readers[index].failures < limits.failures else {
            return false
        }
        if case .truncated = error, fetch.phase == .receiving, fetch.front == fetch.start { readers[index].emptyAnswers += 1 }
        if readers[index].endsSoon, readers[index].emptyAnswers >= limits.emptyAnswers { return false }
        readers[index].failures += 1
        return true
    }

    /// Sets the earliest time of the next attempt: twice as late for each failure in a row, or as
    /// late as the origin asks for.
    mutating func backOff(after error: OriginError, now: MonotonicInstant) {
        failuresInARow += 1
        let delay = min(limits.retryDelay << Int64(min(failuresInARow - 1, 16)), limits.longestRetryDelay)
        let asked = min(error.askedDelay ?? 0, limits.longestAskedDelay)
        retryAt = now + max(jittered(delay), asked)
        if !error.isRetryable || failuresInARow > limits.failures { goal = nil }
    }

    /// A random delay between half of `delay` and all of it, so that sessions that failed together
    /// don't retry together.
    private mutating func jittered(_ delay: Nanoseconds) -> Nanoseconds {
        guard limits.jitterSeed != 0 else { return delay }
        // xorshift64 spreads the load; it protects no secret.
        if jitter == 0 { jitter = limits.jitterSeed }
        jitter ^= jitter << 13
        jitter ^= jitter >> 7
        jitter ^= jitter << 17
        return delay - Int64(jitter % UInt64(max(delay / 2, 1)))
    }

    /// Whether the reader depends on the fetch that failed.
    private func concerns(_ fetch: Fetch, _ reader: Reader) -> Bool {
        guard reader.failure == nil, isAsking(reader) else { return false }
        guard draws(reader, from: fetch) else { return false }
        if fetch.isRelay, version != nil { return fetch.serves(reader.position) }
        return version == nil || reader.position == fetch.start || fetch.leases(reader.position)
    }

    /// Drops a version that can't be completed, once it has no reader: bytes of unknown length that
    /// nothing ties further bytes to.
    ///
    /// Most such bodies are live streams, whose next listener does not need the beginning.
    mutating func dropUnfinished() -> [SessionAction] {
        guard readers.isEmpty, fetches.isEmpty, let version, version.representation.length == nil, !version.isCombinable,
            version.passReason == nil
        else { return [] }
        self.version = nil
        return [.unfinished(version.generation)]
    }
}

extension OriginError {
    /// Whether another attempt may succeed.
    package var isRetryable: Bool {
        switch self {
        case .unreachable, .timeout, .truncated: true
        case .status(let code, _): code == 408 || code == 429 || code >= 500
        case .malformed: true
        case .tls, .representationChanged, .rangeNotSatisfiable, .redirect, .unsupportedURL: false
        }
    }

    /// The delay that the origin asks for (RFC 9110 §10.2.3).
    /// - Returns: nil if the response has no `Retry-After`, or none that can be parsed.
    package var askedDelay: Nanoseconds? {
        guard case .status(_, let fields) = self, let value = fields["Retry-After"] else { return nil }
        if let seconds = CacheControl.deltaSeconds(value) { return .seconds(seconds) }
        guard let until = HTTPDate.parse(value), let date = fields["Date"].flatMap({ HTTPDate.parse($0) }) else { return nil }
        return max(0, until.nanoseconds.subtractingSaturated(date.nanoseconds))
    }
}
