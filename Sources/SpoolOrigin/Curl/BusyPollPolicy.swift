#if os(Linux)
package import SpoolCore

/// Decides for which requests the loop watches for the answer instead of sleeping until it comes.
///
/// Watching pays where the origin is on this machine or near it. The delays of the last answers
/// show how near it is, for all origins together.
package struct BusyPollPolicy: Sendable {
    /// The longest time that the loop watches for an answer: the time of a request and an answer in
    /// a local network.
    package static let duration: Nanoseconds = .milliseconds(1) / 2
    /// After this many requests in a row with a late answer, or none …
    package static let lateLimit = 4
    /// … only one request in this many is watched.
    package static let probeInterval = 16

    /// The number of watched requests since an answer came in time.
    private var lateCount = 0
    /// The number of requests since the last watched one.
    private var unwatched = 0

    /// Creates a value that watches the first requests.
    package init() {}

    /// Notes that a request leaves now, and returns whether the loop watches for its answer.
    package mutating func requestSent() -> Bool {
        if lateCount < Self.lateLimit {
            lateCount += 1
            return true
        }
        unwatched = (unwatched + 1) % Self.probeInterval
        return unwatched == 0
    }

    /// Notes that the answer to a watched request came after `delay`.
    package mutating func answered(after delay: Nanoseconds) {
        guard delay <= Self.duration else { return }
        lateCount = 0
        unwatched = 0
    }
}
#endif
