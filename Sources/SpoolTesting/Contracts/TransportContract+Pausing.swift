internal import SpoolOrigin

// Cases of back-pressure: bytes that a receiver did not take wait, and nothing else does.

extension TransportContract {
    /// Returns a reaction that pauses once, at the first offer at or after `offset`.
    private func pausingOnce(at offset: Int64) -> TransferProbe.Reaction {
        { probe, position in position >= offset && probe.value.pauses == 0 ? .pause : .taken }
    }

    func pause() -> [String] {
        let probe = probe("/whole", reaction: pausingOnce(at: 300_000))
        guard probe.wait(until: { $0.pauses == 1 || $0.end != nil }) else { return ["the pause never came"] }
        let before = probe.value
        var result = stillServes() + stillServes()
        let after = probe.value
        if after.offers != before.offers { result.append("the body was offered while paused") }
        if after.end != nil { result.append("the transfer ended while paused") }
        probe.transfer?.resume()
        result += violations(probe, end: .complete, bytes: Self.wholeLength)
        return result
    }

    /// The receiver refuses each piece once, so every byte is offered at least twice.
    func pauseAtEveryOffer() -> [String] {
        let refused = Awaited<Int64>(-1)
        let probe = probe("/whole") { _, offset in
            refused.change { last in
                defer { last = offset }
                return last == offset ? .taken : .pause
            }
        }
        var pauses = 0
        while probe.wait(until: { $0.pauses > pauses || $0.end != nil }), probe.value.end == nil {
            pauses += 1
            probe.transfer?.resume()
        }
        return violations(probe, end: .complete, bytes: Self.wholeLength) + (pauses > 1 ? [] : ["there was nothing to pause"])
    }

    /// All bytes have arrived when the receiver pauses. The end must wait until the rest is taken.
    func pauseAtTheEnd() -> [String] {
        let probe = probe("/small", reaction: pausingOnce(at: 0))
        guard probe.wait(until: { $0.pauses == 1 || $0.end != nil }) else { return ["the pause never came"] }
        var result = stillServes()
        if probe.value.end != nil { result.append("the transfer ended while paused") }
        probe.transfer?.resume()
        result += violations(probe, end: .complete, bytes: 1000)
        return result
    }

    /// Another thread may call `resume` before the `.pause` of the receiver has reached the
    /// transport. That call must not be lost.
    func resumeDuringPause() -> [String] {
        let probe = probe("/whole") { probe, offset in
            guard offset >= 100_000, probe.value.pauses == 0 else { return .taken }
            probe.transfer?.resume()
            return .pause
        }
        return violations(probe, end: .complete, bytes: Self.wholeLength)
    }

    /// Calls of `resume` without a pause, and calls after the end, are harmless.
    func uselessCalls() -> [String] {
        let probe = probe("/whole")
        for _ in 0..<10 { probe.transfer?.resume() }
        let result = violations(probe, end: .complete, bytes: Self.wholeLength)
        probe.transfer?.resume()
        probe.transfer?.cancel()
        probe.transfer?.cancel()
        return result + stillServes() + probe.value.violations
    }

    /// Readers that stop delay no other reader, and go on later where they stopped.
    func pausedReceivers() -> [String] {
        let paused = (0..<32).map { _ in probe("/whole", reaction: pausingOnce(at: 100_000)) }
        for probe in paused {
            guard probe.wait(until: { $0.pauses == 1 || $0.end != nil }) else { return ["a pause never came"] }
        }
        var result: [String] = []
        let others = (0..<8).map { _ in probe("/whole") }
        for probe in others { result += violations(probe, end: .complete, bytes: Self.wholeLength).map { "beside paused ones: \($0)" } }
        for probe in paused { probe.transfer?.resume() }
        for probe in paused { result += violations(probe, end: .complete, bytes: Self.wholeLength) }
        return result
    }
}
