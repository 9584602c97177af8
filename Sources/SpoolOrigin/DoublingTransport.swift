internal import SpoolCore
package import SpoolSystem

/// A transport that sends a GET a second time when its answer is late, around one that sends it
/// once.
///
/// The request that is answered first goes on, and the other one is cancelled. So a request that
/// reached a stuck server of many does not wait for that server.
package final class DoublingTransport: Transport {
    private let base: any Transport
    private let watch: LatenessMonitor

    /// Creates a transport around another one, with the clock for late answers.
    package init(_ base: any Transport, time: any TimeSource, on mailbox: any Mailbox) {
        self.base = base
        watch = LatenessMonitor(time: time, mailbox: mailbox)
    }

    /// The most bytes that one request should ask for, as in the transport below.
    package var windowBytes: Int64? { base.windowBytes }

    package var receivedBytes: Int64? { base.receivedBytes }

    /// Starts a request, and watches for its answer if the request says when that is late.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        guard let delay = request.lateAfter, request.method == "GET", request.body == nil else {
            return base.start(request, receiver: receiver)
        }
        let transfer = DoubledTransfer(request, receiver: receiver, transport: base)
        transfer.begin(0)
        watch.add(transfer, delay)
        return transfer
    }

    /// Closes the transport below.
    package func close() { base.close() }
}

/// Finds the requests whose answer is late, with one timer for all of them: most answers come soon,
/// and a timer for each would wake a thread.
private final class LatenessMonitor: Sendable {
    private struct Waiting {
        weak var transfer: DoubledTransfer?
        var deadline: MonotonicInstant

        var isOver: Bool { transfer?.isAnswered ?? true }
    }

    private struct State {
        var waiting: [Waiting] = []
        /// The number of requests at which the answered ones are removed.
        var limit = LatenessMonitor.leastLimit
        /// The time of the next check, if one is planned.
        var nextCheck: MonotonicInstant?
    }

    private static let leastLimit = 32

    private let time: any TimeSource
    private let mailbox: any Mailbox
    private let state = Locked(State())

    init(time: any TimeSource, mailbox: any Mailbox) {
        self.time = time
        self.mailbox = mailbox
    }

    /// Watches for the answer to a request, which is late after `delay`.
    func add(_ transfer: DoubledTransfer, _ delay: Nanoseconds) {
        let deadline = time.now + delay
        let isNext = state.withLock { state in
            if state.waiting.count >= state.limit {
                state.waiting.removeAll(where: \.isOver)
                state.limit = max(Self.leastLimit, 2 * state.waiting.count)
            }
            state.waiting.append(Waiting(transfer: transfer, deadline: deadline))
            return Self.plan(deadline, &state)
        }
        if isNext { checkLater(deadline, delay) }
    }

    /// Notes a check.
    /// - Returns: Whether the check is earlier than the planned one, so that it needs a timer.
    private static func plan(_ deadline: MonotonicInstant, _ state: inout State) -> Bool {
        guard state.nextCheck.map({ deadline < $0 }) ?? true else { return false }
        state.nextCheck = deadline
        return true
    }

    private func checkLater(_ deadline: MonotonicInstant, _ delay: Nanoseconds) {
        _ = time.after(delay, on: mailbox) { [weak self] in self?.check(plannedFor: deadline) }
    }

    private func check(plannedFor deadline: MonotonicInstant) {
        let now = time.now
        let (late, next) = state.withLock { state -> ([DoubledTransfer], MonotonicInstant?) in
            guard state.nextCheck == deadline else { return ([], nil) }
            state.nextCheck = nil
            let late = state.waiting.filter { $0.deadline <= now }.compactMap(\.transfer)
            state.waiting.removeAll { $0.deadline <= now || $0.isOver }
            let next = state.waiting.map(\.deadline).min()
            if let next { _ = Self.plan(next, &state) }
            return (late, next)
        }
        for transfer in late { transfer.answerIsLate() }
        if let next { checkLater(next, next - now) }
    }
}

/// One request that may be sent twice.
private final class DoubledTransfer: Transfer {
    private struct State {
        /// The attempts that have no end yet.
        var running: Set<Int> = []
        /// Their transfers, as far as `start` has returned.
        var transfers: [Int: any Transfer] = [:]
        /// The attempt whose answer came first.
        var winner: Int?
        var isCancelled = false
        /// Whether `resume` came before the transfer of the winner was known.
        var owesResume = false
        /// The urgency of the readers since the request, or nil while it is that of the request.
        var priority: ReadPriority?
        /// Whether the receiver got the end.
        var isOver = false
    }

    private let request: OriginRequest
    private let receiver: any TransferReceiver
    private let transport: any Transport
    private let state = Locked(State())

    init(_ request: OriginRequest, receiver: any TransferReceiver, transport: any Transport) {
        self.request = request
        self.receiver = receiver
        self.transport = transport
    }

    /// Sends the request, and makes up for what happened before its transfer was known.
    func begin(_ attempt: Int) {
        state.withLock { _ = $0.running.insert(attempt) }
        let transfer = transport.start(request, receiver: Attempt(number: attempt, owner: self))
        let (isUnwanted, owesResume) = state.withLock { state in
            if state.running.contains(attempt) { state.transfers[attempt] = transfer }
            let isUnwanted = state.isCancelled || (state.winner.map { $0 != attempt } ?? false)
            defer { if state.winner == attempt { state.owesResume = false } }
            return (isUnwanted, state.owesResume && state.winner == attempt)
        }
        transfer.setPriority(toPresent: { state.withLock { $0.priority } })
        if isUnwanted { transfer.cancel() } else if owesResume { transfer.resume() }
    }

    /// Whether the request waits for no answer any more.
    var isAnswered: Bool { state.withLock { $0.winner != nil || $0.isOver || $0.isCancelled } }

    func answerIsLate() {
        let isLate = state.withLock { state in
            state.winner == nil && !state.isOver && !state.isCancelled && state.running == [0]
        }
        guard isLate else { return }
        receiver.answerIsLate()
        begin(1)
    }

    // MARK: Transfer

    func resume() {
        let transfer = state.withLock { state in
            let transfer = state.winner.flatMap { state.transfers[$0] }
            state.owesResume = transfer == nil && !state.isOver
            return transfer
        }
        transfer?.resume()
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
            state.isCancelled = true
            return Array(state.transfers.values)
        }
        for transfer in transfers { transfer.cancel() }
    }

    // MARK: From the attempts

    /// Passes an interim response on, of one attempt only.
    func interimReceived(_ head: ResponseHead, _ attempt: Int) {
        let isPassed = state.withLock { $0.winner == nil && !$0.isCancelled && !$0.isOver && $0.running.min() == attempt }
        if isPassed { receiver.interimReceived(head) }
    }

    func headReceived(_ head: ResponseHead, _ attempt: Int) {
        let others = state.withLock { state -> [any Transfer]? in
            guard state.winner == nil, !state.isCancelled, !state.isOver else { return nil }
            state.winner = attempt
            return state.transfers.filter { $0.key != attempt }.map(\.value)
        }
        guard let others else { return }
        for transfer in others { transfer.cancel() }
        receiver.headReceived(head)
    }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer, _ attempt: Int) -> BodyAnswer {
        state.withLock { $0.winner == attempt } ? receiver.bodyReceived(bytes) : .enough
    }

    func batchEnded(_ attempt: Int) {
        if state.withLock({ $0.winner == attempt }) { receiver.batchEnded() }
    }

    /// Passes on the measurements of the winner, or of the last attempt that fails.
    func measured(_ timings: TransferTimings, _ attempt: Int) {
        let isLast = state.withLock { state in
            !state.isOver && (state.winner.map { $0 == attempt } ?? (state.running == [attempt]))
        }
        if isLast { receiver.measured(timings) }
    }

    /// Ends the transfer with its winner, or with the last attempt that fails.
    func finished(_ end: TransferEnd, _ attempt: Int) {
        let isLast = state.withLock { state in
            state.running.remove(attempt)
            state.transfers[attempt] = nil
            let isLast = !state.isOver && (state.winner.map { $0 == attempt } ?? state.running.isEmpty)
            if isLast { state.isOver = true }
            return isLast
        }
        if isLast { receiver.finished(end) }
    }
}

/// The receiver of one attempt.
private final class Attempt: TransferReceiver {
    private let number: Int
    private let owner: DoubledTransfer

    init(number: Int, owner: DoubledTransfer) {
        self.number = number
        self.owner = owner
    }

    func interimReceived(_ head: ResponseHead) { owner.interimReceived(head, number) }

    func headReceived(_ head: ResponseHead) { owner.headReceived(head, number) }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { owner.bodyReceived(bytes, number) }

    func batchEnded() { owner.batchEnded(number) }

    func measured(_ timings: TransferTimings) { owner.measured(timings, number) }

    func finished(_ end: TransferEnd) { owner.finished(end, number) }
}
