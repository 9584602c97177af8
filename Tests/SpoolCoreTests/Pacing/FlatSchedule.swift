import SpoolCore

/// The rules of `FetchScheduler` over a flat list. It looks at every request in every plan, and
/// remembers nothing between two plans.
struct FlatSchedule {
    typealias Urgency = ScheduledRequest.Urgency

    struct Request {
        let id: UInt64
        let host: String
        let client: [UInt8]?
        let isHeldBack: Bool
        var urgency: Urgency
        let since: MonotonicInstant
        /// Nil while it waits.
        var use: SlotUse?
        var isLate = false
        var isAnswered = false
        var isFurther = false
        var endlessSince: MonotonicInstant?
        var yields = false

        var isBackground: Bool { urgency < .ahead }

        func isOfHost(_ now: MonotonicInstant) -> Bool { !isHeldBack && !(endlessSince.map { now - $0 >= .seconds(10) } ?? false) }

        func hasPlace(_ now: MonotonicInstant) -> Bool { isOfHost(now) && !isLate && (use?.quiet ?? 0) < .seconds(10) }
    }

    struct Pause {
        var until: MonotonicInstant
        let resource: UInt64
        var isStrict = false
        var lastStart: MonotonicInstant?
    }

    let total: Int, perHost: Int

    init(total: Int, perHost: Int) { (self.total, self.perHost) = (total, perHost) }

    var list: [Request] = []
    var pauses: [String: Pause] = [:]
    private var allowance = Int.max

    private var share4: Int { max(1, total / 4) }
    private var ceiling: Int { total + max(1, total / 2) }
    var running: [Request] { list.filter { $0.use != nil } }

    /// Changes one request of the list.
    mutating func change(_ id: UInt64, _ body: (inout Request) -> Void) {
        for index in list.indices where list[index].id == id { body(&list[index]) }
    }

    /// Starts what may start, with so many background requests at a time.
    mutating func plan(now: MonotonicInstant, allowance: Int) -> [UInt64] {
        self.allowance = allowance
        pauses = pauses.filter { $0.value.until > now }
        setYields()
        var starts: [UInt64] = []
        while let request = waiting().first(where: { mayStart($0, now) }) {
            let placed = running.filter { $0.host == request.host && $0.hasPlace(now) }
            let isFurther = placed.count >= perHost && hasWaited(request, placed, now)
            change(request.id) { ($0.use, $0.isFurther) = (SlotUse(since: now), isFurther) }
            pauses[request.host]?.lastStart = now
            starts.append(request.id)
        }
        setYields()
        return starts
    }

    private mutating func setYields() {
        let order = running.filter(\.isBackground).sorted { $0.urgency == $1.urgency ? $0.id < $1.id : $0.urgency > $1.urgency }
        for index in list.indices { list[index].yields = false }
        for request in order.dropFirst(allowance) { change(request.id) { $0.yields = true } }
    }

    /// The waiting requests in the order of the rules.
    private func waiting() -> [Request] {
        let waiting = list.filter { $0.use == nil }
        func key(_ request: Request) -> [Int] {
            let oldest =
                waiting.filter {
                    $0.urgency == request.urgency && $0.client == request.client && $0.isHeldBack == request.isHeldBack
                }.map(\.id).min() ?? 0
            let load = running.count { $0.client == request.client }
            return [-request.urgency.rawValue, load, Int(oldest), Int(request.id)]
        }
        return waiting.map { ($0, key($0)) }.sorted { $0.1.lexicographicallyPrecedes($1.1) }.map(\.0)
    }

    func mayStart(_ request: Request, _ now: MonotonicInstant) -> Bool {
        hasSlot(request) && hasTurn(request, now) && hasPlace(request, now)
    }

    private func hasSlot(_ request: Request) -> Bool {
        let background = running.count { $0.isBackground }
        if request.isBackground {
            if background == 0, running.count < ceiling { return true }
            return running.count < total && background < max(1, total - 1)
        }
        if running.count < total { return true }
        let own = running.count { $0.client == request.client }
        guard own < ceiling - share4, running.count < (own == 0 ? ceiling + share4 : ceiling) else { return false }
        if own == 0 { return true }
        let moving = running.filter { $0.use?.isSlow == false }
        let clients = Set(moving.map(\.client))
        let counted = clients.map { client in
            let count = moving.count { $0.client == client }
            return client == request.client ? count : min(count, share4)
        }
        return counted.reduce(0, +) < total
    }

    /// Whether neither its host nor a player asked for a pause.
    private func hasTurn(_ request: Request, _ now: MonotonicInstant) -> Bool {
        if let pause = pauses[request.host] {
            if request.isBackground { return false }
            if pause.isStrict, request.urgency != .awaited || pause.lastStart.map({ now - $0 < .seconds(1) }) ?? false { return false }
        }
        return !request.isBackground || running.count { $0.isBackground && $0.urgency >= request.urgency } < allowance
    }

    private func hasPlace(_ request: Request, _ now: MonotonicInstant) -> Bool {
        let ofHost = running.filter { $0.host == request.host }
        guard ofHost.count(where: { $0.isOfHost(now) }) < 4 * perHost else { return false }
        let placed = ofHost.filter { $0.hasPlace(now) && (request.isBackground || !$0.yields) }
        if request.isBackground, placed.count(where: \.isBackground) >= max(1, perHost - 2) { return false }
        if placed.count < perHost || request.isHeldBack { return true }
        if request.isBackground { return false }
        if !ofHost.contains(where: { $0.client == request.client }) { return true }
        return hasWaited(request, placed, now)
    }

    private func hasWaited(_ request: Request, _ placed: [Request], _ now: MonotonicInstant) -> Bool {
        let follows = placed.contains { $0.isFurther && $0.client == request.client }
        return request.urgency == .awaited && (follows || now - request.since >= .seconds(1))
    }
}
