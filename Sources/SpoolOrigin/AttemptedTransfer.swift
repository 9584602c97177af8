package import SpoolCore
internal import SpoolSystem

/// One request that is sent in one attempt or in several, by the rules of a policy.
///
/// The receiver gets one response, from the attempt that the policy chose:
///
/// - The head, the body and the end of that attempt. Its measurements come just before the end.
/// - Interim responses and the notice of a late answer, while no response is the answer. Interim
///   responses come from the oldest attempt alone, because several would repeat them.
///
/// The urgency of the readers reaches every attempt, those that start later included. `resume` goes
/// to the answer, and `cancel` to all attempts. Both take effect also before a transport has
/// returned the transfer of an attempt. No method holds a lock while it calls out.
package final class AttemptedTransfer<Policy: AttemptPolicy>: Transfer, AwaitedAnswer {
    fileprivate struct Attempt {
        enum Role {
            /// Its response may become the answer, or is the answer.
            case counts
            /// The rest of its response is read and discarded.
            case drains
            /// It is cancelled.
            case dropped
        }

        var role = Role.counts
        /// The transfer, once the transport has returned it.
        var transfer: (any Transfer)?
        var timings: TransferTimings?
    }

    fileprivate enum Phase: Equatable {
        /// No response is the answer yet. → answered, over
        case undecided
        /// The receiver has the head of this attempt. → over
        case answered(Int)
        /// The receiver has the end.
        case over
    }

    fileprivate struct State {
        var policy: Policy
        var phase = Phase.undecided
        /// The attempts that have no end yet.
        var attempts: [Int: Attempt] = [:]
        /// The number of the next attempt.
        var next = 0
        /// Whether `resume` came before the transfer of the answer was known.
        var owesResume = false
        /// The urgency of the readers since the request, or nil while it is that of the request.
        var priority: ReadPriority?
        var isCancelled = false
        /// The measurements of the attempt whose end is handled.
        var timings: TransferTimings?
    }

    private let receiver: any TransferReceiver
    private let onCancel: (@Sendable () -> Void)?
    private let state: Locked<State>

    /// Creates a request without an attempt.
    ///
    /// - Parameter onCancel: Called by `cancel()`. A caller that has not begun an attempt yet ends
    ///   the request then.
    package init(_ policy: Policy, receiver: any TransferReceiver, onCancel: (@Sendable () -> Void)? = nil) {
        self.receiver = receiver
        self.onCancel = onCancel
        state = Locked(State(policy: policy))
    }

    /// Starts an attempt, and makes up for the calls that came before its transfer was known.
    package func begin(_ start: AttemptStart) {
        let number = state.withLock { state -> Int? in
            // Since the decision, another attempt may have answered, or the request was cancelled.
            guard state.phase == .undecided, !state.isCancelled else { return nil }
            defer { state.next += 1 }
            state.attempts[state.next] = Attempt()
            return state.next
        }
        guard let number else { return endIfIdle() }
        keep(start(AttemptReceiver(number, owner: self)), of: number)
    }

    /// Ends a cancelled request that no attempt ends.
    private func endIfIdle() {
        act(nil) { state in
            state.phase == .undecided && state.isCancelled && state.counting.isEmpty ? AttemptStep(.finish(.cancelled)) : nil
        }
    }

    /// Keeps the transfer of an attempt.
    private func keep(_ transfer: any Transfer, of number: Int) {
        let (isWanted, owesResume) = state.withLock { state in
            state.attempts[number]?.transfer = transfer
            let owes = state.owesResume && state.phase == .answered(number)
            if owes { state.owesResume = false }
            let role = state.attempts[number]?.role ?? .counts
            return (!state.isCancelled && state.phase != .over && role != .dropped, owes)
        }
        transfer.setPriority(toPresent: { state.withLock { $0.priority } })
        if !isWanted { transfer.cancel() } else if owesResume { transfer.resume() }
    }

    // MARK: Events from outside

    /// Whether the request still waits for a response.
    package var isUndecided: Bool { state.withLock { $0.phase == .undecided && !$0.isCancelled } }

    /// Lets the policy decide about an answer that is late. Ignored once a response is the answer,
    /// and after `cancel()`.
    package func answerIsLate() {
        act(nil) { state in state.phase == .undecided && !state.isCancelled ? state.policy.answerIsLate() : nil }
    }

    /// Ends the request, if it is not over.
    package func end(_ end: TransferEnd) {
        act(nil) { state in state.phase == .over ? nil : AttemptStep(.finish(end)) }
    }

    // MARK: Transfer

    package func resume() {
        let transfer = state.withLock { state -> (any Transfer)? in
            if case .answered(let number) = state.phase, let transfer = state.attempts[number]?.transfer { return transfer }
            state.owesResume = state.phase != .over
            return nil
        }
        transfer?.resume()
    }

    package func setPriority(_ priority: ReadPriority) {
        let transfers = state.withLock { state in
            state.priority = priority
            return state.attempts.values.filter { $0.role == .counts }.compactMap(\.transfer)
        }
        for transfer in transfers { transfer.setPriority(priority) }
    }

    package func stop() {
        let answer = state.withLock { state -> (any Transfer)? in
            if case .answered(let number) = state.phase { state.attempts[number]?.transfer } else { nil }
        }
        if let answer { answer.stop() } else { cancel() }
    }

    package func cancel() {
        let transfers = state.withLock { state in
            state.isCancelled = true
            return state.attempts.values.compactMap(\.transfer)
        }
        for transfer in transfers { transfer.cancel() }
        onCancel?()
    }

    // MARK: Events of the attempts

    fileprivate func interimReceived(_ head: ResponseHead, of number: Int) {
        let isPassed = state.withLock { state in
            state.waits(for: number) && state.counting.min() == number && state.policy.passesInterim(of: number)
        }
        if isPassed { receiver.interimReceived(head) }
    }

    fileprivate func answerIsLate(_ number: Int) {
        if state.withLock({ $0.waits(for: number) }) { receiver.answerIsLate() }
    }

    /// - Returns: The use of the body that follows.
    fileprivate func headReceived(_ head: ResponseHead, of number: Int) -> BodyUse {
        act(number) { state in
            guard state.waits(for: number) else { return nil }
            return state.policy.headReceived(head, of: number, others: state.counting.subtracting([number]))
        }
        return state.withLock { state in
            if state.phase == .answered(number) { return .answer }
            return state.attempts[number]?.role == .drains && state.phase != .over ? .discarded : .none
        }
    }

    fileprivate func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { receiver.bodyReceived(bytes) }

    fileprivate func bodyIsQuiet(for time: Duration) -> Bool { receiver.bodyIsQuiet(for: time) }

    fileprivate func batchEnded() { receiver.batchEnded() }

    fileprivate func measured(_ timings: TransferTimings, of number: Int) {
        state.withLock { $0.attempts[number]?.timings = timings }
    }

    fileprivate func finished(_ end: TransferEnd, of number: Int) {
        act(number) { state in
            guard let attempt = state.attempts.removeValue(forKey: number), attempt.role == .counts, state.phase != .over
            else { return nil }
            if case .answered(let answer) = state.phase, answer != number { return nil }
            state.timings = attempt.timings
            // Of a cancelled request, the first end counts.
            if state.isCancelled { return AttemptStep(.finish(end)) }
            if state.phase != .undecided { return AttemptStep(.finish(end), effect: state.policy.answerEnded(end, of: number)) }
            return state.policy.ended(end, of: number, others: state.counting)
        }
    }

    // MARK: Acting

    /// Decides under the lock, and acts outside.
    private func act(_ number: Int?, _ decide: (inout State) -> AttemptStep?) {
        let step = state.withLock { state -> (AttemptStep, [any Transfer], TransferTimings?)? in
            guard let step = decide(&state) else { return nil }
            return (step, state.take(step.decision, number), state.timings)
        }
        guard let (step, unwanted, timings) = step else { return }
        step.effect?()
        if step.reportsLateness { receiver.answerIsLate() }
        for transfer in unwanted { transfer.cancel() }
        switch step.decision {
        case .wait, .drop: break
        case .pass(let head): receiver.headReceived(head)
        case .start(let start), .replace(let start, _): begin(start)
        case .finish(let end):
            if let timings { receiver.measured(timings) }
            receiver.finished(end)
        }
    }
}

extension AttemptedTransfer.State {
    /// The attempts whose responses may become the answer.
    fileprivate var counting: Set<Int> { Set(attempts.filter { $0.value.role == .counts }.keys) }

    fileprivate func waits(for number: Int) -> Bool {
        phase == .undecided && !isCancelled && attempts[number]?.role == .counts
    }

    /// Notes a decision.
    ///
    /// - Returns: The transfers to cancel.
    fileprivate mutating func take(_ decision: AttemptStep.Decision, _ number: Int?) -> [any Transfer] {
        switch decision {
        case .wait, .start: return []
        case .pass:
            guard let number else { return [] }
            phase = .answered(number)
            return drop(counting.subtracting([number]))
        case .replace(_, drains: true):
            if let number { attempts[number]?.role = .drains }
            return []
        case .replace, .drop: return number.map { drop([$0]) } ?? []
        case .finish:
            phase = .over
            return drop(Set(attempts.keys))
        }
    }

    private mutating func drop(_ numbers: Set<Int>) -> [any Transfer] {
        for number in numbers { attempts[number]?.role = .dropped }
        return numbers.sorted().compactMap { attempts[$0]?.transfer }
    }
}

/// The use of a response's body.
private enum BodyUse {
    case answer
    case discarded
    case none
}

/// The receiver of one attempt. Safe to share: its state is used only in its callbacks, which come
/// one at a time.
private final class AttemptReceiver<Policy: AttemptPolicy>: TransferReceiver, @unchecked Sendable {
    /// The most bytes of a response that are read to keep its connection.
    private let maxDiscardedBytes = 65_536

    private let number: Int
    private let owner: AttemptedTransfer<Policy>
    private var use = BodyUse.none
    private var discardedBytes = 0

    init(_ number: Int, owner: AttemptedTransfer<Policy>) {
        self.number = number
        self.owner = owner
    }

    func interimReceived(_ head: ResponseHead) { owner.interimReceived(head, of: number) }

    func answerIsLate() { owner.answerIsLate(number) }

    func headReceived(_ head: ResponseHead) { use = owner.headReceived(head, of: number) }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        switch use {
        case .answer: return owner.bodyReceived(bytes)
        case .none: return .enough
        case .discarded:
            discardedBytes += bytes.count
            return discardedBytes <= maxDiscardedBytes ? .taken : .enough
        }
    }

    func bodyIsQuiet(for time: Duration) -> Bool { use != .answer || owner.bodyIsQuiet(for: time) }

    func batchEnded() {
        if use == .answer { owner.batchEnded() }
    }

    func measured(_ timings: TransferTimings) { owner.measured(timings, of: number) }

    func finished(_ end: TransferEnd) { owner.finished(end, of: number) }
}
