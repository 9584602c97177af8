/// Calls back once, when each of a number of parts has told that it is done. From any thread.
package final class Countdown: Sendable {
    private let remaining: Locked<Int>
    private let done: @Sendable () -> Void

    /// - Parameters:
    ///   - count: how many tell; with none of them `done` is called here.
    ///   - done: called where the last of them tells.
    package init(_ count: Int, _ done: @escaping @Sendable () -> Void) {
        remaining = Locked(count)
        self.done = done
        if count == 0 { done() }
    }

    package func tick() {
        let isLast = remaining.withLock { count in
            count -= 1
            return count == 0
        }
        if isLast { done() }
    }
}
