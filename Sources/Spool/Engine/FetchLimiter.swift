import SpoolCore
import SpoolSystem

/// A fetch that the limiter starts, pauses and stops. Every method is called outside the lock of
/// the limiter, on any thread.
package protocol LimitedFetch: AnyObject, Sendable {
    /// Starts the fetch on these networks.
    func start(on access: NetworkAccess)
    /// Holds or releases the fetch, started or not.
    func hold(_ hold: FetchScheduler.Hold)
    /// Ends the fetch if it is idle, and returns false if it is busy.
    func stopIfIdle() -> Bool
    /// Ends the fetch if no reader needs it, and returns whether it did.
    func stopIfUnneeded() -> Bool
    /// Ends the fetch, because its client has moved nothing for a minute.
    func giveUp()
    /// Returns how far the fetch has come.
    func look(_ id: UInt64) -> FetchScheduler.Look
}

/// Starts, pauses and stops origin requests as a `FetchScheduler` decides. Requests that a proxy
/// forwards have a limiter of their own.
package final class FetchLimiter: Sendable {
    private struct State {
        var scheduler: FetchScheduler
        /// One fetch for each request of the scheduler.
        var fetches: [UInt64: any LimitedFetch] = [:]
        /// The time for which a timer is set.
        var timer: MonotonicInstant?
    }

    private let state: Locked<State>
    private let time: any TimeSource
    private let control: any Mailbox

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - scheduler: The rules, without requests.
    ///   - time: Its clock.
    ///   - control: Runs its timers.
    package init(_ scheduler: FetchScheduler, time: any TimeSource, control: any Mailbox) {
        self.time = time
        self.control = control
        state = Locked(State(scheduler: scheduler))
    }

    /// The most forwarded requests at once, besides slow ones and those of further clients. With
    /// all of them, and all fetches, libcurl has connections left (`CurlTransportOptions`).
    static let forwardedRequests = 32

    /// A limiter of the requests that a proxy forwards to its fixed origin.
    static func ofForwardedRequests(time: any TimeSource, control: any Mailbox) -> FetchLimiter {
        let most = FetchScheduler.mostRequests(total: forwardedRequests)
        return FetchLimiter(FetchScheduler(total: forwardedRequests, perHost: most, isForwarding: true), time: time, control: control)
    }

    /// Starts a fetch now, or when the rules permit it.
    ///
    /// The caller calls `finished` once for every submission, started or not.
    ///
    /// - Parameter request: Submits the request to the scheduler, and returns its number.
    /// - Returns: The number of the request.
    package func submit(
        _ fetch: any LimitedFetch, _ request: (inout FetchScheduler, MonotonicInstant) -> UInt64
    ) -> UInt64 {
        act { state, now in
            let id = request(&state.scheduler, now)
            state.fetches[id] = fetch
            return id
        }
    }

    /// Removes a fetch that is over, or that was given up. Idempotent.
    package func finished(_ id: UInt64) {
        let dropped = act { state, _ in
            state.scheduler.finished(id)
            return state.fetches.removeValue(forKey: id)
        }
        withExtendedLifetime(dropped) {}
    }

    /// Ends one running fetch to a host that no reader needs, because the host refuses another one.
    ///
    /// - Returns: Whether another request may succeed: there was such a fetch, or the host serves
    ///   one connection and may not have noticed the end of the last one.
    func endUnneeded(at host: String) -> Bool {
        let now = time.now
        let (fetches, servesOne) = state.withLock { state in
            let scheduler = state.scheduler
            return (scheduler.running(at: host).compactMap { state.fetches[$0] }, scheduler.servesOne(host, now: now))
        }
        return fetches.contains { $0.stopIfUnneeded() } || servesOne
    }

    /// Takes an event of the scheduler.
    package func change(_ event: (inout FetchScheduler, MonotonicInstant) -> Void) {
        act { state, now in event(&state.scheduler, now) }
    }

    /// Counts bytes that arrived.
    package func received(_ bytes: Int, forPlayer: Bool) {
        if state.withLock({ $0.scheduler.received(bytes, forPlayer: forPlayer) }) { change { _, _ in } }
    }

    /// The conditions under which fetches may run. A change applies to running fetches at once.
    package var policy: NetworkPolicy {
        get { state.withLock { $0.scheduler.policy } }
        set { change { scheduler, _ in scheduler.networkChanged(policy: newValue) } }
    }

    /// Whether the system reports that there is no network.
    var isOffline: Bool { state.withLock { $0.scheduler.conditions.isOffline } }

    /// Whether the network policy permits a request with this demand now.
    func permits(_ demand: FetchDemand) -> Bool { state.withLock { $0.scheduler.permits(demand) } }

    /// Whether bytes for a player are on their way, or a player waits for some.
    package var servesPlayers: Bool {
        let now = time.now
        return state.withLock { $0.scheduler.servesPlayers(now: now) }
    }

    /// Whether a request of a preload or a download runs.
    var fetchesAhead: Bool { state.withLock { $0.scheduler.fetchesAhead } }

    /// The number of origin requests that run, and the number that wait.
    package var counts: (active: Int, queued: Int) {
        state.withLock { ($0.scheduler.running.count, $0.scheduler.waitingCount) }
    }

    // MARK: Plans

    /// Runs an event, and carries out the plan that follows.
    private func act<Result>(_ event: (inout State, MonotonicInstant) -> Result) -> Result {
        let now = time.now
        let (result, plan, fetches, accesses, deadline) = state.withLock { state in
            let result = event(&state, now)
            let plan = state.scheduler.plan(now: now)
            var fetches: [UInt64: any LimitedFetch] = [:]
            for id in plan.starts + plan.holds.map(\.id) + plan.stops + [plan.gaveUp].compactMap(\.self) { fetches[id] = state.fetches[id] }
            let isLater = plan.deadline.map { deadline in state.timer.map { $0 <= deadline } ?? false } ?? true
            if !isLater { state.timer = plan.deadline }
            return (result, plan, fetches, plan.starts.map { state.scheduler.access(of: $0) }, isLater ? nil : plan.deadline)
        }
        for hold in plan.holds { fetches[hold.id]?.hold(hold) }
        for (id, access) in zip(plan.starts, accesses) { fetches[id]?.start(on: access) }
        if let id = plan.gaveUp { fetches[id]?.giveUp() }
        for id in plan.stops where fetches[id]?.stopIfIdle() == false { change { scheduler, _ in scheduler.idle(id, false) } }
        if let deadline {
            _ = time.after(max(0, deadline - now), on: control) { [weak self] in
                self?.act { state, _ in if state.timer == deadline { state.timer = nil } }
            }
        }
        if plan.wantsLooks { look() }
        return result
    }

    /// Looks how far the running fetches have come.
    private func look() {
        let running = state.withLock { state in state.scheduler.running.compactMap { id in state.fetches[id].map { (id, $0) } } }
        let looks = running.map { id, fetch in fetch.look(id) }
        change { scheduler, now in scheduler.looked(looks, now: now) }
    }
}
