import SpoolCore

// One cache and several processes.

extension MediaCache {
    /// Enters all received bytes into the index, where other processes see them. Calls `done` on
    /// the index lane.
    package func enterReceived(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) { engine.enterReceived(done) }

    /// Makes everything durable and releases every lock on the store, for a process that the system
    /// is about to suspend.
    ///
    /// A system ends a process that it suspends while the process holds a lock on a file in a
    /// shared container (on Apple's systems with 0xdead10cc). Until `resume` nothing is read from
    /// or written to the store, and readers get their bytes from the origin.
    package func suspend(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) { engine.suspend(done) }

    /// Takes the locks again that `suspend` released.
    ///
    /// If another process wrote meanwhile, the state of all sessions is dropped: current readers go
    /// on from the origin, and later ones find what is stored now. If the other process still has
    /// the store, this cache only reads it until that process is gone.
    package func resume(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) { engine.resume(done) }
}
