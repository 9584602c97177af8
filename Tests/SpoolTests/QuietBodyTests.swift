import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import Testing

/// Whether a body that is silent for 8 s ends: only where another request can bring its rest.
@Suite(.timeLimit(.minutes(20))) struct QuietBodyTests {
    /// Each answer of an origin, and whether its silence ends the transfer.
    @Test(
        arguments: [
            ("\"strong\"", ReadPriority.playing, true), ("W/\"weak\"", .playing, false), (nil, .playing, false), (nil, .prefetch, true),
        ] as [(String?, ReadPriority, Bool)])
    func `a silence ends what another request can go on with, and what nobody plays`(
        tag: String?, priority: ReadPriority, ends: Bool
    ) async throws {
        let lanes = ["control", "index", "data"].map { DiskLane(name: $0) }
        let transport = HandTransport()
        let environment = CacheEnvironment(
            time: SystemTime(), random: SystemRandom(), transport: transport, control: lanes[0], indexLane: lanes[1],
            dataLanes: [lanes[2]], shutDown: { for lane in lanes { lane.shutdown() } })
        let cache = try MediaCache(configuration: Configuration(), environment: environment, store: MemoryStore())
        var options = ReadOptions()
        options.priority = priority
        let reader = try cache.reader(for: "http://origin.test/film.mp4", options: options)
        let play = Task { try await reader.bytes() }
        try await eventually("the reader asked") { transport.count == 1 }
        var fields: HTTPFields = ["Content-Type": "video/mp4", "Content-Length": "100000", "Accept-Ranges": "bytes"]
        if let tag { fields.append("ETag", tag) }
        transport.answer(0, 200, fields)
        _ = transport.offer(0)
        // A minute of silence: whoever waits in the background waits no longer than for a head.
        #expect(transport.isQuiet(0, for: .seconds(60)) == ends)
        #expect(transport.isQuiet(0, for: .seconds(8)) == (ends && priority == .playing))
        reader.cancel()
        _ = await play.result
        await cache.close()
    }
}
