import SpoolCore

// One cache and several processes.

extension MediaCache {
    /// Enters all received bytes into the index, where other processes see them. Calls `done` on
    /// the index lane.
    package func enterReceived(_ done: @escaping Completion<Void>) { engine.enterReceived(done) }

    /// Makes everything durable and releases every lock on the store, for a process that the system
    /// is about to suspend, as `Engine.suspend` does.
    package func suspend(_ done: @escaping Completion<Void>) { engine.suspend(done) }

    /// Returns the request and the version of a resource as its session has them now, also while
    /// the store is suspended. Nil if it has no session, or if its bytes must not be stored.
    func missingBytes(of key: ResourceKey) -> MissingBytes? {
        guard let session = engine.liveSession(of: key) else { return nil }
        return session.state.withLock { state in
            guard state.passReason == nil, state.machine.version?.passReason == nil else { return nil }
            return MissingBytes(
                fields: state.lastAsk.request.fields, representation: state.machine.version?.representation,
                stored: state.machine.version?.stored ?? ByteRangeSet())
        }
    }

    /// Takes the locks again that `suspend` released, as `Engine.resume` does.
    package func resume(_ done: @escaping Completion<Void>) { engine.resume(done) }
}
