package import SpoolCore
package import SpoolSystem

/// A request that waits for its answer.
package protocol AwaitedAnswer: AnyObject, Sendable {
    /// Whether it still waits.
    var isUndecided: Bool { get }
    /// Called once, when the answer did not come in time.
    func answerIsLate()
}

/// Finds the requests whose answer is late, with one timer for all of them: most answers come soon,
/// and a timer for each would wake a thread.
package final class LatenessMonitor: Sendable {
    private struct Waiting {
        weak var transfer: (any AwaitedAnswer)?
        var deadline: MonotonicInstant

        var isOver: Bool { transfer?.isUndecided != true }
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

    /// Creates a monitor without requests.
    package init(time: any TimeSource, mailbox: any Mailbox) {
        self.time = time
        self.mailbox = mailbox
    }

    /// Watches for the answer to a request, which is late after `delay`.
    package func add(_ transfer: any AwaitedAnswer, _ delay: Nanoseconds) {
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
        let (late, next) = state.withLock { state -> ([any AwaitedAnswer], MonotonicInstant?) in
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
