package import SpoolCore
import SpoolLibc

/// One thread that waits for descriptors, timers and posted jobs, and runs their handlers.
///
/// All methods except `post`, `postAtRest`, `stop`, `start` and `isInLoop` must be called on the
/// loop's thread, and check that. In one turn the loop handles the ready descriptors, then the due
/// timers, then the jobs that were posted before. Jobs and timers that these add run in the next
/// turn, so no kind of work starves another. Jobs that can wait (``postAtRest(_:)``) have an upper
/// bound on their delay as well.
///
///     let loop = try EventLoop()
///     loop.start(name: "server")
///     loop.post { … }
package final class EventLoop: Mailbox, @unchecked Sendable {
    // Safe to share: `inbox` is behind its lock, and `isAwake` is atomic. `clock` and `poller` are
    // constants, and other threads only call the poller's `wake`. All other state is touched by the
    // loop's thread alone (`preconditionInLoop`).
    private let inbox = Locked(Inbox())
    /// 1 while the loop will look at the inbox before it sleeps, so that a post need not wake it. The
    /// loop clears it under the lock of the inbox. A post sets it after it has added its job under that
    /// lock, so either the loop sees the job or the post wakes it.
    private let isAwake = SharedNumber(0)
    private let poller: Poller
    private let clock: @Sendable () -> MonotonicInstant
    private var registrations = Registrations()
    private var timers = TimerHeap<() -> Void>()
    private var running: [@Sendable () -> Void] = []
    /// The number of consecutive busy turns while a job of `postAtRest` waits.
    private var busyTurns = 0
    /// The end of the time in which the loop polls repeatedly instead of sleeping, or nil.
    private var watchEnd: MonotonicInstant?
    /// The core on which the loop runs, or nil when all threads may run there.
    private var coreReservation: LoopCoreReservation?
    /// The longest times that the loop worked without looking for events.
    package let times: LoopTimes
    private var meter: CallbackMeter
    /// The time at which the current turn began.
    package private(set) var now: MonotonicInstant
    /// The number of times that the loop has polled. A report of readiness from one turn may be
    /// outdated for a handler that runs later.
    package private(set) var turnCount: UInt64 = 0

    /// The state that other threads share with the loop.
    private struct Inbox {
        var jobs: [@Sendable () -> Void] = []
        /// Jobs that can wait until the loop has no other work.
        var restJobs: [@Sendable () -> Void] = []
        var isStopping = false
        var isStopped = false
        /// The thread that runs the loop, or nil before one does.
        var thread: pthread_t?
    }

    /// Creates a loop that does not run yet.
    ///
    /// - Parameters:
    ///   - clock: the clock of the timers. Tests pass their own.
    ///   - threadClock: the CPU time of the calling thread. Tests pass their own.
    package init(
        clock: @escaping @Sendable () -> MonotonicInstant = EventLoop.monotonicNow,
        threadClock: @escaping @Sendable () -> Nanoseconds = LoopTimes.threadTime
    ) throws(SystemError) {
        self.clock = clock
        times = LoopTimes()
        meter = CallbackMeter(times, clock: clock, threadClock: threadClock)
        now = clock()
        poller = try Poller()
    }

    // MARK: Jobs

    /// Runs `job` in a later turn, after every job that was posted before it. May be called on any
    /// thread.
    ///
    /// Only the first post to a sleeping loop costs a system call. After `stop`, jobs are dropped.
    package func post(_ job: @escaping @Sendable () -> Void) {
        add { $0.jobs.append(job) }
    }

    /// Runs `job` in the first turn without other work, but at most ``restTurns`` turns later. Such
    /// jobs run in the order in which they were posted.
    ///
    /// It is for work that begins on the loop and is less urgent than the loop's next work. May be
    /// called on any thread; dropped after `stop`.
    package func postAtRest(_ job: @escaping @Sendable () -> Void) {
        add { $0.restJobs.append(job) }
    }

    /// Adds a job to the inbox unless the loop has ended, and wakes a sleeping loop.
    private func add(_ change: (inout Inbox) -> Void) {
        let isAdded = inbox.withLock { inbox in
            if !inbox.isStopped { change(&inbox) }
            return !inbox.isStopped
        }
        if isAdded, isAwake.exchange(with: 1) == 0 { poller.wake() }
    }

    // MARK: Descriptors

    /// Watches `descriptor`, level-triggered, and calls `handler` on the loop whenever the
    /// descriptor reports an event.
    ///
    /// The handler must always act on `.failed`, because it is otherwise called again at once.
    /// Deregister a descriptor before closing it.
    package func register(
        _ descriptor: Int32, _ interest: PollInterest, _ handler: @escaping (PollEvents) -> Void
    ) throws(SystemError) -> Registration {
        preconditionInLoop()
        let registration = registrations.insert(descriptor, interest, handler)
        do throws(SystemError) {
            try poller.add(descriptor, interest, token: registration.token)
        } catch {
            registrations.remove(registration)
            throw error
        }
        return registration
    }

    /// Changes the events for which a descriptor is watched. A call that changes nothing makes no
    /// system call.
    package func update(_ registration: Registration, _ interest: PollInterest) throws(SystemError) {
        preconditionInLoop()
        guard let entry = registrations[registration] else {
            preconditionFailure("the registration was given back, its descriptor can't be watched")
        }
        guard entry.interest != interest else { return }
        try poller.change(entry.descriptor, from: entry.interest, to: interest, token: registration.token)
        registrations.setInterest(interest, of: registration)
    }

    /// Stops watching. The handler is not called again, not even for events that the loop has
    /// already received. Further calls are ignored.
    package func deregister(_ registration: Registration) {
        preconditionInLoop()
        guard let entry = registrations[registration] else { return }
        poller.remove(entry.descriptor, entry.interest)
        registrations.remove(registration)
    }

    /// Changes the interest like `update`, but also works for a descriptor that may have been
    /// closed meanwhile. If its number belongs to another file now, the loop watches that file.
    package func renew(_ registration: Registration, _ interest: PollInterest) throws(SystemError) {
        preconditionInLoop()
        guard let entry = registrations[registration] else {
            preconditionFailure("the registration was given back, its descriptor can't be watched")
        }
        do throws(SystemError) {
            try poller.change(entry.descriptor, from: entry.interest, to: interest, token: registration.token)
        } catch {
            guard error.code == ENOENT else { throw error }
            try poller.add(entry.descriptor, interest, token: registration.token)
        }
        registrations.setInterest(interest, of: registration)
    }

    /// Removes a registration like `deregister`, for a descriptor that was closed. The kernel has
    /// already stopped watching it. Further calls are ignored.
    package func forget(_ registration: Registration) {
        preconditionInLoop()
        if registrations[registration] != nil { registrations.remove(registration) }
    }

    // MARK: Time

    /// Returns the current time, for callers that need it more exactly than `now`.
    package func readClock() -> MonotonicInstant { clock() }

    /// Runs `job` on the loop after `delay` nanoseconds. O(log *n*).
    @discardableResult
    package func after(_ delay: Nanoseconds, _ job: @escaping () -> Void) -> LoopTimer {
        preconditionInLoop()
        return timers.arm(clock() + max(0, delay), job)
    }

    /// Cancels a timer. Ignored when it has already fired. O(log *n*).
    package func cancel(_ timer: LoopTimer) {
        preconditionInLoop()
        timers.cancel(timer)
    }

    // MARK: Watching

    /// Makes the loop poll repeatedly instead of sleeping, for at most `time` nanoseconds or until
    /// ``stopWatching()``.
    ///
    /// It is for an answer that is expected soon and that a reader waits for. Linux wakes a
    /// sleeping thread on the core of the thread that wakes it, behind that thread's work
    /// (`wake_affine`, Linux's fair scheduler). An origin on this machine would therefore send the
    /// rest of its answer before the loop runs. Between two polls the loop yields its core to other
    /// threads. Jobs of ``postAtRest(_:)`` wait meanwhile as in busy turns.
    package func watch(for time: Nanoseconds) {
        preconditionInLoop()
        watchEnd = clock() + time
    }

    /// Ends the repeated polling, because the expected answer has arrived.
    package func stopWatching() {
        preconditionInLoop()
        watchEnd = nil
    }

    // MARK: Keeping the core free

    /// Keeps `threads` off the core on which the loop runs. Ends when the loop has slept for `rest`
    /// nanoseconds, and begins again when it has work.
    ///
    /// It is for threads whose work can wait, while readers wait for the loop's. These threads
    /// share the other cores of the machine. On a machine with one core nothing changes.
    package func keepOffItsCore(_ threads: [SystemThread], rest: Nanoseconds = EventLoop.restOfCore) {
        preconditionInLoop()
        coreReservation?.share()
        coreReservation = LoopCoreReservation(keptFreeOf: threads, rest: rest)
    }

    // MARK: Running

    /// Runs the loop on the calling thread until `stop`. The thread gets no SIGPIPE meanwhile.
    package func run() {
        inbox.withLock { inbox in
            precondition(inbox.thread == nil, "an event loop runs once, on one thread")
            inbox.thread = pthread_self()
        }
        withoutPipeSignal { while turn() {} }
        coreReservation?.share()
        inbox.withLock { inbox in
            inbox.isStopped = true
            inbox.jobs = []
            inbox.restJobs = []
        }
    }

    /// Runs the loop on a thread of its own.
    ///
    /// - Returns: the thread, which the caller can join after `stop`.
    @discardableResult
    package func start(name: String) -> SystemThread {
        SystemThread(name: name) { self.run() }
    }

    /// Ends the loop after the jobs that were posted before. May be called on any thread; does not
    /// wait.
    package func stop() {
        inbox.withLock { $0.isStopping = true }
        poller.wake()
    }

    /// Whether the calling thread is the loop's.
    package var isInLoop: Bool {
        let thread = inbox.withLock { $0.thread }
        return thread.map { pthread_equal($0, pthread_self()) != 0 } == true
    }

    /// Traps unless the calling thread is the loop's.
    package func preconditionInLoop() {
        precondition(isInLoop, "this call belongs to the event loop's thread: post a job")
    }

    /// Runs one turn. Returns false when it was the last.
    private func turn() -> Bool {
        let count = wait()
        isAwake.value = 1
        turnCount += 1
        now = clock()
        meter.turnBegan(at: now)
        for index in 0..<count {
            guard let (token, events) = poller.event(index) else { continue }
            registrations.handler(token: token)?(events)
            meter.callbackEnded()
        }
        let isBusy = runTimers() || count > 0
        let goesOn = runJobs(isBusy: isBusy)
        meter.turnEnded()
        return goesOn
    }

    /// Waits for events while there is no other work, and returns their number. Marks an idle loop
    /// as asleep, so that the next post wakes it.
    private func wait() -> Int {
        let isWatching = watchEnd != nil
        let (isIdle, rests) = inbox.withLock { inbox in
            let isIdle = inbox.jobs.isEmpty && !inbox.isStopping
            let rests = !inbox.restJobs.isEmpty
            isAwake.value = !isIdle || (rests && !isWatching) ? 1 : 0
            return (isIdle, rests)
        }
        guard isIdle else { return poller.wait(timeout: 0) }
        let count = isWatching ? busyPoll() : 0
        if count > 0 { return count }
        if rests { return poller.wait(timeout: 0) }
        return sleep()
    }

    /// Sleeps until an event or the first timer. After `rest` nanoseconds of sleep, other threads
    /// may use the loop's core.
    private func sleep() -> Int {
        let time = timers.firstDeadline.map { max(0, $0 - clock()) }
        guard let rest = coreReservation?.rest, time ?? .max > rest else { return poller.wait(timeout: time) }
        let begin = clock()
        let count = poller.wait(timeout: rest)
        if count == 0, clock() - begin >= rest { coreReservation?.share() }
        return count
    }

    /// Polls until there are events, a timer is due, or the time of watching is over.
    private func busyPoll() -> Int {
        while let end = watchEnd {
            let count = poller.wait(timeout: 0)
            if count > 0 { return count }
            let now = clock()
            if now >= end { watchEnd = nil }
            if let due = timers.firstDeadline, now >= due { return 0 }
            sched_yield()
        }
        return 0
    }

    /// Runs the due timers. Returns whether there were any.
    private func runTimers() -> Bool {
        let limit = timers.nextSequence
        var hasRun = false
        while let job = timers.popDue(now, armedBefore: limit) {
            hasRun = true
            job()
            meter.callbackEnded()
        }
        return hasRun
    }

    /// Runs the posted jobs. Runs the jobs that can wait only when the turn had no other work, or
    /// has delayed them for too long.
    private func runJobs(isBusy: Bool) -> Bool {
        let (isLast, restJobs) = inbox.withLock { inbox in
            swap(&inbox.jobs, &running)
            guard !inbox.restJobs.isEmpty else { return (inbox.isStopping, [@Sendable () -> Void]()) }
            busyTurns += 1
            let mayWait = (isBusy || !running.isEmpty) && busyTurns < Self.restTurns && !inbox.isStopping
            guard !mayWait else { return (false, []) }
            busyTurns = 0
            defer { inbox.restJobs = [] }
            return (inbox.isStopping, inbox.restJobs)
        }
        if isBusy || !running.isEmpty { coreReservation?.reserve() }
        for job in running {
            job()
            meter.callbackEnded()
        }
        if !running.isEmpty { running.removeAll(keepingCapacity: running.count <= Self.keptJobs) }
        for job in restJobs {
            job()
            meter.callbackEnded()
        }
        return !isLast
    }

    /// The maximum number of busy turns for which a job of ``postAtRest(_:)`` waits.
    package static let restTurns = 4
    /// The time of sleep after which other threads may use the loop's core. It is longer than most
    /// of a player's pauses between two requests.
    package static let restOfCore: Nanoseconds = .seconds(1)
    /// The job array frees its memory after a burst of more jobs than this.
    private static let keptJobs = 4096

    /// The system's monotonic clock.
    package static let monotonicNow: @Sendable () -> MonotonicInstant = {
        var time = timespec()
        #if canImport(Darwin)
        // This clock stops while the system sleeps, as CLOCK_MONOTONIC does on Linux.
        clock_gettime(CLOCK_UPTIME_RAW, &time)
        #else
        clock_gettime(CLOCK_MONOTONIC, &time)
        #endif
        return MonotonicInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
