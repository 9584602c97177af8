package import SpoolCore
package import SpoolSystem

/// Answers the requests of a server. Called on the server's loop only.
package protocol Handler: AnyObject, Sendable {
    /// Answers a request with `exchange.respond`, now or later.
    func respond(to request: RequestHead, on exchange: Exchange)
    /// Returns the sink for the body of a request, which arrives while the request is answered.
    ///
    /// Called before `respond`, only for a request with a body.
    ///
    /// - Returns: The sink, or nil to drop a short body and refuse a long one.
    func bodySink(for request: RequestHead) -> (any BodySink)?
}

extension Handler {
    /// Returns nil, so that the server drops a short body and refuses a long one.
    package func bodySink(for request: RequestHead) -> (any BodySink)? { nil }
}

/// Answers requests that differ from an earlier one of their connection in their range only.
/// Players request the same resource piece by piece. Called on the server's loop only.
package protocol RangeResponder: AnyObject {
    /// Returns the response with the bytes of `spec`, or with all bytes when `spec` is nil.
    ///
    /// - Returns: The response, or nil to pass the request to the handler. A nil result has no side
    ///   effects.
    func response(to spec: RangeHeader.Spec?) -> Response?
}

/// A request in progress and the place for its response. Belongs to the loop's thread; post to the
/// loop to respond from another thread:
///
///     exchange.loop.post { exchange.respond(Response(204)) }
package final class Exchange: @unchecked Sendable {
    // Safe to share: only the loop touches mutable state, which `respond` and `onClose` check.
    /// The head of the request.
    package let request: RequestHead
    /// The loop of the connection.
    package let loop: EventLoop
    /// The sink for the request's body.
    package let bodySink: (any BodySink)?
    /// The connection, or nil once the exchange is over.
    private var connection: Connection?
    private var closeHandler: (() -> Void)?
    private var hasResponse = false
    /// The responder for further requests that differ in their range only. Set it before `respond`,
    /// for a GET without a body.
    package var rangeResponder: (any RangeResponder)?
    /// The group in which the response is counted. Set it before `respond`.
    package var route = ResponseCounts.Route.media
    /// An object that lives until the response was sent or the client left: the owner of memory
    /// that the body counts for.
    package var held: AnyObject?

    init(_ request: RequestHead, bodySink: (any BodySink)?, on connection: Connection, loop: EventLoop) {
        self.bodySink = bodySink
        self.request = request
        self.connection = connection
        self.loop = loop
    }

    /// Sends the response. Call it once. After the client left, it only closes the body's source.
    package func respond(_ response: Response) {
        loop.preconditionInLoop()
        precondition(!hasResponse, "\(request.method) \(request.target) was answered twice")
        hasResponse = true
        closeHandler = nil
        guard let connection else { return response.discard() }
        connection.start(response)
    }

    /// Sends an interim response, such as 103 (RFC 9110 §15.2). It does nothing for an HTTP/1.0
    /// client, after the response, and for fields that cannot be sent.
    package func sendInterim(_ status: Int, fields: HTTPFields) {
        loop.preconditionInLoop()
        guard !hasResponse, (102...199).contains(status), request.version != .http10 else { return }
        connection?.sendInterim(status, fields: fields)
    }

    /// Sets the closure to call when the client leaves before the response, and calls it at once
    /// when the client has left already.
    package func onClose(_ handler: @escaping () -> Void) {
        loop.preconditionInLoop()
        if connection == nil { return handler() }
        closeHandler = hasResponse ? nil : handler
    }

    /// The local address that the client connected to.
    package var localAddress: SocketAddress? { connection?.socket.localAddress }

    /// The client's address: of a request that a believed proxy passed on, the one that the proxy
    /// names.
    package var clientAddress: SocketAddress? {
        if let forwarding = request.forwarding, forwarding.isBelieved { return forwarding.client }
        return connection?.socket.peerAddress
    }

    /// The client's name, by which its connections and requests are counted, or nil for a client
    /// that is not counted (`ServerOptions.clientName`).
    package var client: [UInt8]? { connection.flatMap { $0.counted.name ?? $0.ticket.client } }

    /// Whether a program on this machine sent the request itself, and no proxy passed it on.
    package var isFromThisMachine: Bool {
        request.forwarding == nil && connection?.socket.peerAddress?.isLoopback == true
    }

    /// Whether the client counts as one of the network: it is on another machine
    /// (`ServerOptions.clientName`), or comes through a proxy.
    package var isFromNetwork: Bool {
        guard let connection else { return true }
        return connection.ticket.client != nil || connection.ticket.isFront || request.forwarding != nil
    }

    /// Whether small writes leave at once (`TCP_NODELAY`).
    package var isNoDelay: Bool { connection?.socket.isNoDelay == true }

    /// Ends the exchange: the response was sent, or cannot be sent any more.
    func end() {
        let handler = closeHandler
        connection = nil
        closeHandler = nil
        handler?()
    }
}
