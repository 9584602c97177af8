import SpoolCore
import Testing

/// Tests which requests are sent to the origin, and when.
@Suite struct SessionStartTests {
    // MARK: Cold

    @Test(arguments: [(0, 2), (0, 65_536), (0, nil)] as [(Int64, Int64?)])
    func `a cold start at 0 makes one open request for every range`(start: Int64, end: Int64?) {
        let probe = SessionProbe()
        let reader = probe.join(start, end)
        #expect(probe.actions == [.open])
        probe.openEmpty()
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts == [OriginAsk(0, nil)])
    }

    @Test func `a cold start elsewhere requests the reader's range`() {
        let probe = SessionProbe()
        let reader = probe.join(1000, 3000)
        probe.openEmpty()
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts == [OriginAsk(1000, 3000)])
    }

    @Test func `a session fetches nothing before a reader needs an answer`() {
        let probe = SessionProbe()
        let reader = probe.join(0, wantsBytes: false)
        probe.openEmpty()
        #expect(probe.starts == [])
        #expect(probe.prepare(reader) == .wait)
        #expect(probe.starts == [OriginAsk(0, nil)])
    }

    @Test(arguments: [OriginError.status(404), .unreachable("refused")])
    func `an answer that comes before its reader prepares is not requested again`(error: OriginError) {
        let probe = SessionProbe()
        let reader = probe.join(5)
        probe.openEmpty()
        probe.finish(probe.startedIDs[0], error)
        #expect(probe.prepare(reader) == .failed(.origin(error)))
        #expect(probe.starts.count == 1)
    }

    @Test func `only a reader that joined a known version did not wait for it`() {
        let probe = SessionProbe()
        let early = probe.join(0)
        probe.openEmpty()
        #expect(probe.prepare(early) == .wait)
        let joining = probe.join(0)
        probe.partial(probe.startedIDs[0], 0, 1000, total: 1000)
        let late = probe.join(0)
        #expect([early, joining, late].map { probe.machine.reader($0)?.awaitedVersion } == [true, true, false])
        // Another version counts as new for a reader that did not get the old one.
        _ = probe.prepare(late)
        probe.move(late, to: 500)
        probe.finish(probe.startedIDs[0], .truncated(afterBytes: 0))
        probe.pass(.seconds(1))
        #expect(probe.step(late) == .wait)
        probe.full(probe.startedIDs[1], length: 1000, fields: ["ETag": "\"v2\""])
        #expect(probe.machine.reader(late)?.awaitedVersion == true)
    }

    @Test func `a reader that answers with its first byte wakes at that byte`() {
        let probe = SessionProbe()
        let reader = probe.join(1000)
        probe.openEmpty()
        #expect(probe.prepare(reader, withFirstByte: true) == .wait)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, 1000, 5000, total: 5000)
        #expect(probe.woken == [])
        probe.body(fetch, 100)
        #expect(probe.woken == [reader])
        let preparation = probe.prepare(reader, withFirstByte: true)
        guard case .ready = preparation else { return unexpected(preparation) }
        #expect(probe.step(reader) == .memory(fetch, ByteRange(1000..<1100)))
    }

    @Test func `a reader waiting for its first byte wakes at a head without it`() {
        let probe = SessionProbe()
        let reader = probe.join(1000)
        probe.openEmpty()
        #expect(probe.prepare(reader, withFirstByte: true) == .wait)
        probe.full(probe.startedIDs[0], length: 5000)
        #expect(probe.woken == [reader])
    }

    @Test func `a reader waiting for its first byte wakes when its fetch fails`() {
        let probe = SessionProbe()
        let reader = probe.join(0)
        probe.openEmpty()
        #expect(probe.prepare(reader, withFirstByte: true) == .wait)
        probe.full(probe.startedIDs[0], length: 5000)
        #expect(probe.woken == [])
        for _ in 0..<10 where probe.woken.isEmpty {
            probe.finish(probe.startedIDs[probe.startedIDs.count - 1], .truncated(afterBytes: 0))
            probe.pass(.seconds(60))
        }
        #expect(probe.woken == [reader])
        let preparation = probe.prepare(reader, withFirstByte: true)
        guard case .failed = preparation else { return unexpected(preparation) }
    }

    @Test func `the first head answers readers of metadata, and the body continues`() {
        let probe = SessionProbe()
        let curious = probe.join(0, wantsBytes: false)
        let reader = probe.join(0, 100)
        probe.openEmpty()
        #expect(probe.prepare(curious) == .wait)
        #expect(probe.step(reader) == .wait)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, 0, 10 * MiB, total: 10 * MiB)
        #expect(probe.woken == [curious])
        let preparation = probe.prepare(curious)
        guard case .ready(_, let representation) = preparation else { return unexpected(preparation) }
        #expect(representation.length == 10 * MiB)
        probe.body(fetch, 65_536)
        #expect(probe.woken == [curious, reader])
        #expect(probe.step(reader) == .memory(fetch, ByteRange(0..<100)))
        #expect(probe.starts.count == 1)
    }

    @Test func `readers of a cold resource at different places wait for one head`() {
        let probe = SessionProbe()
        let first = probe.join(0), second = probe.join(5 * MiB)
        probe.openEmpty()
        #expect(probe.step(first) == .wait)
        #expect(probe.step(second) == .wait)
        #expect(probe.starts == [OriginAsk(0, nil)])
        probe.partial(probe.startedIDs[0], 0, 10 * MiB, total: 10 * MiB)
        #expect(probe.starts == [OriginAsk(0, nil), OriginAsk(5 * MiB, nil, ifRange: "\"v1\"")])
    }

    // MARK: Joins

    @Test func `a second reader within the join distance waits for the running fetch`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB)
        let first = probe.join(0)
        probe.step(first)
        let fetch = probe.startedIDs[0]
        probe.partial(fetch, 0, 10 * MiB, total: 10 * MiB)
        let second = probe.join(65_536)
        #expect(probe.step(second) == .wait)
        #expect(probe.starts.count == 1)
        probe.body(fetch, 131_072)
        #expect(probe.woken.contains(second))
        #expect(probe.step(second) == .memory(fetch, ByteRange(65_536..<131_072)))
    }

    @Test func `a reader beyond the join distance starts a fetch that bounds the running one`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB)
        let first = probe.join(0), second = probe.join(65_537)
        probe.step(first)
        probe.step(second)
        #expect(probe.starts == [OriginAsk(0, nil, ifRange: "\"v1\""), OriginAsk(65_537, nil, ifRange: "\"v1\"")])
        let (near, far) = (probe.startedIDs[0], probe.startedIDs[1])
        #expect(probe.fetch(near)?.upper == 65_537)
        probe.partial(near, 0, 10 * MiB, total: 10 * MiB)
        probe.partial(far, 65_537, 10 * MiB, total: 10 * MiB)
        // The transport hands over more bytes than are left in the lease; the session does not take
        // the rest.
        #expect(probe.body(near, 131_072) == 65_537)
        #expect(probe.body(far, 65_536) == 65_536)
    }

    @Test func `a fetch with all leased bytes succeeds, even if its transfer breaks`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB)
        let first = probe.join(0), second = probe.join(100_000)
        probe.step(first)
        probe.step(second)
        let near = probe.startedIDs[0]
        probe.partial(near, 0, 10 * MiB, total: 10 * MiB)
        probe.body(near, 131_072, chunk: 131_072)
        probe.finish(near, .truncated(afterBytes: 100_000))
        #expect(probe.failures == [])
        #expect(probe.machine.retryAt == nil)
    }

    @Test func `a reader before a running fetch starts one that ends there`() {
        let probe = SessionProbe()
        probe.open(length: 10 * MiB)
        let late = probe.join(5 * MiB), early = probe.join(MiB)
        probe.step(late)
        probe.partial(probe.startedIDs[0], 5 * MiB, 10 * MiB, total: 10 * MiB)
        probe.body(probe.startedIDs[0], 65_536)
        probe.step(early)
        #expect(probe.starts[1] == OriginAsk(MiB, 5 * MiB, ifRange: "\"v1\""))
    }

    @Test func `the join distance follows the measured pace of the origin`() {
        let probe = SessionProbe()
        probe.open(length: 100 * MiB)
        let first = probe.join(0)
        probe.step(first)
        let fetch = probe.startedIDs[0]
        probe.now = probe.now + .milliseconds(100)
        probe.partial(fetch, 0, 100 * MiB, total: 100 * MiB)
        probe.now = probe.now + .milliseconds(100)
        probe.body(fetch, MiB, chunk: MiB)
        // The origin sends 1 MiB in 0.1 s after a first byte in 0.1 s, so bytes 1 MiB ahead arrive
        // as soon as a new request would bring them.
        let near = probe.join(2 * MiB - 1000), far = probe.join(3 * MiB)
        #expect(probe.step(near) == .wait)
        #expect(probe.starts.count == 1)
        #expect(probe.step(far) == .wait)
        #expect(probe.starts.count == 2)
    }

    // MARK: Stored bytes

    @Test func `stored bytes need no origin`() {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [0...999])
        let reader = probe.join(0)
        #expect(probe.read(reader) == 1000)
        #expect(probe.step(reader) == .end)
        #expect(probe.starts == [])
    }

    @Test func `a fetch is clipped at the next stored span`() {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [300...499])
        let reader = probe.join(100)
        probe.step(reader)
        #expect(probe.starts == [OriginAsk(100, 300, ifRange: "\"v1\"")])
    }

    @Test func `one read of hits, a join and gaps requests each gap once`() {
        let probe = SessionProbe()
        probe.open(length: 10_000, stored: [0...999, 3000...3999])
        let other = probe.join(1000, 2000)
        probe.step(other)
        let running = probe.startedIDs[0]
        probe.partial(running, 1000, 2000, total: 10_000)
        let reader = probe.join(0, 6000)
        #expect(probe.step(reader) == .stored(ByteRange(0..<1000)))
        probe.advance(reader, by: 1000)
        #expect(probe.step(reader) == .wait)
        probe.body(running, 1000)
        probe.finish(running)
        #expect(probe.step(reader) == .memory(running, ByteRange(1000..<2000)))
        probe.advance(reader, by: 1000)
        #expect(probe.step(reader) == .wait)
        let gap = probe.startedIDs[1]
        probe.partial(gap, 2000, 3000, total: 10_000)
        probe.body(gap, 1000)
        probe.finish(gap)
        #expect(probe.read(reader) == 2000)
        let last = probe.startedIDs[2]
        probe.partial(last, 4000, 6000, total: 10_000)
        probe.body(last, 2000)
        probe.finish(last)
        #expect(probe.read(reader) == 2000)
        #expect(probe.step(reader) == .end)
        #expect(probe.starts.map { [$0.lower, $0.upper] } == [[1000, 2000], [2000, 3000], [4000, 6000]])
    }

    @Test func `lost bytes become a gap`() {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [0...999])
        let reader = probe.join(0)
        #expect(probe.step(reader) == .stored(ByteRange(0..<1000)))
        probe.lose(200...299)
        #expect(probe.step(reader) == .stored(ByteRange(0..<200)))
        probe.advance(reader, by: 200)
        #expect(probe.step(reader) == .wait)
        #expect(probe.starts == [OriginAsk(200, 300, ifRange: "\"v1\"")])
    }

    @Test func `a reader of stored bytes only never causes an origin request`() {
        let probe = SessionProbe()
        probe.open(length: 1000, stored: [0...99])
        let reader = probe.join(0, onlyStored: true)
        #expect(probe.read(reader) == 100)
        #expect(probe.step(reader) == .failed(.notStored))
        #expect(probe.starts == [])
    }

    @Test func `a reader of stored bytes fails on an unknown resource`() {
        let probe = SessionProbe()
        let reader = probe.join(0, onlyStored: true)
        #expect(probe.prepare(reader) == .wait)
        probe.openEmpty()
        #expect(probe.woken == [reader])
        #expect(probe.prepare(reader) == .failed(.notStored))
        #expect(probe.starts == [])
    }

    // MARK: Windows of a transport that can't pause

    @Test func `a request covers at most one window if a pause does not stop the origin`() {
        let probe = SessionProbe { $0.requestBytes = 2 * MiB }
        let reader = probe.join(0)
        probe.openEmpty()
        probe.step(reader)
        #expect(probe.starts == [OriginAsk(0, 2 * MiB, isWindow: true)])
        let first = probe.startedIDs[0]
        probe.partial(first, 0, 2 * MiB, total: 3 * MiB)
        #expect(probe.body(first, 2 * MiB) == 2 * MiB)
        probe.finish(first)
        #expect(probe.starts.count == 2)
        #expect(probe.starts[1] == OriginAsk(2 * MiB, 3 * MiB, ifRange: "\"v1\""))
    }

    @Test func `the windows of a reader that goes on double, up to a bound, and a seek begins with a short one`() throws {
        let probe = SessionProbe {
            $0.requestBytes = 2 * MiB
            $0.longestRequestBytes = 8 * MiB
        }
        probe.open(length: 100 * MiB)
        let reader = probe.join(0)
        probe.step(reader)
        for number in 0..<5 { try take(number, probe, reader) }
        #expect(probe.starts.prefix(5).map { ($0.upper ?? 0) - $0.lower } == [2, 2, 4, 8, 8].map { $0 * MiB })
        probe.move(reader, to: 60 * MiB)
        probe.step(reader)
        let seek = try #require(probe.starts.last)
        #expect(seek.lower == 60 * MiB && seek.upper == 62 * MiB)
    }

    /// Lets a reader take the whole answer to a request.
    private func take(_ number: Int, _ probe: SessionProbe, _ reader: ReaderID) throws {
        let (ask, fetch) = (probe.starts[number], probe.startedIDs[number])
        let upper = try #require(ask.upper)
        probe.partial(fetch, ask.lower, upper, total: 100 * MiB)
        var left = upper - ask.lower
        while left > 0 {
            left -= probe.body(fetch, min(left, MiB))
            probe.read(reader)
        }
        probe.finish(fetch)
    }

    @Test func `the next window is requested only when the read-ahead reaches it`() {
        let probe = SessionProbe {
            $0.requestBytes = 2 * MiB
            $0.readAheadBytes = 2 * MiB
        }
        probe.open(length: 100 * MiB)
        let reader = probe.join(0)
        probe.step(reader)
        let first = probe.startedIDs[0]
        probe.partial(first, 0, 2 * MiB, total: 100 * MiB)
        #expect(probe.body(first, 2 * MiB) == 2 * MiB)
        probe.finish(first)
        #expect(probe.starts.count == 1)
        probe.read(reader, upTo: MiB)
        #expect(probe.starts.count == 2)
    }
}
