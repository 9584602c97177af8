import SpoolCore

/// A scheduler with a clock of the test. Every event is followed by a plan, and a request that
/// should stop does so.
struct ScheduleProbe {
    var scheduler: FetchScheduler
    private(set) var now = MonotonicInstant(nanoseconds: 1_000_000_000)
    /// The requests that a look finds idle.
    var idle: Set<UInt64> = []
    /// The requests whose clients could move more.
    var clientsTurn: Set<UInt64> = []
    /// The requests that have moved 1 MiB in each second. The others move nothing.
    var fast: Set<UInt64> = []
    private(set) var started: [UInt64] = []
    private(set) var stopped: [UInt64] = []
    private(set) var gaveUp: [UInt64] = []
    private(set) var held: [UInt64: NetworkRefusal] = [:]
    private(set) var looks = 0
    private(set) var deadline: MonotonicInstant?

    init(total: Int = 64, perHost: Int = 6, isForwarding: Bool = false, policy: NetworkPolicy = NetworkPolicy(), share: Double = 0.5) {
        scheduler = FetchScheduler(total: total, perHost: perHost, isForwarding: isForwarding, policy: policy, share: share)
    }

    var running: [UInt64] { scheduler.running }

    func runs(_ id: UInt64) -> Bool { scheduler.running.contains(id) }

    /// Runs an event, and carries out the plan.
    mutating func act(_ event: (inout FetchScheduler, MonotonicInstant) -> Void = { _, _ in }) {
        event(&scheduler, now)
        let plan = scheduler.plan(now: now)
        started += plan.starts
        for hold in plan.holds { held[hold.id] = hold.refusal }
        deadline = plan.deadline
        if let id = plan.gaveUp { gaveUp.append(id) }
        for id in plan.stops {
            stopped.append(id)
            finish(id)
        }
        guard plan.wantsLooks else { return }
        looks += 1
        let (time, idle, turns, fast) = (now, idle, clientsTurn, fast)
        act { scheduler, now in
            let looks = scheduler.running.map { id in
                FetchScheduler.Look(
                    id: id, bytes: fast.contains(id) ? time.nanoseconds / 1000 : 0, isClientsTurn: turns.contains(id),
                    isIdle: idle.contains(id))
            }
            scheduler.looked(looks, now: now)
        }
    }

    /// Submits a request to a host of its own, or to `host`.
    @discardableResult
    mutating func submit(
        _ host: String? = nil, _ client: [UInt8]? = nil, _ priority: ReadPriority = .playing, isAwaited: Bool = true,
        isHeldBack: Bool = false, access: NetworkAccess? = nil
    ) -> UInt64 {
        var demand = FetchDemand(priority, access: access)
        demand.isAwaited = isAwaited
        var id: UInt64 = 0
        act { scheduler, now in
            let host = host ?? "host-\(scheduler.running.count + scheduler.waitingCount)"
            id = scheduler.submitted(host: host, client: client, isHeldBack: isHeldBack, demand, now: now)
        }
        return id
    }

    /// Submits a request, and returns whether it runs.
    mutating func starts(_ host: String? = nil, _ client: [UInt8]? = nil, _ priority: ReadPriority = .playing) -> Bool {
        let id = submit(host, client, priority)
        return runs(id)
    }

    mutating func finish(_ id: UInt64) { act { scheduler, _ in scheduler.finished(id) } }

    mutating func prioritize(_ id: UInt64, _ priority: ReadPriority, sequence: UInt64) {
        act { scheduler, now in scheduler.demanded(id, FetchDemand(priority), sequence: sequence, now: now) }
    }

    mutating func need(_ need: BackgroundShare.Need, of resource: UInt64 = 1, at host: String = "player") {
        act { scheduler, now in scheduler.playersChanged(of: resource, at: host, need, now: now) }
    }

    /// Lets time pass, with a plan at each deadline.
    mutating func pass(_ time: Nanoseconds) {
        let end = now + time
        while let next = deadline, next <= end {
            now = max(now, next)
            act()
        }
        now = end
        act()
    }
}
