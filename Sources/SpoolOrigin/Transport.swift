public import SpoolCore

/// How an origin is talked to: one request after another, each handed over as it arrives.
///
/// A transport follows no redirect, decodes no content coding, keeps no cookie, retries nothing but a pooled
/// connection that was dead before the first response byte, and verifies TLS.
/// An app may bring its own (`Configuration.transport`); the cache follows redirects and retries around it.
/// Every implementation of this package passes `TransportContract` of `SpoolTesting`, which is to become public (*planned*).
public protocol Transport: AnyObject, Sendable {
    /// Nil where a pause really stops the origin; otherwise the most bytes that one request should ask for,
    /// because a paused transfer goes on buffering.
    var windowBytes: Int64? { get }

    /// Starts a request. The receiver is called on the transport's thread, never inline, never again after `finished`.
    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer

    /// Ends every transfer with `.cancelled` and lets go of threads and connections.
    func close()
}

/// One request to an origin, a GET unless it says otherwise.
public struct OriginRequest: Hashable, Sendable {
    /// An absolute `http` or `https` URI, percent-encoding untouched.
    public var url: String
    /// What is sent besides `Host`, `Accept-Encoding: identity` and `User-Agent`, which the transport adds unless they are here.
    public var fields: HTTPFields
    /// Which networks it may use.
    public var access: NetworkAccess
    /// The method. What is neither GET nor HEAD is sent on a connection of its own: on one that turns out to be dead nobody could
    /// tell whether the origin did it.
    public var method = "GET"
    /// What is sent with it, and pulled as the origin takes it; nil for no body.
    public var body: RequestBody?
    /// Whether a redirect is followed by what stands around a transport; else its response is the answer.
    public var followsRedirects = true
    /// How far the request may get; every bound holds.
    package var reach: [OriginReach] = []

    public init(url: String, fields: HTTPFields, access: NetworkAccess = NetworkAccess()) {
        self.url = url
        self.fields = fields
        self.access = access
    }
}

/// A request under way.
public protocol Transfer: AnyObject, Sendable {
    /// Offers the body again after the receiver answered `.pause`. From any thread, harmless when repeated.
    func resume()
    /// Ends the transfer as soon as possible: nothing is delivered after `finished(.cancelled)`, which follows. From any thread, harmless when repeated.
    func cancel()
}

/// What a transfer hands over; called on the transport's thread, never under a lock of the transport's.
public protocol TransferReceiver: AnyObject, Sendable {
    /// The final response's head (1xx are skipped). Once, before any body.
    func headReceived(_ head: ResponseHead)
    /// The next body bytes; valid during the call only. At most 64 KiB in one call unless the transport says otherwise.
    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer
    /// The transport has handed over what it had at hand; a good moment to wake readers. May come at any time.
    func batchEnded()
    /// The transfer is over. Last call.
    func finished(_ end: TransferEnd)
}

/// What a receiver makes of body bytes.
public enum BodyAnswer: Hashable, Sendable {
    /// All were taken.
    case taken
    /// None were taken; the same bytes are offered again after `resume()`.
    case pause
    /// All that is wanted was taken; the transfer ends with `.cancelled`.
    case enough
}

public enum TransferEnd: Hashable, Sendable {
    /// The body ended where the message framing says.
    case complete
    case failed(OriginError)
    case cancelled
}
