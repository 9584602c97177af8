package import SpoolCore

/// Decides whether a server before the origin, a parent or a bucket, is asked, by how it served
/// before.
///
/// A server that failed rests. After the pause one request tries it. A success ends the rest;
/// otherwise the next pause is twice as long. So a dead server costs few requests a delay.
package struct ServerHealth: Sendable {
    /// The pause after the first failure.
    package static let firstPause: Nanoseconds = .seconds(10)
    /// The longest pause.
    package static let longestPause: Nanoseconds = .seconds(300)

    private enum State {
        /// Every request asks the server.
        case well
        /// Requests go to the origin until `end`. Then one tries the server, and the others go to
        /// the origin for `nextPause`.
        case resting(end: MonotonicInstant, nextPause: Nanoseconds)
    }

    private var state = State.well

    /// Creates the health of a server that was not asked yet.
    package init() {}

    /// Whether a request that begins now asks the server. At the end of a rest this is true once
    /// within a pause.
    package mutating func mayAsk(at now: MonotonicInstant) -> Bool {
        switch state {
        case .well: return true
        case .resting(let end, let pause):
            guard now >= end else { return false }
            state = .resting(end: now + pause, nextPause: min(2 * pause, Self.longestPause))
            return true
        }
    }

    /// Notes an answer.
    /// - Returns: Whether the answer ends a rest.
    package mutating func answered() -> Bool {
        guard case .resting = state else { return false }
        state = .well
        return true
    }

    /// Notes a failure. Requests that began before the rest fail together, and count once.
    /// - Returns: Whether a rest begins that was not under way.
    package mutating func failed(at now: MonotonicInstant) -> Bool {
        guard case .well = state else { return false }
        state = .resting(end: now + Self.firstPause, nextPause: 2 * Self.firstPause)
        return true
    }
}
