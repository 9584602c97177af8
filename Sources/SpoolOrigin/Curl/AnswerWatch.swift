#if os(Linux)
package import SpoolCore

/// Decides for which requests the loop watches for the answer rather than sleeps until it comes.
///
/// Worth while where the origin is on this machine or beside it; how far it is, the last answers tell, of all origins together.
package struct AnswerWatch: Sendable {
    /// For so long an answer is watched for: what a request and an answer take in a network of one place.
    package static let duration: Nanoseconds = .milliseconds(1) / 2
    /// After so many requests in a row whose answers came later, or not at all …
    package static let lateLimit = 4
    /// … only every so many are watched.
    package static let probeInterval = 16

    /// Requests that were watched since an answer came in time.
    private var inVain = 0
    /// Requests that were not watched since the last that was.
    private var unwatched = 0

    package init() {}

    /// Whether the answer to the request that leaves now is watched for.
    package mutating func requestSent() -> Bool {
        if inVain < Self.lateLimit {
            inVain += 1
            return true
        }
        unwatched = (unwatched + 1) % Self.probeInterval
        return unwatched == 0
    }

    /// The answer to a request that was watched came so many nanoseconds after it.
    package mutating func answered(after delay: Nanoseconds) {
        guard delay <= Self.duration else { return }
        inVain = 0
        unwatched = 0
    }
}
#endif
