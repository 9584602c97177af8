import SpoolCore
import SpoolServer
import SpoolSystem
import Testing

/// Many threads at once, for the thread sanitizer. A simulation cannot show data races.
@Suite(.timeLimit(.minutes(20)))
struct ServerStressTests {
    /// Clients connect, read some and leave in three ways, while other threads push bytes, wake
    /// sources and answer late.
    @Test func `wake-ups from other threads are safe while clients come and go`() throws {
        let seed = testSeed()
        let feeder = Feeder(threads: 2)
        let opened = Locked(0), closed = Locked(0)
        let file = try TestFile(count: 1 << 20)
        let lane = DiskLane(name: "stress")
        let server = try TestServer({ options in
            options.coldReads = ColdReads(lane: lane, isResident: { _, offset, _ in offset % 3 == 0 }, readAhead: { _, _, _ in })
        }) { request, exchange in
            switch request.target.last {
            case "0":
                opened.withLock { $0 += 1 }
                let source = FileSource(file, 0..<1 << 20) { closed.withLock { $0 += 1 } }
                exchange.respond(Response(200, body: .source(source, length: 1 << 20)))
            case "1":
                // The answer comes from another thread, perhaps after the client left.
                feeder.post {
                    exchange.loop.post { exchange.respond(Response(200, body: .bytes(Array("late".utf8)))) }
                }
            default:
                opened.withLock { $0 += 1 }
                let source = PushSource { closed.withLock { $0 += 1 } }
                exchange.respond(Response(200, body: .source(source, length: nil)))
                for step in 0..<8 {
                    feeder.post {
                        source.nudge()
                        source.push([UInt8](repeating: UInt8(step), count: 3000), then: step == 7 ? .end : nil)
                        source.nudge()
                    }
                }
            }
        }
        let address = server.address
        let threads = (0..<4).map { number in
            SystemThread(name: "client \(number)") { Self.browse(address, TestRandom(seed: seed &+ UInt64(number))) }
        }
        for thread in threads { thread.join() }
        feeder.stop()
        server.wait { server.server.counters.openConnections == 0 }
        server.stop()
        lane.shutdown()
        #expect(opened.withLock { $0 } == closed.withLock { $0 }, "each source is closed once, seed \(seed)")
    }

    private static func browse(_ address: SocketAddress, _ random: TestRandom) {
        var random = random
        for _ in 0..<60 {
            do {
                let client = try Client(address, receiveBuffer: 16384)
                requests: for _ in 0...random.below(3) {
                    client.send("GET /\(random.below(3)) HTTP/1.1\r\nHost: a\r\n\r\n")
                    switch random.below(4) {
                    case 0:
                        // Leaves in the middle of an answer. The shortest answer has 79 bytes.
                        try client.discard(random.below(60))
                        break requests
                    case 1: break
                    default: _ = try client.answer()
                    }
                }
                if random.below(3) == 0 { client.reset() }
            } catch {
                Issue.record("a correct client failed: \(error)")
            }
        }
    }

    @Test func `a server that stops while sources are pushed closes every source`() throws {
        let feeder = Feeder(threads: 1)
        let opened = Locked(0), closed = Locked(0)
        for _ in 0..<10 {
            let server = try TestServer { _, exchange in
                opened.withLock { $0 += 1 }
                let source = PushSource { closed.withLock { $0 += 1 } }
                exchange.respond(Response(200, body: .source(source, length: nil)))
                for _ in 0..<20 { feeder.post { source.push([1, 2, 3]) } }
            }
            let clients = try (0..<10).map { _ in try server.connect() }
            for client in clients { client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
            for client in clients { try client.discard(20) }
            server.stop()
        }
        feeder.stop()
        #expect(opened.withLock { $0 } == 100)
        #expect(closed.withLock { $0 } == 100)
    }
}

/// Threads that run jobs as fast as they are posted.
private final class Feeder: Sendable {
    private let loops: [EventLoop]
    private let threads: [SystemThread]
    private let next = Locked(0)

    init(threads count: Int) {
        loops = (0..<count).map { _ in
            do { return try EventLoop() } catch { fatalError("no event loop: \(error)") }
        }
        threads = loops.map { $0.start(name: "feeder") }
    }

    func post(_ job: @escaping @Sendable () -> Void) {
        let turn = next.withLock { next in
            next += 1
            return next
        }
        loops[turn % loops.count].post(job)
    }

    func stop() {
        for loop in loops { loop.stop() }
        for thread in threads { thread.join() }
    }
}
