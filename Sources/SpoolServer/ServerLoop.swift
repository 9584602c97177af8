import SpoolCore
import SpoolSystem

/// The part of a server that runs on one event loop: its connections, and the buffers that they
/// share. Used on that loop only.
final class ServerLoop: @unchecked Sendable {
    // Safe to share: only the loop touches mutable state. Other threads post to the loop.
    /// The loop on which the connections run.
    let loop: EventLoop
    /// The position of the loop among those of the server.
    let index: Int
    /// The limits and callbacks of the server.
    let options: ServerOptions
    let handler: any Handler
    /// The connections of all loops, by client.
    let census: ConnectionCensus
    private var connections: [Connection] = []
    private var sweepTimer: LoopTimer?
    private(set) var isStopping = false
    private var onStopped: [() -> Void] = []

    /// The buffer into which all connections receive. No bytes stay in it between calls.
    let scratch: UnsafeMutableRawBufferPointer
    /// The buffer that joins a head and the beginning of a body for one call. The head ends, and
    /// the body begins, at `gatheredHeadBytes`: the kernel copies a page of a file fastest to an
    /// aligned place.
    let gathering: UnsafeMutableRawBufferPointer
    /// The longest head, in bytes, that is joined with a body.
    static let gatheredHeadBytes = 16 * 1024
    /// The most bytes of a body that are joined with a head.
    static let gatheredBodyBytes = 32 * 1024
    /// The buffer into which heads are written. No bytes stay in it between calls.
    var headBuffer = HeadBuffer()
    var writer = ResponseWriter()
    /// The file regions that are in memory, where the options have no test of their own.
    private let regions = ResidentRegions()

    /// The number of request bytes that the connections of this loop hold.
    var heldInputBytes = 0
    /// The loop's part of the request bytes that all connections may hold.
    let maximumHeldInputBytes: Int
    var requestCount: Int64 = 0
    var refusalCount: Int64 = 0
    var responses = ResponseCounts()
    var sentBodyBytes: Int64 = 0
    private var acceptCount: Int64 = 0

    init(loop: EventLoop, index: Int, options: ServerOptions, handler: any Handler, census: ConnectionCensus) {
        self.loop = loop
        self.index = index
        self.options = options
        self.handler = handler
        self.census = census
        maximumHeldInputBytes = options.maximumHeldInputBytes / census.loopCount
        scratch = .allocate(byteCount: options.inputBytes, alignment: 4096)
        gathering = .allocate(byteCount: Self.gatheredHeadBytes + Self.gatheredBodyBytes, alignment: 4096)
    }

    /// The bytes behind a request in progress that always have room: a few pipelined requests.
    private static let pipelinedBytes = 8 << 10

    /// Whether a connection may hold `count` bytes behind a request in progress.
    func mayHold(_ count: Int) -> Bool { heldInputBytes <= maximumHeldInputBytes || count <= Self.pipelinedBytes }

    deinit {
        scratch.deallocate()
        gathering.deallocate()
    }

    // MARK: Connections

    /// Takes a new connection, which the census has counted for this loop.
    ///
    /// - Parameter others: The loops to try when the server is full, and no connection of this loop
    ///   can make room.
    func take(_ socket: consuming Socket, _ ticket: ConnectionCensus.Ticket, orElse others: ArraySlice<ServerLoop>) {
        guard !isStopping else { return census.leave(ticket) }
        let isFull = census.count > options.maximumConnections && !makeRoom()
        if isFull, let next = others.first {
            return next.receive(socket, census.moved(ticket, to: next.index), orElse: others.dropFirst())
        }
        acceptCount += 1
        guard census.count <= options.maximumConnections + options.maximumRefusals else { return census.leave(ticket) }
        let connection = Connection(socket, ticket: ticket, server: self)
        do throws(SystemError) {
            try connection.open()
        } catch {
            // The kernel lacks memory for another registration. Releasing the connection closes the
            // socket, and the client notices.
            return census.leave(ticket)
        }
        connection.position = connections.count
        connections.append(connection)
        if sweepTimer == nil { scheduleSweep() }
        if ticket.isOneTooMany {
            connection.refuse(RequestRefusal(503, "this client has \(options.connectionsPerClient) connections; close one of them"))
        } else if isFull {
            connection.refuse(RequestRefusal(503, "there are \(options.maximumConnections) connections; try again in a moment"))
        }
    }

    /// Takes a connection from another loop.
    func receive(_ socket: consuming Socket, _ ticket: ConnectionCensus.Ticket, orElse others: ArraySlice<ServerLoop>) {
        let descriptor = socket.release()
        loop.post { self.take(Socket(owning: descriptor), ticket, orElse: others) }
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
        census.leave(connection.ticket)
        if connections.isEmpty, isStopping { finishStop() }
    }

    /// Closes idle connections, and lets responses in progress finish for at most `grace`
    /// nanoseconds. Then calls `done`.
    func stop(grace: Nanoseconds, _ done: @escaping () -> Void) {
        isStopping = true
        onStopped.append(done)
        for connection in connections where grace <= 0 || connection.isIdle { connection.clientLeft() }
        if connections.isEmpty { return finishStop() }
        loop.after(grace) {
            for connection in self.connections { connection.clientLeft() }
        }
    }

    private func finishStop() {
        let waiting = onStopped
        onStopped = []
        for done in waiting { done() }
    }

    // MARK: Files

    /// The most bytes of an interim response.
    private static let maxInterimBytes = 8192

    /// Writes the head of an interim response into `headBuffer`.
    ///
    /// - Returns: The number of bytes, or nil for hints that are left out: they are optional, and a
    ///   field is invalid or the head is too long.
    func writeInterim(_ status: Int, _ fields: HTTPFields) -> Int? {
        headBuffer.removeAll()
        do throws(FieldLines.InvalidField) {
            try writer.writeInterim(status: status, fields: fields, into: &headBuffer)
        } catch {
            return nil
        }
        return headBuffer.count <= Self.maxInterimBytes ? headBuffer.count : nil
    }

    /// Whether a range of a file can be sent without waiting for the disk.
    func isResident(_ descriptor: Int32, _ offset: Int64, _ count: Int) -> Bool {
        guard let cold = options.coldReads else { return true }
        return cold.isResident.map { $0(descriptor, offset, count) }
            ?? regions.isResident(descriptor: descriptor, offset: offset, count: count)
    }

    // MARK: Time

    /// Schedules one timer for all connections. A connection's deadline is a number that changes
    /// with every request and is free to change.
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

    /// Counts a response whose head is in `headBuffer`, and keeps what an access log needs of it.
    func began(_ status: Int, _ sending: inout SendingState) {
        responses.began(status, sending.route, after: sending.began.map { loop.now - $0 } ?? 0)
        if options.onResponse != nil { sending.keepFields(of: headBuffer) }
    }

    /// Counts the end of a response. A copy of its state would cost a twentieth of a hit.
    ///
    /// - Returns: The record for the access log, or nil without one.
    func ended(_ sending: inout SendingState, _ end: AccessRecord.End, from peer: @autoclosure () -> SocketAddress?) -> AccessRecord? {
        responses.ended(sending.status, sending.route, end)
        return options.onResponse == nil ? nil : sending.accessRecord(end, from: peer(), now: loop.readClock)
    }

    /// The sums since the start.
    var counters: ServerCounters {
        loop.preconditionInLoop()
        return ServerCounters(
            openConnections: connections.count, idleConnections: connections.count(where: \.isIdle), acceptedConnections: acceptCount,
            requests: requestCount, refusals: refusalCount, sentBodyBytes: sentBodyBytes, heldInputBytes: heldInputBytes,
            responses: responses)
    }
}
