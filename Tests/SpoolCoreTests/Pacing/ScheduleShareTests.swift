import SpoolCore
import Testing

/// The share of each client in the requests, and what slow and quiet requests lose.
@Suite struct ScheduleShareTests {
    private static let a: [UInt8] = [10, 0, 0, 1], b: [UInt8] = [10, 0, 0, 2], c: [UInt8] = [10, 0, 0, 3]

    /// Eight slots, with a request of `client` in each. Every request has a host of its own.
    private static func full(of client: [UInt8]?) -> ScheduleProbe {
        var probe = ScheduleProbe(total: 8, perHost: 100)
        for _ in 0..<8 { probe.submit(nil, client) }
        return probe
    }

    // MARK: Clients

    @Test(arguments: [nil, [10, 0, 0, 1]] as [[UInt8]?]) func `a client with all slots keeps no other one from starting`(client: [UInt8]?) {
        var probe = Self.full(of: client)
        #expect(probe.starts(nil, client) == false, "it has no further slot itself")
        // Its requests count as a quarter for others, up to the ceiling of connections.
        for _ in 0..<4 { #expect(probe.starts(nil, Self.b) == true) }
        #expect(probe.running.count == probe.scheduler.ceiling && probe.starts(nil, Self.b) == false)
        #expect(probe.starts(nil, Self.c) == true, "a client without any request")
        #expect(probe.starts(nil, Self.c) == false)
        #expect(probe.running.count <= FetchScheduler.mostRequests(total: 8))
    }

    @Test func `four clients have all slots together, and a fifth gets one`() {
        var probe = ScheduleProbe(total: 8, perHost: 8)
        let clients: [[UInt8]] = (0..<5).map { [$0] }
        for client in clients.prefix(4) {
            for _ in 0..<2 { #expect(probe.starts(nil, client) == true) }
        }
        for client in clients.prefix(4) { #expect(probe.starts(nil, client) == false) }
        #expect(probe.starts(nil, clients[4]) == true)
        #expect(probe.starts(nil, clients[4]) == false)
    }

    @Test func `a slot goes to the client with the fewest requests`() {
        var probe = Self.full(of: Self.a)
        for _ in 0..<4 { probe.submit(nil, Self.b) }
        let waiting = [Self.a, Self.a, Self.b].map { probe.submit(nil, $0) }
        // Of a client's own requests the oldest one starts first.
        for id in probe.running.prefix(6) { probe.finish(id) }
        #expect(Array(probe.started.suffix(3)) == [waiting[2], waiting[0], waiting[1]])
    }

    // MARK: Uploads

    @Test func `uploads of one client keep no upload of another one from starting, and leave a slot`() {
        var probe = ScheduleProbe(total: 8, perHost: 100, isForwarding: true)
        for _ in 0..<7 { #expect(probe.starts(nil, Self.a, .upcoming) == true) }
        #expect(probe.starts(nil, Self.a, .upcoming) == false, "one slot is for requests that are whole")
        #expect(probe.starts(nil, Self.b, .upcoming) == true, "the first upload of another client")
        #expect(probe.starts(nil, Self.b) == true)
    }

    @Test func `slow uploads let others start, up to a bound that leaves room for whole requests`() {
        var probe = ScheduleProbe(total: 8, perHost: 100, isForwarding: true)
        for _ in 0..<27 { probe.submit(nil, nil, .upcoming) }
        #expect(probe.running.count == 7)
        probe.pass(.seconds(20))
        let scheduler = probe.scheduler
        #expect(probe.running.count == scheduler.ceiling - scheduler.clientShare - scheduler.clientShare / 2)
        #expect(probe.starts(nil, nil) == true)
    }

    // MARK: Slow requests

    @Test func `a slow request loses its slot while another one waits, and has it again once it is fast`() {
        var probe = Self.full(of: nil)
        let ids = probe.running
        probe.fast = Set(ids.dropFirst())
        probe.pass(.seconds(60))
        #expect(probe.looks == 0, "nothing is measured while no request waits")
        // The slow one has run for a minute, so the first look tells.
        let waiting = probe.submit()
        #expect(probe.running == ids + [waiting], "the slow one goes on")
        probe.fast.formUnion([ids[0], waiting])
        let next = probe.submit()
        probe.pass(.seconds(4))
        probe.finish(waiting)
        #expect(!probe.runs(next), "all eight slots are in use")
    }

    @Test func `a radio of 4 KiB a second keeps its slot, and a drip does not`() {
        let start = MonotonicInstant(nanoseconds: 1_000_000_000)
        for (rate, isSlow) in [(4096, false), (4095, true), (0, true)] {
            var use = SlotUse(since: start)
            for second in stride(from: Int64(2), through: 20, by: 2) {
                use.looked(Int64(rate) * second, now: start + .seconds(second))
                #expect(use.isSlow == isSlow)
            }
        }
    }

    @Test func `only requests for playback run beside slow ones, and one in the background`() {
        var probe = Self.full(of: nil)
        #expect(probe.starts(nil, nil, .upcoming) == true && probe.starts(nil, nil, .upcoming) == false)
        probe.pass(.seconds(2))
        #expect(probe.running.count == 9)
        #expect(probe.starts(nil, nil) == true)
    }

    // MARK: Quiet requests

    /// A scheduler at its ceiling with requests of two clients that move nothing, and one request of
    /// `other` that waits.
    private static func atCeiling(of client: [UInt8]?, and other: [UInt8]?) -> ScheduleProbe {
        var probe = full(of: client)
        for _ in 0..<8 { probe.submit(nil, client) }
        for _ in 0..<8 { probe.submit(nil, other) }
        probe.pass(.seconds(2))
        return probe
    }

    @Test func `at the ceiling, the client with most requests loses the one that its client left quiet`() {
        var probe = Self.atCeiling(of: Self.a, and: Self.b)
        // The first sixteen are those of the first client.
        let own = probe.running.filter { $0 <= 16 }, others = probe.running.filter { $0 > 16 }
        #expect(own.count > others.count && !others.isEmpty)
        probe.clientsTurn = [others[0]]
        probe.pass(.seconds(66))
        #expect(probe.gaveUp == [], "no client but the one with most")
        probe.clientsTurn = Set(own + others).subtracting([own[0]])
        probe.pass(FetchScheduler.lookInterval)
        #expect(probe.gaveUp == [own[1]], "the first one's origin is quiet, and its client takes everything")
    }

    @Test func `a request that moves bytes is never given up, and neither is one below the ceiling`() {
        var probe = Self.atCeiling(of: Self.a, and: Self.b)
        probe.fast = Set(probe.running)
        probe.clientsTurn = Set(probe.running)
        probe.pass(.seconds(200))
        #expect(probe.gaveUp == [])
        var free = Self.full(of: Self.a)
        free.submit(nil, Self.a)
        free.clientsTurn = Set(free.running)
        free.pass(.seconds(20))
        #expect(free.gaveUp == [])
    }

    @Test func `a request waits for five seconds before a quiet one is given up`() {
        var probe = Self.full(of: nil)
        for _ in 0..<2 { probe.submit() }
        probe.pass(.seconds(70))
        #expect(probe.running.count == 10)
        probe.clientsTurn = Set(probe.running)
        // At the ceiling of one client.
        probe.submit()
        probe.pass(.milliseconds(4999))
        #expect(probe.gaveUp == [])
        probe.pass(.milliseconds(501))
        #expect(!probe.gaveUp.isEmpty)
    }
}
