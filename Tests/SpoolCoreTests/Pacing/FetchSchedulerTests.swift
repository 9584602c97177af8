import SpoolCore
import Testing

/// Which requests to origins start, pause and stop. The rules are in `FetchScheduler+Plan`.
@Suite struct FetchSchedulerTests {
    private static let a: [UInt8] = [10, 0, 0, 1], b: [UInt8] = [10, 0, 0, 2]

    // MARK: Order

    @Test func `the most urgent request starts first, equally urgent ones in order of arrival`() {
        var probe = ScheduleProbe(perHost: 1)
        let running = probe.submit("a")
        let download = probe.submit("a", nil, .prefetch), next = probe.submit("a", nil, .upcoming)
        let ahead = probe.submit("a", isAwaited: false)
        let first = probe.submit("a"), second = probe.submit("a")
        #expect(probe.running == [running])
        for id in [running, first, second, ahead, next] { probe.finish(id) }
        #expect(probe.started == [running, first, second, ahead, next, download])
    }

    @Test func `an item that starts to play overtakes earlier requests, and late changes are ignored`() {
        var probe = ScheduleProbe(perHost: 1)
        let running = probe.submit("a"), earlier = probe.submit("a", nil, .upcoming), item = probe.submit("a", nil, .upcoming)
        probe.prioritize(item, .playing, sequence: 2)
        probe.prioritize(item, .prefetch, sequence: 1)
        probe.finish(running)
        probe.finish(item)
        #expect(probe.started == [running, item, earlier])
    }

    // MARK: Places of a host

    @Test func `requests for later leave two places of a host, and one in all, to players`() {
        var probe = ScheduleProbe(total: 4, perHost: 4)
        for _ in 0..<3 { probe.submit("a", nil, .upcoming) }
        #expect(probe.running.count == 2)
        let playing = probe.submit("a")
        #expect(probe.runs(playing))
        probe.submit("b", nil, .prefetch)
        #expect(probe.running.count == 4)
        var other = ScheduleProbe(total: 4, perHost: 3)
        for host in ["a", "b", "c", "d"] { other.submit(host, nil, .prefetch) }
        #expect(other.running.count == 3)
        // A single slot is open to every priority.
        var single = ScheduleProbe(total: 1, perHost: 1)
        #expect(single.starts("a", nil, .prefetch) == true)
    }

    @Test func `an item that starts to play takes the place that was kept for players`() {
        var probe = ScheduleProbe(perHost: 2)
        let first = probe.submit("a", nil, .upcoming), second = probe.submit("a", nil, .upcoming)
        #expect(probe.running == [first])
        probe.prioritize(second, .playing, sequence: 1)
        #expect(probe.running == [first, second])
    }

    /// Six web radios of one host would keep the seventh away for ever.
    @Test func `beyond six requests of a host, a client waits for a second, up to twenty-four`() {
        var probe = ScheduleProbe()
        let all = (0..<30).map { _ in probe.submit("a") }
        #expect(probe.running.count == 6)
        probe.pass(.milliseconds(999))
        #expect(probe.running.count == 6)
        probe.pass(.milliseconds(1))
        #expect(probe.running.count == 24)
        probe.finish(all[0])
        #expect(probe.running.count == 24)
    }

    @Test func `a client waits once for the further places of a row of requests`() {
        var probe = ScheduleProbe()
        let pictures = (0..<10).map { _ in probe.submit("a") }
        probe.pass(.seconds(1))
        #expect(probe.running.count == 10)
        #expect(probe.starts("a") == true, "the next picture")
        for id in pictures { probe.finish(id) }
        for _ in 0..<5 { #expect(probe.starts("a") == true) }
        #expect(probe.starts("a") == true, "one of the further ones still runs")
        for id in probe.running.prefix(1) { probe.finish(id) }
        probe.finish(probe.running.last ?? 0)
        #expect(probe.starts("a") == true && probe.starts("a") == false)
    }

    @Test func `read-ahead and preloads never pass six`() {
        var probe = ScheduleProbe()
        probe.fast = Set((0..<6).map { _ in probe.submit("a") })
        let ahead = probe.submit("a", isAwaited: false), later = probe.submit("a", nil, .prefetch)
        probe.pass(.seconds(60))
        #expect(!probe.runs(ahead) && !probe.runs(later))
        // A reader catches up with it, and has waited for a second then.
        probe.prioritize(ahead, .playing, sequence: 1)
        probe.pass(.milliseconds(999))
        #expect(!probe.runs(ahead))
        probe.pass(.milliseconds(1))
        #expect(probe.runs(ahead) && !probe.runs(later))
    }

    @Test func `a request that the origin may hold back takes no place and waits for none`() {
        var probe = ScheduleProbe()
        for _ in 0..<10 { probe.submit("a", isHeldBack: true) }
        #expect(probe.running.count == 10)
        for _ in 0..<6 { probe.submit("a") }
        #expect(probe.running.count == 16)
        probe.submit("a", isHeldBack: true)
        #expect(probe.running.count == 17)
    }

    @Test func `an endless body has a place for ten seconds`() {
        var probe = ScheduleProbe()
        for _ in 0..<6 {
            let id = probe.submit("a")
            probe.act { scheduler, now in scheduler.answered(id, isEndless: true, now: now) }
        }
        let preload = probe.submit("a", nil, .prefetch)
        probe.pass(.milliseconds(9999))
        #expect(!probe.runs(preload))
        probe.pass(.seconds(1))
        #expect(probe.runs(preload))
    }

    @Test func `a silent body has a place for ten seconds, and one that moves keeps it`() {
        var probe = ScheduleProbe()
        let bodies = (0..<6).map { _ in probe.submit("a", isAwaited: false) }
        probe.fast = Set(bodies.dropFirst())
        let ahead = probe.submit("a", isAwaited: false), more = probe.submit("a", isAwaited: false)
        probe.pass(.seconds(8))
        #expect(!probe.runs(ahead))
        probe.pass(.seconds(6))
        #expect(probe.runs(ahead))
        probe.fast.insert(ahead)
        probe.pass(.seconds(60))
        #expect(!probe.runs(more))
    }

    @Test func `a request whose answer is late keeps no other of its host waiting, up to a bound`() {
        var probe = ScheduleProbe(total: 100, perHost: 2)
        var late: [UInt64] = []
        while true {
            let id = probe.submit("a", isAwaited: false)
            guard probe.runs(id) else { break }
            probe.act { scheduler, _ in scheduler.late(id) }
            late.append(id)
        }
        #expect(late.count == 8)
        probe.finish(late[0])
        #expect(probe.running.count == 8)
        // An answered request has its place again.
        probe.act { scheduler, now in scheduler.answered(late[1], isEndless: false, now: now) }
        let next = probe.submit("a", isAwaited: false)
        probe.finish(late[2])
        #expect(!probe.runs(next))
    }

    @Test func `a client without a request to a host gets one beside those of another client`() {
        var probe = ScheduleProbe()
        for _ in 0..<8 { probe.submit("media", Self.a) }
        #expect(probe.running.count == 6)
        #expect(probe.starts("media", Self.b, .upcoming) == false, "a request for later takes no more than the limit")
        #expect(probe.starts("media", Self.b) == true)
        #expect(probe.starts("media", Self.b) == false)
    }

    // MARK: Idle requests

    @Test func `the least urgent idle request stops first, and only where that helps`() {
        var probe = ScheduleProbe(perHost: 4)
        let playing = probe.submit("a"), other = probe.submit("b", nil, .prefetch)
        let next = probe.submit("a", nil, .upcoming), download = probe.submit("a", nil, .prefetch)
        probe.idle = [playing, other, next, download]
        probe.pass(.seconds(5))
        #expect(probe.stopped == [])
        let late = probe.submit("a", nil, .upcoming)
        #expect(probe.stopped == [download] && probe.runs(late) && probe.runs(playing))
    }

    /// One slow host would keep the films of every full host waiting.
    @Test func `a full host keeps no other one from the idle requests of its own`() {
        var probe = ScheduleProbe()
        let films = (0..<6).map { _ in probe.submit("b") }
        for _ in 0..<7 { probe.submit("a") }
        probe.idle = Set(films)
        let new = probe.submit("b")
        probe.pass(FetchScheduler.lookInterval)
        #expect(probe.runs(new) && probe.stopped == [films[0]])
    }

    @Test func `a request waits for half a second at most when another one becomes idle`() {
        var probe = ScheduleProbe()
        let films = (0..<6).map { _ in probe.submit("a") }
        let new = probe.submit("a")
        #expect(!probe.runs(new))
        probe.idle = [films[3]]
        probe.pass(FetchScheduler.lookInterval)
        #expect(probe.runs(new) && probe.stopped == [films[3]])
        let next = probe.submit("a")
        probe.act { scheduler, _ in scheduler.idle(films[4], true) }
        #expect(probe.runs(next) && probe.stopped == [films[3], films[4]])
    }

    // MARK: A host that refuses

    @Test func `a first 429 holds the background of its host, and a second one all but one request in a second`() {
        var probe = ScheduleProbe()
        func refuse(_ resource: UInt64, _ seconds: Int64) {
            probe.act { scheduler, now in scheduler.refused(host: "a", resource: resource, for: .seconds(seconds), now: now) }
        }
        refuse(1, 3600)
        refuse(1, 3600)
        let preload = probe.submit("a", nil, .prefetch), segment = probe.submit("a"), ahead = probe.submit("a", isAwaited: false)
        #expect(probe.running == [segment, ahead])
        probe.submit("b", nil, .prefetch)
        #expect(probe.running.count == 3, "another host")
        refuse(2, 5)
        let waiting = (0..<3).map { _ in probe.submit("a") }, later = probe.submit("a", isAwaited: false)
        #expect(waiting.allSatisfy { !probe.runs($0) })
        for count in 1...3 {
            probe.pass(.seconds(1))
            #expect(waiting.count { probe.runs($0) } == count)
        }
        for id in [segment, ahead] { probe.finish(id) }
        probe.pass(.seconds(26))
        #expect(!probe.runs(later) && !probe.runs(preload))
        probe.pass(.seconds(1))
        #expect(probe.runs(later) && probe.runs(preload), "thirty seconds are the longest pause")
    }

    // MARK: The network policy

    private static let phone: NetworkConditions = {
        var conditions = NetworkConditions()
        (conditions.isCellular, conditions.isExpensive) = (true, true)
        return conditions
    }()

    private static let withoutCellular: NetworkPolicy = {
        var policy = NetworkPolicy()
        policy.downloads.allowsCellular = false
        return policy
    }()

    @Test func `a request is held under refused conditions, and goes on under permitted ones`() {
        var probe = ScheduleProbe(policy: Self.withoutCellular)
        let download = probe.submit("a", nil, .prefetch), player = probe.submit("a")
        probe.act { scheduler, _ in scheduler.networkChanged(conditions: Self.phone) }
        #expect(probe.held == [download: .cellular])
        let next = probe.submit("a", nil, .upcoming)
        #expect(probe.held == [download: .cellular, next: .cellular] && !probe.runs(next))
        probe.prioritize(next, .playing, sequence: 1)
        #expect(probe.held == [download: .cellular] && probe.runs(next))
        probe.act { scheduler, _ in scheduler.networkChanged(conditions: NetworkConditions()) }
        #expect(probe.held == [:] && probe.running == [download, player, next])
    }

    @Test func `a new policy holds the requests that run`() {
        var probe = ScheduleProbe()
        probe.act { scheduler, _ in scheduler.networkChanged(conditions: Self.phone) }
        let player = probe.submit("a")
        var policy = NetworkPolicy()
        policy.playback.allowsExpensive = false
        probe.act { scheduler, _ in scheduler.networkChanged(policy: policy) }
        #expect(probe.held == [player: .expensive])
        probe.act { scheduler, _ in scheduler.networkChanged(policy: NetworkPolicy()) }
        #expect(probe.held == [:])
    }

    @Test func `a request that the policy holds waits, and keeps no other of its host waiting`() {
        var probe = ScheduleProbe(perHost: 1, policy: Self.withoutCellular)
        let running = probe.submit("a", nil, .prefetch)
        let permitted = probe.submit("a", nil, .prefetch, access: NetworkAccess())
        #expect(!probe.runs(permitted))
        probe.act { scheduler, _ in scheduler.networkChanged(conditions: Self.phone) }
        #expect(probe.held == [running: .cellular] && probe.runs(permitted))
    }

    @Test func `a request runs if one of its readers permits it`() {
        var probe = ScheduleProbe(policy: Self.withoutCellular)
        probe.act { scheduler, _ in scheduler.networkChanged(conditions: Self.phone) }
        func runs(_ readers: [FetchDemand]) -> Bool {
            var id: UInt64 = 0
            probe.act { scheduler, now in id = scheduler.submitted(host: "a", FetchDemand(of: readers), now: now) }
            return probe.runs(id)
        }
        let download = FetchDemand(.prefetch), strict = FetchDemand(.playing, access: NetworkAccess(allowsCellular: false))
        #expect(runs([download, strict]) == false)
        #expect(runs([download, strict, FetchDemand(.playing)]) == true)
        #expect(runs([strict, FetchDemand(.prefetch, access: NetworkAccess())]) == true)
        #expect(runs([]) == false, "without readers it is a download")
    }

    // MARK: Players

    @Test func `beside a player two others run, the most urgent and oldest first`() {
        var probe = ScheduleProbe()
        let first = (0..<3).map { _ in probe.submit("a", nil, .prefetch) }
        let next = probe.submit("a", nil, .upcoming), player = probe.submit("a")
        // A player that has waited for its whole credit is beside others.
        probe.need(.urgent)
        probe.pass(BackgroundShare.credit + BackgroundShare.draining)
        #expect(Set(probe.held.keys) == Set(first[1...]))
        probe.finish(next)
        #expect(Set(probe.held.keys) == [first[2]])
        probe.prioritize(first[0], .playing, sequence: 1)
        #expect(probe.held == [:])
        probe.need(.nothing)
        #expect(probe.runs(player))
    }

    /// A player moves on to the next item, and the requests of the last one are less urgent from then
    /// on. They pause for the player, which waits for a place: none of them would ever go on.
    @Test func `requests that pause for a player keep no request of a player waiting`() {
        var probe = ScheduleProbe(perHost: 2)
        let later = probe.submit("a", nil, .upcoming), last = probe.submit("a")
        let playing = probe.submit("a", isAwaited: false)
        #expect(!probe.runs(playing))
        probe.need(.urgent)
        #expect(probe.held == [later: .playback] && probe.runs(playing))
        probe.prioritize(last, .upcoming, sequence: 1)
        #expect(probe.starts("a") == true)
        let next = probe.submit("a", nil, .upcoming)
        #expect(!probe.runs(next), "less urgent requests find no place")
    }

    @Test func `one background request runs although players have every slot`() {
        var probe = ScheduleProbe(total: 4, perHost: 4)
        for _ in 0..<4 { probe.submit() }
        let download = probe.submit(nil, nil, .prefetch), next = probe.submit(nil, nil, .prefetch)
        #expect(probe.runs(download) && !probe.runs(next))
    }

    // MARK: Cost

    /// The first one of a queue stands for all behind it.
    @Test func `a request that queues behind an equal one changes no plan, and neither do bytes`() {
        var probe = ScheduleProbe()
        for _ in 0..<8 { probe.submit("a") }
        var nothing = FetchScheduler.Plan()
        nothing.deadline = probe.deadline
        let (now, id) = (probe.now, probe.scheduler.submitted(host: "a", FetchDemand(.playing), now: probe.now))
        #expect(id == 9)
        let isDue = probe.scheduler.received(1 << 30, forPlayer: true), plan = probe.scheduler.plan(now: now)
        #expect(!isDue && plan == nothing)
    }
}
