import SpoolCore
import Testing

/// Tests the share of each client in the origin requests, and what slow requests lose.
@Suite struct FetchShareTests {
    private static let a: [UInt8] = [10, 0, 0, 1], b: [UInt8] = [10, 0, 0, 2], c: [UInt8] = [10, 0, 0, 3]
    fileprivate static let start = MonotonicInstant(nanoseconds: 1_000_000_000)

    /// A queue of eight slots, with a request of `client` in each. Every request has a host of its own.
    private static func full(of client: [UInt8]?, total: Int = 8) -> FetchQueue {
        var queue = FetchQueue(total: total, perHost: total)
        for _ in 0..<total { _ = queue.submit(client) }
        return queue
    }

    // MARK: Shares

    @Test(arguments: [nil, [10, 0, 0, 1]] as [[UInt8]?]) func `a client with all slots keeps no other one from starting`(client: [UInt8]?) {
        var queue = Self.full(of: client)
        #expect(queue.submit(client) == false, "it has no further slot itself")
        // Its requests count as a quarter for others, up to the ceiling of connections.
        for _ in 0..<4 { #expect(queue.submit(Self.b) == true) }
        #expect(queue.active.count == queue.ceiling && queue.submit(Self.b) == false)
        #expect(queue.submit(Self.c) == true, "a client without any request")
        #expect(queue.submit(Self.c) == false)
        #expect(queue.active.count <= FetchQueue.mostRequests(total: 8))
    }

    @Test func `four clients have all slots together, and a fifth gets one`() {
        var queue = FetchQueue(total: 8, perHost: 8)
        let clients: [[UInt8]] = (0..<5).map { [$0] }
        for client in clients.prefix(4) {
            for _ in 0..<2 { #expect(queue.submit(client) == true) }
        }
        for client in clients.prefix(4) { #expect(queue.submit(client) == false) }
        #expect(queue.submit(clients[4]) == true && queue.submit(clients[4]) == false)
    }

    @Test func `a slot goes to the client with the fewest requests`() {
        var queue = Self.full(of: Self.a)
        for _ in 0..<4 { _ = queue.submit(Self.b) }
        for client in [Self.a, Self.a, Self.b] { _ = queue.submit(client) }
        let waiting = queue.queue.map(\.id)
        // Of a client's own requests the oldest one starts first.
        var started: [UInt64] = []
        for id in queue.active.map(\.id).prefix(6) { started += queue.finished(id) }
        #expect(started == [waiting[2], waiting[0], waiting[1]])
    }

    @Test func `a client without a request to a host gets one beside those of another client`() {
        var queue = FetchQueue(total: 64, perHost: 6)
        for _ in 0..<8 { _ = queue.submit(Self.a, host: "media") }
        #expect(queue.active.count == 6)
        #expect(queue.submit(Self.b, .upcoming, host: "media") == false, "a request for later takes no more than the limit")
        #expect(queue.submit(Self.b, host: "media") == true)
        #expect(queue.submit(Self.b, host: "media") == false)
    }

    // MARK: Uploads

    @Test func `uploads of one client keep no upload of another one from starting, and leave a slot`() {
        var queue = FetchQueue(total: 8, perHost: 100, isForwarding: true)
        for _ in 0..<7 { #expect(queue.submit(Self.a, .upcoming) == true) }
        #expect(queue.submit(Self.a, .upcoming) == false, "one slot is for requests that are whole")
        #expect(queue.submit(Self.b, .upcoming) == true, "the first upload of another client")
        #expect(queue.submit(Self.b) == true)
    }

    @Test func `slow uploads let others start, up to a bound that leaves room for whole requests`() {
        var queue = FetchQueue(total: 8, perHost: 100, isForwarding: true)
        for _ in 0..<7 { _ = queue.submit(nil, .upcoming) }
        for _ in 0..<20 { _ = queue.submit(nil, .upcoming) }
        #expect(queue.active.count == 7 && queue.isFull)
        for second in stride(from: 2, through: 20, by: 2) { _ = queue.look(at: Int64(second)) }
        #expect(queue.active.count == queue.ceiling - queue.share - queue.share / 2)
        #expect(queue.submit(nil) == true)
    }

    // MARK: Slow requests

    @Test func `a slow request loses its slot while another one waits, and has it again once it is fast`() {
        var queue = Self.full(of: nil)
        #expect(!queue.isFull)
        #expect(queue.submit(nil) == false && queue.isFull)
        let ids = queue.active.map(\.id), waiting = queue.queue[0].id
        #expect(queue.look(at: 1) == FetchQueue.Verdict(), "too early to tell")
        let fast = Set(ids.dropFirst())
        #expect(queue.look(at: 2, fast: fast).started == [waiting])
        #expect(queue.active.map(\.id) == ids + [waiting], "the slow one goes on")
        #expect(queue.submit(nil) == false)
        #expect(queue.look(at: 4, fast: fast.union([ids[0], waiting])).started == [])
        #expect(queue.finished(waiting) == [], "all eight slots are in use")
    }

    @Test func `a radio of 4 KiB a second keeps its slot, and a drip does not`() {
        for (rate, isSlow) in [(4096, false), (4095, true), (0, true)] {
            var use = SlotUse(since: Self.start)
            for second in stride(from: Int64(2), through: 20, by: 2) {
                use.looked(Int64(rate) * second, now: Self.start + .seconds(second))
                #expect(use.isSlow == isSlow)
            }
        }
    }

    @Test func `only requests for playback run beside slow ones`() {
        var queue = Self.full(of: nil)
        #expect(queue.submit(nil, .upcoming) == false)
        #expect(queue.look(at: 2).started == [] && queue.active.count == 8)
        #expect(queue.submit(nil) == true)
    }

    // MARK: Quiet requests

    /// Fills a queue up to the ceiling with requests of one client that move nothing.
    private static func atCeiling(of client: [UInt8]?, and other: [UInt8]?) -> FetchQueue {
        var queue = full(of: client)
        _ = queue.submit(client)
        _ = queue.look(at: 2)
        while queue.submit(client) {}
        while queue.submit(other) {}
        return queue
    }

    @Test func `at the ceiling, the client with most requests loses the one that its client left quiet`() {
        var queue = Self.atCeiling(of: Self.a, and: Self.b)
        let own = queue.active.filter { $0.client == Self.a }.map(\.id), others = queue.active.filter { $0.client == Self.b }.map(\.id)
        #expect(own.count > others.count && !others.isEmpty)
        let everything = Set(own + others)
        _ = queue.look(at: 50)
        #expect(queue.look(at: 58, clientsTurn: everything).ended == nil)
        #expect(queue.look(at: 60, clientsTurn: [others[0]]).ended == nil, "no client but the one with most")
        let ended = queue.look(at: 62, clientsTurn: everything.subtracting([own[0]])).ended
        #expect(ended == own[1], "its origin is quiet, and its client takes everything")
    }

    @Test func `a request waits for five seconds before a quiet one ends`() {
        var queue = Self.full(of: nil)
        _ = queue.submit(nil)
        _ = queue.look(at: 2)
        while queue.submit(nil) {}
        let all = Set(queue.active.map(\.id))
        // The first of these looks is the first that sees it wait.
        let ended = stride(from: Int64(64), through: 70, by: 2).map { queue.look(at: $0, clientsTurn: all).ended }
        #expect(ended.dropLast() == [nil, nil, nil] && ended.last == queue.active[0].id)
    }

    @Test func `a fast client and a client below the ceiling lose nothing`() {
        var queue = Self.atCeiling(of: Self.a, and: Self.b)
        let everything = Set(queue.active.map(\.id))
        for second in stride(from: Int64(4), through: 200, by: 2) {
            #expect(queue.look(at: second, fast: everything, clientsTurn: everything).ended == nil)
        }
        var free = Self.full(of: Self.a)
        _ = free.submit(Self.a)
        for second in stride(from: Int64(2), through: 200, by: 2) {
            #expect(free.look(at: second, clientsTurn: Set(free.active.map(\.id))).ended == nil)
        }
    }

    // MARK: Random histories

    /// Some clients drip, some are fast, and all ask for more than they can have.
    @Test func `random clients exceed no bound, and none of them keeps another from its first request`() {
        for seed in UInt64(1)...150 {
            var numbers = SeededGenerator(seed: seed)
            let total = [4, 8, 16].randomElement(using: &numbers) ?? 8
            var history = History(queue: FetchQueue(total: total, perHost: total), clients: Int.random(in: 1...4, using: &numbers))
            for _ in 0..<300 { history.step(using: &numbers) }
            #expect(history.faults == [], "seed \(seed)")
        }
    }

    private struct History {
        var queue: FetchQueue
        let clients: Int
        var now = FetchShareTests.start
        var moved: [UInt64: (start: MonotonicInstant, bytes: Int64)] = [:]
        var open: Set<UInt64> = []
        var faults: [String] = []

        init(queue: FetchQueue, clients: Int) { (self.queue, self.clients) = (queue, clients) }

        mutating func step(using numbers: inout SeededGenerator) {
            switch Int.random(in: 0..<6, using: &numbers) {
            case 0, 1, 2:
                let client = UInt8.random(in: 0..<UInt8(clients), using: &numbers)
                let priority: ReadPriority = Int.random(in: 0..<5, using: &numbers) == 0 ? .upcoming : .playing
                let host = "host-\(Int.random(in: 0..<9, using: &numbers))"
                open.insert(queue.submitted(host: host, client: client == 0 ? nil : [client], priority: priority, sequence: 0))
            case 3:
                guard let id = open.sorted().randomElement(using: &numbers) else { return }
                finish(id)
            default:
                pass(.seconds(Int64.random(in: 1...8, using: &numbers)), using: &numbers)
            }
            check()
        }

        private mutating func finish(_ id: UInt64) {
            open.remove(id)
            _ = queue.finished(id)
        }

        /// Requests with an even number are fast; half of the others wait for their client.
        private mutating func pass(_ time: Nanoseconds, using numbers: inout SeededGenerator) {
            let before = now
            now = now + time
            for entry in queue.active {
                let state = moved[entry.id] ?? (before, 0)
                moved[entry.id] = (state.start, state.bytes + (entry.id % 2 == 0 ? time / 1000 : 1))
            }
            let looks = queue.active.compactMap { entry in
                moved[entry.id].map { FetchQueue.Look(id: entry.id, start: $0.start, bytes: $0.bytes, isClientsTurn: entry.id % 4 == 1) }
            }
            let verdict = queue.looked(looks, now: now)
            guard let ended = verdict.ended else { return }
            if ended % 4 != 1 { faults.append("request \(ended) was ended, and its client took everything") }
            if let start = moved[ended]?.start, now - start < .seconds(60) { faults.append("request \(ended) was ended too early") }
            finish(ended)
        }

        private mutating func check() {
            if Set(queue.active.map(\.id) + queue.queue.map(\.id)) != open { faults.append("a request is lost") }
            if queue.active.count > FetchQueue.mostRequests(total: queue.total) { faults.append("\(queue.active.count) run") }
            let counts = Dictionary(queue.active.map { ($0.client, 1) }, uniquingKeysWith: +)
            for (client, count) in counts where count > queue.ceiling - queue.share {
                faults.append("\(count) requests of \(client ?? [])")
            }
            let waits = queue.queue.contains { $0.priority == .playing && counts[$0.client] == nil }
            if waits, queue.active.count < queue.ceiling + queue.share { faults.append("a client has no request") }
        }
    }
}

extension FetchQueue {
    /// Submits a request to a host of its own, or to `host`.
    /// - Returns: Whether it runs.
    fileprivate mutating func submit(_ client: [UInt8]?, _ priority: ReadPriority = .playing, host: String? = nil) -> Bool {
        let host = host ?? "host-\(active.count + queue.count)"
        let id = submitted(host: host, client: client, priority: priority, sequence: 0)
        return active.contains { $0.id == id }
    }

    /// Looks at all running requests. Those in `fast` have moved 1 MiB a second, the others nothing.
    fileprivate mutating func look(at seconds: Int64, fast: Set<UInt64> = [], clientsTurn: Set<UInt64> = []) -> Verdict {
        let looks = active.map { entry in
            Look(
                id: entry.id, start: FetchShareTests.start, bytes: fast.contains(entry.id) ? seconds << 20 : 0,
                isClientsTurn: clientsTurn.contains(entry.id))
        }
        return looked(looks, now: FetchShareTests.start + .seconds(seconds))
    }
}
