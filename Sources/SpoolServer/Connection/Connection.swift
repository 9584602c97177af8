import SpoolCore
import SpoolSystem

/// One client connection: reads requests in turn, passes each to the handler, and sends its
/// response.
///
/// An idle connection is small. It has no buffer of its own, because all connections of a server
/// receive into one. It keeps the bytes of the last head, and unconsumed bytes when a head is
/// incomplete or requests are pipelined.
final class Connection: @unchecked Sendable {
    // Safe to share: only the loop's thread uses it. Other threads carry references to it in jobs.

    enum Phase {
        /// Waits for a request, or for the rest of one. → handling, draining, closed
        case reading
        /// The handler has the request. → sending, closed
        case handling
        /// The response goes out as fast as the client takes it. → waiting, warming, reading,
        /// draining, closed
        case sending
        /// The response's source has no bytes yet. → sending, closed
        case waiting
        /// A lane brings the next bytes of a file into memory. → sending, closed
        case warming
        /// The connection sends no more, and drops the bytes that the client still sends. → closed
        case draining
        case closed
    }

    /// The server's part on the loop, which also holds the connection until it is closed.
    let server: ServerLoop
    let loop: EventLoop
    var socket: Socket
    /// The entry of the connection in the server's census.
    let ticket: ConnectionCensus.Ticket
    private var events = SocketEvents()
    var phase = Phase.reading
    /// The index of this connection in the server's list.
    var position = 0
    /// The time at which the present phase ends by itself.
    private(set) var deadline: MonotonicInstant

    var receiving: ReceivingState
    var sending = SendingState()
    /// The last request that was answered, if the next one can be matched against it.
    var repeated: RepeatedRequest?
    var counted = CountedClient()
    /// The body that arrives while its request is answered.
    var upload: Upload?

    /// The closure that sources call. Made at its first use and kept.
    private(set) lazy var wake: @Sendable () -> Void = { [waker = makeWaker { $0.sourceWoke() }] in waker.wake() }
    /// The closure that upload sinks call.
    private(set) lazy var uploadWake: @Sendable () -> Void = { [waker = makeWaker { $0.uploadHasRoom() }] in waker.wake() }
    /// The wakers that exist. They hold the connection until it is closed.
    private var wakers: [Waker] = []

    init(_ socket: consuming Socket, ticket: ConnectionCensus.Ticket, server: ServerLoop) {
        self.server = server
        self.ticket = ticket
        self.socket = socket
        loop = server.loop
        receiving = ReceivingState(limits: server.options.requestLimits)
        deadline = server.loop.now + server.options.idleTimeout
    }

    /// Whether the connection has no request in progress, so that the server may close it to make
    /// room.
    var isIdle: Bool { phase == .reading && receiving.isIdle }

    // MARK: Events

    /// Registers the socket with the loop. From now on the loop holds the connection, until it is
    /// closed.
    ///
    /// No reference to a connection is weak: a weak reference makes the runtime allocate a side
    /// table, and then every use of the object costs more.
    func open() throws(SystemError) {
        socket.setNoDelay()
        try events.register(socket.descriptor, with: loop) { events in self.handle(events) }
    }

    private func makeWaker(_ action: @escaping (Connection) -> Void) -> Waker {
        let waker = Waker(self, loop: loop, action: action)
        wakers.append(waker)
        return waker
    }

    private func handle(_ events: PollEvents) {
        // A client whose last bytes came with its end may still read a refusal.
        if events.contains(.failed), phase != .draining { return clientLeft() }
        if upload != nil, events.contains(.readable), phase != .draining { receiveUpload() }
        switch phase {
        case .reading: receive()
        case .sending, .warming:
            // A client that only finished sending gets the bytes that are here, on the disk too.
            if events.contains(.peerClosed), upload == nil { receiving.isHalfClosed = true }
            if phase == .sending, events.contains(.writable) { return pump() }
            listen(for: phase == .sending ? .write : receiving.isHalfClosed ? [] : .peerClosed)
        case .handling, .waiting:
            // While nothing is being sent, a client that closed looks like one that only finished
            // sending. Clients that half-close are rare, and fetching an origin's bytes for a
            // client that left is expensive.
            if events.contains(.peerClosed), upload == nil { return clientLeft() }
            // The rest of the client's bytes wait in the kernel, and its buffer is their bound.
            listen(for: .peerClosed)
        case .draining: drain()
        case .closed: break
        }
    }

    /// Sets the events that the loop reports. Costs nothing when they do not change.
    func listen(for phase: PollInterest) {
        do throws(SystemError) { try events.listen(for: phase, during: upload, on: loop) } catch {
            // The kernel lacks memory for the change. Without the change the connection would hang.
            clientLeft()
        }
    }

    /// Updates the reported events when only the upload changed.
    func refreshInterest() {
        if phase != .closed { listen(for: events.ofPhase) }
    }

    // MARK: Time

    /// Sets when the present phase ends by itself, or never for nil.
    func setDeadline(_ delay: Nanoseconds?) {
        deadline = delay.map { loop.now + $0 } ?? MonotonicInstant(nanoseconds: .max)
    }

    func timedOut() {
        switch phase {
        case .reading where receiving.isHeadTimed: refuse(RequestRefusal(408, "the request did not come within the time for it"))
        case .reading, .draining: close()
        case .handling, .sending, .waiting, .warming: clientLeft()
        case .closed: break
        }
    }

    // MARK: Ends

    /// Ends the exchange and closes the connection, because the client is gone or unusable.
    func clientLeft() {
        guard phase != .closed else { return }
        finishExchange(.clientLeft)
        close()
    }

    /// Closes the connection. The kernel still delivers the bytes it has, unless unread bytes of
    /// the client are left.
    func close() {
        guard phase != .closed else { return }
        phase = .closed
        events.deregister(from: loop)
        socket.close()
        receiving.input = []
        countInput()
        repeated = nil
        for waker in wakers { waker.detach() }
        wakers = []
        server.closed(self)
    }

    /// Shuts down sending, and drops the bytes that the client still sends until it closes. Closing
    /// with unread bytes would reset the connection, and the client might lose the response.
    func beginDraining() {
        phase = .draining
        receiving.input = []
        countInput()
        sending.drainedBytes = 0
        socket.shutdownSending()
        setDeadline(server.options.lingerTimeout)
        listen(for: .read)
        if phase == .draining { drain() }
    }

    private func drain() {
        while phase == .draining {
            switch socket.receive(into: server.scratch) {
            case .count(let count):
                sending.drainedBytes += count
                if sending.drainedBytes > server.options.lingerBytes { return close() }
            case .wouldBlock: return
            case .ended, .failed: return close()
            }
        }
    }
}
