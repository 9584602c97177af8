public import SpoolCore
internal import SpoolLibc
public import SpoolSystem

/// Clocks that stand still until the test moves them, for lingering, retries, time-outs and ages.
///
/// ```swift
/// let clock = ManualTime()
/// let cache = try MediaCache.inMemory(origin: origin, clock: clock)
/// clock.move(by: .seconds(3600))   // stored bytes are an hour older
/// ```
public final class ManualTime: TimeSource {
    private struct Waiting {
        var deadline: MonotonicInstant
        var number: Int
        var mailbox: any Mailbox
        var job: @Sendable () -> Void
    }

    private struct State {
        var now = MonotonicInstant(nanoseconds: 1_000_000_000)
        var wallNow = Timestamp(seconds: 1_800_000_000)
        var waiting: [Waiting] = []
        var next = 0
        var flows = false

        mutating func takeDue() -> [Waiting] {
            let due = waiting.filter { $0.deadline <= now }.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
            waiting.removeAll { $0.deadline <= now }
            return due
        }

        mutating func move(by change: Nanoseconds) {
            now = now + change
            wallNow.nanoseconds += change
        }
    }

    private let state = Locked(State())

    /// Creates clocks that stand still.
    public init() {}

    /// The time of the monotonic clock.
    package var now: MonotonicInstant { state.withLock { $0.now } }
    /// The time of the wall clock.
    public var wallNow: Timestamp { state.withLock { $0.wallNow } }

    /// Moves both clocks, and posts the jobs that are due by then.
    ///
    /// - Parameter duration: The time to move by, not negative. Parts of a nanosecond are dropped.
    public func move(by duration: Duration) { advance(by: Nanoseconds(saturating: duration)) }

    /// Moves both clocks, and posts the jobs that are due by then.
    package func advance(by change: Nanoseconds) {
        post { $0.move(by: change) }
    }

    /// Waits until a timer is set. A thread that handled the last one may not have set its next yet,
    /// and would measure that from the time after an `advance`.
    package func waitForTimer() {
        while state.withLock({ $0.waiting.isEmpty }) { sched_yield() }
    }

    /// Removes all waiting from now on: the clocks jump to each timer as it is set.
    public func flow() {
        post { state in
            state.flows = true
            if let last = state.waiting.map(\.deadline).max() { state.move(by: max(0, last - state.now)) }
        }
    }

    /// Posts `job` to `mailbox` once the clocks have moved by `delay`.
    package func after(_ delay: Nanoseconds, on mailbox: any Mailbox, _ job: @escaping @Sendable () -> Void) -> Timer {
        let number = state.withLock { state in
            state.next += 1
            state.waiting.append(Waiting(deadline: state.now + max(0, delay), number: state.next, mailbox: mailbox, job: job))
            if state.flows { state.move(by: max(0, delay)) }
            return state.next
        }
        post { _ in }
        return Timer { [weak self] in self?.state.withLock { $0.waiting.removeAll { $0.number == number } } }
    }

    private func post(_ change: (inout State) -> Void) {
        let due = state.withLock { state in
            change(&state)
            return state.takeDue()
        }
        for waiting in due { waiting.mailbox.post(waiting.job) }
    }
}
