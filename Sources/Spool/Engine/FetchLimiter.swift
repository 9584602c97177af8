import SpoolCore
import SpoolSystem

/// Lets origin requests start when there is a slot for them: a `FetchQueue` behind a lock, and the closures that it starts and preempts.
///
/// When a host's slots are taken, a fetch that is paused or lingers gives its slot up: 32 players that stopped reading
/// must not keep a 33rd from starting.
package final class FetchLimiter: Sendable {
    private struct Ticket {
        var start: @Sendable () -> Void
        /// Ends the fetch if it is idle; false when it is busy.
        var preempt: @Sendable () -> Bool
    }

    private struct State {
        var queue: FetchQueue
        /// One for each entry of the queue.
        var tickets: [UInt64: Ticket] = [:]
    }

    private let state: Locked<State>

    /// - Parameters:
    ///   - total: origin requests at once.
    ///   - perHost: of these, to one host.
    package init(total: Int, perHost: Int) {
        state = Locked(State(queue: FetchQueue(total: total, perHost: perHost)))
    }

    /// Calls `start` now or when a slot is free. Every submission is followed by one `finished`, started or not.
    ///
    /// - Parameter word: as for `prioritize`.
    package func submit(
        host: String, priority: ReadPriority = .playing, word: UInt64 = 0, start: @escaping @Sendable () -> Void,
        preempt: @escaping @Sendable () -> Bool
    ) -> UInt64 {
        let (id, mayStart) = state.withLock { state in
            let id = state.queue.submitted(host: host, priority: priority, word: word)
            state.tickets[id] = Ticket(start: start, preempt: preempt)
            return (id, state.queue.active.last?.id == id)
        }
        if mayStart { start() } else { reclaim() }
        return id
    }

    /// The fetch is over, or was given up in the queue. Idempotent.
    package func finished(_ id: UInt64) {
        let dropped = state.withLock { $0.tickets.removeValue(forKey: id) }
        startQueued { $0.finished(id) }
        withExtendedLifetime(dropped) {}
    }

    /// The fetch is so urgent from now on.
    ///
    /// - Parameter word: grows with each word about the fetch: those that come late are older, and ignored.
    package func prioritize(_ id: UInt64, _ priority: ReadPriority, word: UInt64) {
        startQueued { $0.prioritized(id, priority, word: word) }
        reclaim()
    }

    /// Starts nothing more for a host, until as many calls of `letGo`.
    package func hold(_ host: String) {
        state.withLock { $0.queue.hold(host) }
    }

    /// A pause of the host is over.
    package func letGo(_ host: String) {
        startQueued { $0.letGo(host) }
    }

    private func startQueued(after change: (inout FetchQueue) -> [UInt64]) {
        let starts = state.withLock { state in
            change(&state.queue).compactMap { state.tickets[$0]?.start }
        }
        for start in starts { start() }
    }

    /// Some fetch went idle: if others queue, one of them may take its slot.
    package func reclaim() {
        let candidates = state.withLock { state in
            state.queue.preemptible.compactMap { state.tickets[$0]?.preempt }
        }
        // A preempted fetch calls `finished`, which starts the queue's first.
        for preempt in candidates where preempt() { return }
    }

    /// Origin requests that run and that wait.
    package var counts: (active: Int, queued: Int) {
        state.withLock { ($0.queue.active.count, $0.queue.queue.count) }
    }
}
