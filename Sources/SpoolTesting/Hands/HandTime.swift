package import SpoolCore
internal import SpoolLibc
package import SpoolSystem

/// A clock that a test advances by hand, for real threads.
package final class HandTime: TimeSource {
    private struct Waiting {
        let due: MonotonicInstant
        let mailbox: any Mailbox
        let job: @Sendable () -> Void
    }

    private struct State {
        var now = MonotonicInstant(nanoseconds: 0)
        var waiting: [Int: Waiting] = [:]
        var made = 0
    }

    private let state = Locked(State())

    /// Creates a clock that stands at zero.
    package init() {}

    package var now: MonotonicInstant { state.withLock { $0.now } }
    package var wallNow: Timestamp { Timestamp(nanoseconds: now.nanoseconds) }

    package func after(_ delay: Nanoseconds, on mailbox: any Mailbox, _ job: @escaping @Sendable () -> Void) -> Timer {
        let number = state.withLock { state in
            state.made += 1
            state.waiting[state.made] = Waiting(due: state.now + delay, mailbox: mailbox, job: job)
            return state.made
        }
        return Timer { [weak self] in _ = self?.state.withLock { $0.waiting.removeValue(forKey: number) } }
    }

    /// Waits until a timer is set. A thread that handled the last one may not have set its next yet,
    /// and would measure that from the time after an `advance`.
    package func waitForTimer() {
        while state.withLock({ $0.waiting.isEmpty }) { sched_yield() }
    }

    /// Posts the jobs that become due, in order of time.
    package func advance(by delay: Nanoseconds) {
        let due = state.withLock { state in
            let now = state.now + delay
            state.now = now
            let due = state.waiting.filter { $0.value.due <= now }.sorted { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
            for entry in due { state.waiting[entry.key] = nil }
            return due.map(\.value)
        }
        for timer in due { timer.mailbox.post(timer.job) }
    }
}

/// Runs each job at once, on the thread that posts it.
package final class HandMailbox: Mailbox {
    /// Creates a mailbox.
    package init() {}

    package func post(_ job: @escaping @Sendable () -> Void) { job() }
}
