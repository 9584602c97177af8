#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif
package import SpoolCore

/// One thread that waits for descriptors, timers and posted jobs, and runs what belongs to each.
///
/// Everything but `post`, `stop`, `start` and `isInLoop` belongs to the loop's thread and checks that it is called there.
/// In one turn the loop handles the descriptors that are ready, then the timers that are due, then the jobs that were posted before;
/// what these post or arm runs in the next turn, so nothing starves anything else. What can wait (``postAtRest(_:)``) has a bound as well.
///
///     let loop = try EventLoop()
///     loop.start(name: "server")
///     loop.post { … }
package final class EventLoop: Mailbox, @unchecked Sendable {
    // Safe to share: `inbox` is behind its lock, `clock` and `poller` are constants of which other threads use `wake` only,
    // and all that changes is touched by the loop's thread alone (`preconditionInLoop`).
    private let inbox = Locked(Inbox())
    private let poller: Poller
    private let clock: @Sendable () -> MonotonicInstant
    private var registrations = Registrations()
    private var timers = TimerHeap<() -> Void>()
    private var running: [@Sendable () -> Void] = []
    /// Turns that had something else to do since a job waits for one that has not.
    private var busyTurns = 0
    /// Until when the loop looks again and again rather than sleeps; nil when it does not.
    private var watchEnd: MonotonicInstant?
    /// The core on which the loop runs; nil when all threads may run there.
    private var ownCore: OwnCore?
    /// When the present turn began.
    package private(set) var now: MonotonicInstant
    /// How often the loop has asked which descriptors are ready: what it was told in one turn may no longer be so for later handlers.
    package private(set) var turnCount: UInt64 = 0

    /// What other threads share with the loop.
    private struct Inbox {
        var jobs: [@Sendable () -> Void] = []
        /// Jobs that can wait until there is nothing else to do.
        var restJobs: [@Sendable () -> Void] = []
        /// The loop will look at `jobs` before it sleeps, so a post need not wake it.
        var isAwake = false
        var isStopping = false
        var isStopped = false
        /// The thread that runs the loop, once one does.
        var thread: pthread_t?
    }

    /// Opens a loop that runs nowhere yet.
    ///
    /// - Parameter clock: what timers are measured with; tests bring their own.
    package init(clock: @escaping @Sendable () -> MonotonicInstant = EventLoop.monotonicNow) throws(SystemError) {
        self.clock = clock
        now = clock()
        poller = try Poller()
    }

    // MARK: Jobs

    /// Runs `job` in a later turn, after every job that was posted before it. From any thread.
    ///
    /// Only the first post to a sleeping loop costs a system call. After `stop` jobs are dropped.
    package func post(_ job: @escaping @Sendable () -> Void) {
        add { $0.jobs.append(job) }
    }

    /// Runs `job` as soon as a turn finds nothing else to do, ``restTurns`` turns later at the latest; after every job that was posted so before.
    ///
    /// For what is begun on the loop, that others wait for less than for what the loop does next. From any thread; dropped after `stop`.
    package func postAtRest(_ job: @escaping @Sendable () -> Void) {
        add { $0.restJobs.append(job) }
    }

    /// Adds a job to those that wait, unless the loop has ended, and wakes a loop that sleeps.
    private func add(_ change: (inout Inbox) -> Void) {
        let mustWake = inbox.withLock { inbox in
            guard !inbox.isStopped else { return false }
            change(&inbox)
            defer { inbox.isAwake = true }
            return !inbox.isAwake
        }
        if mustWake { poller.wake() }
    }

    // MARK: Descriptors

    /// Watches `descriptor`, level-triggered, and calls `handler` on the loop whenever it reports something.
    ///
    /// The handler acts on `.failed` always, or it is called again at once. Deregister before closing the descriptor.
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

    /// Changes what a descriptor is watched for. A call that changes nothing costs nothing.
    package func update(_ registration: Registration, _ interest: PollInterest) throws(SystemError) {
        preconditionInLoop()
        guard let entry = registrations[registration] else {
            preconditionFailure("the registration was given back, its descriptor can't be watched")
        }
        guard entry.interest != interest else { return }
        try poller.change(entry.descriptor, from: entry.interest, to: interest, token: registration.token)
        registrations.setInterest(interest, of: registration)
    }

    /// Stops watching; the handler is not called again, not even for events that were already taken. Harmless when repeated.
    package func deregister(_ registration: Registration) {
        preconditionInLoop()
        guard let entry = registrations[registration] else { return }
        poller.remove(entry.descriptor, entry.interest)
        registrations.remove(registration)
    }

    /// Like `update`, for a descriptor that may have been closed since, and its number given to another file: that one is watched then.
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

    /// Like `deregister`, for a descriptor that was closed: the kernel has stopped watching it by itself. Harmless when repeated.
    package func forget(_ registration: Registration) {
        preconditionInLoop()
        if registrations[registration] != nil { registrations.remove(registration) }
    }

    // MARK: Time

    /// The clock as it stands, where `now` would be too coarse.
    package func readClock() -> MonotonicInstant { clock() }

    /// Runs `job` on the loop once `delay` nanoseconds have passed. O(log *n*).
    @discardableResult
    package func after(_ delay: Nanoseconds, _ job: @escaping () -> Void) -> LoopTimer {
        preconditionInLoop()
        return timers.arm(clock() + max(0, delay), job)
    }

    /// Takes a timer back; harmless when it fired already. O(log *n*).
    package func cancel(_ timer: LoopTimer) {
        preconditionInLoop()
        timers.cancel(timer)
    }

    // MARK: Watching

    /// For `time` nanoseconds at most, or until ``stopWatching()``, the loop looks again and again when it has nothing to do, and does not sleep.
    ///
    /// For an answer that is near and that somebody waits for. A sleeper is woken on the core of who woke it, behind what that goes on with
    /// (`wake_affine`, Linux's fair scheduler): an origin on this machine sends the rest of its answer first. Who needs this core gets it between two looks;
    /// what can wait (``postAtRest(_:)``) waits meanwhile as if there were something to do.
    package func watch(for time: Nanoseconds) {
        preconditionInLoop()
        watchEnd = clock() + time
    }

    /// What was watched for is there.
    package func stopWatching() {
        preconditionInLoop()
        watchEnd = nil
    }

    // MARK: Its core

    /// Keeps `threads` off the core on which the loop runs, until it has slept for `rest` nanoseconds, and again once it has something to do.
    ///
    /// For threads whose work can wait, while others wait for the loop's. They share the other cores of the machine; where there is one only, nothing changes.
    package func keepOffItsCore(_ threads: [SystemThread], rest: Nanoseconds = EventLoop.restOfCore) {
        preconditionInLoop()
        ownCore?.share()
        ownCore = OwnCore(keptFreeOf: threads, rest: rest)
    }

    // MARK: Running

    /// Runs the loop on the calling thread until `stop`. No SIGPIPE reaches that thread meanwhile.
    package func run() {
        inbox.withLock { inbox in
            precondition(inbox.thread == nil, "an event loop runs once, on one thread")
            inbox.thread = pthread_self()
        }
        withoutPipeSignal { while turn() {} }
        ownCore?.share()
        inbox.withLock { inbox in
            inbox.isStopped = true
            inbox.jobs = []
            inbox.restJobs = []
        }
    }

    /// Runs the loop on a thread of its own.
    ///
    /// - Returns: what to wait on after `stop`.
    @discardableResult
    package func start(name: String) -> SystemThread {
        SystemThread(name: name) { self.run() }
    }

    /// Ends the loop after the jobs that were posted before. From any thread; does not wait.
    package func stop() {
        inbox.withLock { $0.isStopping = true }
        poller.wake()
    }

    /// Whether the calling thread is the loop's.
    package var isInLoop: Bool {
        let thread = inbox.withLock { $0.thread }
        return thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false
    }

    /// Stops the program unless the calling thread is the loop's.
    package func preconditionInLoop() {
        precondition(isInLoop, "this call belongs to the event loop's thread: post a job")
    }

    /// One round; false when it was the last.
    private func turn() -> Bool {
        let count = wait()
        inbox.withLock { $0.isAwake = true }
        turnCount += 1
        now = clock()
        for index in 0..<count {
            guard let (token, events) = poller.event(index) else { continue }
            registrations.handler(token: token)?(events)
        }
        let isBusy = runTimers() || count > 0
        return runJobs(isBusy: isBusy)
    }

    /// Waits for events, for as long as there is nothing else to do; how many there are. A loop with nothing to do is marked asleep, so that the next
    /// post wakes it.
    private func wait() -> Int {
        let isWatching = watchEnd != nil
        let (isIdle, rests) = inbox.withLock { inbox in
            let isIdle = inbox.jobs.isEmpty && !inbox.isStopping
            let rests = !inbox.restJobs.isEmpty
            inbox.isAwake = !isIdle || (rests && !isWatching)
            return (isIdle, rests)
        }
        guard isIdle else { return poller.wait(timeout: 0) }
        let count = isWatching ? look() : 0
        if count > 0 { return count }
        if rests { return poller.wait(timeout: 0) }
        return sleep()
    }

    /// Waits for events until a timer is due. Before a long sleep others get the loop's core.
    private func sleep() -> Int {
        let time = timers.firstDeadline.map { max(0, $0 - clock()) }
        guard let rest = ownCore?.rest, time ?? .max > rest else { return poller.wait(timeout: time) }
        let begin = clock()
        let count = poller.wait(timeout: rest)
        if count == 0, clock() - begin >= rest { ownCore?.share() }
        return count
    }

    /// Looks for events until there are some, a timer is due, or it has watched for long enough.
    private func look() -> Int {
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

    /// Whether any was due.
    private func runTimers() -> Bool {
        let limit = timers.nextSequence
        var hasRun = false
        while let job = timers.popDue(now, armedBefore: limit) {
            hasRun = true
            job()
        }
        return hasRun
    }

    /// Runs what was posted; what can wait only when the turn has had nothing else to do, or has put it off for too long.
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
        if isBusy || !running.isEmpty { ownCore?.keepFree() }
        for job in running { job() }
        running.removeAll(keepingCapacity: running.count <= Self.keptJobs)
        for job in restJobs { job() }
        return !isLast
    }

    /// For how many turns in which there is something else to do a job of ``postAtRest(_:)`` waits.
    package static let restTurns = 4
    /// How long the loop sleeps before others may have its core: longer than a player waits between two pieces it asks for, most of the time.
    package static let restOfCore: Nanoseconds = .seconds(1)
    /// A burst of more jobs than this gives its memory back.
    private static let keptJobs = 4096

    /// The system's monotonic clock.
    package static let monotonicNow: @Sendable () -> MonotonicInstant = {
        var time = timespec()
        #if canImport(Darwin)
        // Stops while the system sleeps, as CLOCK_MONOTONIC does on Linux.
        clock_gettime(CLOCK_UPTIME_RAW, &time)
        #else
        clock_gettime(CLOCK_MONOTONIC, &time)
        #endif
        return MonotonicInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
