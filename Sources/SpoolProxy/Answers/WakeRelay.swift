import SpoolSystem

/// Passes a reader's wake-ups to the current owner of the reader: first the object that prepares
/// the response, then the body.
package final class WakeRelay: Sendable {
    /// A struct around the closure. When a closure is itself the generic value of a lock, each
    /// access wraps it again and never unwraps it. After *n* wake-ups, one wake-up makes *n* nested
    /// calls, until the thread's stack overflows.
    private struct Target {
        var wake: (@Sendable () -> Void)?
    }

    private let target = Locked(Target())

    /// Creates a relay without an owner.
    package init() {}

    /// Sets the closure of the current owner.
    package func set(_ wake: @escaping @Sendable () -> Void) { target.withLock { $0.wake = wake } }

    /// Removes the owner, so that later wake-ups have no effect.
    package func clear() { target.withLock { $0.wake = nil } }

    /// Wakes the current owner. May be called from any thread. Late or repeated calls are harmless.
    package func wake() { target.withLock { $0.wake }?() }
}
