package import SpoolOrigin
package import SpoolSystem
import SpoolCore

/// A transport that asks another Spool before the origin, around one that asks origins.
///
/// The parent has as long as `ParentProxy.connectTimeout` to begin its answer. Then the origin is
/// asked too, and the first answer counts. So a parent that is dead or slow costs a delay, and no
/// answer.
package final class ParentTransport: Transport {
    private let base: any Transport
    private let parent: ParentProxy
    private let time: any TimeSource
    private let mailbox: any Mailbox
    private let log: @Sendable (String) -> Void
    private let health = Locked(ServerHealth())

    /// Creates a transport around another one.
    ///
    /// - Parameters:
    ///   - time: The clock for late answers and for the rest of a parent that failed.
    ///   - mailbox: The thread on which a late answer is noticed.
    ///   - log: Called when the parent stops to serve, and when it serves again.
    package init(
        _ base: any Transport, parent: ParentProxy, time: any TimeSource, on mailbox: any Mailbox,
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.base = base
        self.parent = parent
        self.time = time
        self.mailbox = mailbox
        self.log = log
    }

    /// The most bytes that one request should ask for, as in the transport below.
    package var windowBytes: Int64? { base.windowBytes }

    package var receivedBytes: Int64? { base.receivedBytes }

    /// Starts a request at the parent, or at the origin while the parent rests.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        guard let asked = parent.request(for: request), health.withLock({ $0.mayAsk(at: time.now) }) else {
            return base.start(request, receiver: receiver)
        }
        let transfer = ParentTransfer(request, receiver: receiver, owner: self)
        let timer = time.after(ParentProxy.connectTimeout, on: mailbox) { [weak transfer] in transfer?.parentIsLate() }
        transfer.watch(timer)
        transfer.begin(.parent, asked)
        return transfer
    }

    /// Closes the transport below.
    package func close() { base.close() }

    // MARK: From the transfers

    fileprivate func judge(_ head: ResponseHead, of url: String) -> ParentProxy.Verdict { parent.judge(head, of: url) }

    fileprivate func startBelow(_ request: OriginRequest, _ receiver: any TransferReceiver) -> any Transfer {
        base.start(request, receiver: receiver)
    }

    fileprivate func parentAnswered() {
        if health.withLock({ $0.answered() }) { log("the parent \(parent.publicAddress) serves again") }
    }

    fileprivate func parentFailed(_ why: String) {
        guard health.withLock({ $0.failed(at: time.now) }) else { return }
        log("the parent \(parent.publicAddress) \(why); origins are asked instead, and the parent again after a pause")
    }
}

/// One request at the parent, at the origin, or at both.
private final class ParentTransfer: Transfer {
    private struct State {
        var race = ParentRace()
        /// The transfers of the attempts, as far as `start` has returned.
        var transfers: [ParentRace.Attempt: any Transfer] = [:]
        /// Whether `resume` came before the transfer of the winner was known.
        var owesResume = false
        /// The urgency of the readers since the request, or nil while it is that of the request.
        var priority: ReadPriority?
        var timer: Timer?

        /// The transfer of the winner. While there is none, the resume is owed.
        mutating func transferToResume() -> (any Transfer)? {
            if let winner = race.winner, let transfer = transfers[winner] {
                owesResume = false
                return transfer
            }
            owesResume = !race.isOver
            return nil
        }
    }

    private let request: OriginRequest
    private let receiver: any TransferReceiver
    private let owner: ParentTransport
    private let state = Locked(State())

    init(_ request: OriginRequest, receiver: any TransferReceiver, owner: ParentTransport) {
        self.request = request
        self.receiver = receiver
        self.owner = owner
    }

    /// Keeps the timer of the late answer, to cancel it when the answer comes.
    func watch(_ timer: Timer) { state.withLock { $0.timer = timer } }

    /// Starts one attempt, and makes up for what happened before its transfer was known.
    func begin(_ attempt: ParentRace.Attempt, _ request: OriginRequest) {
        let transfer = owner.startBelow(request, ParentAttempt(attempt, owner: self))
        let (isWanted, owesResume) = state.withLock { state in
            if !state.race.isOver { state.transfers[attempt] = transfer }
            let owes = state.owesResume && state.race.winner == attempt
            if owes { state.owesResume = false }
            return (state.race.wants(attempt), owes)
        }
        transfer.setPriority(toPresent: { state.withLock { $0.priority } })
        if !isWanted { transfer.cancel() } else if owesResume { transfer.resume() }
    }

    func parentIsLate() { act(state.withLock { $0.race.parentIsLate() }, blame: "") }

    // MARK: Transfer

    func resume() {
        state.withLock { $0.transferToResume() }?.resume()
    }

    func setPriority(_ priority: ReadPriority) {
        let transfers = state.withLock { state in
            state.priority = priority
            return Array(state.transfers.values)
        }
        for transfer in transfers { transfer.setPriority(priority) }
    }

    func cancel() {
        let transfers = state.withLock { state in
            state.race.cancel()
            return Array(state.transfers.values)
        }
        for transfer in transfers { transfer.cancel() }
    }

    // MARK: From the attempts

    /// Passes an interim response of the origin on. Those of the parent are about its own answer.
    func interimReceived(_ head: ResponseHead, _ attempt: ParentRace.Attempt) {
        if attempt == .origin, state.withLock({ $0.race.wants(.origin) }) { receiver.interimReceived(head) }
    }

    func answerIsLate(_ attempt: ParentRace.Attempt) {
        if state.withLock({ $0.race.wants(attempt) && $0.race.winner == nil }) { receiver.answerIsLate() }
    }

    func headReceived(_ head: ResponseHead, _ attempt: ParentRace.Attempt) {
        let verdict = attempt == .parent ? owner.judge(head, of: request.url) : .answer
        let (step, timer) = state.withLock { state in
            (state.race.headReceived(attempt, verdict), state.timer)
        }
        timer?.cancel()
        if attempt == .parent, verdict != .refusal, step != ParentRace.Step() { owner.parentAnswered() }
        let why = attempt == .parent ? "answers \(head.status) without serving" : "is slower than the origin"
        if step.isPassed { receiver.headReceived(head) }
        act(step, blame: why)
    }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer, _ attempt: ParentRace.Attempt) -> BodyAnswer {
        state.withLock { $0.race.winner == attempt } ? receiver.bodyReceived(bytes) : .enough
    }

    func batchEnded(_ attempt: ParentRace.Attempt) {
        if state.withLock({ $0.race.winner == attempt }) { receiver.batchEnded() }
    }

    func finished(_ end: TransferEnd, _ attempt: ParentRace.Attempt) {
        let (step, timer) = state.withLock { state in
            let step = state.race.finished(attempt, end)
            state.transfers[attempt] = nil
            return (step, state.race.isOver ? state.timer : nil)
        }
        timer?.cancel()
        let why = if case .failed(let error) = end { "failed: \(error)" } else { "ended" }
        act(step, blame: why)
    }

    private func act(_ step: ParentRace.Step, blame why: String) {
        if step.blamesParent { owner.parentFailed(why) }
        if let end = step.end { receiver.finished(end) }
        if let loser = step.cancels { state.withLock { $0.transfers[loser] }?.cancel() }
        if step.startsOrigin { begin(.origin, request) }
    }
}

/// The receiver of one attempt.
private final class ParentAttempt: TransferReceiver {
    private let attempt: ParentRace.Attempt
    private let owner: ParentTransfer

    init(_ attempt: ParentRace.Attempt, owner: ParentTransfer) {
        self.attempt = attempt
        self.owner = owner
    }

    func interimReceived(_ head: ResponseHead) { owner.interimReceived(head, attempt) }
    func answerIsLate() { owner.answerIsLate(attempt) }
    func headReceived(_ head: ResponseHead) { owner.headReceived(head, attempt) }
    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { owner.bodyReceived(bytes, attempt) }
    func batchEnded() { owner.batchEnded(attempt) }
    func finished(_ end: TransferEnd) { owner.finished(end, attempt) }
}
