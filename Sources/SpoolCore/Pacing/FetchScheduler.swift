/// Decides which requests to origins start, pause and stop. A value without locks, clocks and
/// closures.
///
/// Its methods take events. `plan` then decides by one list of rules (`FetchScheduler+Plan`), and
/// `FetchLimiter` carries the plan out. A plan costs nothing after an event that changes nothing: a
/// request that queues behind an equal one, and bytes that arrive. Otherwise it looks at the
/// running requests, which are few, and at the first waiting request of each client and host.
package struct FetchScheduler: Sendable {
    /// A request that is held or released.
    package struct Hold: Hashable, Sendable {
        /// The number of the request.
        package let id: UInt64
        /// The reason why it is held, or nil if it may run.
        package let refusal: NetworkRefusal?
        /// A number that grows with each change. Changes that arrive out of order have a smaller
        /// number, and are ignored.
        package let number: UInt64
    }

    /// The look of the shell at a running request.
    package struct Look: Hashable, Sendable {
        /// The number of the request.
        package var id: UInt64
        /// The bytes that it has moved since its start.
        package var bytes: Int64
        /// Whether its client could move more: the client sends a body, or does not take the bytes
        /// that came. Only such a request may be given up.
        package var isClientsTurn: Bool
        /// Whether its bytes are not needed at the moment, so that it may be stopped.
        package var isIdle: Bool

        /// Creates a look.
        package init(id: UInt64, bytes: Int64, isClientsTurn: Bool = false, isIdle: Bool = false) {
            (self.id, self.bytes, self.isClientsTurn, self.isIdle) = (id, bytes, isClientsTurn, isIdle)
        }
    }

    /// The time for which a host asked to be left alone.
    struct HostPause: Hashable {
        var until: MonotonicInstant
        /// The resource whose request was refused.
        let resource: UInt64
        /// Whether the host refused another resource too, so that one request in a second starts.
        var isStrict = false
        var lastStart: MonotonicInstant?
    }

    /// The waiting requests of one client for which the rules are the same.
    struct Group: Hashable {
        let urgency: ScheduledRequest.Urgency
        let client: [UInt8]?
        let isHeldBack: Bool

        init(_ request: ScheduledRequest) { (urgency, client, isHeldBack) = (request.urgency, request.client, request.isHeldBack) }
    }

    /// The time for which a host that serves one connection gets one request at a time. The next
    /// second request finds out whether it still does.
    private static let oneConnectionTime = Nanoseconds.seconds(3_600)
    /// The most hosts with one connection.
    private static let oneConnectionHosts = 256

    /// The longest pause of a host: 30 s, as for a resource.
    private static let longestPause = Nanoseconds.seconds(30)

    package let total: Int
    let perHost: Int
    let isForwarding: Bool
    /// The network policy of the cache.
    package private(set) var policy: NetworkPolicy
    /// The conditions that a monitor reported last.
    package private(set) var conditions = NetworkConditions()
    /// Whether preloads and downloads wait, because the cache is bypassed.
    private var isBypassed = false
    var share: BackgroundShare
    /// All requests that wait or run.
    var requests: [UInt64: ScheduledRequest] = [:]
    /// The running requests, in the order in which they started.
    package internal(set) var running: [UInt64] = []
    /// The waiting requests that the policy permits: those of a host in the order of submission.
    var queues: [Group: [String: [UInt64]]] = [:]
    var pauses: [String: HostPause] = [:]
    /// The hosts that serve one connection, and until when that is believed.
    private var oneConnection: [String: MonotonicInstant] = [:]
    /// The number of requests that yield to players.
    private var yieldingCount = 0
    private var next: UInt64 = 1
    private var changes: UInt64 = 0
    /// The holds since the last plan.
    var holds: [Hold] = []
    /// Whether an event may have changed the plan.
    var isChanged = false
    /// The time at which the plan changes by itself.
    var deadline: MonotonicInstant?
    var lastLook: MonotonicInstant?
    /// Whether a quiet request may be given up: once after each look.
    var mayGiveUp = false

    /// Creates a scheduler without requests.
    ///
    /// - Parameters:
    ///   - total: The most requests at once, at least 1.
    ///   - perHost: The most of these to one host, at least 1.
    ///   - isForwarding: Whether its requests are forwarded ones. The less urgent of these are
    ///     uploads that clients wait for, and no preloads.
    ///   - policy: The conditions under which requests may run.
    ///   - share: The most of the bytes that background requests have beside a player, 0 to 1.
    package init(total: Int, perHost: Int, isForwarding: Bool = false, policy: NetworkPolicy = NetworkPolicy(), share: Double = 1) {
        (self.total, self.perHost, self.isForwarding, self.policy) = (total, perHost, isForwarding, policy)
        self.share = BackgroundShare(share: share)
    }

    // MARK: Requests

    /// Adds a request.
    ///
    /// - Parameters:
    ///   - client: The client that it is for, or nil for a program of this machine.
    ///   - isHeldBack: Whether the origin may hold the answer back.
    ///   - sequence: The sequence number of `demand`, as for `demanded`.
    /// - Returns: The number of the request.
    package mutating func submitted(
        host: String, client: [UInt8]? = nil, isHeldBack: Bool = false, _ demand: FetchDemand = FetchDemand(.playing), sequence: UInt64 = 0,
        now: MonotonicInstant
    ) -> UInt64 {
        let id = next
        next += 1
        requests[id] = ScheduledRequest(
            id: id, host: host, client: client, isHeldBack: isHeldBack, waitsSince: now, demand: demand, sequence: sequence)
        if demand.yieldsToPlayers { yieldingCount += 1 }
        judge(id)
        return id
    }

    /// Removes a request that is over or was given up. Idempotent.
    package mutating func finished(_ id: UInt64) {
        dequeue(id)
        guard let request = requests.removeValue(forKey: id) else { return }
        if request.demand.yieldsToPlayers { yieldingCount -= 1 }
        guard request.run != nil else { return }
        running.removeAll { $0 == id }
        isChanged = true
    }

    /// Changes the demand of a request.
    ///
    /// - Parameter sequence: The sequence number of the change. It grows with each change for one
    ///   request, because changes may arrive out of order.
    package mutating func demanded(_ id: UInt64, _ demand: FetchDemand, sequence: UInt64, now: MonotonicInstant) {
        guard var request = requests[id], request.sequence < sequence else { return }
        dequeue(id)
        yieldingCount += (demand.yieldsToPlayers ? 1 : 0) - (request.demand.yieldsToPlayers ? 1 : 0)
        if request.urgency != .awaited { request.waitsSince = now }
        (request.demand, request.sequence) = (demand, sequence)
        requests[id] = request
        judge(id)
        if request.run != nil { isChanged = true }
    }

    /// Notes that the answer to a running request is late.
    package mutating func late(_ id: UInt64) {
        requests[id]?.run?.isLate = true
        isChanged = true
    }

    /// Notes the head of the answer to a running request.
    ///
    /// - Parameter isEndless: Whether the body has no end that is known.
    package mutating func answered(_ id: UInt64, isEndless: Bool, now: MonotonicInstant) {
        requests[id]?.run?.isLate = false
        requests[id]?.run?.placeEnd = isEndless ? now + ScheduledRequest.placeTime : nil
    }

    /// Notes whether a running request may be stopped.
    package mutating func idle(_ id: UInt64, _ isIdle: Bool) {
        requests[id]?.run?.isIdle = isIdle
        if !queues.isEmpty { isChanged = true }
    }

    /// Takes looks at running requests. Due when a plan wants them.
    package mutating func looked(_ looks: [Look], now: MonotonicInstant) {
        for look in looks {
            requests[look.id]?.run?.use.looked(look.bytes, now: now)
            requests[look.id]?.run?.isIdle = look.isIdle
            requests[look.id]?.run?.isClientsTurn = look.isClientsTurn
        }
        (lastLook, mayGiveUp, isChanged) = (now, true, true)
    }

    // MARK: Hosts, the network and players

    /// Notes that a host asked to be left alone by a 429.
    ///
    /// The first one holds the background requests to the host. A second one, to another resource
    /// within the pause, holds the others too: one that a client waits for starts in a second.
    package mutating func refused(host: String, resource: UInt64, for delay: Nanoseconds, now: MonotonicInstant) {
        let until = now + max(0, min(delay, Self.longestPause))
        var pause = pauses[host].flatMap { $0.until > now ? $0 : nil } ?? HostPause(until: until, resource: resource)
        pause.until = max(pause.until, until)
        if pause.resource != resource { pause.isStrict = true }
        pauses[host] = pause
        isChanged = true
    }

    /// Notes that a host served a request only after another connection to it had ended.
    package mutating func servesOneConnection(_ host: String, now: MonotonicInstant) {
        if oneConnection.count >= Self.oneConnectionHosts {
            oneConnection = oneConnection.filter { $0.value > now }
            if oneConnection.count >= Self.oneConnectionHosts { oneConnection = [:] }
        }
        oneConnection[host] = now + Self.oneConnectionTime
        isChanged = true
    }

    /// Whether a host is believed to serve one connection.
    package func servesOne(_ host: String, now: MonotonicInstant) -> Bool { oneConnection[host].map { now < $0 } == true }

    /// The number of requests that a host gets at a time.
    func places(of host: String, now: MonotonicInstant) -> Int { servesOne(host, now: now) ? 1 : perHost }

    /// Takes another policy, the conditions that a monitor reports, or whether the cache is
    /// bypassed.
    package mutating func networkChanged(policy: NetworkPolicy? = nil, conditions: NetworkConditions? = nil, isBypassed: Bool? = nil) {
        (self.policy, self.conditions) = (policy ?? self.policy, conditions ?? self.conditions)
        self.isBypassed = isBypassed ?? self.isBypassed
        for id in requests.keys.sorted() {
            dequeue(id)
            judge(id)
        }
    }

    /// Takes what the players of a resource need now.
    package mutating func playersChanged(of resource: UInt64, at host: String, _ need: BackgroundShare.Need, now: MonotonicInstant) {
        let before = share.allowance
        share.playersChanged(of: resource, at: host, need, now: now)
        if share.allowance != before { isChanged = true }
        if let time = shareDeadline { deadline = min(deadline ?? time, time) }
    }

    /// Counts bytes that arrived. This is no event, unless they are all that a background request
    /// may have for a while.
    ///
    /// - Returns: Whether a plan is due.
    package mutating func received(_ bytes: Int, forPlayer: Bool) -> Bool {
        guard share.received(bytes, forPlayer: forPlayer) else { return false }
        isChanged = true
        return true
    }

    /// Whether bytes for a player are on their way, or a player waits for some.
    package mutating func servesPlayers(now: MonotonicInstant) -> Bool {
        share.timePassed(now: now)
        return share.allowance < .max
    }

    // MARK: Reading

    /// Whether a request of a preload or a download runs.
    package var fetchesAhead: Bool { running.contains { requests[$0]?.demand.priority == .prefetch } }

    /// The running requests to a host, in the order in which they started.
    package func running(at host: String) -> [UInt64] { running.filter { requests[$0]?.host == host } }

    /// Whether the network policy permits a request with this demand under the present conditions.
    package func permits(_ demand: FetchDemand) -> Bool {
        !conditions.isOffline && demand.access(under: policy).refusal(under: conditions) == nil
    }

    /// The number of requests that wait.
    package var waitingCount: Int { requests.count - running.count }

    /// The number of background requests that may run now.
    package var allowance: Int { share.allowance }

    /// The networks that a request may use.
    package func access(of id: UInt64) -> NetworkAccess { requests[id]?.demand.access(under: policy) ?? NetworkAccess() }

    /// When the share changes by itself, if a request depends on it.
    var shareDeadline: MonotonicInstant? { yieldingCount > 0 ? share.deadline : nil }

    // MARK: Holds and queues

    /// Holds a request that the policy refuses, and queues a waiting one that it permits.
    private mutating func judge(_ id: UInt64) {
        guard let request = requests[id] else { return }
        let refusal = refusal(of: request)
        if refusal != nil || request.refusal != .playback { hold(id, refusal) }
        guard request.run == nil, refusal == nil else { return }
        let place = queues[Group(request)]?[request.host]?.lastIndex { $0 < id }.map { $0 + 1 } ?? 0
        queues[Group(request), default: [:]][request.host, default: []].insert(id, at: place)
        // The first one of a queue stands for all behind it.
        if place == 0 { isChanged = true }
    }

    /// Returns the reason why a request may not run now, or nil.
    private func refusal(of request: ScheduledRequest) -> NetworkRefusal? {
        if policy.isOffline { return .offline }
        if isBypassed, request.demand.isPrefetch { return .bypassed }
        return request.demand.access(under: policy).refusal(under: conditions)
    }

    /// Sets the reason why a request is held.
    mutating func hold(_ id: UInt64, _ refusal: NetworkRefusal?) {
        guard let request = requests[id], request.refusal != refusal else { return }
        requests[id]?.refusal = refusal
        changes += 1
        holds.append(Hold(id: id, refusal: refusal, number: changes))
        isChanged = true
    }

    /// Removes a request from its queue.
    mutating func dequeue(_ id: UInt64) {
        guard let request = requests[id], request.run == nil else { return }
        let group = Group(request)
        guard let place = queues[group]?[request.host]?.firstIndex(of: id) else { return }
        queues[group]?[request.host]?.remove(at: place)
        if place == 0 { isChanged = true }
        guard queues[group]?[request.host]?.isEmpty == true else { return }
        queues[group]?[request.host] = nil
        if queues[group]?.isEmpty == true { queues[group] = nil }
    }
}
