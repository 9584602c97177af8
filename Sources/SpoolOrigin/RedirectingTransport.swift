package import SpoolCore
internal import SpoolSystem

/// A transport that follows redirects, around one that does not. The engine sees final responses
/// only.
///
/// The next request starts as soon as the head of a redirect is there, and the body of the redirect
/// is dropped meanwhile. `cancel` and `resume` go to the request that is current when they are
/// called.
package final class RedirectingTransport: Transport {
    private let base: any Transport
    private let maxHops: Int
    private let privateNames: PrivateNames
    private let fieldsForURL: (@Sendable (String) -> HTTPFields)?

    /// Creates a transport around another one.
    ///
    /// - Parameters:
    ///   - base: The transport that sends the requests.
    ///   - maxHops: The most redirects of one request.
    ///   - privateNames: Whether a public origin may redirect into a private network.
    ///   - fieldsForURL: Returns the fields for a request to another origin, which belong to that
    ///     origin.
    package init(
        _ base: any Transport, maxHops: Int = RedirectPolicy.defaultMaxHops, privateNames: PrivateNames = .allowed,
        fieldsForURL: (@Sendable (String) -> HTTPFields)? = nil
    ) {
        self.privateNames = privateNames
        self.fieldsForURL = fieldsForURL
        self.base = base
        self.maxHops = maxHops
    }

    /// The most bytes that one request should ask for, as in the transport below.
    package var windowBytes: Int64? { base.windowBytes }

    package var receivedBytes: Int64? { base.receivedBytes }

    /// Starts a request and follows its redirects, if it is a GET and allows that.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        guard request.followsRedirects, request.method == "GET" else { return base.start(request, receiver: receiver) }
        let policy = RedirectPolicy(request, maxHops: maxHops, privateNames: privateNames, fieldsForURL: fieldsForURL)
        let transfer = RedirectingTransfer(policy: policy, receiver: receiver, transport: base)
        transfer.begin(request, hop: 0)
        return transfer
    }

    /// Closes the transport below.
    package func close() { base.close() }
}

/// One request with all its hops.
private final class RedirectingTransfer: Transfer {
    private struct State {
        var policy: RedirectPolicy
        /// The number of the hop whose callbacks count. Earlier hops are redirects, whose bodies
        /// are dropped.
        var hop = 0
        /// The transfers of the hops so far. The current one is missing until its `start` has
        /// returned.
        var transfers: [Int: any Transfer] = [:]
        /// Whether `resume` came before the transfer of the current hop was known.
        var owesResume = false
        /// The urgency of the readers since the request, or nil while it is that of the request.
        var priority: ReadPriority?
        var isCancelled = false
        /// Whether the receiver got the end.
        var isOver = false
    }

    private let receiver: any TransferReceiver
    private let transport: any Transport
    private let state: Locked<State>

    init(policy: RedirectPolicy, receiver: any TransferReceiver, transport: any Transport) {
        self.receiver = receiver
        self.transport = transport
        state = Locked(State(policy: policy))
    }

    /// Starts the request of one hop, and makes up for a cancel or resume that came before its
    /// transfer was known.
    func begin(_ request: OriginRequest, hop: Int) {
        let transfer = transport.start(request, receiver: Hop(number: hop, owner: self))
        let (isCancelled, owesResume) = state.withLock { state in
            if !state.isOver { state.transfers[hop] = transfer }
            defer { state.owesResume = false }
            return (state.isCancelled, state.owesResume)
        }
        transfer.setPriority(toPresent: { state.withLock { $0.priority } })
        if isCancelled {
            transfer.cancel()
        } else if owesResume {
            transfer.resume()
        }
    }

    // MARK: Transfer

    func resume() {
        let transfer = state.withLock { state in
            let transfer = state.transfers[state.hop]
            state.owesResume = transfer == nil && !state.isOver
            return transfer
        }
        transfer?.resume()
    }

    func setPriority(_ priority: ReadPriority) {
        let transfer = state.withLock { state in
            state.priority = priority
            return state.transfers[state.hop]
        }
        transfer?.setPriority(priority)
    }

    func cancel() {
        let transfers = state.withLock { state in
            state.isCancelled = true
            return Array(state.transfers.values)
        }
        for transfer in transfers { transfer.cancel() }
    }

    // MARK: From the hops

    /// Passes an interim response of the first origin on. One behind a redirect would have the rights
    /// of the first origin.
    func interimReceived(_ head: ResponseHead, hop: Int) {
        if state.withLock({ hop == 0 && $0.hop == hop && !$0.isOver && !$0.isCancelled }) { receiver.interimReceived(head) }
    }

    /// Reports a late answer, unless it is of a hop that is over.
    func answerIsLate(hop: Int) {
        if state.withLock({ $0.hop == hop && !$0.isOver && !$0.isCancelled }) { receiver.answerIsLate() }
    }

    /// Handles the head of a hop.
    ///
    /// - Returns: Whether the body of the hop belongs to the answer.
    func headReceived(_ head: ResponseHead, hop: Int) -> Bool {
        let decision = state.withLock { state -> RedirectPolicy.Decision? in
            // A cancelled hop still gets its `finished(.cancelled)`, which goes to the receiver.
            guard hop == state.hop, !state.isCancelled, !state.isOver else { return nil }
            let decision = state.policy.headReceived(head)
            if case .follow = decision { state.hop += 1 }
            return decision
        }
        switch decision {
        case nil: return false
        case .pass(let head):
            receiver.headReceived(head)
            return true
        case .follow(let request):
            begin(request, hop: hop + 1)
            return false
        case .refuse(let error):
            finished(.failed(error), hop: hop)
            return false
        }
    }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { receiver.bodyReceived(bytes) }

    func batchEnded() { receiver.batchEnded() }

    /// Passes on the measurements of the last hop.
    func measured(_ timings: TransferTimings, hop: Int) {
        if state.withLock({ $0.hop == hop && !$0.isOver }) { receiver.measured(timings) }
    }

    func finished(_ end: TransferEnd, hop: Int) {
        let others = state.withLock { state -> [any Transfer]? in
            guard hop == state.hop, !state.isOver else { return nil }
            state.isOver = true
            defer { state.transfers = [:] }
            return Array(state.transfers.values)
        }
        guard let others else { return }
        receiver.finished(end)
        // A redirect that still sends its body, or one that was refused, has no receiver any more.
        for transfer in others { transfer.cancel() }
    }
}

/// The receiver of one hop. Safe to share: its state is used only in its callbacks, which come one
/// at a time.
private final class Hop: TransferReceiver, @unchecked Sendable {
    /// The most bytes of a redirect's body that are read, so that its connection can be used again.
    private static let maxDiscardedBytes = 65_536

    private let number: Int
    private let owner: RedirectingTransfer
    private var isAnswer = false
    private var discardedBytes = 0

    init(number: Int, owner: RedirectingTransfer) {
        self.number = number
        self.owner = owner
    }

    func interimReceived(_ head: ResponseHead) { owner.interimReceived(head, hop: number) }

    func answerIsLate() { owner.answerIsLate(hop: number) }

    func headReceived(_ head: ResponseHead) {
        isAnswer = owner.headReceived(head, hop: number)
    }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        guard !isAnswer else { return owner.bodyReceived(bytes) }
        discardedBytes += bytes.count
        return discardedBytes <= Self.maxDiscardedBytes ? .taken : .enough
    }

    func batchEnded() {
        if isAnswer { owner.batchEnded() }
    }

    func measured(_ timings: TransferTimings) { owner.measured(timings, hop: number) }

    func finished(_ end: TransferEnd) {
        owner.finished(end, hop: number)
    }
}
