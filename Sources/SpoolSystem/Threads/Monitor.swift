package import SpoolCore
import SpoolLibc

/// A value behind a lock whose changes threads can wait for. Lanes and timers are built on it.
///
/// The closures follow the rules of ``Locked``. Only threads of this module and those of tests wait;
/// other code must not block.
package final class Monitor<State>: @unchecked Sendable {
    // Safe to share: the system's condition may be used on any thread.
    private let locked: Locked<State>
    private let changed: UnsafeMutablePointer<pthread_cond_t>

    /// Creates a lock around `state`.
    package init(_ state: sending State) {
        locked = Locked(state)
        changed = .allocate(capacity: 1)
        changed.initialize(to: pthread_cond_t())
        let code = Self.makeCondition(changed)
        precondition(code == 0, "pthread_cond_init failed: \(code)")
    }

    deinit {
        pthread_cond_destroy(changed)
        changed.deallocate()
    }

    /// Runs `body` with the value, then wakes every waiting thread.
    package func change<R>(_ body: (inout State) -> R) -> R {
        let result = withLock(body)
        wakeAll()
        return result
    }

    /// Wakes every waiting thread, after a change that was made by ``withLock(_:)``.
    ///
    /// Called without the lock. A thread that wakes on the waker's core would otherwise block on
    /// the lock at once and sleep again, which costs two context switches.
    func wakeAll() {
        pthread_cond_broadcast(changed)
    }

    /// Runs `body` with the value. Wakes no thread.
    package func withLock<R>(_ body: (inout State) -> R) -> R { locked.withLock(body) }

    /// Waits until `body` returns a result. Calls `body` now, after every change, and when the time
    /// that it returned has passed.
    package func wait<R>(_ body: (inout State) -> Wait<R>) -> R {
        pthread_mutex_lock(locked.lock)
        defer { pthread_mutex_unlock(locked.lock) }
        while true {
            switch body(&locked.state) {
            case .done(let result): return result
            case .change: pthread_cond_wait(changed, locked.lock)
            case .time(let delay): waitForChange(atMost: max(0, delay))
            }
        }
    }

    /// The answer to a look at the value.
    package enum Wait<R> {
        /// The wait is over.
        case done(R)
        /// Call again after a change.
        case change
        /// Call again after a change, or after this many nanoseconds.
        case time(Nanoseconds)
    }

    #if canImport(Darwin)
    private static func makeCondition(_ condition: UnsafeMutablePointer<pthread_cond_t>) -> Int32 {
        pthread_cond_init(condition, nil)
    }

    private func waitForChange(atMost delay: Nanoseconds) {
        var relative = timespec(tv_sec: Int(delay / 1_000_000_000), tv_nsec: Int(delay % 1_000_000_000))
        pthread_cond_timedwait_relative_np(changed, locked.lock, &relative)
    }
    #else
    /// The condition uses the monotonic clock, so that a change of the wall clock moves no timer.
    private static func makeCondition(_ condition: UnsafeMutablePointer<pthread_cond_t>) -> Int32 {
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        defer { pthread_condattr_destroy(&attributes) }
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        return pthread_cond_init(condition, &attributes)
    }

    private func waitForChange(atMost delay: Nanoseconds) {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let (seconds, nanoseconds) = delay.quotientAndRemainder(dividingBy: 1_000_000_000)
        deadline.tv_sec += Int(seconds)
        deadline.tv_nsec += Int(nanoseconds)
        if deadline.tv_nsec >= 1_000_000_000 {
            deadline.tv_nsec -= 1_000_000_000
            deadline.tv_sec += 1
        }
        pthread_cond_timedwait(changed, locked.lock, &deadline)
    }
    #endif
}
