import SpoolCore

/// How fast hosts answer, and which of them left a question about stored media unanswered.
///
/// A pure value without a clock, for a bounded number of hosts.
struct HostAnswers {
    /// The most hosts. The parts of a presentation come from a few.
    private static let capacity = 256
    /// The shortest and the longest time that a play waits for an answer about stored media.
    private static let waits: ClosedRange<Nanoseconds> = .milliseconds(250)...(.seconds(1))
    /// How many times the best answer so far a play waits.
    private static let patience: Nanoseconds = 4
    /// The time for which a host is not asked after it left a question unanswered.
    private static let silence = Nanoseconds.seconds(30)

    private struct Host {
        var best: Nanoseconds?
        var silentUntil: MonotonicInstant?
        var usedAt: MonotonicInstant
    }

    private var hosts: [String: Host] = [:]

    /// Notes that a host sent the head of an answer after `time`.
    mutating func answered(_ host: String, after time: Nanoseconds, now: MonotonicInstant) {
        change(host, now: now) { $0.best = min($0.best ?? time, max(time, 0)) }
    }

    /// Notes that a host did not answer a question in time.
    mutating func failed(_ host: String, now: MonotonicInstant) {
        change(host, now: now) { $0.silentUntil = now + Self.silence }
    }

    /// Returns how long a play waits for an answer about stored media, or nil if the host is not to
    /// be asked.
    func longestQuestion(_ host: String, now: MonotonicInstant) -> Nanoseconds? {
        guard let known = hosts[host] else { return Self.waits.upperBound }
        if let end = known.silentUntil, now < end { return nil }
        guard let best = known.best, best < Self.waits.upperBound else { return Self.waits.upperBound }
        return min(max(Self.patience * best, Self.waits.lowerBound), Self.waits.upperBound)
    }

    private mutating func change(_ host: String, now: MonotonicInstant, _ body: (inout Host) -> Void) {
        var known = hosts[host] ?? Host(usedAt: now)
        known.usedAt = now
        body(&known)
        if hosts[host] == nil, hosts.count >= Self.capacity, let oldest = hosts.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            hosts[oldest.key] = nil
        }
        hosts[host] = known
    }
}
