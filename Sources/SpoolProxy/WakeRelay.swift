import SpoolSystem

/// Passes a reader's wake-ups on to whoever has the reader now: first the one who prepares the answer, then the body.
final class WakeRelay: Sendable {
    private let target = Locked<(@Sendable () -> Void)?>(nil)

    func set(_ wake: @escaping @Sendable () -> Void) { target.withLock { $0 = wake } }

    func clear() { target.withLock { $0 = nil } }

    /// From any thread; late or repeated calls are harmless.
    func wake() { target.withLock { $0 }?() }
}
