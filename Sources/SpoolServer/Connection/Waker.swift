import SpoolCore
import SpoolSystem

/// Carries the wake-ups of a connection's body sources from any thread to its loop. At most one job
/// is posted at a time.
final class Waker: @unchecked Sendable {
    // Safe to share: a lock guards `isPosted`. Only the loop reads and clears `connection`.
    private let loop: EventLoop
    private var connection: Connection?
    private let action: (Connection) -> Void
    private let isPosted = Locked(false)

    init(_ connection: Connection, loop: EventLoop, action: @escaping (Connection) -> Void) {
        self.action = action
        self.connection = connection
        self.loop = loop
    }

    /// Releases the connection, which is closed, so that later wake-ups are ignored. On the loop
    /// only.
    func detach() { connection = nil }

    /// Posts the action to the loop. May be called from any thread. A late or repeated call makes
    /// the connection ask its source once more and has no other effect.
    func wake() {
        let isFirst = isPosted.withLock { !exchange(&$0, with: true) }
        guard isFirst else { return }
        loop.post {
            // Cleared before the source is asked, so that a wake-up in between is not lost.
            self.isPosted.withLock { $0 = false }
            if let connection = self.connection { self.action(connection) }
        }
    }
}
