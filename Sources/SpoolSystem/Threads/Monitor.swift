import SpoolCore
import SpoolLibc

/// A value behind a lock whose changes threads can wait for. Lanes and timers are built on it.
///
/// The closures follow the rules of ``Locked``. Only threads of this module wait; other code must
/// not block.
final class Monitor<State>: @unchecked Sendable {
    // Safe to share: `state` is only touched between lock and unlock.
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    init(_ state: sending State) {
        self.state = state
        lock = .allocate(capacity: 1)
        lock.initialize(to: pthread_mutex_t())
        changed = .allocate(capacity: 1)
        changed.initialize(to: pthread_cond_t())
        var code = pthread_mutex_init(lock, nil)
        precondition(code == 0, "pthread_mutex_init failed: \(code)")
        code = Self.makeCondition(changed)
        precondition(code == 0, "pthread_cond_init failed: \(code)")
    }

    deinit {
        pthread_cond_destroy(changed)
        changed.deallocate()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// Runs `body` with the value, then wakes every waiting thread.
    func change<R>(_ body: (inout State) -> R) -> R {
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
    func withLock<R>(_ body: (inout State) -> R) -> R {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return body(&state)
    }

    /// Waits until `body` returns a result. Calls `body` now, after every change, and when the time
    /// that it returned has passed.
    func wait<R>(_ body: (inout State) -> Wait<R>) -> R {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            switch body(&state) {
            case .done(let result): return result
            case .change: pthread_cond_wait(changed, lock)
            case .time(let delay): waitForChange(atMost: max(0, delay))
            }
        }
    }

    enum Wait<R> {
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
        pthread_cond_timedwait_relative_np(changed, lock, &relative)
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
        pthread_cond_timedwait(changed, lock, &deadline)
    }
    #endif
}
