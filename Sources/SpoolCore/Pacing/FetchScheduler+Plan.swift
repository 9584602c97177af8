// The rules by which requests start, pause and stop, in this order:
//
//  1. A request that the network policy refuses waits, and a running one pauses.
//  2. The most urgent request starts first. Of equally urgent ones, that of the client with the
//     fewest requests does, then the oldest.
//  3. A host that sent a 429 gets no background request for a while. If it sent one for two
//     resources, it gets one request in a second, for a client that waits.
//  4. `total` requests run, and beside slow ones and those of other clients up to a ceiling. For a
//     client, those of another one count up to a share.
//  5. A host has `perHost` places. A client that waits for a second gets further ones, and a client
//     without any gets one. The places of late, silent and endless answers are free again. At most
//     four times as many requests run for a host.
//  6. Background requests leave places free for players, and run beside players within their share.
//  7. Where a request waits for others to end, an idle one of them stops.
//  8. At the ceiling, a request that moves nothing because of its client is given up after a
//    minute.

extension FetchScheduler {
    /// The decisions after an event.
    package struct Plan: Hashable, Sendable {
        /// The requests that start, in this order.
        package var starts: [UInt64] = []
        /// The requests that pause or go on, started or not.
        package var holds: [Hold] = []
        /// The requests that stop if they are still idle.
        package var stops: [UInt64] = []
        /// The request that is given up, because its client moves nothing.
        package var gaveUp: UInt64?
        /// Whether looks at the running requests are due.
        package var wantsLooks = false
        /// The time at which the next plan is due without an event.
        package var deadline: MonotonicInstant?

        /// Creates a plan that changes nothing.
        package init() {}
    }

    /// How many times the requests of a host may exceed its places. So a host that answers nothing
    /// leaves room to other hosts.
    private static let mostOverPlaces = 4
    /// The places of a host that are kept for players: a player has up to two requests at a time,
    /// one for its position and one for an index or another track.
    private static let keptPlaces = 2
    /// The time for which a client waits for a place of a host. Browsers have six connections to a
    /// host, and few hosts refuse more; the limit is a courtesy.
    package static let courtesy = Nanoseconds.seconds(1)
    /// The time between two requests for a host that refuses several resources.
    package static let strictInterval = Nanoseconds.seconds(1)
    /// The time for which a request waits at the ceiling before a quiet one of another client ends.
    /// A burst of short requests is over by then.
    package static let longestWait = Nanoseconds.seconds(5)
    /// The time between two looks while requests wait.
    package static let lookInterval = Nanoseconds.milliseconds(500)

    /// The requests of one client that count for others: a quarter of the slots, and at least one.
    /// Four clients share all slots, and a client without any request gets its first at once.
    package var clientShare: Int { max(1, total / 4) }

    /// The most requests at once, slow ones and those beyond a client's share included.
    package var ceiling: Int { Self.ceiling(total: total) }

    /// The same number for a scheduler with `total` slots. Half as many again make room for several
    /// clients beside one that has taken all slots.
    package static func ceiling(total: Int) -> Int { total + max(1, total / 2) }

    /// The most requests at once, with those of clients that had none. Bounds the connections.
    package static func mostRequests(total: Int) -> Int { ceiling(total: total) + max(1, total / 4) }

    /// A request that waits until one of other requests ends. None are named if it waits for a
    /// time.
    private typealias Blocked = (request: ScheduledRequest, obstacles: [ScheduledRequest])

    private var runningRequests: [ScheduledRequest] { running.compactMap { requests[$0] } }

    /// Decides which requests start, pause and stop.
    ///
    /// Due after every event and at `deadline`. Returns only the deadline if nothing has changed
    /// since the last one.
    /// - Complexity: O(*r* + *q*), *r* being the running requests and *q* the queues, for each
    ///   client that waits and each request that starts.
    package mutating func plan(now: MonotonicInstant) -> Plan {
        var plan = Plan()
        plan.deadline = deadline
        guard isChanged || deadline.map({ $0 <= now }) == true else { return plan }
        share.timePassed(now: now)
        if !pauses.isEmpty { pauses = pauses.filter { $0.value.until > now } }
        // Requests that pause leave their places to players, and a request that starts may displace
        // a less urgent one.
        yieldToPlayers()
        var blocked = startWaiting(&plan, now: now)
        if !plan.starts.isEmpty { yieldToPlayers() }
        (plan.holds, holds) = (holds, [])
        blocked.removeAll { $0.obstacles.isEmpty }
        plan.stops = stops(for: blocked)
        plan.gaveUp = giveUp(for: blocked, now: now)
        let nextLook = lastLook.map { $0 + Self.lookInterval } ?? now
        plan.wantsLooks = !blocked.isEmpty && nextLook <= now
        deadline = nextDeadline(blocked, nextLook, now: now)
        plan.deadline = deadline
        isChanged = false
        return plan
    }

    // MARK: Starting

    /// Starts all requests that may start.
    /// - Returns: The others, as far as they are the first of their queues.
    private mutating func startWaiting(_ plan: inout Plan, now: MonotonicInstant) -> [Blocked] {
        var blocked: [Blocked] = []
        // Each turn starts one request, and the last one none.
        while !queues.isEmpty {
            blocked = []
            guard let request = nextStart(&blocked, now: now) else { break }
            dequeue(request.id)
            hold(request.id, nil)
            let placed = runningRequests.filter { $0.host == request.host && $0.hasPlace(now: now) }
            let isFurther = placed.count >= places(of: request.host, now: now) && hasWaited(request, placed, now: now)
            requests[request.id]?.run = ScheduledRequest.Run(use: SlotUse(since: now), isFurther: isFurther)
            running.append(request.id)
            pauses[request.host]?.lastStart = now
            plan.starts.append(request.id)
        }
        for (request, obstacles) in blocked where obstacles.isEmpty && request.demand.yieldsToPlayers {
            hold(request.id, share.allowance < .max ? .playback : nil)
        }
        return blocked
    }

    private func nextStart(_ blocked: inout [Blocked], now: MonotonicInstant) -> ScheduledRequest? {
        let running = runningRequests
        let load = Dictionary(running.map { ($0.client, 1) }, uniquingKeysWith: +)
        let groups = queues.map { group, hosts in (group, hosts.values.compactMap(\.first).sorted()) }.sorted { a, b in
            if a.0.urgency != b.0.urgency { return a.0.urgency > b.0.urgency }
            let (first, second) = (load[a.0.client] ?? 0, load[b.0.client] ?? 0)
            return first == second ? (a.1.first ?? 0) < (b.1.first ?? 0) : first < second
        }
        for (_, heads) in groups {
            guard let oldest = heads.first.flatMap({ requests[$0] }) else { continue }
            if let obstacles = obstaclesInAll(to: oldest, running) {
                blocked.append((oldest, obstacles))
                continue
            }
            for request in heads.compactMap({ requests[$0] }) {
                guard let obstacles = obstacles(to: request, running, now: now) else { return request }
                blocked.append((request, obstacles))
            }
        }
        return nil
    }

    /// The requests of which one has to end before one of this client and urgency may start,
    /// whatever its host. Nil if none has to.
    private func obstaclesInAll(to request: ScheduledRequest, _ running: [ScheduledRequest]) -> [ScheduledRequest]? {
        let own = running.count { $0.client == request.client }
        guard request.isBackground else {
            guard running.count >= total else { return nil }
            if let obstacles = obstaclesAtCeiling(to: request, running) { return obstacles }
            let moving = own == 0 ? [] : running.filter(\.isMoving)
            let counts = Dictionary(moving.map { ($0.client, 1) }, uniquingKeysWith: +)
            let counted = counts.reduce(0) { $0 + ($1.key == request.client ? $1.value : min($1.value, clientShare)) }
            return counted >= total ? moving : nil
        }
        let background = running.filter(\.isBackground)
        // The only background request, and the first upload of a client, run beside any others.
        if running.count >= ceiling { return running }
        if isForwarding ? own == 0 : background.isEmpty { return nil }
        guard isForwarding else { return running.count >= total ? running : background.count >= max(1, total - 1) ? background : nil }
        // Uploads that are not whole leave a slot to requests that are, and half a share of what
        // one client may have at the ceiling. A slow one counts for the ceiling only.
        if background.count >= ceiling - clientShare - clientShare / 2 { return background }
        return background.count(where: \.isMoving) >= max(1, total - 1) ? background : nil
    }

    /// Connections are bounded. One client leaves a share of the ceiling to others. A client
    /// without any request may pass the ceiling by one, as long as at most a share of clients do.
    private func obstaclesAtCeiling(to request: ScheduledRequest, _ running: [ScheduledRequest]) -> [ScheduledRequest]? {
        let own = running.filter { $0.client == request.client }
        if own.count >= ceiling - clientShare { return own }
        return running.count >= (own.isEmpty ? ceiling + clientShare : ceiling) ? running : nil
    }

    /// The requests of which one has to end before `request` may start, at its host. Empty if it
    /// waits for a time.
    private func obstacles(to request: ScheduledRequest, _ running: [ScheduledRequest], now: MonotonicInstant) -> [ScheduledRequest]? {
        if let pause = pauses[request.host] {
            let isDue = pause.lastStart.map { now - $0 >= Self.strictInterval } ?? true
            if request.isBackground || (pause.isStrict && !(request.urgency == .awaited && isDue)) { return [] }
        }
        // A request that pauses goes before one that is less urgent, and before a later one.
        if request.demand.yieldsToPlayers,
            running.count(where: { $0.demand.yieldsToPlayers && $0.isPermitted && $0.urgency >= request.urgency }) >= share.allowance
        {
            return []
        }
        let ofHost = running.filter { $0.host == request.host }, perHost = places(of: request.host, now: now)
        if ofHost.count(where: { $0.isOfHost(now: now) }) / Self.mostOverPlaces >= perHost { return ofHost }
        // A request that pauses for a player keeps its place from others than players.
        let placed = ofHost.filter { $0.hasPlace(now: now) && (request.isBackground || $0.refusal == nil) }
        if placed.count >= perHost, !request.isHeldBack {
            let isFirst = !request.isBackground && !servesOne(request.host, now: now) && !ofHost.contains { $0.client == request.client }
            if !isFirst, !hasWaited(request, placed, now: now) { return placed }
        }
        guard request.isBackground, !isForwarding else { return nil }
        let background = placed.filter(\.isBackground)
        return background.count >= max(1, perHost - Self.keptPlaces) ? background : nil
    }

    /// Whether the client has waited for a further place of the host. It waits once for a row of
    /// requests, such as the pictures of a page.
    private func hasWaited(_ request: ScheduledRequest, _ placed: [ScheduledRequest], now: MonotonicInstant) -> Bool {
        guard request.urgency == .awaited else { return false }
        return now - request.waitsSince >= Self.courtesy || placed.contains { $0.run?.isFurther == true && $0.client == request.client }
    }

    // MARK: Pausing and stopping

    /// Pauses the background requests beyond those that may run beside players.
    private mutating func yieldToPlayers() {
        var left = share.allowance
        let running = runningRequests.filter(\.isPermitted).sorted { ($1.urgency, $0.id) < ($0.urgency, $1.id) }
        for request in running {
            let yields = request.demand.yieldsToPlayers && left == 0
            hold(request.id, yields ? .playback : nil)
            if request.demand.yieldsToPlayers, left > 0 { left -= 1 }
        }
    }

    /// One idle request for each host that has a waiting one: the least urgent, then the oldest.
    private func stops(for blocked: [Blocked]) -> [UInt64] {
        var stops: [UInt64] = []
        var hosts: Set<String> = []
        for (request, obstacles) in blocked where hosts.insert(request.host).inserted {
            let idle = obstacles.filter { $0.run?.isIdle == true && !stops.contains($0.id) }
            if let stop = idle.min(by: { ($0.urgency, $0.id) < ($1.urgency, $1.id) }) { stops.append(stop.id) }
        }
        return stops
    }

    /// The quiet request that ends for the first one that has waited for `longestWait` at the
    /// ceiling: of the client with most requests, the one that has been quiet for longest.
    ///
    /// It is never a request of the waiting client, and never one whose client takes everything
    /// that the origin sends. Clients without a name are programs of this machine, which nothing
    /// tells apart.
    private mutating func giveUp(for blocked: [Blocked], now: MonotonicInstant) -> UInt64? {
        guard mayGiveUp else { return nil }
        mayGiveUp = false
        guard let waiting = blocked.first(where: { now - $0.request.waitsSince >= Self.longestWait })?.request,
            let obstacles = obstaclesAtCeiling(to: waiting, runningRequests)
        else { return nil }
        let others = obstacles.filter { waiting.client == nil || $0.client != waiting.client }
        let counts = Dictionary(others.map { ($0.client, 1) }, uniquingKeysWith: +)
        let most = counts.values.max()
        let quiet = others.filter { $0.run?.use.isQuiet == true && $0.run?.isClientsTurn == true && counts[$0.client] == most }
        return quiet.min { ($0.run?.use.quietSince ?? now) < ($1.run?.use.quietSince ?? now) }?.id
    }

    private func nextDeadline(_ blocked: [Blocked], _ nextLook: MonotonicInstant, now: MonotonicInstant) -> MonotonicInstant? {
        var times = [shareDeadline].compactMap(\.self)
        if !queues.isEmpty { times += pauses.values.flatMap { [$0.until, ($0.lastStart ?? now) + Self.strictInterval] } }
        if !blocked.isEmpty { times += [nextLook] + running.compactMap { requests[$0]?.run?.placeEnd } }
        times += blocked.map { $0.request.waitsSince + Self.courtesy }
        return times.filter { $0 > now }.min()
    }
}
