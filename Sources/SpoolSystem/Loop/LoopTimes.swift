package import SpoolCore
import SpoolLibc

/// The longest times that an event loop worked without looking for events, in CPU time of its
/// thread.
///
/// A callback is measured in laps of up to ``callbacksOfLap``, so its time is an upper bound. The
/// clock of the loop tells which laps took long, and only those read the clock of the thread, which
/// costs a system call. The loop's thread changes the times. Any thread may read them.
package struct LoopTimes: Sendable {
    /// The longest callback, in nanoseconds.
    package let longestCallback = SharedNumber(0)
    /// The longest turn, in nanoseconds.
    package let longestTurn = SharedNumber(0)

    /// The most callbacks between two reads of the loop's clock.
    static let callbacksOfLap = 8
    /// A lap of at least this time reads the clock of the thread. Shorter ones count with the time
    /// of the loop's clock.
    static let longLap: Nanoseconds = .milliseconds(1)
    /// The laps after which the clock of the thread is read anyway, so that the CPU time between
    /// two reads of it belongs to few laps.
    static let lapsBetweenReads = 64

    /// The CPU time of the calling thread.
    package static let threadTime: @Sendable () -> Nanoseconds = {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// Measures the laps of one event loop. Used on its thread only.
struct LapMeter {
    let times: LoopTimes
    private let clock: @Sendable () -> MonotonicInstant
    private let threadClock: @Sendable () -> Nanoseconds
    private var begin: MonotonicInstant
    private var callbacks = 0
    /// The time of the laps of this turn.
    private var turnTime: Nanoseconds = 0
    /// The CPU time of the thread at its last read.
    private var lastRead: Nanoseconds?
    private var lapsSinceRead = 0

    init(_ times: LoopTimes, clock: @escaping @Sendable () -> MonotonicInstant, threadClock: @escaping @Sendable () -> Nanoseconds) {
        self.times = times
        self.clock = clock
        self.threadClock = threadClock
        begin = MonotonicInstant(nanoseconds: 0)
    }

    /// Begins a turn.
    mutating func turnBegan(at now: MonotonicInstant) {
        if lastRead == nil { lastRead = threadClock() }
        (begin, callbacks, turnTime) = (now, 0, 0)
    }

    /// Counts a callback that has returned.
    mutating func callbackEnded() {
        callbacks += 1
        if callbacks >= LoopTimes.callbacksOfLap { endLap() }
    }

    /// Ends a turn.
    mutating func turnEnded() {
        if callbacks > 0 { endLap() }
        if turnTime > times.longestTurn.value { times.longestTurn.value = turnTime }
    }

    private mutating func endLap() {
        let now = clock()
        var time = max(0, now - begin)
        (begin, callbacks) = (now, 0)
        lapsSinceRead += 1
        if time >= LoopTimes.longLap || lapsSinceRead >= LoopTimes.lapsBetweenReads {
            // The lap took at most the CPU time since the last read, which is that of a few short
            // laps more.
            let read = threadClock()
            time = min(time, max(0, read - (lastRead ?? read)))
            (lastRead, lapsSinceRead) = (read, 0)
        }
        turnTime += time
        if time > times.longestCallback.value { times.longestCallback.value = time }
    }
}
