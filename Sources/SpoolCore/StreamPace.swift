/// The rate at which the bodies of a host arrived lately.
package struct LinkRate: Hashable, Sendable {
    /// Bytes a second, or nil before the first measurement.
    package private(set) var bytesPerSecond: Int64?
    /// The smallest body that counts. The time for a smaller one is mostly that of the request.
    package static let leastBytes: Int64 = 16 << 10

    /// Creates the rate of a host that was not measured yet.
    package init() {}

    /// Adds a body of `bytes` that took `duration`. A new measurement counts a quarter.
    package mutating func measured(_ bytes: Int64, in duration: Nanoseconds) {
        guard bytes >= Self.leastBytes, duration > 0 else { return }
        let measured = min(Int64(saturating: Double(bytes) / Double(duration) * 1e9), ByteRange.maximumOffset)
        bytesPerSecond = max(1, bytesPerSecond.map { $0 / 4 * 3 + measured / 4 } ?? measured)
    }
}

/// Hands out stored bytes at the rate of a link, so that a player measures the link and not the disk.
package struct StreamPace: Hashable, Sendable {
    /// The answer to a request for bytes.
    package enum Step: Hashable, Sendable {
        /// At most this many bytes may pass now.
        case pass(Int64)
        /// The next bytes may pass after this time.
        case wait(Nanoseconds)
    }

    private let bytesPerSecond: Int64
    private let began: MonotonicInstant
    private var passed: Int64 = 0
    /// The moment of the last bytes. A link gives the next ones at the latest after `longestWait`.
    private var last: MonotonicInstant
    /// The fewest bytes that pass at a time, so that a slow link costs no wake-up for each byte.
    private static let stepBytes: Int64 = 16 << 10
    /// The longest wait. A slower link is paced as if it had one step in that time.
    private static let longestWait: Nanoseconds = .seconds(1)

    /// Creates the pace of one answer.
    package init(bytesPerSecond: Int64, now: MonotonicInstant) {
        self.bytesPerSecond = max(bytesPerSecond, 1)
        began = now
        last = now
    }

    /// Returns the bytes that may pass at `now`.
    package func step(now: MonotonicInstant) -> Step {
        let due = Double(now - began) / 1e9 * Double(bytesPerSecond) - Double(passed)
        if due < Double(Self.stepBytes), now - last >= Self.longestWait { return .pass(Self.stepBytes) }
        if due >= Double(Self.stepBytes) { return .pass(min(Int64(saturating: due), ByteRange.maximumOffset)) }
        let wait = (Double(Self.stepBytes) - due) / Double(bytesPerSecond) * 1e9
        // One nanosecond more, so that rounding makes no second wait.
        return .wait(Nanoseconds(min(wait + 1, Double(Self.longestWait - (now - last)))))
    }

    /// Counts bytes that passed at `now`.
    package mutating func pass(_ bytes: Int64, now: MonotonicInstant) {
        passed = passed.addingSaturated(bytes)
        last = now
    }
}
