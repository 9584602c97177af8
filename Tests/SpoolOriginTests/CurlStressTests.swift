#if os(Linux)
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Runs many transfers, and threads that resume and cancel them at random. The tests also run under
/// the thread sanitizer.
@Suite(.timeLimit(.minutes(20)))
struct CurlStressTests {
    static let behaviours: [OriginBehaviour] = [
        .correct, .correct, .correct, .unknownLength(.chunked, .correct), .unknownLength(.close, .correct),
        .cut(afterBytes: 30_000, .close, .correct), .cut(afterBytes: 30_000, .reset, .correct), .refuse, .silence,
        .stall(afterBytes: 10_000, .correct), .status(503), .redirect(to: "/v?moved"), .redirect(to: "/v?moved"),
    ]

    @Test(arguments: Seeds.list(count: 3))
    func `transfers resumed and cancelled at random all end with right bytes`(seed: UInt64) throws {
        let random = SeededRandom(seed: seed)
        let origin = try RawOrigin([
            VirtualResource(url: "/v", seed: 4, length: 300_000), VirtualResource(url: "/v?moved", seed: 4, length: 300_000),
        ]) { request, ordinal in
            request.url.hasSuffix("?moved") ? .correct : Self.behaviours[ordinal % Self.behaviours.count]
        }
        defer { origin.stop() }
        var options = CurlTransportOptions()
        options.maxConnections = 48
        let transport = RedirectingTransport(CurlTransport(options: options))
        defer { transport.close() }

        let probes = (0..<150).map { index in
            // The receiver refuses bytes at offsets that differ between transfers, each only once
            // or twice.
            let chance = OriginContent(seed: seed &+ UInt64(index))
            return TransferProbe(
                OriginContent(seed: 4),
                reaction: { probe, offset in
                    if offset > 250_000, index % 7 == 0 { return .enough }
                    return chance.byte(at: offset + Int64(probe.value.pauses)) < 80 ? .pause : .taken
                })
        }
        let started = Awaited(0)
        let hands = (0..<3).map { hand in
            let random = SeededRandom(seed: seed &+ UInt64(hand))
            return SystemThread(name: "hand") {
                while !probes.allSatisfy({ $0.value.end != nil }) {
                    guard started.wait(until: { $0 > 0 }) else { return }
                    let probe = probes[Int(random.next(below: UInt64(started.value)))]
                    if random.chance(1, in: 40) { probe.transfer?.cancel() } else { probe.transfer?.resume() }
                }
            }
        }
        for probe in probes {
            // An error body is not the content.
            probe.start(OriginRequest(url: origin.url("/v"), fields: random.chance(1, in: 2) ? [:] : ["Range": "bytes=0-"]), on: transport)
            started.change { $0 += 1 }
        }
        for probe in probes { #expect(probe.waitForEnd() != nil, "seed \(seed)") }
        for hand in hands { hand.join() }
        for probe in probes { #expect(probe.value.violations == [], "seed \(seed)") }
    }
}
#endif
