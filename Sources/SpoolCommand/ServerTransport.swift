import SpoolCore
import SpoolOrigin
import SpoolSystem

/// Sends requests to the server that has the store, in place of the origin. So the bytes that this
/// process fetches are stored, and fetched once.
///
/// A request goes to the origin itself where the server cannot help: for a method other than GET,
/// with credentials, when the server refuses, and after the server is gone. When the server gives a
/// reason for a missing answer, the reason becomes the error that the origin's own transport would
/// have reported.
final class ServerTransport: Transport {
    private let server: RunningServer
    private let base: any Transport
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

    var windowBytes: Int64? { base.windowBytes }

    var receivedBytes: Int64? { base.receivedBytes }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        guard isInUse.withLock({ $0 }), let asked = detour(of: request) else { return base.start(request, receiver: receiver) }
        let transfer = DetouredTransfer(request, receiver: receiver, transport: base) { [isInUse] in isInUse.withLock { $0 = false } }
        transfer.begin(asked, attempt: 0)
        return transfer
    }

    func close() { base.close() }

    /// Returns the request for the server, or nil for one that only the origin can answer.
    private func detour(of request: OriginRequest) -> OriginRequest? {
        let fields = request.fields
        guard request.method == "GET", request.body == nil, fields[.authorization] == nil, fields[.cookie] == nil,
            let url = server.proxied(request.url)
        else { return nil }
        var asked = request
        asked.url = url
        asked.followsRedirects = false
        // A revalidation is meant for the origin. Without `no-cache` the server could answer it
        // from stored bytes.
        if fields[.ifNoneMatch] != nil || fields[.ifModifiedSince] != nil { asked.fields[.cacheControl] = "no-cache" }
        return asked
    }
}

/// One request to the server, or to the origin when the server does not serve it.
private final class DetouredTransfer: Transfer {
    private struct State {
        /// The attempt whose callbacks count: 0 for the server, 1 for the origin.
        var attempt = 0
        var current: (any Transfer)?
        var owesResume = false
        /// The urgency of the readers since the request, or nil while it is that of the request.
        var priority: ReadPriority?
        var hasHead = false
        var isCancelled = false
        var isOver = false
    }

    private let request: OriginRequest
    private let receiver: any TransferReceiver
    private let transport: any Transport
    private let serverIsGone: @Sendable () -> Void
    private let state = Locked(State())

    init(
        _ request: OriginRequest, receiver: any TransferReceiver, transport: any Transport, serverIsGone: @escaping @Sendable () -> Void
    ) {
        self.request = request
        self.receiver = receiver
        self.transport = transport
        self.serverIsGone = serverIsGone
    }

    /// Starts one attempt, and applies a cancel or resume that came before the transfer was stored.
    func begin(_ request: OriginRequest, attempt: Int) {
        let transfer = transport.start(request, receiver: DetourReceiver(attempt: attempt, owner: self))
        let (mustCancel, mustResume) = state.withLock { state in
            if !state.isOver, state.attempt == attempt { state.current = transfer }
            defer { state.owesResume = false }
            return (state.isCancelled, state.owesResume)
        }
        transfer.setPriority(toPresent: { state.withLock { $0.priority } })
        if mustCancel { transfer.cancel() } else if mustResume { transfer.resume() }
    }

    // MARK: Transfer

    func resume() {
        let transfer = state.withLock { state in
            state.owesResume = state.current == nil && !state.isOver
            return state.current
        }
        transfer?.resume()
    }

    func setPriority(_ priority: ReadPriority) {
        let transfer = state.withLock { state in
            state.priority = priority
            return state.current
        }
        transfer?.setPriority(priority)
    }

    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.current
        }
        transfer?.cancel()
    }

    // MARK: From the attempts

    /// Handles the head of a response.
    ///
    /// - Returns: Whether the body that follows is part of the answer.
    func headReceived(_ head: ResponseHead, attempt: Int) -> Bool {
        guard state.withLock({ $0.attempt == attempt && !$0.isOver && !$0.isCancelled }) else { return false }
        if attempt == 0, let error = ProxyStatus.error(in: head.fields) {
            end(.failed(error), attempt: attempt)
            return false
        }
        if attempt == 0, Self.isRefusal(head) {
            askOrigin()
            return false
        }
        state.withLock { $0.hasHead = true }
        receiver.headReceived(head)
        return true
    }

    /// Whether the head is an error of the server itself and not of the resource. Responses about a
    /// resource carry `Cache-Status`.
    private static func isRefusal(_ head: ResponseHead) -> Bool {
        head.status >= 400 && head.status != 416 && !head.fields.values(of: .cacheStatus).contains { $0.hasPrefix("spool;") }
    }

    private func askOrigin() {
        let (old, isFirst) = state.withLock { state -> ((any Transfer)?, Bool) in
            guard state.attempt == 0, !state.isOver else { return (nil, false) }
            state.attempt = 1
            defer { state.current = nil }
            return (state.current, true)
        }
        guard isFirst else { return }
        old?.cancel()
        begin(request, attempt: 1)
    }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { receiver.bodyReceived(bytes) }

    func batchEnded() { receiver.batchEnded() }

    func finished(_ end: TransferEnd, attempt: Int) {
        guard attempt == 0, Self.meansGone(end), state.withLock({ !$0.hasHead && !$0.isCancelled && !$0.isOver }) else {
            return self.end(end, attempt: attempt)
        }
        serverIsGone()
        askOrigin()
    }

    /// Whether the server did not answer at all.
    private static func meansGone(_ end: TransferEnd) -> Bool {
        switch end {
        case .failed(.unreachable), .failed(.timeout): true
        default: false
        }
    }

    func measured(_ timings: TransferTimings, attempt: Int) {
        if state.withLock({ $0.attempt == attempt && !$0.isOver }) { receiver.measured(timings) }
    }

    private func end(_ end: TransferEnd, attempt: Int) {
        let (isLast, old) = state.withLock { state -> (Bool, (any Transfer)?) in
            guard attempt == state.attempt, !state.isOver else { return (false, nil) }
            state.isOver = true
            defer { state.current = nil }
            return (true, state.current)
        }
        guard isLast else { return }
        old?.cancel()
        receiver.finished(end)
    }
}

/// The receiver of one attempt. Only its callbacks use its state, and they come one at a time.
private final class DetourReceiver: TransferReceiver, @unchecked Sendable {
    private let attempt: Int
    private let owner: DetouredTransfer
    private var isAnswer = false

    init(attempt: Int, owner: DetouredTransfer) {
        self.attempt = attempt
        self.owner = owner
    }

    func headReceived(_ head: ResponseHead) { isAnswer = owner.headReceived(head, attempt: attempt) }

    // The body of a refusal is not part of the resource.
    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { isAnswer ? owner.bodyReceived(bytes) : .enough }

    func batchEnded() { if isAnswer { owner.batchEnded() } }

    func measured(_ timings: TransferTimings) { owner.measured(timings, attempt: attempt) }

    func finished(_ end: TransferEnd) { owner.finished(end, attempt: attempt) }
}
