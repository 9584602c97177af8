package import SpoolCore
package import SpoolSystem

/// What answers the requests of a server. Called on the server's loop only.
package protocol Handler: AnyObject, Sendable {
    /// Answers a request by `exchange.respond`, now or later.
    func respond(to request: RequestHead, on exchange: Exchange)
    /// Where the request's body goes, which comes in while it is answered; nil drops a short one and refuses a long one.
    /// Called before `respond`, only for a request with a body.
    func bodySink(for request: RequestHead) -> (any BodySink)?
}

extension Handler {
    package func bodySink(for request: RequestHead) -> (any BodySink)? { nil }
}

/// Answers requests that differ from an earlier one of their connection in the bytes that they want, and in nothing else: players ask for
/// the same thing piece by piece. Called on the server's loop only.
package protocol RangeResponder: AnyObject {
    /// The answer with the bytes of `spec`, with all of them where there is none; nil when the handler is to look at the request itself.
    /// Then nothing has happened.
    func response(to spec: RangeHeader.Spec?) -> Response?
}

/// A request under way and the place for its answer. Belongs to the loop's thread; carry it there to answer from elsewhere:
///
///     exchange.loop.post { exchange.respond(Response(204)) }
package final class Exchange: @unchecked Sendable {
    // Safe to share: all that changes is touched on the loop only, which `respond` and `onClose` check.
    package let request: RequestHead
    package let loop: EventLoop
    /// Where the request's body goes.
    package let bodySink: (any BodySink)?
    /// Nil once the exchange is over.
    private var connection: Connection?
    private var closeHandler: (() -> Void)?
    private var hasResponse = false
    /// Who may answer further requests that are alike but for their range. Set before `respond`, for a GET without a body.
    package var rangeResponder: (any RangeResponder)?

    init(_ request: RequestHead, bodySink: (any BodySink)?, on connection: Connection, loop: EventLoop) {
        self.bodySink = bodySink
        self.request = request
        self.connection = connection
        self.loop = loop
    }

    /// Sends the answer. Once; after the client left it only gives the body's source back.
    package func respond(_ response: Response) {
        loop.preconditionInLoop()
        precondition(!hasResponse, "\(request.method) \(request.target) was answered twice")
        hasResponse = true
        closeHandler = nil
        guard let connection else { return response.discard() }
        connection.start(response)
    }

    /// Sets what to call when the client leaves before there is an answer; called at once when it left already.
    package func onClose(_ handler: @escaping () -> Void) {
        loop.preconditionInLoop()
        if connection == nil { return handler() }
        closeHandler = hasResponse ? nil : handler
    }

    /// Whether the client is still there.
    package var isOpen: Bool { connection != nil }

    /// The address that the client reached.
    package var localAddress: SocketAddress? { connection?.socket.localAddress }

    /// The client's address.
    package var peerAddress: SocketAddress? { connection?.socket.peerAddress }

    /// Whether the client's connections are counted: it is on another machine (`ServerOptions.clientName`).
    package var isFromNetwork: Bool { connection?.client != nil }

    /// Whether small writes leave at once.
    package var isNoDelay: Bool { connection?.socket.isNoDelay ?? false }

    /// The answer was sent, or can't be any more.
    func end() {
        let handler = closeHandler
        connection = nil
        closeHandler = nil
        handler?()
    }
}
