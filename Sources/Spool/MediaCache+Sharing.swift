import SpoolCore

// One cache and several processes.

extension MediaCache {
    /// Enters all received bytes into the index, where other processes see them. Calls `done` on
    /// the index lane.
    package func enterReceived(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) { engine.enterReceived(done) }

    /// Makes everything durable and releases every lock on the store, for a process that the system
    /// is about to suspend, as `Engine.suspend` does.
    package func suspend(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) { engine.suspend(done) }

    /// Returns the request and the version of a resource as its session has them now, also while
    /// the store is suspended. Nil if it has no session, or if its bytes must not be stored.
    package func continuation(of key: ResourceKey) -> Continuation? {
        guard let session = engine.liveSession(of: key) else { return nil }
        return session.state.withLock { state in
            guard state.passReason == nil, state.machine.version?.passReason == nil else { return nil }
            return Continuation(
                fields: state.lastAsk.request.fields, representation: state.machine.version?.representation,
                stored: state.machine.version?.stored ?? ByteRangeSet())
        }
    }

    /// The facts that a request for the missing bytes of a resource needs.
    package struct Continuation: Sendable {
        /// The fields of its requests, without those for ranges and conditions.
        package var fields: HTTPFields
        /// The version, or nil if it is unknown.
        package var representation: Representation?
        /// The bytes of the version that are stored.
        package var stored: ByteRangeSet
    }

    /// Takes the locks again that `suspend` released, as `Engine.resume` does.
    package func resume(_ done: @escaping @Sendable (Result<Void, CacheError>) -> Void) { engine.resume(done) }
}
