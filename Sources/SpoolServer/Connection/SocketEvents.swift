import SpoolSystem

/// The events for which a connection's socket is registered with the loop.
struct SocketEvents {
    private var registration: Registration?
    private var registered: PollInterest = .readOrPeerClosed
    /// The events of the connection's present phase, without the part that an upload adds.
    private(set) var ofPhase: PollInterest = .readOrPeerClosed

    /// Registers the socket with the loop.
    mutating func register(
        _ descriptor: Int32, with loop: EventLoop, _ action: @escaping (PollEvents) -> Void
    ) throws(SystemError) {
        registration = try loop.register(descriptor, registered, action)
    }

    /// Sets the events of the present phase. Costs nothing when they do not change.
    mutating func listen(for phase: PollInterest, during upload: Upload?, on loop: EventLoop) throws(SystemError) {
        ofPhase = phase
        var wanted = phase
        if let upload {
            // Reading finds the end of the client's bytes.
            wanted.remove(.peerClosed)
            if upload.isFull { wanted.remove(.read) } else { wanted.insert(.read) }
        }
        guard let registration, wanted != registered else { return }
        try loop.update(registration, wanted)
        registered = wanted
    }

    /// Ends the registration.
    mutating func deregister(from loop: EventLoop) {
        if let registration { loop.deregister(registration) }
        registration = nil
    }
}
