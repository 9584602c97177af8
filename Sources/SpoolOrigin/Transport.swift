public import SpoolCore

/// The way to talk to origins: it sends requests and passes on each response as it arrives.
///
/// A transport follows no redirect, decodes no content coding of media, keeps no cookie, and
/// verifies TLS.
/// It retries nothing except a request on a pooled connection that was dead before the first
/// response byte.
///
/// An app may bring its own (`Configuration.network.transport`); the cache follows redirects and
/// retries around it. Every implementation of this package passes `TransportContract` of
/// `SpoolTesting`, and so should yours.
public protocol Transport: AnyObject, Sendable {
    /// The most bytes that the first requests of a reader should ask for, because a paused transfer
    /// goes on buffering. A reader that goes on asks for as many bytes as it took in a row, at most
    /// 32 MiB; a transfer that is paused for long may end with `.truncated` before them. Nil if a
    /// pause really stops the origin.
    var windowBytes: Int64? { get }

    /// The bytes that origins sent in transfers that are over, as far as they arrived: bodies, and
    /// what a cancelled transfer left in the buffers of the system. Heads and TLS may be counted
    /// too. Nil if the transport does not count them.
    var receivedBytes: Int64? { get }

    /// Starts a request.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - receiver: Called on the thread of the transport, never from inside this method, and
    ///     never again after `finished(_:)`.
    /// - Returns: The handle that resumes or cancels the transfer.
    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer

    /// Ends every transfer with `.cancelled`, and releases threads and connections.
    func close()
}

extension Transport {
    /// Nil.
    public var receivedBytes: Int64? { nil }
}

/// One request to an origin, a GET by default.
public struct OriginRequest: Hashable, Sendable {
    /// An absolute `http` or `https` URI, with its percent-encoding unchanged.
    ///
    /// A transport refuses a request whose URL is anything else.
    public var url: String {
        get { address.text }
        set { address = Address(newValue) }
    }
    /// The parsed URL, or nil if the text is no absolute `http` or `https` URL.
    package var location: MediaURL? {
        if case .url(let url) = address { url } else { nil }
    }
    /// Whether the request is for this URL.
    package func names(_ url: MediaURL) -> Bool {
        if case .url(let own) = address { own == url } else { false }
    }
    private var address: Address
    /// The fields of the request. The transport adds `Host`, `Accept-Encoding: identity` and
    /// `User-Agent` where they are missing.
    public var fields: HTTPFields
    /// The networks that the request may use.
    public var access: NetworkAccess
    /// The method, `GET` by default. A request that is neither GET nor HEAD gets a connection of
    /// its own. If a kept connection turned out to be dead, it would be unknown whether the origin
    /// ran the request.
    public var method = "GET"
    /// The body, pulled as the origin takes it, or nil for none.
    public var body: RequestBody?
    /// Whether the layer around a transport follows redirects. If false, a redirect is the answer.
    public var followsRedirects = true
    /// Whether the origin may hold the answer back until its content exists, as a live stream does.
    package var isHeldBack = false
    /// Whether the transport removes the content coding of the body. Only requests for manifests
    /// set it, because a coded manifest can't be rewritten. Media are never decoded.
    package var decodesContent = false
    /// The range that the client of the HTTP door asked for, or nil where a request has no client.
    package var clientRange: ClientRange?
    /// The number of requests that this one and its repetitions may be, or nil for no bound.
    package var budget: RequestBudget?
    /// Whether the request ends before the client's range does, and another one follows.
    package var isWindow = false
    /// The urgency of the readers when the request begins. `URLSession` orders the requests of one
    /// connection by it. On Linux, less urgent requests have small receive windows beside a player.
    package var priority = ReadPriority.playing
    /// Whether the user information of the URL answers a Digest challenge (RFC 7616). Only libcurl
    /// does that.
    package var answersDigest = false
    /// The credentials that sign the request, or nil for a request without a signature. Only libcurl
    /// signs.
    package var signature: RequestSignature?
    /// The bounds on the origins and networks that the request may reach. Every bound holds.
    package var reach: [OriginReach] = []
    /// The most bytes that its transfer offers after `stop`.
    package static let arrivedBytesLimit: Int64 = 4 << 20
    /// The most time to connect, or nil for that of the transport.
    package var connectTimeout: Nanoseconds?
    /// The most time from the request to the first byte of the answer, or nil for that of the
    /// transport.
    package var headTimeout: Nanoseconds?
    /// The time after which an answer without head is late, or nil if it never is.
    package var lateAfter: Nanoseconds?

    /// Creates a GET without a body.
    public init(url: String, fields: HTTPFields, access: NetworkAccess = NetworkAccess()) {
        address = Address(url)
        self.fields = fields
        self.access = access
    }

    /// Creates a GET without a body for a parsed URL.
    package init(to url: MediaURL, fields: HTTPFields, access: NetworkAccess = NetworkAccess()) {
        address = .url(url)
        self.fields = fields
        self.access = access
    }

    /// Sends the request to another URL.
    package mutating func setLocation(_ url: MediaURL) { address = .url(url) }

    private enum Address: Hashable, Sendable {
        case url(MediaURL)
        /// A text that is no absolute `http` or `https` URL.
        case unreadable(String)

        init(_ text: String) {
            do { self = .url(try MediaURL(text)) } catch { self = .unreadable(text) }
        }

        var text: String {
            switch self {
            case .url(let url): url.text
            case .unreadable(let text): text
            }
        }
    }
}

/// A transfer that a transport has started.
public protocol Transfer: AnyObject, Sendable {
    /// Offers the body again after the receiver returned `.pause`. Callable from any thread;
    /// idempotent.
    func resume()
    /// Takes the present urgency of the readers. Callable from any thread. A transport that makes no
    /// difference ignores it, which is the default.
    func setPriority(_ priority: ReadPriority)
    /// Ends the transfer after it has offered the body bytes that have arrived already. They are
    /// offered also to a receiver that answered `.pause`; another `.pause` ends the transfer. The
    /// receiver gets `finished(.cancelled)` last, or `finished(.complete)` if the body ends with
    /// these bytes. Callable from any thread; idempotent. A transport that keeps no bytes calls
    /// `cancel`, which is the default.
    func stop()
    /// Ends the transfer as soon as possible. The receiver gets `finished(.cancelled)`, and nothing
    /// after it. Callable from any thread; idempotent.
    func cancel()
}

extension Transfer {
    /// Does nothing.
    public func setPriority(_ priority: ReadPriority) {}
    /// Cancels the transfer.
    public func stop() { cancel() }

    /// Tells the transfer the urgency of the readers, until it knows the present one: two changes
    /// may overtake one another.
    package func setPriority(toPresent present: () -> ReadPriority?) {
        var told: ReadPriority?
        while let priority = present(), priority != told {
            setPriority(priority)
            told = priority
        }
    }
}

/// The receiver of a response. The transport calls it on its own thread, never under one of its
/// locks.
public protocol TransferReceiver: AnyObject, Sendable {
    /// Receives the head of an interim response, such as 103 (RFC 9110 §15.2). A transport may skip
    /// them.
    func interimReceived(_ head: ResponseHead)
    /// Called when no head came in the time in which most origins answer. The request goes on, and
    /// may be sent again. Called on any thread.
    func answerIsLate()
    /// Receives the head of the final response. Called once, before any body.
    func headReceived(_ head: ResponseHead)
    /// Receives the next body bytes, at most 64 KiB in one call unless the transport documents
    /// another bound. They are valid during the call only.
    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer
    /// Called when no byte of the body came for `time`, although the receiver takes them.
    ///
    /// Called again after as long a silence. A dead connection needs no answer: the system finds
    /// it by its probes.
    /// - Returns: Whether the transfer ends with a time-out.
    func bodyIsQuiet(for time: Duration) -> Bool
    /// Called when the transport has passed on all bytes that it had: a good moment to wake
    /// readers. May be called at any time.
    func batchEnded()
    /// Receives the measurements of the transfer, just before its end. A transport without
    /// measurements skips it.
    func measured(_ timings: TransferTimings)
    /// Receives the end of the transfer. This is the last call.
    func finished(_ end: TransferEnd)
}

extension TransferReceiver {
    /// Ignores the response.
    public func interimReceived(_ head: ResponseHead) {}
    /// Does nothing.
    public func answerIsLate() {}
    /// Ends the transfer.
    public func bodyIsQuiet(for time: Duration) -> Bool { true }
    /// Ignores the measurements.
    public func measured(_ timings: TransferTimings) {}
}

/// The answer of a receiver to body bytes.
public enum BodyAnswer: Hashable, Sendable {
    /// All bytes were taken.
    case taken
    /// No byte was taken. The same bytes are offered again after `resume()`.
    case pause
    /// The receiver needs no more bytes. The transfer ends with `.cancelled`.
    case enough
}

/// The end of a transfer.
public enum TransferEnd: Hashable, Sendable {
    /// The body ended where the message framing puts its end.
    case complete
    /// The transfer failed, with this error.
    case failed(OriginError)
    /// The transfer was cancelled, by its caller, its receiver or the end of the transport.
    case cancelled
}
