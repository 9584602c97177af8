package import SpoolCore
import SpoolLibc

/// The system's clocks, and one thread for all timers.
///
/// The thread starts with the first timer. Releasing the time source drops the timers that have not
/// fired.
package final class SystemTime: TimeSource {
    private let timers: Monitor<TimerQueue>
    private let thread: Locked<SystemThread?>

    /// Creates a time source without timers.
    package init() {
        timers = Monitor(TimerQueue())
        thread = Locked(nil)
    }

    deinit {
        // The thread is not joined, because one of its own jobs may have held the last reference.
        timers.change { $0.isClosed = true }
    }

    /// The system's monotonic clock.
    package var now: MonotonicInstant { EventLoop.monotonicNow() }

    /// The system's wall clock.
    package var wallNow: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Posts `job` to `mailbox` after `delay` nanoseconds.
    package func after(_ delay: Nanoseconds, on mailbox: any Mailbox, _ job: @escaping @Sendable () -> Void) -> Timer {
        startThread()
        let waiting = WaitingTimer(mailbox: mailbox, job: job)
        let deadline = now + max(0, delay)
        let (id, isFirst) = timers.withLock { queue in
            let isFirst = queue.heap.firstDeadline.map { deadline < $0 } != false
            return (queue.heap.arm(deadline, waiting), isFirst)
        }
        // The thread sleeps until the first deadline, so a later deadline need not wake it.
        if isFirst { timers.wakeAll() }
        let timers = timers
        return Timer { [weak waiting] in
            // The job is released outside the lock, because the deinit of a captured value may run
            // any code.
            withExtendedLifetime(waiting) { _ = timers.withLock { $0.heap.cancel(id) } }
        }
    }

    /// The number of waiting timers, for metrics.
    package var waitingTimers: Int { timers.withLock { $0.heap.count } }

    private func startThread() {
        let timers = timers
        thread.withLock { thread in
            if thread == nil { thread = SystemThread(name: "spool-timers") { Self.run(timers) } }
        }
    }

    private static func run(_ timers: Monitor<TimerQueue>) {
        while let due = timers.wait({ $0.takeDue(now: EventLoop.monotonicNow()) }) {
            for timer in due { timer.mailbox.post(timer.job) }
        }
        _ = timers.withLock { $0.takeAll() }
    }
}

private final class WaitingTimer: Sendable {
    let mailbox: any Mailbox
    let job: @Sendable () -> Void

    init(mailbox: any Mailbox, job: @escaping @Sendable () -> Void) {
        self.mailbox = mailbox
        self.job = job
    }
}

private struct TimerQueue {
    var heap = TimerHeap<WaitingTimer>()
    var isClosed = false

    /// Returns the due timers in order, or nil when the time source is released.
    mutating func takeDue(now: MonotonicInstant) -> Monitor<TimerQueue>.Wait<[WaitingTimer]?> {
        if isClosed { return .done(nil) }
        var due: [WaitingTimer] = []
        while let timer = heap.popDue(now, armedBefore: .max) { due.append(timer) }
        if !due.isEmpty { return .done(due) }
        guard let first = heap.firstDeadline else { return .change }
        return .time(first - now)
    }

    mutating func takeAll() -> TimerHeap<WaitingTimer> { exchange(&heap, with: TimerHeap()) }
}
