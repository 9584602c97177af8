import SpoolCore
import SpoolOrigin
import SpoolSystem

/// Sends requests to the server that has the store, in place of the origin. So the bytes that this
/// process fetches are stored, and fetched once.
///
/// A request goes to the origin itself where the server cannot help: for a method other than GET,
/// with `Authorization`, when the server refuses, and after the server is gone. When the server
/// gives a reason for a missing answer, the reason becomes the error that the origin's own
/// transport would have reported.
final class ServerTransport: TransportLayer {
    private let server: RunningServer
    let base: any Transport
    private let isInUse: Locked<Bool>

    /// Creates the transport.
    ///
    /// - Parameter isInUse: Whether the server has the store. The caller sets it once the store is
    ///   open.
    init(_ base: any Transport, server: RunningServer, isInUse: Locked<Bool>) {
        self.base = base
        self.server = server
        self.isInUse = isInUse
    }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        guard isInUse.withLock({ $0 }), let asked = detour(of: request) else { return base.start(request, receiver: receiver) }
        let detour = Detour(
            askOrigin: { [base] in base.start(request, receiver: $0) }, serverIsGone: { [isInUse] in isInUse.withLock { $0 = false } })
        let transfer = AttemptedTransfer(detour, receiver: receiver)
        transfer.begin { [base] in base.start(asked, receiver: $0) }
        return transfer
    }

    /// Returns the request for the server, or nil for one that only the origin can answer.
    private func detour(of request: OriginRequest) -> OriginRequest? {
        let fields = request.fields
        guard request.method == "GET", request.body == nil, fields[.authorization] == nil, let location = request.location
        else { return nil }
        var asked = request
        asked.url = server.proxied(location)
        asked.followsRedirects = false
        // A revalidation is meant for the origin. Without `no-cache` the server could answer it
        // from stored bytes.
        if fields[.ifNoneMatch] != nil || fields[.ifModifiedSince] != nil { asked.fields[.cacheControl] = "no-cache" }
        return asked
    }
}

/// The rules of a request that the server gets, and the origin when the server does not serve it.
/// The server is attempt 0.
private struct Detour: AttemptPolicy {
    let askOrigin: AttemptStart
    let serverIsGone: @Sendable () -> Void

    func headReceived(_ head: ResponseHead, of attempt: Int, others: Set<Int>) -> AttemptStep {
        guard attempt == 0 else { return AttemptStep(.pass(head)) }
        if let error = ProxyStatus.error(in: head.fields) { return AttemptStep(.finish(.failed(error))) }
        guard !Self.isRefusal(head) else { return .replace(askOrigin) }
        var head = head
        // The server followed the redirects.
        head.url = head.fields[Representation.finalURLField]
        return AttemptStep(.pass(head))
    }

    func ended(_ end: TransferEnd, of attempt: Int, others: Set<Int>) -> AttemptStep {
        attempt == 0 && Self.meansGone(end) ? .replace(effect: serverIsGone, askOrigin) : AttemptStep(.finish(end))
    }

    /// Whether the head is an error of the server itself and not of the resource. Responses about a
    /// resource carry `Cache-Status`.
    private static func isRefusal(_ head: ResponseHead) -> Bool {
        head.status >= 400 && head.status != 416 && !head.fields.values(of: .cacheStatus).contains { $0.hasPrefix("spool;") }
    }

    /// Whether the server did not answer at all.
    private static func meansGone(_ end: TransferEnd) -> Bool {
        switch end {
        case .failed(.unreachable), .failed(.timeout): true
        default: false
        }
    }
}
