package import SpoolCore

/// The two clocks and the timers of a run. They are injected, so that a run can be replayed from a
/// seed.
package protocol TimeSource: AnyObject, Sendable {
    /// The monotonic clock, for timers and rates.
    var now: MonotonicInstant { get }
    /// The wall clock, for the times in HTTP fields.
    var wallNow: Timestamp { get }
    /// Posts `job` to `mailbox` after `delay` nanoseconds. A cancelled timer may still fire if the
    /// job was already posted.
    func after(_ delay: Nanoseconds, on mailbox: any Mailbox, _ job: @escaping @Sendable () -> Void) -> Timer
}

/// A timer that can be cancelled. Releasing it does not cancel it.
package final class Timer: Sendable {
    private let onCancel: @Sendable () -> Void

    /// Creates a timer that calls `onCancel` when it is cancelled.
    package init(onCancel: @escaping @Sendable () -> Void) {
        self.onCancel = onCancel
    }

    /// Cancels the job if it was not posted yet. Further calls are ignored.
    package func cancel() { onCancel() }
}

/// A source of random numbers.
package protocol RandomSource: AnyObject, Sendable {
    /// Returns the next random number.
    func next() -> UInt64
}

extension RandomSource {
    /// Returns a word of 128 random bits: 32 hexadecimal digits.
    package func word() -> String {
        // A number without its leading zeros would be another word with fewer bits.
        [next(), next()].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
