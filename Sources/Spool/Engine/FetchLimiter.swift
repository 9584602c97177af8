import SpoolSystem

/// How many origin requests run at once: in all, and for one host. Others queue, first come first served.
///
/// When a host's slots are taken, a fetch that is paused or lingers gives its slot up: 32 players that stopped reading
/// must not keep a 33rd from starting.
package final class FetchLimiter: Sendable {
    private struct Ticket {
        var host: String
        var start: @Sendable () -> Void
        /// Ends the fetch if it is idle; false when it is busy.
        var preempt: @Sendable () -> Bool
    }

    private struct State {
        var active: [(id: UInt64, ticket: Ticket)] = []
        var queue: [(id: UInt64, ticket: Ticket)] = []
        var next: UInt64 = 1
        /// Hosts that asked to be left alone, each as often as it asked and was not let go yet.
        var held: [String: Int] = [:]

        func hasRoom(for host: String, total: Int, perHost: Int) -> Bool {
            held[host] == nil && active.count < total && active.count(where: { $0.ticket.host == host }) < perHost
        }
    }

    private let state = Locked(State())
    private let total: Int
    private let perHost: Int

    /// - Parameters:
    ///   - total: origin requests at once.
    ///   - perHost: of these, to one host.
    package init(total: Int, perHost: Int) {
        self.total = total
        self.perHost = perHost
    }

    /// Calls `start` now or when a slot is free. Every submission is followed by one `finished`, started or not.
    package func submit(host: String, start: @escaping @Sendable () -> Void, preempt: @escaping @Sendable () -> Bool) -> UInt64 {
        let ticket = Ticket(host: host, start: start, preempt: preempt)
        let (id, mayStart) = state.withLock { state in
            let id = state.next
            state.next += 1
            let mayStart = state.hasRoom(for: host, total: total, perHost: perHost)
            if mayStart { state.active.append((id, ticket)) } else { state.queue.append((id, ticket)) }
            return (id, mayStart)
        }
        if mayStart { start() } else { reclaim() }
        return id
    }

    /// The fetch is over, or was given up in the queue. Idempotent.
    package func finished(_ id: UInt64) {
        startQueued { state in
            state.active.removeAll { $0.id == id }
            state.queue.removeAll { $0.id == id }
        }
    }

    /// Starts nothing more for a host, until as many calls of `letGo`.
    package func hold(_ host: String) {
        state.withLock { $0.held[host, default: 0] += 1 }
    }

    /// A pause of the host is over.
    package func letGo(_ host: String) {
        startQueued { state in
            guard let count = state.held[host] else { return }
            state.held[host] = count > 1 ? count - 1 : nil
        }
    }

    private func startQueued(after change: (inout State) -> Void) {
        let starts = state.withLock { state -> [@Sendable () -> Void] in
            change(&state)
            var starts: [@Sendable () -> Void] = []
            var index = 0
            while index < state.queue.count {
                let entry = state.queue[index]
                if state.hasRoom(for: entry.ticket.host, total: total, perHost: perHost) {
                    state.queue.remove(at: index)
                    state.active.append(entry)
                    starts.append(entry.ticket.start)
                } else {
                    index += 1
                }
            }
            return starts
        }
        for start in starts { start() }
    }

    /// Some fetch went idle: if others queue, one of them may take its slot.
    package func reclaim() {
        let candidates = state.withLock { state -> [@Sendable () -> Bool] in
            guard let first = state.queue.first else { return [] }
            let sameHost = state.active.filter { $0.ticket.host == first.ticket.host }
            let crowdedByHost = sameHost.count >= perHost
            return (crowdedByHost ? sameHost : state.active).map(\.ticket.preempt)
        }
        // A preempted fetch calls `finished`, which starts the queue's first.
        for preempt in candidates where preempt() { return }
    }

    /// Origin requests that run and that wait.
    package var counts: (active: Int, queued: Int) {
        state.withLock { ($0.active.count, $0.queue.count) }
    }
}
