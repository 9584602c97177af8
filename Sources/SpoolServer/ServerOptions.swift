package import SpoolCore
package import SpoolSystem

/// The limits and callbacks of an HTTP server.
package struct ServerOptions: Sendable {
    /// The limits on each request.
    package var requestLimits = RequestLimits()
    /// The largest number of connections. At the limit, the connection that is idle for longest
    /// makes room. If none is idle or stalled, a new one gets 503.
    package var maximumConnections = 1024
    /// The largest number of connections of one client, as `clientName` identifies clients. A
    /// further one gets 503. 128 is enough for a browser and a few players, and an eighth of the
    /// default limit.
    package var connectionsPerClient = 128
    /// Returns the client's name, or nil for a client that is not counted. By default, clients on
    /// this machine are not, because all its programs share one address.
    package var clientName: @Sendable (SocketAddress) -> [UInt8]? = { $0.isLoopback ? nil : $0.networkBytes }
    /// The proxies through which clients come, or nil when clients connect themselves. A connection
    /// of such a proxy is not counted. Its requests in progress are, for the client that it names.
    package var fronts: FrontProxies?
    /// The time without progress after which a stalled client makes room, at the limit of
    /// connections, when no connection is idle. A paused player that is cut comes back with a range
    /// request.
    package var stallTimeout: Nanoseconds = .seconds(60)
    /// The number of connections beyond the limit that get 503. Further ones are closed without a
    /// response.
    package var maximumRefusals = 64
    /// The longest time from the first byte of a request to the end of its head (and of a skipped
    /// body). Then the client gets 408.
    package var headTimeout: Nanoseconds = .seconds(10)
    /// The longest time without a byte of a body while its handler has room for more. Then the
    /// connection is closed.
    package var bodyTimeout: Nanoseconds = .seconds(30)
    /// The longest time without a request. Then the connection is closed.
    package var idleTimeout: Nanoseconds = .seconds(60)
    /// The longest time without the client taking a byte of a response. Players stop reading for
    /// minutes and go on.
    package var writeTimeout: Nanoseconds = .seconds(15 * 60)
    /// The time that the client has to close after the server has shut down sending.
    package var lingerTimeout: Nanoseconds = .seconds(2)
    /// The interval at which the server checks the timeouts above. They fire late by up to this
    /// interval.
    package var sweepInterval: Nanoseconds = .seconds(1)
    /// The request bytes held for one connection. Must be enough for the largest head.
    package var inputBytes = 128 * 1024
    /// The request bytes held for all connections together. Beyond it, a request that arrives in
    /// pieces gets 503. 64 MiB is half of what the default number of connections can hold.
    package var maximumHeldInputBytes = 64 << 20
    /// The body bytes sent before other connections get their turn, and half as many from memory. A
    /// socket of Linux takes 4 MiB at most (`tcp_wmem`). The fixed work of a turn runs with cold
    /// processor caches, because the turn before has displaced its data.
    package var bytesPerTurn = Self.turnBytes
    /// The default of `bytesPerTurn`: 2 MiB.
    package static let turnBytes = 2 * 1024 * 1024
    /// The bytes that the system may take for a client and not send, in a response whose bytes are
    /// just arriving from an origin. Without the bound the system takes megabytes, and the origin
    /// would be asked for more on behalf of a client that reads slowly or has left.
    package var unsentBytes: Int32 = 256 * 1024
    /// The pipelined requests answered before other connections get their turn.
    package var requestsPerTurn = 32
    /// The bytes of a refused request, or of one behind `Connection: close`, that are read and
    /// dropped so that the client receives the response.
    package var lingerBytes = 1024 * 1024
    /// Called on a loop after each transfer call. Tests use it to check the pattern of calls,
    /// which would show stalls.
    package var onTransfer: (@Sendable (TransferCall) -> Void)?

    /// The wall clock, for `Date`.
    package var wallNow: @Sendable () -> Timestamp
    /// How file pages that are not in memory are read ahead, or nil to send them without a
    /// read-ahead.
    package var coldReads: ColdReads?
    /// Called on the connection's loop at the end of each response.
    package var onResponse: (@Sendable (AccessRecord) -> Void)?

    /// Creates the default options with a wall clock.
    package init(wallNow: @escaping @Sendable () -> Timestamp) {
        self.wallNow = wallNow
    }
}

/// Reads ahead file ranges that are not in memory, so that one cold file does not stall the other
/// connections of the loop.
package struct ColdReads: Sendable {
    /// The mailbox on which `readAhead` runs.
    package var lane: any Mailbox
    /// Whether the range can be sent without waiting for the disk. Called on the loop before each
    /// send. Nil for the system's page cache.
    package var isResident: (@Sendable (_ descriptor: Int32, _ offset: Int64, _ count: Int) -> Bool)?
    /// Brings the range into memory. Blocks.
    package var readAhead: @Sendable (_ descriptor: Int32, _ offset: Int64, _ count: Int) -> Void
    /// Whether small pieces of files that are in memory are read and sent with the head. The system
    /// call itself then tests residency.
    package var readsSmallFiles = true

    /// Creates read-aheads on `lane`. By default they use the system's page cache.
    package init(
        lane: any Mailbox,
        isResident: (@Sendable (_ descriptor: Int32, _ offset: Int64, _ count: Int) -> Bool)? = nil,
        readAhead: @escaping @Sendable (_ descriptor: Int32, _ offset: Int64, _ count: Int) -> Void = {
            SpoolSystem.readAhead(descriptor: $0, offset: $1, count: $2)
        }
    ) {
        self.lane = lane
        self.isResident = isResident
        self.readAhead = readAhead
    }
}

/// A call that transferred bytes, or attempted to.
package enum TransferCall: Hashable, Sendable {
    /// A receive call.
    case receive(Transferred)
    /// A send call. With `isContinued`, the bytes may wait for those of the next call.
    case send(asked: Int, isContinued: Bool, Transferred)
    /// A `sendfile` call.
    case sendFile(asked: Int, Transferred)
}

/// One response, for an access log.
package struct AccessRecord: Hashable, Sendable {
    /// How a response ended.
    package enum End: Hashable, Sendable {
        /// The whole response was sent.
        case complete
        /// The client left, or took no bytes for too long.
        case clientLeft
        /// The body could not be completed. Contains the reason.
        case aborted(String)
        /// The server refused the request before a handler saw it. Contains the reason.
        case refused(String)
    }

    /// The client's address, or nil when it is not known.
    package var client: SocketAddress?
    /// The method. Empty when the request could not be read.
    package var method: String
    /// The target of the request.
    package var target: String
    /// The status, or nil when the client left before a response.
    package var status: Int?
    /// The body bytes passed to the system, without framing.
    package var bodyBytes: Int64
    /// The time from the end of the request head to the end of the response.
    package var duration: Nanoseconds
    /// How the response ended.
    package var end: End
    /// `Content-Range` of the response, or nil.
    package var range: String?
    /// The client's program, or nil.
    package var userAgent: String?
    /// `Cache-Status` of the response, or nil.
    package var cacheStatus: String?
}
