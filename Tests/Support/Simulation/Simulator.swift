package import SpoolCore
import SpoolLibc
package import SpoolSystem

/// A world in which everything follows from a seed: mailboxes, time, random numbers.
///
/// All mailboxes of a world share one scheduler, which picks the next non-empty one by the seed.
/// Jobs take no time. The clocks move to the next timer only when no job is left. The same seed and
/// the same calls give the same run, step by step.
///
/// Used from one thread. Call ``shutdown()`` at the end: waiting jobs hold the objects of the
/// world, and those hold the simulator.
package final class Simulator: TimeSource, RandomSource, @unchecked Sendable {
    // Sendable only because the protocols require it. All work runs on the thread that steps, which
    // is checked.

    /// The step limit of a run that sets none. It is far beyond any scenario, so that a livelock
    /// ends with a report and not as a hang.
    package static let defaultMaxSteps = 1_000_000

    /// The seed of the world.
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

    /// The time of the monotonic clock.
    package private(set) var now: MonotonicInstant
    /// The time of the wall clock.
    package private(set) var wallNow: Timestamp

    /// Creates a world.
    ///
    /// - Parameters:
    ///   - seed: Determines all choices of the world.
    ///   - wallClock: The time of the wall clock at the start, by default Unix time 1 800 000 000.
    package init(seed: UInt64, wallClock: Timestamp = Timestamp(seconds: 1_800_000_000)) {
        self.seed = seed
        // Two streams, so that a random number for the product does not change the order of the
        // jobs.
        scheduling = SeededRandom(seed: seed)
        numbers = SeededRandom(seed: seed ^ 0x5DEE_CE66_D1CE_4E5B)
        now = MonotonicInstant(nanoseconds: 1_000_000_000)
        wallNow = wallClock
    }

    // MARK: The world

    /// Returns a new mailbox of this world. Its name appears in the trace.
    package func mailbox(_ name: String) -> any Mailbox {
        queues.append(JobQueue(name: name))
        return SimulatedMailbox(simulator: self, index: queues.count - 1)
    }

    /// Returns the next random number.
    package func next() -> UInt64 {
        checkThread()
        return numbers.next()
    }

    /// Posts `job` to `mailbox` once virtual time has moved by `delay`.
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

    /// Moves the wall clock forward or back, as a user or a time server does. Timers are not
    /// affected.
    package func moveWallClock(by change: Nanoseconds) {
        wallNow.nanoseconds += change
    }

    /// Drops all jobs and timers, and everything that is posted from now on.
    package func shutdown() {
        isShutDown = true
        // Captured objects may post jobs when they are released, so they are released when the
        // lists are already empty.
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

    /// Checks that only the thread of a running step uses the world.
    private func checkThread() {
        guard let stepping else { return }
        precondition(pthread_equal(stepping, pthread_self()) != 0, "a simulated world was touched from a second thread")
    }

    // MARK: Running

    /// Whether no job and no timer waits.
    package var isIdle: Bool { ready.isEmpty && timers.count == 0 }

    /// The number of waiting timers.
    package var waitingTimers: Int { timers.count }

    /// Runs one job. If there is none, moves the clocks to the next timer.
    ///
    /// - Returns: False if there is no timer either.
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

    /// Steps until `isMet` returns true.
    ///
    /// - Returns: False if the world went idle before that, or after `maxSteps` steps.
    package func run(until isMet: () -> Bool, maxSteps: Int = defaultMaxSteps) -> Bool {
        for _ in 0..<maxSteps {
            if isMet() { return true }
            guard step() else { return isMet() }
        }
        return isMet()
    }

    /// Steps until no job and no timer is left.
    ///
    /// - Returns: False after `maxSteps` steps.
    @discardableResult
    package func runUntilIdle(maxSteps: Int = defaultMaxSteps) -> Bool {
        run(until: { isIdle }, maxSteps: maxSteps)
    }

    /// Runs everything of the next `delay` nanoseconds, and then moves the clocks to their end.
    ///
    /// - Returns: False after `maxSteps` steps.
    @discardableResult
    package func advance(by delay: Nanoseconds, maxSteps: Int = defaultMaxSteps) -> Bool {
        let end = now + max(0, delay)
        for _ in 0..<maxSteps {
            if ready.isEmpty, timers.firstDeadline.map({ $0 > end }) != false {
                moveClocks(to: end)
                return true
            }
            step()
        }
        return false
    }

    /// Moves the clocks without running anything, as for a process that the system suspends. Timers
    /// that became due meanwhile are late.
    package func standStill(for delay: Nanoseconds) {
        precondition(stepping == nil, "a job cannot suspend the world that runs it")
        moveClocks(to: now + max(0, delay))
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

    /// Returns the text that a failed test prints: the way to replay the run, and its last steps.
    package func report(_ failure: String) -> String {
        let steps = trace.map { "  \($0)" }.joined(separator: "\n")
        return "\(failure)\nat step \(stepCount) of seed \(seed); replay with SPOOL_SEED=\(seed). Last steps:\n\(steps)"
    }
}

private struct WaitingTimer {
    let mailbox: any Mailbox
    let job: @Sendable () -> Void
}

/// A mailbox whose jobs the simulator runs. It does not keep its world alive, and posts to a
/// released world are ignored.
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

/// A first-in, first-out queue of jobs. It returns the space of finished jobs when that is half of
/// the array.
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
