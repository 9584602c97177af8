import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests the scripted origin on the simulator: time is virtual, and a seed gives the order.
struct ScriptedOriginTests {
    let world = Simulator(seed: 1)
    let origin: ScriptedOrigin
    let url = "http://a.example/v"

    init() {
        origin = ScriptedOrigin(
            [VirtualResource(url: "http://a.example/v", seed: 5, length: 100_000)], mailbox: world.mailbox("origin"), time: world,
            random: world)
    }

    private func start(_ fields: HTTPFields = [:], reaction: @escaping TransferProbe.Reaction = { _, _ in .taken }) -> TransferProbe {
        let probe = TransferProbe(OriginContent(seed: 5), reaction: reaction)
        probe.start(OriginRequest(url: url, fields: fields), on: origin)
        return probe
    }

    @Test func `the log contains each request and its time`() {
        _ = start(["Range": "bytes=0-9", "If-Range": "\"v5\""])
        world.advance(by: .seconds(3))
        _ = start()
        world.runUntilIdle()
        let entries = origin.log.entries
        #expect(entries.map(\.range) == ["bytes=0-9", nil])
        #expect(entries.map(\.ifRange) == ["\"v5\"", nil])
        #expect(entries.map(\.status) == [206, 200])
        #expect(entries.map(\.handedOverBytes) == [10, 100_000])
        #expect(entries[1].time.nanoseconds - entries[0].time.nanoseconds == .seconds(3))
        #expect(entries.allSatisfy { $0.isOver })
    }

    @Test func `bytes sent twice are counted, and those of another version are not`() {
        _ = start(["Range": "bytes=0-99"])
        world.runUntilIdle()
        _ = start(["Range": "bytes=50-149"])
        world.runUntilIdle()
        #expect(origin.log.handedOver(url).bytes == 200)
        #expect(origin.log.handedOver(url).duplicateBytes == 50)
        #expect(origin.log.handedOver(url).ranges[5]?.totalBytes == 150)

        origin.serve(VirtualResource(url: url, seed: 5, length: 100_000).version(seed: 6))
        let other = TransferProbe(OriginContent(seed: 6))
        other.start(OriginRequest(url: url, fields: ["Range": "bytes=0-99"]), on: origin)
        world.runUntilIdle()
        #expect(other.value.violations == [])
        #expect(origin.log.handedOver(url).duplicateBytes == 50)
    }

    @Test func `bytes that were offered and refused do not count as sent`() {
        let probe = start { _, offset in offset >= 50_000 ? .pause : .taken }
        world.advance(by: .seconds(60))
        #expect(origin.log.handedOver(url).bytes == probe.value.bytes)
        #expect(probe.value.end == nil)
    }

    /// A fetch from 0 meets the bytes of a fetch of the tail in the middle of a chunk.
    @Test(arguments: [true, false])
    func `the rest of a chunk that its receiver did not need is no duplicate`(tailIsFirst: Bool) {
        let tail: HTTPFields = ["Range": "bytes=60000-"]
        if tailIsFirst { _ = start(tail) }
        world.runUntilIdle()
        _ = start { _, offset in offset + 16_384 > 60_000 ? .enough : .taken }
        world.runUntilIdle()
        if !tailIsFirst { _ = start(tail) }
        world.runUntilIdle()
        #expect(origin.log.handedOver(url).duplicateBytes == 0)
        #expect(origin.log.handedOver(url).bytes == origin.log.handedOver(url).ranges[5]?.totalBytes)
        // A third transfer sends bytes that were taken.
        _ = start(tail)
        world.runUntilIdle()
        #expect(origin.log.handedOver(url).duplicateBytes == 40_000)
    }

    @Test func `latency and rate delay the answer on the clock`() {
        origin.follow { _, _ in .slow(latency: .seconds(2), bytesPerSecond: 10_000, chunkBytes: 1000...1000) }
        let probe = start()
        world.advance(by: .seconds(2) - 1)
        #expect(probe.value.head == nil)
        world.advance(by: 1)
        #expect(probe.value.head?.status == 200)
        world.advance(by: .seconds(5))
        #expect(probe.value.bytes == 50_000)
        world.advance(by: .seconds(5))
        #expect(probe.value.end == .complete)
    }

    @Test func `a silent origin times out`() {
        origin.follow { _, ordinal in ordinal == 0 ? .silence : .stall(afterBytes: 5000, .correct) }
        let silent = start(), stalled = start()
        world.advance(by: .seconds(8) - 1)
        #expect(silent.value.end == nil)
        #expect(stalled.value.bytes == 5000)
        world.runUntilIdle()
        for probe in [silent, stalled] {
            guard case .failed(.timeout) = probe.value.end else {
                unexpected("\(String(describing: probe.value.end))")
                continue
            }
        }
    }

    @Test func `an offline origin is unreachable, and works again when back online`() {
        let running = start { _, offset in offset > 10_000 ? .pause : .taken }
        world.advance(by: .seconds(1))
        origin.setOffline(true, breaksTransfers: true)
        let refused = start()
        world.runUntilIdle()
        #expect(running.value.end == .failed(.truncated(afterBytes: running.value.bytes)))
        #expect(refused.value.end == .failed(.unreachable("connection refused")))
        origin.setOffline(false)
        let fine = start()
        world.runUntilIdle()
        #expect(fine.value.end == .complete)
    }

    @Test func `a script can fail first and succeed later`() {
        origin.follow { _, ordinal in ordinal < 2 ? .status(503, fields: ["Retry-After": "1"]) : .correct }
        let statuses = (0..<3).map { _ in
            let probe = TransferProbe()
            probe.start(OriginRequest(url: url, fields: [:]), on: origin)
            world.runUntilIdle()
            return probe.value.head?.status
        }
        #expect(statuses == [503, 503, 200])
    }

    @Test(arguments: [
        (OriginBehaviour.cut(afterBytes: 100, .close, .correct), TransferEnd.failed(.truncated(afterBytes: 100))),
        (.cut(afterBytes: 100, .reset, .unknownLength(.close, .correct)), .failed(.truncated(afterBytes: 100))),
        (.cut(afterBytes: 100, .close, .unknownLength(.close, .correct)), .complete),
        (.cut(afterBytes: 100, .close, .unknownLength(.chunked, .correct)), .failed(.truncated(afterBytes: 100))),
        (.fields(["Content-Length": "100001"], .correct), .failed(.truncated(afterBytes: 100_000))),
        (.fields(["Content-Length": "50"], .correct), .complete),
    ])
    func `a body ends as its framing requires`(behaviour: OriginBehaviour, end: TransferEnd) {
        origin.follow { _, _ in behaviour }
        let probe = start()
        world.runUntilIdle()
        #expect(probe.value.end == end)
        #expect(probe.value.violations == [])
    }

    @Test(arguments: Seeds.list(count: 10))
    func `a seed replays the same run`(seed: UInt64) {
        func run() -> [String] {
            let world = Simulator(seed: seed)
            let origin = ScriptedOrigin(
                [VirtualResource(url: url, seed: 5, length: 100_000)], mailbox: world.mailbox("origin"), time: world, random: world
            ) { _, _ in .paced(OriginPace(latency: 0...1_000_000, bytesPerSecond: 1_000_000, chunkBytes: 1...9000), .correct) }
            let probes = (0..<3).map { _ in TransferProbe(OriginContent(seed: 5)) }
            for probe in probes { probe.start(OriginRequest(url: url, fields: [:]), on: origin) }
            world.runUntilIdle()
            return probes.map { "\($0.value.offers) \($0.value.violations)" } + ["\(world.now)", "\(world.stepCount)"]
        }
        #expect(run() == run())
    }
}
