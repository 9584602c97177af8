// What follows a failed fetch: who waits for another try, and how long.

extension SessionStateMachine {
    mutating func fetchFailed(_ fetch: Fetch, _ error: OriginError, now: MonotonicInstant) {
        backOff(after: error, now: now)
        // A reader in the middle of its bytes is worth some patience; one that got none yet learns at once what is wrong, as it would
        // without a cache: its client can still do something about it. The AVFoundation door, whose client can't, tries again by itself.
        let arrived = fetch.front != fetch.start
        // What breaks HTTP may be one server's of many: everybody's request is made once more. Where ranges are what it can't do, plainly.
        let isMalformed = if case .malformed = error { true } else { false }
        if isMalformed, version == nil, fetch.start == 0 { asksPlainly = true }
        for index in readers.indices where concerns(fetch, readers[index]) {
            let reader = readers[index]
            let hasPatience = reader.hasProgress || arrived || (isMalformed && reader.failures == 0)
            if !hasPatience || !waits(index, after: error, fetch) { readers[index].failure = .origin(error) }
        }
    }

    /// Counts a failure of the reader's fetch. Whether the reader waits for another try.
    ///
    /// An answer that was accepted and ended without a new byte is worse than one that did not come: a reader whose client can ask again
    /// by itself ends after `limits.emptyAnswers` of them in a row.
    mutating func waits(_ index: Int, after error: OriginError, _ fetch: Fetch) -> Bool {
        guard error.isRetryable, error.askedDelay ?? 0 <= limits.longestAskedDelay, readers[index].failures < limits.failures else {
            return false
        }
        if case .truncated = error, fetch.phase == .receiving, fetch.front == fetch.start { readers[index].emptyAnswers += 1 }
        if readers[index].endsSoon, readers[index].emptyAnswers >= limits.emptyAnswers { return false }
        readers[index].failures += 1
        return true
    }

    /// Nobody but newcomers asks again before a while has passed: twice as long for each failure in a row, or as long as the origin
    /// asks for.
    mutating func backOff(after error: OriginError, now: MonotonicInstant) {
        failuresInARow += 1
        let delay = min(limits.retryDelay << Int64(min(failuresInARow - 1, 16)), limits.longestRetryDelay)
        let asked = min(error.askedDelay ?? 0, limits.longestAskedDelay)
        retryAt = now + max(jittered(delay), asked)
        if !error.isRetryable || failuresInARow > limits.failures { goal = nil }
    }

    /// Between half of the delay and all of it, so that those who failed together don't come back together.
    private mutating func jittered(_ delay: Nanoseconds) -> Nanoseconds {
        guard limits.jitterSeed != 0 else { return delay }
        // xorshift64: a number for spreading load, nothing secret.
        if jitter == 0 { jitter = limits.jitterSeed }
        jitter ^= jitter << 13
        jitter ^= jitter >> 7
        jitter ^= jitter << 17
        return delay - Int64(jitter % UInt64(max(delay / 2, 1)))
    }

    private func concerns(_ fetch: Fetch, _ reader: Reader) -> Bool {
        guard reader.failure == nil, isAsking(reader) else { return false }
        guard draws(reader, from: fetch) else { return false }
        if fetch.isRelay, version != nil { return fetch.serves(reader.position) }
        return version == nil || reader.position == fetch.start || fetch.leases(reader.position)
    }

    /// Drops what can't be completed: bytes of unknown length that nothing ties further bytes to, once nobody reads them any more.
    /// Most such bodies are live streams, of which the next listener does not want the beginning.
    mutating func dropUnfinished() -> [SessionAction] {
        guard readers.isEmpty, fetches.isEmpty, let version, version.representation.length == nil, !version.isCombinable,
            version.passReason == nil
        else { return [] }
        self.version = nil
        return [.unfinished(version.generation)]
    }
}

extension OriginError {
    /// Whether asking again may help.
    package var isRetryable: Bool {
        switch self {
        case .unreachable, .timeout, .truncated: true
        case .status(let code, _): code == 408 || code == 429 || code >= 500
        case .malformed: true
        case .tls, .representationChanged, .rangeNotSatisfiable, .redirect, .unsupportedURL: false
        }
    }

    /// How long the origin asked to be left alone (RFC 9110 §10.2.3); nil when it did not ask or what it said can't be read.
    package var askedDelay: Nanoseconds? {
        guard case .status(_, let fields) = self, let value = fields["Retry-After"] else { return nil }
        if let seconds = CacheControl.deltaSeconds(value) { return .seconds(seconds) }
        guard let until = HTTPDate.parse(value), let date = fields["Date"].flatMap({ HTTPDate.parse($0) }) else { return nil }
        return max(0, until.nanoseconds.subtractingSaturated(date.nanoseconds))
    }
}
