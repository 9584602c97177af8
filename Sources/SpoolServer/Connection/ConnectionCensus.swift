import SpoolSystem

/// The connections of a server by event loop and by client. Safe to use from any thread.
final class ConnectionCensus: Sendable {
    /// The entry of one connection.
    struct Ticket: Sendable {
        /// The position of the connection's loop.
        fileprivate(set) var loop: Int
        /// The name of the client, or nil where connections are not counted.
        let client: [UInt8]?
        /// Whether the other end is a proxy whose requests are counted for its clients.
        let isFront: Bool
        /// Whether the client has too many connections with this one.
        let isOneTooMany: Bool
    }

    private struct State {
        var loops: [Int]
        /// The number of connections of each client, by the client's name.
        var clients: [[UInt8]: Int] = [:]
        var count = 0

        /// Returns the number of the client's connections with the new one.
        mutating func add(_ client: [UInt8]) -> Int {
            clients[client, default: 0] += 1
            return clients[client, default: 0]
        }

        mutating func remove(_ client: [UInt8]) {
            guard let count = clients[client] else { return }
            clients[client] = count > 1 ? count - 1 : nil
        }
    }

    /// The number of loops, at least 1.
    let loopCount: Int
    private let state: Locked<State>
    private let connectionsPerClient: Int

    /// Creates a census for a number of loops.
    init(loops: Int, connectionsPerClient: Int) {
        loopCount = loops
        state = Locked(State(loops: Array(repeating: 0, count: loops)))
        self.connectionsPerClient = connectionsPerClient
    }

    /// The number of connections of all loops.
    var count: Int { state.withLock { $0.count } }

    /// Counts a new connection for the loop that has the fewest.
    func enter(client: [UInt8]?, isFront: Bool = false) -> Ticket {
        state.withLock { state in
            let loop = state.loops.indices.min { state.loops[$0] < state.loops[$1] } ?? 0
            state.loops[loop] += 1
            state.count += 1
            guard let client else { return Ticket(loop: loop, client: nil, isFront: isFront, isOneTooMany: false) }
            let isOneTooMany = state.add(client) > connectionsPerClient
            return Ticket(loop: loop, client: client, isFront: isFront, isOneTooMany: isOneTooMany)
        }
    }

    /// Counts a request that a proxy before the server passes on, as a connection of its client.
    ///
    /// - Returns: False, and counts nothing, when the client has too many already.
    func begin(client: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.clients[client, default: 0] < connectionsPerClient else { return false }
            _ = state.add(client)
            return true
        }
    }

    /// Counts such a request no more.
    func end(client: [UInt8]) { state.withLock { $0.remove(client) } }

    /// Counts a connection for another loop.
    func moved(_ ticket: Ticket, to loop: Int) -> Ticket {
        state.withLock { state in
            state.loops[ticket.loop] -= 1
            state.loops[loop] += 1
        }
        var ticket = ticket
        ticket.loop = loop
        return ticket
    }

    /// Counts a connection no more.
    func leave(_ ticket: Ticket) {
        state.withLock { state in
            state.loops[ticket.loop] -= 1
            state.count -= 1
            if let client = ticket.client { state.remove(client) }
        }
    }
}

/// The client for whom the present request of a proxy is counted.
struct CountedClient {
    /// The client's name, or nil while no request is counted.
    private(set) var name: [UInt8]?

    /// Counts a request for the client that a believed proxy names.
    ///
    /// - Returns: False when the client has too many.
    mutating func begin(_ forwarding: Forwarding?, in census: ConnectionCensus) -> Bool {
        guard let forwarding, forwarding.isBelieved else { return true }
        guard census.begin(client: forwarding.name) else { return false }
        name = forwarding.name
        return true
    }

    /// Ends the count.
    mutating func end(in census: ConnectionCensus) {
        if let name { census.end(client: name) }
        name = nil
    }
}
