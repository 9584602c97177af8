import SpoolCore

/// The core on which a loop runs, kept free of threads whose work can wait.
///
/// Linux shares a core fairly between its threads. Beside a loop that has used more time, a lane
/// keeps the core for the duration of a write, and readers of the loop's bytes wait as well. The
/// scheduler wakes a thread on its waker's core. With two busy cores it does not check whether the
/// other one is idle at the moment (`nr_idle_scan` of `SIS_UTIL`, kernel/sched/fair.c). So the loop
/// itself excludes lanes from its core.
struct LoopCoreReservation {
    private let threads: [SystemThread]
    /// The core that is kept free, or nil when none is.
    private var core: Int32?
    private let restTime: Nanoseconds

    init(keptFreeOf threads: [SystemThread], rest: Nanoseconds) {
        self.threads = threads
        restTime = rest
    }

    /// The time of sleep after which the loop shares its core, or nil when it already does.
    var rest: Nanoseconds? { core == nil ? nil : restTime }

    /// Reserves the core on which the calling thread runs, and no other core. If that core is
    /// already free, the call only reads its number.
    mutating func reserve() {
        guard let here = SystemThread.currentCore, here != core else { return }
        core = here
        for thread in threads { thread.avoid(core: here) }
    }

    /// Lets the threads run on the core again.
    mutating func share() {
        guard core != nil else { return }
        core = nil
        for thread in threads { thread.avoid(core: nil) }
    }
}
