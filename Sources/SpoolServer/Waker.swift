import SpoolSystem

/// Carries the wake-ups of a connection's body sources to its loop, however many and from whichever thread: one job at a time.
final class Waker: @unchecked Sendable {
    // Safe to share: `isPosted` is behind its lock; `connection` is followed and taken away on the loop only.
    private let loop: EventLoop
    private var connection: Connection?
    private let action: (Connection) -> Void
    private let isPosted = Locked(false)

    init(_ connection: Connection, loop: EventLoop, action: @escaping (Connection) -> Void) {
        self.action = action
        self.connection = connection
        self.loop = loop
    }

    /// The connection is closed: wake-ups go nowhere, and it is held no longer. On the loop.
    func detach() { connection = nil }

    /// From any thread. A late or repeated call makes the connection ask its source once more, nothing else.
    func wake() {
        let isFirst = isPosted.withLock { isPosted in
            defer { isPosted = true }
            return !isPosted
        }
        guard isFirst else { return }
        loop.post {
            // Cleared before the source is asked, so that a wake-up during that is not lost.
            self.isPosted.withLock { $0 = false }
            if let connection = self.connection { self.action(connection) }
        }
    }
}
