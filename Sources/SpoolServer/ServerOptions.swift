package import SpoolCore
package import SpoolSystem

/// The limits and surroundings of an HTTP server.
package struct ServerOptions: Sendable {
    package var requestLimits = RequestLimits()
    /// Connections at once. At the limit the one that is idle for longest makes room; if none is idle, a newcomer is told 503.
    package var maximumConnections = 1024
    /// Connections at once of one client, as `clientName` tells clients apart; a further one is told 503. 128: what a browser and a few
    /// players open, and an eighth of the default limit.
    package var connectionsPerClient = 128
    /// Whose connection it is; nil for one that does not count, as those of this machine, where every program has the same address.
    package var clientName: @Sendable (SocketAddress) -> [UInt8]? = { $0.isLoopback ? nil : $0.networkBytes }
    /// At the limit of connections one whose client has taken nothing of its answer for so long makes room, when none is idle.
    /// A player that pauses comes back with a range.
    package var stallTimeout: Nanoseconds = .seconds(60)
    /// Connections beyond the limit that are told 503 at once; further ones are closed without a word.
    package var maximumRefusals = 64
    /// From the first byte of a request to the end of its head (and of a skipped body); then 408.
    package var headTimeout: Nanoseconds = .seconds(10)
    /// Without a byte of a body that a handler takes, while it has room for more; then the connection is closed.
    package var bodyTimeout: Nanoseconds = .seconds(30)
    /// Without a request; then the connection is closed.
    package var idleTimeout: Nanoseconds = .seconds(60)
    /// Without the client taking a byte of an answer. Players stop reading for minutes and go on.
    package var writeTimeout: Nanoseconds = .seconds(15 * 60)
    /// For the client to close after the server has said its last word.
    package var lingerTimeout: Nanoseconds = .seconds(2)
    /// How often the above are looked at; they are late by as much.
    package var sweepInterval: Nanoseconds = .seconds(1)
    /// Request bytes held for one connection; must hold the largest head.
    package var inputBytes = 64 * 1024
    /// Request bytes held for all connections together; beyond that a request that comes in pieces is told 503. 64 MiB: what as many
    /// connections as there are by default may hold.
    package var maximumHeldInputBytes = 64 << 20
    /// Body bytes asked from a source, and sent, before other connections have their turn; half as many where they come from memory. A socket
    /// of Linux takes 4 MiB at most (`tcp_wmem`), and what is done once in a turn runs in caches that the turn before has emptied.
    package var bytesPerTurn = Self.turnBytes
    package static let turnBytes = 2 * 1024 * 1024
    /// Pipelined requests answered before other connections have their turn.
    package var requestsPerTurn = 32
    /// Bytes of a refused request, or of one behind `Connection: close`, that are read and dropped so that the client sees the answer.
    package var lingerBytes = 1024 * 1024
    /// Called on the loop after each transfer call; tests look at the pattern, where stalls would come from.
    package var onTransfer: (@Sendable (TransferCall) -> Void)?

    /// The wall clock, for `Date`.
    package var wallNow: @Sendable () -> Timestamp
    /// How file pages that are not in memory are brought there; nil sends them as they are.
    package var coldReads: ColdReads?
    /// Called on the loop at the end of each response.
    package var onResponse: (@Sendable (AccessRecord) -> Void)?

    package init(wallNow: @escaping @Sendable () -> Timestamp) {
        self.wallNow = wallNow
    }
}

/// How a file range that is not in memory is read ahead, so that one cold file does not stall the other connections of the loop.
package struct ColdReads: Sendable {
    /// Where `readAhead` runs.
    package var lane: any Mailbox
    /// Whether sending the range would not wait for the disk. Called on the loop before each send.
    package var isResident: @Sendable (_ descriptor: Int32, _ offset: Int64, _ count: Int) -> Bool
    /// Brings the range into memory; blocks.
    package var readAhead: @Sendable (_ descriptor: Int32, _ offset: Int64, _ count: Int) -> Void
    /// Whether small pieces of files that are in memory are read and sent with the head; what is in memory the system says then.
    package var readsSmallFiles = true

    /// By the system's page cache unless told otherwise.
    package init(
        lane: any Mailbox,
        isResident: @escaping @Sendable (_ descriptor: Int32, _ offset: Int64, _ count: Int) -> Bool = {
            [regions = ResidentRegions()] in regions.isResident(descriptor: $0, offset: $1, count: $2)
        },
        readAhead: @escaping @Sendable (_ descriptor: Int32, _ offset: Int64, _ count: Int) -> Void = {
            SpoolSystem.readAhead(descriptor: $0, offset: $1, count: $2)
        }
    ) {
        self.lane = lane
        self.isResident = isResident
        self.readAhead = readAhead
    }
}

/// A call that moved bytes, or tried to.
package enum TransferCall: Hashable, Sendable {
    case receive(Transferred)
    /// `isContinued`: the bytes may wait for those of the next call.
    case send(asked: Int, isContinued: Bool, Transferred)
    case sendFile(asked: Int, Transferred)
}

/// One response, for a log.
package struct AccessRecord: Hashable, Sendable {
    package enum End: Hashable, Sendable {
        case complete
        /// The client left, or took nothing for too long.
        case clientLeft
        /// The body could not be completed, and why.
        case aborted(String)
        /// The server refused the request before a handler saw it, and why.
        case refused(String)
    }

    /// Empty when the request could not be read.
    package var method: String
    package var target: String
    /// Nil when the client left before there was an answer.
    package var status: Int?
    /// Body bytes handed to the system, framing not counted.
    package var bodyBytes: Int64
    /// From the end of the request head to the end of the answer.
    package var duration: Nanoseconds
    package var end: End
}
