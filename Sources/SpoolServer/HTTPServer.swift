package import SpoolCore
import SpoolLibc
package import SpoolSystem

/// An HTTP/1.1 server on one or several event loops (RFC 9112), with keep-alive, pipelining and a
/// bound on each resource.
///
/// Bodies of files go from the page cache to the socket by `sendfile`. A request that is answered
/// at once costs three system calls: receive, send and sendfile. Stop a listening server before you
/// release it.
///
/// The first loop accepts connections. Each of them runs on the loop that had the fewest, from its
/// beginning to its end. The limits on connections hold for all loops together.
///
///     let server = HTTPServer(loop: loop, options: options, handler: handler)
///     let addresses = try server.listen(host: "localhost", port: 8080)
package final class HTTPServer: @unchecked Sendable {
    // Safe to share: only the first loop touches mutable state. `listen` and `stop` post to it.
    /// The loop that accepts connections.
    let loop: EventLoop
    /// The limits and callbacks of the server.
    let options: ServerOptions
    /// The acceptors, with the addresses that they listen on.
    var listeners: [Listener] = []
    private(set) var isStopping = false
    private let parts: [ServerLoop]
    private let census: ConnectionCensus

    /// Creates a server that does not listen yet.
    package convenience init(loop: EventLoop, options: ServerOptions, handler: any Handler) {
        self.init(loop: loop, options: options, handler: handler, others: [])
    }

    /// Creates a server that does not listen yet, and runs on several loops.
    ///
    /// - Parameters:
    ///   - loop: The loop that accepts connections, and runs its share of them.
    ///   - handler: Answers the requests of that loop.
    ///   - others: The other loops with the handlers of their requests. They must run until the
    ///     server has stopped.
    package init(loop: EventLoop, options: ServerOptions, handler: any Handler, others: [(loop: EventLoop, handler: any Handler)]) {
        self.loop = loop
        self.options = options
        let census = ConnectionCensus(loops: 1 + others.count, connectionsPerClient: options.connectionsPerClient)
        self.census = census
        parts = ([(loop, handler)] + others).enumerated().map { index, part in
            ServerLoop(loop: part.loop, index: index, options: options, handler: part.handler, census: census)
        }
    }

    // MARK: Listening

    /// Listens on `host` (an address literal or `localhost`). Connections queue until the loop
    /// runs.
    ///
    /// May be called from any thread. For `localhost` the IPv4 address must be free. The IPv6
    /// address is left out when it cannot be bound (no IPv6, or another program has the port). For
    /// port 0 another port is tried while another program has it, at most `maxPortTries` times.
    ///
    /// - Returns: The bound addresses, with the port that the system chose for port 0.
    package func listen(host: String, port: UInt16) throws(SystemError) -> [SocketAddress] {
        let wanted = SocketAddress.resolve(host, port: port)
        guard let first = wanted.first else {
            throw SystemError(code: EINVAL, operation: "listen", subject: "\(host) (neither an address nor localhost)")
        }
        var tries = port == 0 && wanted.count > 1 ? Self.maxPortTries : 1
        while true {
            tries -= 1
            let socket = try Socket.listening(on: first)
            let bound = socket.localAddress ?? first
            guard var second = wanted.dropFirst().first else { return [listen(on: socket.release(), bound)] }
            second.port = bound.port
            do throws(SystemError) {
                let other = try Socket.listening(on: second)
                return [listen(on: socket.release(), bound), listen(on: other.release(), second)]
            } catch {
                // The next try closes this socket, and the system chooses another port.
                if error.meansAddressInUse, tries > 0 { continue }
                return [listen(on: socket.release(), bound)]
            }
        }
    }

    /// The most ports that are tried until both addresses of `localhost` have the same one.
    private static let maxPortTries = 16

    private func listen(on descriptor: Int32, _ bound: SocketAddress) -> SocketAddress {
        loop.post { self.accept(on: Socket(owning: descriptor), bound) }
        return bound
    }

    /// Listens on a socket that another process has opened, such as a service manager.
    ///
    /// May be called from any thread. The server closes the socket when it stops.
    package func listen(on descriptor: Int32, _ address: SocketAddress) -> [SocketAddress] {
        [listen(on: descriptor, address)]
    }

    /// Listens on a Unix socket, on which only the proxies of `ServerOptions.fronts` connect.
    ///
    /// May be called from any thread. The server closes the socket when it stops.
    package func listen(forFronts descriptor: Int32) {
        loop.post { self.accept(on: Socket(owning: descriptor), nil) }
    }

    func accepted(_ socket: consuming Socket, byUnixSocket: Bool) {
        // A peer that has left has no address. It counts as one of the network.
        let peer = socket.peerAddress
        let isFront = byUnixSocket ? options.fronts != nil : peer.map { options.fronts?.believes($0) == true } ?? false
        let ticket = census.enter(client: isFront ? nil : peer.map(options.clientName) ?? [], isFront: isFront)
        let part = parts[ticket.loop]
        let others = parts.count == 1 ? [] : parts.filter { $0 !== part }[...]
        if part.loop === loop { part.take(socket, ticket, orElse: others) } else { part.receive(socket, ticket, orElse: others) }
    }

    // MARK: Stopping

    /// Stops accepting, closes idle connections, and lets responses in progress finish for at most
    /// `grace` nanoseconds. Then calls `done` on the first loop.
    ///
    /// May be called from any thread and more than once. The shorter grace applies.
    package func stop(grace: Nanoseconds = 0, _ done: @escaping @Sendable () -> Void = {}) {
        loop.post { [self] in
            isStopping = true
            for listener in listeners { listener.acceptor.close() }
            listeners = []
            stop(parts[...], grace: grace, done)
        }
    }

    /// Stops the loops together. `done` follows the last of them.
    private func stop(_ parts: ArraySlice<ServerLoop>, grace: Nanoseconds, _ done: @escaping @Sendable () -> Void) {
        let left = Countdown(parts.count) { [loop] in
            if loop.isInLoop { done() } else { loop.post(done) }
        }
        for part in parts {
            part.loop.post { part.stop(grace: grace) { left.tick() } }
        }
    }

    // MARK: Counters

    /// The sums of the first loop since the start. On that loop only.
    package var counters: ServerCounters { parts[0].counters }

    /// Passes the sums of each loop since the start to `done`, on the first loop. May be called
    /// from any thread.
    package func countersByLoop(_ done: @escaping @Sendable ([ServerCounters]) -> Void) { count(of: parts[...], [], done) }

    private func count(
        of parts: ArraySlice<ServerLoop>, _ known: [ServerCounters], _ done: @escaping @Sendable ([ServerCounters]) -> Void
    ) {
        guard let part = parts.first else { return loop.post { done(known) } }
        part.loop.post { self.count(of: parts.dropFirst(), known + [part.counters], done) }
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
    /// The responses by status and time.
    package var responses: ResponseCounts
}
