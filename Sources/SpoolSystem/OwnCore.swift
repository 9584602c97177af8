import SpoolCore

/// The core on which a loop runs, kept free of threads whose work can wait.
///
/// Linux shares a core fairly between the threads on it: beside a loop that has done more than they, a lane keeps the core for as long as a write
/// takes, and whoever waits for the loop's bytes waits, too. The scheduler wakes a thread on its waker's core, and of two busy cores it does not look
/// whether the other is idle at the moment (`nr_idle_scan` of `SIS_UTIL`, kernel/sched/fair.c). So the loop says where lanes may not run: not beside it.
struct OwnCore {
    private let threads: [SystemThread]
    /// The core that is kept free; nil when none is.
    private var core: Int32?
    private let restTime: Nanoseconds

    init(keptFreeOf threads: [SystemThread], rest: Nanoseconds) {
        self.threads = threads
        restTime = rest
    }

    /// How long the loop sleeps before it shares its core; nil when it does already.
    var rest: Nanoseconds? { core == nil ? nil : restTime }

    /// Keeps the core on which the calling thread runs free, and no other any more. A look at the number of the core where it is that already.
    mutating func keepFree() {
        guard let here = SystemThread.currentCore, here != core else { return }
        core = here
        for thread in threads { thread.avoid(core: here) }
    }

    /// Lets the threads run there again.
    mutating func share() {
        guard core != nil else { return }
        core = nil
        for thread in threads { thread.avoid(core: nil) }
    }
}
