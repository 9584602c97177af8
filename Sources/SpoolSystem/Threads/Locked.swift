package import SpoolLibc

/// A value behind a lock.
///
/// The closure does no I/O, calls no callback, posts nothing and takes no other lock
/// (ARCHITECTURE.md defines the order where two are needed). `Mutex` would be enough, but requires
/// newer systems than Spool supports on Apple's platforms.
package final class Locked<State>: @unchecked Sendable {
    // Safe to share: `state` is only touched between lock and unlock.
    @usableFromInline let lock: UnsafeMutablePointer<pthread_mutex_t>
    /// The lock makes accesses exclusive, so the compiler's check of each access is disabled.
    @exclusivity(unchecked) @usableFromInline var state: State

    /// Creates a lock around `state`.
    package init(_ state: sending State) {
        self.state = state
        lock = .allocate(capacity: 1)
        lock.initialize(to: pthread_mutex_t())
        let code = pthread_mutex_init(lock, nil)
        precondition(code == 0, "pthread_mutex_init failed: \(code)")
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// Runs `body` with exclusive access to the value. Inlined, because each hit calls it several
    /// times.
    ///
    /// The class is not `@usableFromInline`, so other modules call this method. Where they inlined it,
    /// the optimiser released an object that a closure had taken out of the value before the unlock,
    /// and the object's `deinit` waited for the same lock for ever.
    @inlinable
    package func withLock<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&state)
    }

    /// Decides under the lock, and acts after it.
    ///
    /// `body` changes the value, and adds the actions that follow. They run in their order, on this
    /// thread and without the lock, before the method returns. An action may call anything, also the
    /// owner of this lock.
    package func decide<R>(_ body: (inout State, inout Afterwards) -> R) -> R {
        var afterwards = Afterwards()
        let result = withLock { body(&$0, &afterwards) }
        for action in afterwards.actions { action() }
        return result
    }
}

/// The actions that follow a decision under a lock (`Locked.decide`).
package struct Afterwards {
    fileprivate var actions: [() -> Void] = []

    /// Adds an action.
    package mutating func callAsFunction(_ action: @escaping () -> Void) { actions.append(action) }
}
