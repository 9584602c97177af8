import SpoolCore
import SpoolSystem

/// Starts origin requests when there is a slot for them and the network policy permits them: a
/// `FetchQueue`, a `NetworkGate` and a `BandwidthShare` behind one lock, with the closures that
/// start, preempt and hold each fetch. Requests that a proxy forwards have a limiter of their own.
///
/// When all slots of a host are taken, a fetch that is paused or lingers gives up its slot. Without
/// that, 32 players that stopped reading would keep a 33rd from starting.
package final class FetchLimiter: Sendable {
    /// The side of a fetch that the limiter looks at while others wait for a slot.
    package struct Progress: Sendable {
        /// Returns the bytes that the fetch has moved, and whether its client could move more.
        /// Called outside the lock, on any thread.
        package var moved: @Sendable () -> (bytes: Int64, isClientsTurn: Bool)
        /// Ends the fetch, because its client has moved nothing for a minute. Called outside the
        /// lock.
        package var end: @Sendable () -> Void

        /// Creates a side.
        package init(
            moved: @escaping @Sendable () -> (bytes: Int64, isClientsTurn: Bool), end: @escaping @Sendable () -> Void = {}
        ) {
            (self.moved, self.end) = (moved, end)
        }
    }

    private struct Ticket {
        var start: @Sendable (NetworkAccess) -> Void
        /// Ends the fetch if it is idle, and returns false if it is busy.
        var preempt: @Sendable () -> Bool
        /// Pauses the fetch, or lets it go on.
        var hold: @Sendable (NetworkGate.Change) -> Void
        /// Nil for a fetch that keeps its slot however slow it is.
        var progress: Progress?
        /// When the fetch started.
        var startTime: MonotonicInstant?
    }

    private struct State {
        var queue: FetchQueue
        var gate: NetworkGate
        var share: BandwidthShare
        /// The time for which a timer of the share is set.
        var timer: MonotonicInstant?
        /// One ticket for each entry of the queue.
        var tickets: [UInt64: Ticket] = [:]
        /// Whether a timer for the next look is set.
        var looksAgain = false
        let time: (any TimeSource)?

        /// Returns a call that starts a fetch on the networks that it may use.
        mutating func starting(_ id: UInt64) -> (@Sendable () -> Void)? {
            guard let start = tickets[id]?.start else { return nil }
            tickets[id]?.startTime = time?.now
            let access = gate.access(of: id)
            return { start(access) }
        }

        /// Whether the next look is due at some time, and no timer is set for it.
        mutating func needsLook() -> Bool {
            guard time != nil, !looksAgain, queue.isFull else { return false }
            looksAgain = true
            return true
        }

        /// Notes the fetches that are held and released.
        ///
        /// - Returns: The calls that start others.
        mutating func take(_ changes: [NetworkGate.Change]) -> [@Sendable () -> Void] {
            let started = changes.flatMap { queue.setHeld($0.id, $0.refusal != nil, keepsSlot: $0.refusal == .playback) }
            return started.compactMap { starting($0) }
        }
    }

    private let state: Locked<State>
    private let time: (any TimeSource)?
    private let control: (any Mailbox)?

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - total: The most origin requests at once.
    ///   - perHost: The most of these to one host.
    ///   - policy: The conditions under which they may run.
    ///   - share: The most of the bytes that requests below `.playing` have beside a player.
    ///   - time: The clock of the share and of slow requests. Nil for a limiter without either.
    ///   - control: Runs its timers.
    package init(
        total: Int, perHost: Int, isForwarding: Bool = false, policy: NetworkPolicy = NetworkPolicy(), share: Double = 1,
        time: (any TimeSource)? = nil, control: (any Mailbox)? = nil
    ) {
        self.time = time
        self.control = control
        state = Locked(
            State(
                queue: FetchQueue(total: total, perHost: perHost, isForwarding: isForwarding), gate: NetworkGate(policy: policy),
                share: BandwidthShare(share: share), time: time))
    }

    /// The most forwarded requests at once, besides slow ones and those of further clients. With all
    /// of them, and all fetches, libcurl has connections left (`CurlTransportOptions`).
    static let forwardedRequests = 32

    /// A limiter of the requests that a proxy forwards to its fixed origin.
    static func ofForwardedRequests(time: any TimeSource, control: any Mailbox) -> FetchLimiter {
        FetchLimiter(
            total: forwardedRequests, perHost: FetchQueue.mostRequests(total: forwardedRequests), isForwarding: true, time: time,
            control: control)
    }

    /// Calls `start` now, or when a slot is free and the network policy permits it.
    ///
    /// The caller calls `finished` once for every submission, started or not.
    ///
    /// - Parameters:
    ///   - client: The client that the fetch is for, or nil for a program of this machine.
    ///   - sequence: The sequence number of `demand`, as for `demand`.
    ///   - start: Starts the fetch on these networks. Called outside the lock.
    ///   - preempt: Ends the fetch if it is idle, and returns false if it is busy.
    ///   - hold: Holds or releases the fetch, started or not. Called outside the lock, on any
    ///     thread.
    ///   - progress: The side to look at while others wait. Nil for a fetch that keeps its slot.
    /// - Returns: The id of the submission.
    package func submit(
        host: String, client: [UInt8]? = nil, demand: FetchDemand = FetchDemand(.playing), sequence: UInt64 = 0,
        start: @escaping @Sendable (NetworkAccess) -> Void, preempt: @escaping @Sendable () -> Bool,
        hold: @escaping @Sendable (NetworkGate.Change) -> Void = { _ in }, progress: Progress? = nil
    ) -> UInt64 {
        if demand.yieldsToPlayers { shareChanged { share, count, now in share.othersChanged(count + 1, now: now) } }
        let (id, change, begin) = state.withLock { state in
            let id = state.queue.submitted(
                host: host, client: client, priority: demand.priority, sequence: sequence, isHeld: state.gate.refuses(demand))
            state.tickets[id] = Ticket(start: start, preempt: preempt, hold: hold, progress: progress)
            let change = state.gate.entered(id, demand, sequence: sequence)
            return (id, change, state.queue.active.last?.id == id ? state.starting(id) : nil)
        }
        if let change { hold(change) }
        if let begin { begin() } else { reclaim() }
        return id
    }

    // MARK: The network

    /// The conditions under which fetches may run. A change applies to running fetches at once.
    package var policy: NetworkPolicy {
        get { state.withLock { $0.gate.policy } }
        set { judge { $0.policyChanged(newValue) } }
    }

    /// Takes the conditions that a monitor reports.
    package func conditionsChanged(_ conditions: NetworkConditions) {
        judge { $0.conditionsChanged(conditions) }
    }

    /// Holds and releases fetches, and starts those that may start after that.
    private func judge(_ event: (inout NetworkGate) -> [NetworkGate.Change]) {
        let (holds, starts) = state.withLock { state in
            let changes = event(&state.gate)
            let holds = changes.compactMap { change in state.tickets[change.id].map { (change, $0.hold) } }
            return (holds, state.take(changes))
        }
        for (change, hold) in holds { hold(change) }
        for start in starts { start() }
    }

    // MARK: Players

    /// Takes what the players of a session need. Less urgent fetches pause and go on accordingly.
    package func playersChanged(of session: UInt64, _ need: BandwidthShare.Need) {
        shareChanged { share, _, now in share.playersChanged(of: session, need, now: now) }
    }

    /// Counts bytes that arrived.
    package func received(_ bytes: Int, forPlayer: Bool) {
        state.withLock { $0.share.received(bytes, forPlayer: forPlayer) }
    }

    /// Whether bytes for a player are on their way, or a player waits for some.
    package var servesPlayers: Bool {
        guard let time else { return false }
        let now = time.now
        return state.withLock { state in
            // Without requests that yield, no timer tells the share that the time has passed.
            state.share.timePassed(now: now)
            return state.share.allowance < .max
        }
    }

    private func countOthers() { shareChanged { share, count, now in share.othersChanged(count, now: now) } }

    /// Changes the share, holds and releases fetches, and sets the next timer.
    private func shareChanged(_ event: (inout BandwidthShare, _ others: Int, MonotonicInstant) -> Void) {
        guard let time, let control else { return }
        let now = time.now
        let (holds, starts, deadline) = state.withLock { state in
            event(&state.share, state.gate.yieldingCount, now)
            let changes = state.gate.yieldChanged(state.share.allowance)
            let holds = changes.compactMap { change in state.tickets[change.id].map { (change, $0.hold) } }
            var deadline = state.share.deadline
            if let next = deadline, let set = state.timer, set <= next { deadline = nil }
            if deadline != nil { state.timer = deadline }
            return (holds, state.take(changes), deadline)
        }
        for (change, hold) in holds { hold(change) }
        for start in starts { start() }
        guard let deadline else { return }
        _ = time.after(max(0, deadline - now), on: control) { [weak self] in self?.timerFired(deadline) }
    }

    private func timerFired(_ deadline: MonotonicInstant) {
        state.withLock { if $0.timer == deadline { $0.timer = nil } }
        shareChanged { share, _, now in share.timePassed(now: now) }
    }

    // MARK: Slots

    /// Frees the slot of a fetch that is over, or removes it from the queue. Idempotent.
    package func finished(_ id: UInt64) {
        let dropped = state.withLock { state in
            state.gate.left(id)
            return state.tickets.removeValue(forKey: id)
        }
        startQueued { $0.finished(id) }
        withExtendedLifetime(dropped) {}
        countOthers()
    }

    /// Changes the priority of a fetch, and the conditions that its readers accept.
    ///
    /// - Parameter sequence: A number that grows with each change of one fetch. A change with a
    ///   smaller number than the last is late, and is ignored.
    package func demand(_ id: UInt64, _ demand: FetchDemand, sequence: UInt64) {
        judge { gate in gate.demanded(id, demand, sequence: sequence).map { [$0] } ?? [] }
        startQueued { $0.prioritized(id, demand.priority, sequence: sequence) }
        countOthers()
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
        let starts = state.withLock { state in change(&state.queue).compactMap { state.starting($0) } }
        for start in starts { start() }
    }

    /// Takes the slot of one idle fetch if others wait in the queue. Called when a fetch goes idle.
    package func reclaim() {
        let (candidates, needsLook) = state.withLock { state in
            (state.queue.preemptible.compactMap { state.tickets[$0]?.preempt }, state.needsLook())
        }
        // A preempted fetch calls `finished`, which starts the first of the queue.
        for preempt in candidates where preempt() { break }
        if needsLook { look() }
    }

    // MARK: Slow fetches

    /// Looks how far the running fetches have come, and again after a while if others still wait.
    private func look() {
        guard let time, let control else { return }
        let now = time.now
        let running = state.withLock { state -> [(UInt64, MonotonicInstant, Progress)] in
            state.looksAgain = false
            guard state.queue.isFull else { return [] }
            let running = state.queue.active.compactMap { entry -> (UInt64, MonotonicInstant, Progress)? in
                guard let ticket = state.tickets[entry.id], let progress = ticket.progress else { return nil }
                return (entry.id, ticket.startTime ?? now, progress)
            }
            state.looksAgain = !running.isEmpty
            return running
        }
        guard !running.isEmpty else { return }
        let looks = running.map { id, start, progress in
            let (bytes, isClientsTurn) = progress.moved()
            return FetchQueue.Look(id: id, start: start, bytes: bytes, isClientsTurn: isClientsTurn)
        }
        let (starts, end, looksAgain) = state.withLock { state in
            let verdict = state.queue.looked(looks, now: now)
            state.looksAgain = false
            let starts = verdict.started.compactMap { state.starting($0) }
            return (starts, verdict.ended.flatMap { state.tickets[$0]?.progress?.end }, state.needsLook())
        }
        for start in starts { start() }
        end?()
        if looksAgain { _ = time.after(SlotUse.lookInterval, on: control) { [weak self] in self?.look() } }
    }

    /// The number of origin requests that run, and the number that wait.
    package var counts: (active: Int, queued: Int) {
        state.withLock { ($0.queue.active.count, $0.queue.queue.count) }
    }
}
