import SpoolCore
import SpoolSystem

/// Starts origin requests when there is a slot for them: a `FetchQueue` behind a lock, with the
/// closures that start and preempt each fetch.
///
/// When all slots of a host are taken, a fetch that is paused or lingers gives up its slot. Without
/// that, 32 players that stopped reading would keep a 33rd from starting.
package final class FetchLimiter: Sendable {
    private struct Ticket {
        var start: @Sendable () -> Void
        /// Ends the fetch if it is idle, and returns false if it is busy.
        var preempt: @Sendable () -> Bool
    }

    private struct State {
        var queue: FetchQueue
        /// One ticket for each entry of the queue.
        var tickets: [UInt64: Ticket] = [:]
    }

    private let state: Locked<State>

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - total: The most origin requests at once.
    ///   - perHost: The most of these to one host.
    package init(total: Int, perHost: Int) {
        state = Locked(State(queue: FetchQueue(total: total, perHost: perHost)))
    }

    /// Calls `start` now, or when a slot is free.
    ///
    /// The caller calls `finished` once for every submission, started or not.
    ///
    /// - Parameters:
    ///   - sequence: The sequence number of `priority`, as for `prioritize`.
    ///   - start: Starts the fetch. Called outside the lock.
    ///   - preempt: Ends the fetch if it is idle, and returns false if it is busy.
    /// - Returns: The id of the submission.
    package func submit(
        host: String, priority: ReadPriority = .playing, sequence: UInt64 = 0, start: @escaping @Sendable () -> Void,
        preempt: @escaping @Sendable () -> Bool
    ) -> UInt64 {
        let (id, mayStart) = state.withLock { state in
            let id = state.queue.submitted(host: host, priority: priority, sequence: sequence)
            state.tickets[id] = Ticket(start: start, preempt: preempt)
            return (id, state.queue.active.last?.id == id)
        }
        if mayStart { start() } else { reclaim() }
        return id
    }

    /// Frees the slot of a fetch that is over, or removes it from the queue. Idempotent.
    package func finished(_ id: UInt64) {
        let dropped = state.withLock { $0.tickets.removeValue(forKey: id) }
        startQueued { $0.finished(id) }
        withExtendedLifetime(dropped) {}
    }

    /// Changes the priority of a fetch.
    ///
    /// - Parameter sequence: A number that grows with each change of one fetch. A change with a smaller
    ///   number than the last is late, and is ignored.
    package func prioritize(_ id: UInt64, _ priority: ReadPriority, sequence: UInt64) {
        startQueued { $0.prioritized(id, priority, sequence: sequence) }
        reclaim()
    }

    /// Sets whether the answer to a fetch is late, so that others of its host may start.
    package func late(_ id: UInt64, _ isLate: Bool) {
        startQueued { $0.late(id, isLate) }
    }

    /// Starts no further fetch to a host until `release` was called as often as `hold`.
    package func hold(_ host: String) {
        state.withLock { $0.queue.hold(host) }
    }

    /// Ends one hold of a host.
    package func release(_ host: String) {
        startQueued { $0.release(host) }
    }

    private func startQueued(after change: (inout FetchQueue) -> [UInt64]) {
        let starts = state.withLock { state in
            change(&state.queue).compactMap { state.tickets[$0]?.start }
        }
        for start in starts { start() }
    }

    /// Takes the slot of one idle fetch if others wait in the queue. Called when a fetch goes idle.
    package func reclaim() {
        let candidates = state.withLock { state in
            state.queue.preemptible.compactMap { state.tickets[$0]?.preempt }
        }
        // A preempted fetch calls `finished`, which starts the first of the queue.
        for preempt in candidates where preempt() { return }
    }

    /// The number of origin requests that run, and the number that wait.
    package var counts: (active: Int, queued: Int) {
        state.withLock { ($0.queue.active.count, $0.queue.queue.count) }
    }
}
