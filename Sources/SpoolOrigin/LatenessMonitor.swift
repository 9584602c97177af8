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
    }

    private struct State {
        var waiting: [Waiting] = []
        /// The number of requests at which the answered ones are removed.
        var limit = LatenessMonitor.leastLimit
        /// The time of the next check, if one is planned.
        var nextCheck: MonotonicInstant?

        /// Takes out all requests. A request is looked at without the lock, because it has a lock
        /// of its own, and its last reference may end there.
        mutating func takeAll() -> [Waiting] { exchange(&waiting, with: []) }

        /// Plans a check.
        ///
        /// - Returns: The time of the check if it needs a timer, because none as early is planned.
        mutating func plan(_ deadline: MonotonicInstant) -> MonotonicInstant? {
            if let nextCheck, nextCheck <= deadline { return nil }
            nextCheck = deadline
            return deadline
        }
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
        let (check, crowd) = state.withLock { state in
            state.waiting.append(Waiting(transfer: transfer, deadline: deadline))
            return (state.plan(deadline), state.waiting.count > state.limit ? state.takeAll() : [])
        }
        checkLater(check)
        if !crowd.isEmpty { putBack(crowd.filter { $0.transfer?.isUndecided == true }) }
    }

    /// Puts back requests that were taken out and still wait.
    private func putBack(_ waiting: [Waiting]) {
        let check = state.withLock { state in
            state.waiting += waiting
            state.limit = max(Self.leastLimit, 2 * state.waiting.count)
            return waiting.map(\.deadline).min().flatMap { state.plan($0) }
        }
        checkLater(check)
    }

    private func checkLater(_ deadline: MonotonicInstant?) {
        guard let deadline else { return }
        _ = time.after(max(0, deadline - time.now), on: mailbox) { [weak self] in self?.check(plannedFor: deadline) }
    }

    private func check(plannedFor deadline: MonotonicInstant) {
        let now = time.now
        let all = state.withLock { state -> [Waiting] in
            guard state.nextCheck == deadline else { return [] }
            state.nextCheck = nil
            return state.takeAll()
        }
        let waiting = all.filter { $0.transfer?.isUndecided == true }
        putBack(waiting.filter { $0.deadline > now })
        for late in waiting where late.deadline <= now { late.transfer?.answerIsLate() }
    }
}
