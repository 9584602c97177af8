package import SpoolCore
package import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A world in which everything that happens follows from a seed: mailboxes, time, random numbers.
///
/// All mailboxes of a world hang on one scheduler, which picks the next non-empty one by the seed. Jobs take no time; the clocks move
/// only when nothing else is left to do, to the next timer. The same seed and the same calls give the same run, step by step.
///
/// Used from one thread. At the end call ``shutdown()``: jobs that wait hold the objects of the world, and those hold the simulator.
package final class Simulator: TimeSource, RandomSource, @unchecked Sendable {
    // Sendable only because the protocols ask for it: everything happens on the thread that steps, which is checked.

    /// Bound of a run that names none: far beyond any scenario, so that a livelock ends with a report instead of a hang.
    package static let defaultMaxSteps = 1_000_000

    package let seed: UInt64
    /// The number of steps so far.
    package private(set) var stepCount = 0
    private let scheduling: SeededRandom
    private let numbers: SeededRandom
    private var queues: [JobQueue] = []
    /// The mailboxes that have jobs.
    private var ready: [Int] = []
    private var timers = TimerHeap<WaitingTimer>()
    private var ring = TraceRing()
    private var stepping: pthread_t?
    private var isShutDown = false

    package private(set) var now: MonotonicInstant
    package private(set) var wallNow: Timestamp

    /// - Parameter wallClock: what the wall clock says at the start; the moment of Unix time 1 800 000 000 by default.
    package init(seed: UInt64, wallClock: Timestamp = Timestamp(seconds: 1_800_000_000)) {
        self.seed = seed
        // Two streams, so that a draw of the product does not change the order of the jobs.
        scheduling = SeededRandom(seed: seed)
        numbers = SeededRandom(seed: seed ^ 0x5DEE_CE66_D1CE_4E5B)
        now = MonotonicInstant(nanoseconds: 1_000_000_000)
        wallNow = wallClock
    }

    // MARK: The world

    /// A new mailbox of this world; the name stands in the trace.
    package func mailbox(_ name: String) -> any Mailbox {
        queues.append(JobQueue(name: name))
        return SimulatedMailbox(simulator: self, index: queues.count - 1)
    }

    package func next() -> UInt64 {
        checkThread()
        return numbers.next()
    }

    package func after(_ delay: Nanoseconds, on mailbox: any Mailbox, _ job: @escaping @Sendable () -> Void) -> Timer {
        checkThread()
        guard !isShutDown else { return Timer {} }
        let (deadline, overflow) = now.nanoseconds.addingReportingOverflow(max(0, delay))
        let timer = timers.arm(
            MonotonicInstant(nanoseconds: overflow ? .max : deadline), WaitingTimer(mailbox: mailbox, job: job))
        return Timer { [weak self] in
            self?.checkThread()
            self?.timers.cancel(timer)
        }
    }

    /// Sets the wall clock forward or back, as a user or a time server does; timers don't notice.
    package func moveWallClock(by change: Nanoseconds) {
        wallNow.nanoseconds += change
    }

    /// Drops all jobs and timers, and everything that is posted from now on.
    package func shutdown() {
        isShutDown = true
        // Their captures may post when they end, so they go when the lists are already empty.
        let dropped = (queues, timers)
        for index in queues.indices { queues[index] = JobQueue(name: queues[index].name) }
        ready = []
        timers = TimerHeap()
        withExtendedLifetime(dropped) {}
    }

    fileprivate func post(_ job: @escaping @Sendable () -> Void, to index: Int) {
        checkThread()
        guard !isShutDown else { return }
        if queues[index].isEmpty { ready.append(index) }
        queues[index].append(job)
    }

    /// While a step runs, only its thread may touch the world.
    private func checkThread() {
        guard let stepping else { return }
        precondition(pthread_equal(stepping, pthread_self()) != 0, "a simulated world was touched from a second thread")
    }

    // MARK: Running

    /// True when no job and no timer waits.
    package var isIdle: Bool { ready.isEmpty && timers.count == 0 }

    /// The number of timers that wait.
    package var waitingTimers: Int { timers.count }

    /// Runs one job; when there is none, moves the clocks to the next timer. False when there is no timer either.
    @discardableResult
    package func step() -> Bool {
        precondition(stepping == nil, "a job cannot step the world that runs it")
        deliverDueTimers()
        if runOneJob() { return true }
        guard let deadline = timers.firstDeadline else { return false }
        moveClocks(to: deadline)
        deliverDueTimers()
        record("clock")
        return true
    }

    /// Steps until `isMet`; false when the world went idle before that or `maxSteps` were used up.
    package func run(until isMet: () -> Bool, maxSteps: Int = defaultMaxSteps) -> Bool {
        for _ in 0..<maxSteps {
            if isMet() { return true }
            guard step() else { return isMet() }
        }
        return isMet()
    }

    /// Steps until nothing is left to do, timers included; false when `maxSteps` were used up.
    @discardableResult
    package func runUntilIdle(maxSteps: Int = defaultMaxSteps) -> Bool {
        run(until: { isIdle }, maxSteps: maxSteps)
    }

    /// Runs everything that happens in the next `delay` nanoseconds, then stands at their end; false when `maxSteps` were used up.
    @discardableResult
    package func advance(by delay: Nanoseconds, maxSteps: Int = defaultMaxSteps) -> Bool {
        let end = now + max(0, delay)
        for _ in 0..<maxSteps {
            if ready.isEmpty, timers.firstDeadline.map({ $0 > end }) ?? true {
                moveClocks(to: end)
                return true
            }
            step()
        }
        return false
    }

    private func runOneJob() -> Bool {
        guard !ready.isEmpty else { return false }
        let choice = Int(scheduling.next(below: UInt64(ready.count)))
        let index = ready[choice]
        let job = queues[index].removeFirst()
        if queues[index].isEmpty { ready.remove(at: choice) }
        record(queues[index].name)
        stepping = pthread_self()
        defer { stepping = nil }
        job?()
        return true
    }

    private func deliverDueTimers() {
        while let timer = timers.popDue(now, armedBefore: .max) { timer.mailbox.post(timer.job) }
    }

    private func moveClocks(to instant: MonotonicInstant) {
        let passed = instant - now
        precondition(passed >= 0, "time does not go back")
        now = instant
        let (wall, overflow) = wallNow.nanoseconds.addingReportingOverflow(passed)
        wallNow.nanoseconds = overflow ? .max : wall
    }

    private func record(_ name: String) {
        stepCount += 1
        ring.append(TraceEntry(step: stepCount, mailbox: name, now: now))
    }

    // MARK: Reports

    /// The last steps, oldest first, at most ``TraceRing/capacity``.
    package var trace: [TraceEntry] { ring.entries }

    /// What a failed test should print: how to replay the run, and how it got there.
    package func report(_ failure: String) -> String {
        let steps = trace.map { "  \($0)" }.joined(separator: "\n")
        return "\(failure)\nat step \(stepCount) of seed \(seed); replay with SPOOL_SEED=\(seed). Last steps:\n\(steps)"
    }
}

private struct WaitingTimer {
    let mailbox: any Mailbox
    let job: @Sendable () -> Void
}

/// A mailbox whose jobs the simulator runs; it does not keep its world alive, and posts to a world that is gone do nothing.
private final class SimulatedMailbox: Mailbox, @unchecked Sendable {
    // Safe to share: the index never changes, and a weak reference is read atomically.
    private weak var simulator: Simulator?
    private let index: Int

    init(simulator: Simulator, index: Int) {
        self.simulator = simulator
        self.index = index
    }

    func post(_ job: @escaping @Sendable () -> Void) {
        simulator?.post(job, to: index)
    }
}

/// First in, first out; the space of jobs that ran is given back when half of the array is such space.
private struct JobQueue {
    let name: String
    private var jobs: [(@Sendable () -> Void)?] = []
    private var head = 0

    init(name: String) {
        self.name = name
    }

    var isEmpty: Bool { head == jobs.count }

    mutating func append(_ job: @escaping @Sendable () -> Void) {
        jobs.append(job)
    }

    mutating func removeFirst() -> (@Sendable () -> Void)? {
        let job = jobs[head]
        jobs[head] = nil
        head += 1
        if head * 2 >= jobs.count {
            jobs.removeFirst(head)
            head = 0
        }
        return job
    }
}
