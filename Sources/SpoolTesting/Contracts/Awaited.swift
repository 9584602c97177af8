internal import SpoolCore
import SpoolLibc
internal import SpoolSystem

/// A value that one thread changes and another waits for. Blocking tests use it instead of
/// sleeping.
///
/// It is not for engine code, whose threads do not wait for each other.
package final class Awaited<State>: @unchecked Sendable {
    // Safe to share: `state` is used only between lock and unlock.
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    /// The longest time of a wait, in seconds. It only ends a hang: a thread that one test waits
    /// for may be delayed for minutes by the computations of all other tests.
    package static var hangSeconds: Int { 600 }

    /// Creates a value.
    package init(_ state: sending State) {
        self.state = state
        lock = .allocate(capacity: 1)
        lock.initialize(to: pthread_mutex_t())
        changed = .allocate(capacity: 1)
        changed.initialize(to: pthread_cond_t())
        precondition(pthread_mutex_init(lock, nil) == 0 && pthread_cond_init(changed, nil) == 0, "no lock to be had")
    }

    deinit {
        pthread_cond_destroy(changed)
        changed.deallocate()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// Changes the value and wakes all waiting threads.
    package func change<R>(_ body: (inout State) -> R) -> R {
        pthread_mutex_lock(lock)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(lock)
        }
        return body(&state)
    }

    /// The value now.
    package var value: State { change { $0 } }

    /// Waits until `condition` holds.
    ///
    /// - Returns: False if it did not hold within `hangSeconds`.
    package func wait(until condition: (State) -> Bool) -> Bool {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += Self.hangSeconds
        while !condition(state) {
            if pthread_cond_timedwait(changed, lock, &deadline) == ETIMEDOUT { return condition(state) }
        }
        return true
    }
}
