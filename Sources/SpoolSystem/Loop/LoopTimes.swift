package import SpoolCore
import SpoolLibc

/// The longest times that an event loop worked without looking for events, in CPU time of its
/// thread.
///
/// The clock of the loop measures each callback. Only where it counts a millisecond is the clock of
/// the thread read, which costs a system call. The loop's thread changes the times. Any thread may
/// read them.
package struct LoopTimes: Sendable {
    /// The longest callback, in nanoseconds: an upper bound, too high by at most
    /// ``timeBetweenReads`` and the CPU time of the polls within it.
    package let longestCallback = SharedNumber(0)
    /// The longest turn, in nanoseconds.
    package let longestTurn = SharedNumber(0)

    /// The time of callbacks, by the clock of the loop, after which the clock of the thread is
    /// read.
    static let timeBetweenReads: Nanoseconds = .milliseconds(1)

    /// The CPU time of the calling thread.
    package static let threadTime: @Sendable () -> Nanoseconds = {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// Measures the callbacks of one event loop. Used on its thread only.
struct CallbackMeter {
    let times: LoopTimes
    private let clock: @Sendable () -> MonotonicInstant
    private let threadClock: @Sendable () -> Nanoseconds
    private var begin = MonotonicInstant(nanoseconds: 0)
    /// The time of the callbacks of this turn.
    private var turnTime: Nanoseconds = 0
    /// The CPU time of the thread at its last read.
    private var lastRead: Nanoseconds?
    /// The time of the callbacks since then, by the clock of the loop.
    private var timeSinceRead: Nanoseconds = 0

    init(_ times: LoopTimes, clock: @escaping @Sendable () -> MonotonicInstant, threadClock: @escaping @Sendable () -> Nanoseconds) {
        self.times = times
        self.clock = clock
        self.threadClock = threadClock
    }

    /// Begins a turn.
    mutating func turnBegan(at now: MonotonicInstant) {
        if lastRead == nil { lastRead = threadClock() }
        (begin, turnTime) = (now, 0)
    }

    /// Counts a callback that has returned.
    mutating func callbackEnded() {
        let now = clock()
        var time = max(0, now - begin)
        begin = now
        timeSinceRead += time
        if timeSinceRead >= LoopTimes.timeBetweenReads {
            let read = threadClock()
            // The system may have run other threads during the callback.
            time = min(time, max(0, read - (lastRead ?? read)))
            (lastRead, timeSinceRead) = (read, 0)
        }
        turnTime += time
        if time > times.longestCallback.value { times.longestCallback.value = time }
    }

    /// Ends a turn.
    mutating func turnEnded() {
        if turnTime > times.longestTurn.value { times.longestTurn.value = turnTime }
    }
}
