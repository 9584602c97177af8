import SpoolCore
import SpoolSystem

/// The state of the response that a connection is sending.
struct SendingState {
    /// The request that is answered.
    enum Request {
        case none
        /// A request that a handler answers.
        case exchange(Exchange)
        /// A request that matches an earlier one, so that no handler gets it.
        case repeated(RepeatedRequest)
        /// A request that the server refuses, so that no handler gets it.
        case refused(RequestRefusal)
    }

    var request = Request.none
    var framing = BodyFraming.none
    /// Framing and small bodies: the bytes to send before the source is asked.
    var output: [UInt8] = []
    var outputSent = 0
    /// The rest of a large body in memory, which follows the output.
    var bytes: ArraySlice<UInt8> = []
    /// The source of the body, or nil when there is none, or no longer.
    var source: (any BodySource)?
    /// The range that a lane is bringing into memory.
    var warming: FileChunk?
    /// A serial number for the read-aheads of a connection, which separates a late one from the
    /// present one.
    var warmingSerial = 0

    /// When the request's head was complete, if an access log needs it.
    var began: MonotonicInstant?
    var status: Int?
    /// `Cache-Status` of the response (RFC 9211) and its `Content-Range`, if an access log needs
    /// them.
    var cacheStatus: String?, range: String?
    var keepAlive = false
    /// Whether the socket takes at most `ServerOptions.unsentBytes` that it has not sent.
    var isUnsentLimited = false
    /// The body bytes of the source that were sent, or the size of the body in `output`.
    var bodyBytes: Int64 = 0
    /// The size of the present turn: the bytes sent, with those from memory counted twice.
    var turnBytes: Int64 = 0
    /// Whether the body is in `output`, behind the head.
    var isOutputBody = false
    var drainedBytes = 0

    /// The cost of a byte of memory in a turn, where a byte of a file costs 1. Memory is copied,
    /// and often decrypted before.
    static var memoryCost: Int { 2 }
    /// The number of bytes to read from the disk before any of them is sent.
    static var warmedBytes: Int { 1024 * 1024 }

    /// A range of an open file.
    struct FileChunk {
        var descriptor: Int32
        var offset: Int64
        var count: Int
        var keepAlive: AnyObject

        /// The smallest page size of the supported systems, in bytes.
        static var pageBytes: Int { 4096 }

        /// The number of pages that the range touches.
        var pages: Int {
            let last = offset + Int64(count) - 1
            return Int(last / Int64(Self.pageBytes) - offset / Int64(Self.pageBytes)) + 1
        }

        /// Returns the first bytes of the range, at most `limit`.
        func prefix(_ limit: Int) -> FileChunk {
            FileChunk(descriptor: descriptor, offset: offset, count: min(count, limit), keepAlive: keepAlive)
        }
    }

    /// Bounds what the socket takes ahead of the client, because the bytes of the source are just
    /// arriving: the source fetches as far ahead of the socket as of a client.
    mutating func limitUnsent(of socket: borrowing Socket, to bytes: Int32) {
        guard !isUnsentLimited else { return }
        isUnsentLimited = true
        socket.limitUnsent(to: bytes)
    }

    /// Begins a response whose head was written. Its source, if any, is asked after the head.
    mutating func begin(_ response: Response, _ framing: ResponseFraming) {
        status = response.status
        keepAlive = framing.keepAlive
        self.framing = BodyFraming(framing.length)
    }

    /// Keeps the fields of the head that an access log has.
    mutating func keepFields(of head: borrowing HeadBuffer) {
        cacheStatus = head.value(of: .cacheStatus)
        range = head.value(of: .contentRange)
    }

    /// Notes that the whole body is in `output`.
    mutating func beginOutputBody(of count: Int) {
        framing = .none
        bodyBytes = Int64(count)
        isOutputBody = true
    }

    /// Replaces the output after all of it was sent.
    mutating func setOutput(_ bytes: [UInt8]) {
        output = bytes
        outputSent = 0
    }
}

// MARK: - Progress

extension SendingState {
    var isOutputSent: Bool { outputSent == output.count }

    /// Whether all promised bytes are sent, so that the turn does not have to end before the
    /// response does.
    var isComplete: Bool { isOutputSent && framing.isSent }

    /// Counts body bytes that were sent.
    mutating func sent(_ count: Int) {
        bodyBytes += Int64(count)
        framing.sent(count)
    }
}

// MARK: - The request

extension SendingState {
    var isAnswering: Bool {
        if case .none = request { false } else { true }
    }

    var exchange: Exchange? {
        if case .exchange(let exchange) = request { exchange } else { nil }
    }

    /// The group in which the response is counted.
    var route: ResponseCounts.Route { exchange?.route ?? .media }

    var refusal: RequestRefusal? {
        if case .refused(let refusal) = request { refusal } else { nil }
    }

    private var head: RequestHead? {
        switch request {
        case .exchange(let exchange): exchange.request
        case .repeated(let repeated): repeated.head
        case .none, .refused: nil
        }
    }

    /// The properties of the request that determine the form of its response. A refusal without a
    /// request uses those of a plain GET, and closes the connection.
    var asked: (method: String, version: HTTPVersion, keepAlive: Bool) {
        switch request {
        case .exchange(let exchange): (exchange.request.method, exchange.request.version, exchange.request.keepAlive)
        case .repeated(let repeated): (repeated.head.method, repeated.head.version, repeated.head.keepAlive)
        case .none, .refused: ("GET", .http11, false)
        }
    }

    /// The body bytes that were sent.
    private var sentBodyBytes: Int64 {
        isOutputBody ? max(0, bodyBytes - Int64(output.count - outputSent)) : bodyBytes
    }

    /// Returns the line of the access log about this response to the other end of the connection.
    func accessRecord(_ end: AccessRecord.End, from peer: SocketAddress?, now: () -> MonotonicInstant) -> AccessRecord {
        let head = head
        let forwarding = head?.forwarding.flatMap { $0.isBelieved ? $0 : nil }
        return AccessRecord(
            client: forwarding.map(\.client) ?? peer, method: head?.method ?? "", target: head?.target ?? "", status: status,
            bodyBytes: sentBodyBytes, duration: began.map { now() - $0 } ?? 0, end: end, range: range,
            userAgent: head?.fields[.userAgent], cacheStatus: cacheStatus)
    }
}
