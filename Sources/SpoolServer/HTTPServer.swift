package import SpoolCore
package import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// An HTTP/1.1 server on an event loop (RFC 9112): keep-alive, pipelining, bounded everything.
///
/// Bodies of files go from the page cache to the socket by `sendfile`. A request that is answered at once costs
/// three system calls: receive, send, sendfile. A listening server keeps itself alive until `stop`.
///
///     let server = HTTPServer(loop: loop, options: options, handler: handler)
///     let addresses = try server.listen(host: "localhost", port: 8080)
package final class HTTPServer: @unchecked Sendable {
    // Safe to share: all that changes is touched on the loop only; `listen` and `stop` post there.
    package let loop: EventLoop
    package let options: ServerOptions
    let handler: any Handler

    private var acceptors: [Acceptor] = []
    private var connections: [Connection] = []
    /// How many connections a client has, by its name.
    private var clients: [[UInt8]: Int] = [:]
    private var sweepTimer: LoopTimer?
    private(set) var isStopping = false
    private var onStopped: [() -> Void] = []

    /// Where connections receive; nothing stays in it.
    let scratch: UnsafeMutableRawBufferPointer
    /// Where a head and a small body are put together for one call.
    let gathering: UnsafeMutableRawBufferPointer
    /// The longest head that a body is put behind.
    private static let gatheredHeadBytes = 16 * 1024
    /// Where heads are written; nothing stays in it.
    var headBuffer = HeadBuffer()
    var writer = ResponseWriter()

    /// Bytes of requests that all connections hold.
    var heldInputBytes = 0
    var requestCount: Int64 = 0
    var refusalCount: Int64 = 0
    var sentBodyBytes: Int64 = 0
    private var acceptCount: Int64 = 0

    package init(loop: EventLoop, options: ServerOptions, handler: any Handler) {
        self.loop = loop
        self.options = options
        self.handler = handler
        scratch = .allocate(byteCount: options.inputBytes, alignment: 16)
        gathering = .allocate(byteCount: Self.gatheredHeadBytes + Connection.inlineBodyBytes, alignment: 16)
    }

    deinit {
        scratch.deallocate()
        gathering.deallocate()
    }

    // MARK: Listening

    /// Listens on `host` (an address literal or `localhost`) and answers the addresses, with the port that the system chose for port 0.
    ///
    /// From any thread; connections queue until the loop runs. For `localhost` the IPv4 address must be free; where the IPv6 one can't be had
    /// (no IPv6, or the port is another program's) it is left out.
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

    private func open(_ address: SocketAddress) throws(SystemError) -> SocketAddress {
        let socket = try Socket.listening(on: address)
        let bound = socket.localAddress ?? address
        let descriptor = socket.release()
        loop.post { self.accept(on: Socket(owning: descriptor)) }
        return bound
    }

    private func accept(on socket: consuming Socket) {
        guard !isStopping else { return }
        do throws(SystemError) {
            acceptors.append(try Acceptor(socket, loop: loop) { accepted in self.accepted(accepted) })
        } catch {
            preconditionFailure("a listening socket can't be polled: \(error)")
        }
    }

    /// Stops accepting, closes idle connections, and lets answers under way finish for at most `grace` nanoseconds; then calls `done` on the loop.
    ///
    /// From any thread; may be repeated, then the shorter grace wins.
    package func stop(grace: Nanoseconds = 0, _ done: @escaping @Sendable () -> Void = {}) {
        loop.post {
            self.isStopping = true
            self.onStopped.append(done)
            for acceptor in self.acceptors { acceptor.close() }
            self.acceptors = []
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

    private func accepted(_ socket: consuming Socket) {
        acceptCount += 1
        let client = socket.peerAddress.flatMap(options.clientName)
        let isOneTooMany = client.map { clients[$0, default: 0] >= options.connectionsPerClient } ?? false
        let isFull = connections.count >= options.maximumConnections && !makeRoom()
        guard connections.count < options.maximumConnections + options.maximumRefusals else { return }
        let connection = Connection(socket, client: client, server: self)
        do throws(SystemError) {
            try connection.open()
        } catch {
            // The kernel has no memory for another watch; the socket goes with the connection, and the client learns by that.
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

    /// Closes the connection that is idle for longest, else the one whose client has taken nothing for longest; false when there is none.
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

    /// One timer for all: a connection's deadline is a number that changes with every request, and costs nothing to change.
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

    /// Sums since the start. On the loop.
    package var counters: ServerCounters {
        loop.preconditionInLoop()
        return ServerCounters(
            openConnections: connections.count, idleConnections: connections.count(where: \.isIdle), acceptedConnections: acceptCount,
            requests: requestCount, refusals: refusalCount, sentBodyBytes: sentBodyBytes, heldInputBytes: heldInputBytes)
    }
}

/// What a server has done so far.
package struct ServerCounters: Hashable, Sendable {
    package var openConnections: Int
    package var idleConnections: Int
    package var acceptedConnections: Int64
    package var requests: Int64
    package var refusals: Int64
    /// Bytes of bodies that came from sources.
    package var sentBodyBytes: Int64
    /// Bytes of unfinished requests that are held now.
    package var heldInputBytes: Int
}
