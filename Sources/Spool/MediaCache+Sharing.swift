import SpoolCore

// One cache and several processes.

extension MediaCache {
    /// Enters all received bytes into the index, where other processes see them. Calls `done` on
    /// the index lane.
    package func enterReceived(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) { engine.enterReceived(done) }

    /// Makes everything durable and releases every lock on the store, for a process that the system
    /// is about to suspend, as `Engine.suspend` does.
    package func suspend(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) { engine.suspend(done) }

    /// Takes the locks again that `suspend` released, as `Engine.resume` does.
    package func resume(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) { engine.resume(done) }
}
