import Spool
import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// URLs that differ and name one resource.
@Suite(.timeLimit(.minutes(20))) struct SignedURLTests {
    private static let key = "https://cdn.example/film.mp4"

    private func world(script: @escaping OriginScript = { _, _ in .correct }) throws -> EngineWorld {
        let resources = ["?sig=1", "?sig=2", "?sig=3"].map { VirtualResource(url: Self.key + $0, seed: 5, length: 1 << 20) }
        return try EngineWorld(
            resources, configuration: { $0.freshness.keyPolicy = KeyPolicy().dropQueryItems(named: ["sig"], forHosts: ["cdn.example"]) },
            script: script)
    }

    @Test func `a resource fetched with one signature is served to another without a request`() async throws {
        let world = try world()
        let first = try await world.cache.reader(for: Self.key + "?sig=1").bytes()
        let second = try await world.cache.reader(for: Self.key + "?sig=2").bytes()
        #expect(first == second && first.count == 1 << 20)
        #expect(world.origin.log.entries.map(\.request.url) == [Self.key + "?sig=1"])
        #expect(try await world.cache.status(of: ResourceKey(normalized: Self.key)) != nil)
        await world.cache.close()
    }

    @Test func `the app's choice of a key comes before the rules, and nil leaves it to them`() throws {
        let policy = KeyPolicy().choosing { url in url.contains("/film") ? ResourceKey(normalized: "film 7") : nil }
            .dropQueryItems(named: ["sig"])
        #expect(try policy.key(for: Self.key + "?sig=1") == ResourceKey(normalized: "film 7"))
        #expect(try policy.key(for: "https://cdn.example/song.mp3?sig=1") == ResourceKey(normalized: "https://cdn.example/song.mp3"))
        #expect(policy != KeyPolicy().dropQueryItems(named: ["sig"]))
    }

    /// 1. A player requests with a signature; some bytes are stored.
    /// 2. The signature expires.
    /// 3. The page is loaded again and has a new one.
    ///
    /// A session that kept its first URL would fail for as long as it lives.
    @Test func `a resource begun with an expired signature is completed with a new one`() async throws {
        let world = try world { request, ordinal in
            guard request.url.hasSuffix("sig=1") else { return .correct }
            return ordinal == 0 ? .cut(afterBytes: 100_000, .close, .correct) : .status(403)
        }
        let old = try world.cache.reader(for: Self.key + "?sig=1")
        #expect(try await old.read(at: 0, count: 50_000).count == 50_000)
        await #expect(throws: CacheError.self) { try await old.read(at: 500_000, count: 10) }
        old.cancel()

        let new = try world.cache.reader(for: Self.key + "?sig=2")
        let resource = VirtualResource(url: Self.key, seed: 5, length: 1 << 20)
        #expect(try await new.bytes() == world.expected(resource, 0..<1 << 20))
        #expect(world.origin.log.entries.last?.request.url == Self.key + "?sig=2")
        await world.cache.close()
    }

    @Test func `a resource with an explicit key is the same under every URL`() async throws {
        let world = try world()
        let key = ResourceKey(normalized: "film 42")
        let bytes = try await world.cache.reader(for: Self.key + "?sig=1", key: key).bytes()
        #expect(try await world.cache.reader(for: Self.key + "?sig=3", key: key).bytes() == bytes)
        #expect(world.origin.log.entries.count == 1)
        #expect(try await world.cache.status(of: key) != nil)
        #expect(try await world.cache.status(of: ResourceKey(normalized: Self.key)) == nil)
        await world.cache.close()
    }
}
