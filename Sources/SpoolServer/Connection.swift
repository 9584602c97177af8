import SpoolCore
import SpoolSystem

/// One client: reads requests in turn, hands each to the handler, sends its answer, and goes on.
///
/// Small while idle: no buffer of its own, since reads go to one that the server's connections share, and bytes are kept only
/// of the last head, and when a head is incomplete or requests are pipelined.
final class Connection: @unchecked Sendable {
    // Safe to share: lives on the loop's thread; others only carry references to it in jobs.

    enum Phase {
        /// Waits for a request, or for the rest of one. → handling, draining, closed
        case reading
        /// The handler has the request. → sending, closed
        case handling
        /// The answer goes out as fast as the client takes it. → waiting, warming, reading, draining, closed
        case sending
        /// The answer's source has nothing yet. → sending, closed
        case waiting
        /// The next bytes of a file are brought into memory on a lane. → sending, closed
        case warming
        /// The last word is said; what the client still sends is dropped. → closed
        case draining
        case closed
    }

    /// Holds the connection in turn, until that is closed.
    let server: HTTPServer
    let loop: EventLoop
    var socket: Socket
    /// Whose connection it is, where that is counted.
    let client: [UInt8]?
    private var registration: Registration?
    private var interest: PollInterest = .readOrPeerClosed
    /// What the present phase wants reported, whatever a body that is being received adds.
    private var phaseInterest: PollInterest = .readOrPeerClosed
    var phase = Phase.reading
    /// Where the server's list has this connection.
    var position = 0
    /// When the present phase ends by itself.
    private(set) var deadline: MonotonicInstant

    // Reading
    var parser: RequestParser
    /// Bytes that came and were not consumed.
    var input: [UInt8] = []
    /// How many of them the server counts.
    var countedInput = 0
    /// Body bytes of `skipping` that are still to come.
    var bytesToSkip = 0
    /// The request whose body is being skipped.
    var skipping: RequestHead?
    /// The time for the present head runs.
    var isHeadTimed = false
    /// The call stack holds `consume`; it goes on by itself when an answer is complete.
    var isConsuming = false
    /// The client closed its sending side.
    var isHalfClosed = false

    /// The last request that was answered, where the next may be like it.
    var repeated: RepeatedRequest?

    /// The body that comes in while its request is answered.
    var upload: Upload?

    // Answering
    var exchange: Exchange?
    var sending = SendingState()
    /// What sources call. Made at its first use and kept.
    private(set) lazy var wake: @Sendable () -> Void = { [waker = makeWaker { $0.sourceWoke() }] in waker.wake() }
    /// What sinks of uploads call.
    private(set) lazy var uploadWake: @Sendable () -> Void = { [waker = makeWaker { $0.uploadHasRoom() }] in waker.wake() }
    /// Those that were made: they hold the connection until it is closed.
    private var wakers: [Waker] = []

    init(_ socket: consuming Socket, client: [UInt8]?, server: HTTPServer) {
        self.server = server
        self.client = client
        self.socket = socket
        loop = server.loop
        parser = RequestParser(limits: server.options.requestLimits)
        deadline = server.loop.now + server.options.idleTimeout
    }

    /// Whether nothing is going on, so that the connection may be closed for another's sake.
    var isIdle: Bool {
        phase == .reading && input.isEmpty && !isHeadTimed && skipping == nil
    }

    // MARK: Events

    /// Begins to listen to the socket. From now on the loop holds the connection, until it is closed.
    ///
    /// Nothing refers to a connection weakly: an object that something does costs more at every use (a side table of the runtime's).
    func open() throws(SystemError) {
        socket.setNoDelay()
        registration = try loop.register(socket.descriptor, interest) { events in self.handle(events) }
    }

    private func makeWaker(_ action: @escaping (Connection) -> Void) -> Waker {
        let waker = Waker(self, loop: loop, action: action)
        wakers.append(waker)
        return waker
    }

    private func handle(_ events: PollEvents) {
        if events.contains(.failed) { return clientLeft() }
        if upload != nil, events.contains(.readable), phase != .draining { receiveUpload() }
        switch phase {
        case .reading: receive()
        case .sending:
            if events.contains(.peerClosed), upload == nil { isHalfClosed = true }
            if events.contains(.writable) { return pump() }
            listen(for: .write)
        case .handling, .waiting, .warming:
            // With nothing to send there is no telling a client that closed from one that only finished speaking;
            // clients that do the latter are rare, and an origin's bytes for one that left are dear.
            if events.contains(.peerClosed), upload == nil { return clientLeft() }
            // The rest of what was sent waits in the kernel, whose buffer is the bound.
            listen(for: .peerClosed)
        case .draining: drain()
        case .closed: break
        }
    }

    /// Tells the loop what to report. Free when nothing changes.
    func listen(for phaseInterest: PollInterest) {
        self.phaseInterest = phaseInterest
        var wanted = phaseInterest
        if let upload {
            // The end of the client's bytes is found by reading them.
            wanted.remove(.peerClosed)
            if upload.isFull { wanted.remove(.read) } else { wanted.insert(.read) }
        }
        guard let registration, wanted != interest else { return }
        do throws(SystemError) {
            try loop.update(registration, wanted)
            interest = wanted
        } catch {
            // The kernel has no memory for the change: without it the connection would hang.
            clientLeft()
        }
    }

    /// Tells the loop what to report when only the body that is being received changed.
    func refreshInterest() {
        if phase != .closed { listen(for: phaseInterest) }
    }

    // MARK: Time

    /// Sets when the present phase ends by itself; nil for never.
    func setDeadline(_ delay: Nanoseconds?) {
        deadline = delay.map { loop.now + $0 } ?? MonotonicInstant(nanoseconds: .max)
    }

    func timedOut() {
        switch phase {
        case .reading where isHeadTimed: refuse(RequestRefusal(408, "the request did not come within the time for it"))
        case .reading, .draining: close()
        case .handling, .sending, .waiting, .warming: clientLeft()
        case .closed: break
        }
    }

    // MARK: Ends

    /// The client is gone, or as good as: whatever was under way ends now.
    func clientLeft() {
        guard phase != .closed else { return }
        finishExchange(.clientLeft)
        close()
    }

    /// Closes the connection; what was handed to the kernel is still delivered, unless the client sent what nobody read.
    func close() {
        guard phase != .closed else { return }
        phase = .closed
        if let registration { loop.deregister(registration) }
        registration = nil
        socket.close()
        input = []
        countInput()
        repeated = nil
        for waker in wakers { waker.detach() }
        wakers = []
        server.closed(self)
    }

    /// Says that nothing more comes, and drops what the client still sends until it closes:
    /// closing with unread bytes would reset the connection, and the client might lose the answer.
    func beginDraining() {
        phase = .draining
        input = []
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
