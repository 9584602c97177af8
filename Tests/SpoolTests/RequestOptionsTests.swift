import Foundation
import Spool
import SpoolSystem
import SpoolTesting
import Testing

/// The options of a reader for the origin requests that are made for it.
@Suite(.timeLimit(.minutes(20))) struct RequestOptionsTests {
    private static let key = ResourceKey(normalized: "song")

    private static func resource(_ signature: String) -> VirtualResource {
        VirtualResource(url: "http://cdn.test/song.mp3?signature=\(signature)", seed: 3, length: 300_000)
    }

    private static func options(_ fields: HTTPFields) -> ReadOptions {
        var options = ReadOptions()
        options.requestFields = fields
        return options
    }

    @Test func `a reader's fields are sent to the origin and replace the cache's of the same name`() async throws {
        let song = Self.resource("1")
        let world = try EngineWorld([song]) { $0.network.requestFields = ["User-Agent": "app", "X-All": "1"] }
        let reader = try world.cache.reader(for: song.url, options: Self.options(["user-agent": "player", "Authorization": "Bearer 1"]))
        _ = try await reader.bytes()
        let fields = try #require(world.origin.log.entries.first).request.fields
        #expect(fields["Authorization"] == "Bearer 1" && fields["X-All"] == "1")
        #expect(fields.values(of: "User-Agent") == ["player"])
        await world.cache.close()
    }

    @Test func `a renewed signature and token take effect with the next request`() async throws {
        let (old, new) = (Self.resource("old"), Self.resource("new"))
        let world = try EngineWorld([old, new]) { $0.fetching.policy = .whilePlaying }
        let first = try world.cache.reader(for: old.url, key: Self.key, options: Self.options(["Authorization": "Bearer old"]))
        _ = try await first.read(at: 0, count: 10)
        first.cancel()
        let second = try world.cache.reader(for: new.url, key: Self.key, options: Self.options(["Authorization": "Bearer new"]))
        _ = try await second.read(at: 290_000, count: 10_000)
        // A reader without a token, such as a prefetch, removes none.
        let third = try world.cache.reader(for: new.url, key: Self.key)
        _ = try await third.bytes()
        let requests = world.origin.log.entries.map(\.request)
        #expect(requests.first?.url == old.url && requests.first?.fields["Authorization"] == "Bearer old")
        #expect(requests.count > 1)
        #expect(requests.dropFirst().allSatisfy { $0.url == new.url && $0.fields["Authorization"] == "Bearer new" })
        await world.cache.close()
    }

    @Test func `a cache requests through the transport that it was given, and closes it`() async throws {
        let song = Self.resource("1")
        let lane = DiskLane(name: "origin")
        let origin = ScriptedOrigin([song], mailbox: lane, time: SystemTime(), random: SystemRandom())
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-transport-\(UUID().uuidString)")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        var configuration = Configuration()
        configuration.storage.directory = directory.path
        configuration.network.transport = origin
        let cache = try MediaCache(configuration: configuration)
        let bytes = try await cache.reader(for: song.url).bytes()
        #expect(bytes.count == 300_000)
        #expect(origin.log.entries.count == 1)
        await cache.close()
        lane.shutdown()
    }

    @Test func `the loopback endpoint of a cache is held weakly`() async throws {
        final class Endpoint: LoopbackEndpoint {
            func url(for original: String) -> String? { "http://127.0.0.1:1/\(original)" }
        }
        let world = try EngineWorld([])
        var endpoint: Endpoint? = Endpoint()
        world.cache.loopback = endpoint
        #expect(world.cache.loopback?.url(for: "a") == "http://127.0.0.1:1/a")
        #expect(world.cache.loopback?.localNetworkURL(for: "a") == nil)
        endpoint = nil
        #expect(world.cache.loopback == nil)
        await world.cache.close()
    }
}
