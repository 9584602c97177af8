package import SpoolCore

/// The two clocks, timers and randomness of a run; injected, so that a run replays from a seed.
package protocol TimeSource: AnyObject, Sendable {
    /// The monotonic clock, for timers and rates.
    var now: MonotonicInstant { get }
    /// The wall clock, for what HTTP says about time.
    var wallNow: Timestamp { get }
    /// Posts `job` to `mailbox` once `delay` nanoseconds have passed. A cancelled timer may still fire if it was already posted.
    func after(_ delay: Nanoseconds, on mailbox: any Mailbox, _ job: @escaping @Sendable () -> Void) -> Timer
}

/// A timer that can be cancelled; letting go of it does not cancel it.
package final class Timer: Sendable {
    private let onCancel: @Sendable () -> Void

    package init(onCancel: @escaping @Sendable () -> Void) {
        self.onCancel = onCancel
    }

    /// Takes the job back if it was not yet posted. Idempotent.
    package func cancel() { onCancel() }
}

/// Where random numbers come from.
package protocol RandomSource: AnyObject, Sendable {
    func next() -> UInt64
}
