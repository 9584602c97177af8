import SpoolSystem

/// Passes a reader's wake-ups on to whoever has the reader now: first the one who prepares the answer, then the body.
package final class WakeRelay: Sendable {
    /// A type of its own: a closure that is itself the generic value of a lock is wrapped anew, and never unwrapped, each time it is looked at.
    /// After so many wake-ups each of them goes through as many calls, until the thread's stack ends.
    private struct Target {
        var wake: (@Sendable () -> Void)?
    }

    private let target = Locked(Target())

    package init() {}

    package func set(_ wake: @escaping @Sendable () -> Void) { target.withLock { $0.wake = wake } }

    package func clear() { target.withLock { $0.wake = nil } }

    /// From any thread; late or repeated calls are harmless.
    package func wake() { target.withLock { $0.wake }?() }
}
