import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct UrgencyTests {
    @Test func `a request is told when a player joins it, and when the player leaves`() async throws {
        let lanes = ["control", "index", "data"].map { DiskLane(name: $0) }
        let transport = HandTransport()
        let environment = CacheEnvironment(
            time: SystemTime(), random: SystemRandom(), transport: transport, control: lanes[0], indexLane: lanes[1],
            dataLanes: [lanes[2]], shutDown: { for lane in lanes { lane.shutdown() } })
        let cache = try MediaCache(configuration: Configuration(), environment: environment, store: MemoryStore())
        let url = "http://origin.test/film.bin"
        let preload = try cache.preload(url, .whole)
        try await eventually("the preload asked") { transport.count == 1 }
        #expect(transport.request(0).priority == .prefetch && transport.priorities(of: 0) == [])
        transport.answer(0, 200, ["ETag": "\"1\"", "Content-Type": "video/mp4", "Content-Length": "100000"])
        let reader = try cache.reader(for: url)
        let play = Task { try await reader.bytes() }
        try await eventually("the request was told of the player") { transport.priorities(of: 0) == [.playing] }
        reader.cancel()
        try await eventually("the request was told that it left") { transport.priorities(of: 0) == [.playing, .prefetch] }
        #expect(transport.count == 1)
        _ = await play.result
        preload.cancel()
        await cache.close()
    }
}
