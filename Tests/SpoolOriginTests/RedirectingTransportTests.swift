import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The engine sees no redirects, only final answers.
struct RedirectingTransportTests {
    /// A chain of three redirects, the second with a body, to a resource on another origin.
    struct Chain {
        let world: Simulator
        let origin: ScriptedOrigin
        let transport: RedirectingTransport
        static let final = "http://b.example/final"

        init(seed: UInt64 = 1, bodyBytes: Int = 100) {
            world = Simulator(seed: seed)
            let body = [UInt8](repeating: 0x20, count: bodyBytes)
            origin = ScriptedOrigin(
                [VirtualResource(url: Self.final, seed: 9, length: 50_000)], mailbox: world.mailbox("origin"), time: world, random: world
            ) { request, _ in
                switch request.url {
                case "http://a.example/1": .redirect(301, to: "/2")
                case "http://a.example/2": .status(302, fields: ["Location": "/3"], body: body)
                case "http://a.example/3": .redirect(307, to: Self.final)
                case "http://a.example/loop": .redirect(302, to: "/loop")
                default: .correct
                }
            }
            transport = RedirectingTransport(origin)
        }

        func start(
            _ url: String = "http://a.example/1", _ fields: HTTPFields = [:], from offset: Int64 = 0,
            reaction: @escaping TransferProbe.Reaction = { _, _ in .taken }
        ) -> TransferProbe {
            let probe = TransferProbe(OriginContent(seed: 9), from: offset, reaction: reaction)
            probe.start(OriginRequest(url: url, fields: fields), on: transport)
            return probe
        }
    }

    @Test func `a chain of redirects is measured once, by its last request`() {
        let chain = Chain()
        let probe = chain.start()
        chain.world.runUntilIdle()
        #expect(probe.value.timings?.receivedBytes == 50_000 && probe.value.violations == [])
    }

    @Test func `a chain of redirects gives one answer with its final URL`() {
        let chain = Chain()
        let probe = chain.start(from: 0)
        chain.world.runUntilIdle()
        #expect(probe.value.end == .complete)
        #expect(probe.value.head?.status == 200)
        #expect(probe.value.head?.url == Chain.final)
        #expect(probe.value.bytes == 50_000)
        #expect(probe.value.violations == [])
    }

    @Test func `range and condition reach the last origin, and credentials do not`() {
        let chain = Chain()
        let probe = chain.start("http://a.example/1", ["Range": "bytes=100-199", "If-Range": "\"v9\"", "Cookie": "c"], from: 100)
        chain.world.runUntilIdle()
        #expect(probe.value.head?.status == 206)
        #expect(probe.value.bytes == 100)
        let entries = chain.origin.log.entries
        #expect(entries.map { $0.request.fields["Cookie"] } == ["c", "c", "c", nil])
        #expect(entries.allSatisfy { $0.range == "bytes=100-199" && $0.ifRange == "\"v9\"" })
    }

    @Test func `a redirect's body is discarded, and a long one is cancelled`() {
        let chain = Chain(bodyBytes: 1_000_000)
        let probe = chain.start()
        chain.world.runUntilIdle()
        #expect(probe.value.end == .complete)
        #expect(probe.value.bytes == 50_000)
        #expect(chain.origin.log.entries[1].handedOverBytes <= 65_536 + 16_384)
        #expect(chain.origin.log.entries.allSatisfy { $0.isOver })
    }

    @Test func `a circle causes one error`() {
        let chain = Chain()
        let probe = chain.start("http://a.example/loop")
        chain.world.runUntilIdle()
        guard case .failed(.redirect) = probe.value.end else { return unexpected("\(probe.value)") }
        #expect(probe.value.head == nil)
        #expect(probe.value.violations == [])
    }

    /// Tests every point of the run, including changes between hops, in many orders.
    @Test(arguments: Seeds.list(count: 5))
    func `a cancel at any point ends the transfer as cancelled, without further calls`(seed: UInt64) {
        for steps in 0..<200 {
            let chain = Chain(seed: seed, bodyBytes: 40_000)
            let probe = chain.start()
            for _ in 0..<steps { chain.world.step() }
            let wasOver = probe.value.end != nil
            let bytes = probe.value.bytes
            probe.transfer?.cancel()
            chain.world.runUntilIdle()
            #expect(probe.value.end == (wasOver ? .complete : .cancelled), "\(chain.world.report("cancelled after \(steps) steps"))")
            #expect(probe.value.bytes == bytes)
            #expect(probe.value.violations == [])
            #expect(chain.origin.log.entries.allSatisfy { $0.isOver })
            if wasOver { return }
        }
        unexpected("the run never ended")
    }

    @Test(arguments: Seeds.list(count: 5))
    func `resume reaches the current hop`(seed: UInt64) {
        let chain = Chain(seed: seed)
        // The receiver refuses each piece once.
        let refused = Awaited<Int64>(-1)
        let probe = chain.start { _, offset in
            refused.change { last in
                defer { last = offset }
                return last == offset ? .taken : .pause
            }
        }
        for _ in 0..<1000 where probe.value.end == nil {
            // Resume is also called when nothing is paused, and between two hops.
            probe.transfer?.resume()
            chain.world.step()
        }
        #expect(probe.value.end == .complete, "\(chain.world.report("it never ended"))")
        #expect(probe.value.bytes == 50_000)
        #expect(probe.value.violations == [])
    }

    @Test func `the urgency of the readers reaches the current hop, and each one after it`() {
        let base = HandTransport()
        let transfer = RedirectingTransport(base).start(OriginRequest(url: "http://a.example/1", fields: [:]), receiver: WordReceiver())
        transfer.setPriority(.upcoming)
        base.answer(0, 302, ["Location": "/2"])
        #expect(base.urls == ["http://a.example/1", "http://a.example/2"])
        #expect(base.priorities(of: 0) == [.upcoming] && base.priorities(of: 1) == [.upcoming])
        transfer.setPriority(.playing)
        #expect(base.priorities(of: 1) == [.upcoming, .playing])
    }
}
