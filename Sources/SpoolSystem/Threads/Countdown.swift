/// Calls a closure once, after a number of `tick` calls. Safe to use from any thread.
package final class Countdown: Sendable {
    private let remaining: Locked<Int>
    private let done: @Sendable () -> Void

    /// Creates a countdown.
    ///
    /// - Parameters:
    ///   - count: the number of ticks. With 0, the initializer calls `done` itself.
    ///   - done: called on the thread of the last tick.
    package init(_ count: Int, _ done: @escaping @Sendable () -> Void) {
        remaining = Locked(count)
        self.done = done
        if count == 0 { done() }
    }

    /// Counts one part as done.
    package func tick() {
        let isLast = remaining.withLock { count in
            count -= 1
            return count == 0
        }
        if isLast { done() }
    }
}
