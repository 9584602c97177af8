package import SpoolCore
import SpoolLibc
package import SpoolSystem

/// An HTTP/1.1 server on an event loop (RFC 9112), with keep-alive, pipelining and a bound on each
/// resource.
///
/// Bodies of files go from the page cache to the socket by `sendfile`. A request that is answered
/// at once costs three system calls: receive, send and sendfile. A listening server keeps itself
/// alive until `stop`.
///
///     let server = HTTPServer(loop: loop, options: options, handler: handler)
///     let addresses = try server.listen(host: "localhost", port: 8080)
package final class HTTPServer: @unchecked Sendable {
    // Safe to share: only the loop touches mutable state. `listen` and `stop` post to the loop.
    /// The loop on which the server and its connections run.
    package let loop: EventLoop
    /// The limits and callbacks of the server.
    package let options: ServerOptions
    let handler: any Handler

    /// The acceptors, with the addresses that they listen on.
    var listeners: [Listener] = []
    private var connections: [Connection] = []
    /// The number of connections of each client, by the client's name.
    private var clients: [[UInt8]: Int] = [:]
    private var sweepTimer: LoopTimer?
    private(set) var isStopping = false
    private var onStopped: [() -> Void] = []

    /// The buffer into which all connections receive. No bytes stay in it between calls.
    let scratch: UnsafeMutableRawBufferPointer
    /// The buffer that joins a head and a small body for one call.
    let gathering: UnsafeMutableRawBufferPointer
    /// The longest head, in bytes, that is joined with a body.
    private static let gatheredHeadBytes = 16 * 1024
    /// The buffer into which heads are written. No bytes stay in it between calls.
    var headBuffer = HeadBuffer()
    var writer = ResponseWriter()

    /// The number of request bytes that all connections hold.
    var heldInputBytes = 0
    var requestCount: Int64 = 0
    var refusalCount: Int64 = 0
    var sentBodyBytes: Int64 = 0
    private var acceptCount: Int64 = 0

    /// Creates a server that does not listen yet.
    package init(loop: EventLoop, options: ServerOptions, handler: any Handler) {
        self.loop = loop
        self.options = options
        self.handler = handler
        scratch = .allocate(byteCount: options.inputBytes, alignment: 16)
        gathering = .allocate(byteCount: Self.gatheredHeadBytes + ResponseStart.inlineBodyBytes, alignment: 16)
    }

    deinit {
        scratch.deallocate()
        gathering.deallocate()
    }

    // MARK: Listening

    /// Listens on `host` (an address literal or `localhost`). Connections queue until the loop
    /// runs.
    ///
    /// May be called from any thread. For `localhost` the IPv4 address must be free. The IPv6
    /// address is left out when it cannot be bound (no IPv6, or another program has the port).
    ///
    /// - Returns: The bound addresses, with the port that the system chose for port 0.
    package func listen(host: String, port: UInt16) throws(SystemError) -> [SocketAddress] {
        let wanted = SocketAddress.resolve(host, port: port)
        guard let first = wanted.first else {
            throw SystemError(code: EINVAL, operation: "listen", subject: "\(host) (neither an address nor localhost)")
        }
        var bound = [try open(first)]
        for address in wanted.dropFirst() {
            var address = address
            address.port = bound[0].port
            do throws(SystemError) { bound.append(try open(address)) } catch { continue }
        }
        return bound
    }

    /// Listens on a socket that another process has opened, such as a service manager.
    ///
    /// May be called from any thread. The server closes the socket when it stops.
    package func listen(on descriptor: Int32, _ address: SocketAddress) -> [SocketAddress] {
        loop.post { self.accept(on: Socket(owning: descriptor), address) }
        return [address]
    }

    private func open(_ address: SocketAddress) throws(SystemError) -> SocketAddress {
        let socket = try Socket.listening(on: address)
        let bound = socket.localAddress ?? address
        let descriptor = socket.release()
        loop.post { self.accept(on: Socket(owning: descriptor), bound) }
        return bound
    }

    /// Stops accepting, closes idle connections, and lets responses in progress finish for at most
    /// `grace` nanoseconds. Then calls `done` on the loop.
    ///
    /// May be called from any thread and more than once. The shorter grace applies.
    package func stop(grace: Nanoseconds = 0, _ done: @escaping @Sendable () -> Void = {}) {
        loop.post {
            self.isStopping = true
            self.onStopped.append(done)
            for listener in self.listeners { listener.acceptor.close() }
            self.listeners = []
            for connection in self.connections where grace <= 0 || connection.isIdle { connection.clientLeft() }
            if self.connections.isEmpty { return self.finishStop() }
            self.loop.after(grace) {
                for connection in self.connections { connection.clientLeft() }
            }
        }
    }

    private func finishStop() {
        let waiting = onStopped
        onStopped = []
        for done in waiting { done() }
    }

    // MARK: Connections

    func accepted(_ socket: consuming Socket) {
        acceptCount += 1
        let client = socket.peerAddress.flatMap(options.clientName)
        let isOneTooMany = client.map { clients[$0, default: 0] >= options.connectionsPerClient } == true
        let isFull = connections.count >= options.maximumConnections && !makeRoom()
        guard connections.count < options.maximumConnections + options.maximumRefusals else { return }
        let connection = Connection(socket, client: client, server: self)
        do throws(SystemError) {
            try connection.open()
        } catch {
            // The kernel has no memory for another registration. Releasing the connection closes
            // the socket, and the client notices.
            return
        }
        connection.position = connections.count
        connections.append(connection)
        if sweepTimer == nil { scheduleSweep() }
        if let client { clients[client, default: 0] += 1 }
        if isOneTooMany {
            connection.refuse(RequestRefusal(503, "this client has \(options.connectionsPerClient) connections; close one of them"))
        } else if isFull {
            connection.refuse(RequestRefusal(503, "there are \(options.maximumConnections) connections; try again in a moment"))
        }
    }

    /// Closes the connection that is idle for longest, else the one whose client has taken no bytes
    /// for longest.
    ///
    /// - Returns: False when no connection could be closed.
    private func makeRoom() -> Bool {
        if let idle = connections.filter(\.isIdle).min(by: { $0.deadline < $1.deadline }) {
            idle.close()
            return true
        }
        let limit = loop.now + (options.writeTimeout - options.stallTimeout)
        let stalled = connections.filter { $0.phase == .sending && $0.deadline <= limit }.min { $0.deadline < $1.deadline }
        stalled?.clientLeft()
        return stalled != nil
    }

    func closed(_ connection: Connection) {
        let position = connection.position
        guard position < connections.count, connections[position] === connection else { return }
        connections.swapAt(position, connections.count - 1)
        connections[position].position = position
        connections.removeLast()
        if let client = connection.client, let count = clients[client] { clients[client] = count > 1 ? count - 1 : nil }
        if connections.isEmpty, isStopping { finishStop() }
    }

    // MARK: Time

    /// Schedules one timer for all connections. A connection's deadline is a number that changes
    /// with every request and costs nothing to change.
    private func scheduleSweep() {
        sweepTimer = loop.after(options.sweepInterval) { [weak self] in
            guard let self else { return }
            self.sweepTimer = nil
            self.sweep()
            if !self.connections.isEmpty { self.scheduleSweep() }
        }
    }

    private func sweep() {
        let now = loop.now
        for connection in connections.filter({ $0.deadline <= now }) { connection.timedOut() }
    }

    // MARK: Counters

    /// The sums since the start. On the loop only.
    package var counters: ServerCounters {
        loop.preconditionInLoop()
        return ServerCounters(
            openConnections: connections.count, idleConnections: connections.count(where: \.isIdle), acceptedConnections: acceptCount,
            requests: requestCount, refusals: refusalCount, sentBodyBytes: sentBodyBytes, heldInputBytes: heldInputBytes)
    }
}

/// The counters of a server since its start.
package struct ServerCounters: Hashable, Sendable {
    /// The connections that are open now.
    package var openConnections: Int
    /// The open connections without a request in progress.
    package var idleConnections: Int
    /// The connections that were accepted.
    package var acceptedConnections: Int64
    /// The requests that a handler or a range responder answered.
    package var requests: Int64
    /// The requests that the server refused by itself.
    package var refusals: Int64
    /// The body bytes of sources that were sent.
    package var sentBodyBytes: Int64
    /// The bytes of incomplete requests that are held now.
    package var heldInputBytes: Int
}
