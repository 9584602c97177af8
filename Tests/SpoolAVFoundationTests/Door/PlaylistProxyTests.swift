import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Playlists, which start the proxy of their cache by themselves.
@Suite(.timeLimit(.minutes(20))) struct PlaylistProxyTests {
    private static let playlist = """
        #EXTM3U
        #EXT-X-TARGETDURATION:4
        #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://key/1",KEYFORMAT="com.apple.streamingkeydelivery"
        #EXTINF:4,
        1.ts
        #EXTINF:4,
        /s/2.ts
        #EXT-X-ENDLIST

        """

    @Test func `a playlist starts the proxy of its cache, and headers, cookies and key go with every request`() async throws {
        let scene = try ProxyScene(["/s/list.m3u8": Self.playlist])
        let cookie = try #require(
            HTTPCookie(properties: [.name: "session", .value: "1", .domain: "127.0.0.1", .path: "/s", .version: "0"]))
        let key = ResourceKey(normalized: "film")
        let asset = scene.cache.asset(
            for: try scene.url("/s/list.m3u8"), key: key, headers: ["Authorization": "Bearer 1"],
            options: [AVURLAssetHTTPCookiesKey: [cookie], AVURLAssetHTTPUserAgentKey: "Player/1"])
        #expect(asset.route == .loopback && asset.url.host == "127.0.0.1")
        let token = try #require(asset.url.pathComponents.dropFirst().first)
        #expect(token.count > 15)
        let text = try scene.get(asset.url)
        #expect(text.hasPrefix("HTTP/1.1 200"))
        // The key of FairPlay is the app's own, and stays as it is.
        #expect(text.contains("URI=\"skd://key/1\""))
        let path = try #require(text.split(separator: "\r\n").last?.split(separator: "\n").first { $0.hasSuffix("/s/2.ts") })
        #expect(path.hasPrefix("/\(token)/http/"))
        #expect(try scene.get(asset.url, String(path)).hasPrefix("HTTP/1.1 200"))
        #expect(try scene.get(asset.url.deletingLastPathComponent().appendingPathComponent("1.ts")).hasPrefix("HTTP/1.1 200"))
        for path in ["/s/list.m3u8", "/s/1.ts", "/s/2.ts"] {
            let fields = try #require(scene.request(path)).fields
            #expect(
                fields["Authorization"] == "Bearer 1" && fields["Cookie"] == "session=1" && fields["User-Agent"] == "Player/1", "\(path)")
        }
        #expect(try await scene.cache.status(of: key) != nil)
        #expect(try await scene.cache.status(of: scene.origin.url("/s/2.ts")) != nil)
        withExtendedLifetime(asset) {}
        try await scene.close()
    }

    @Test func `a place at the proxy ends with its asset, and its settings go to no other player`() async throws {
        let scene = try ProxyScene(["/s/list.m3u8": Self.playlist])
        var first: CachingAVURLAsset? = scene.cache.asset(for: try scene.url("/s/list.m3u8"), headers: ["Authorization": "Bearer 1"])
        let second = scene.cache.asset(for: try scene.url("/s/list.m3u8"))
        let url = try #require(first?.url)
        #expect(url != second.url && url.port == second.url.port)
        #expect(try scene.get(url).hasPrefix("HTTP/1.1 200"))
        #expect(try scene.get(second.url.deletingLastPathComponent().appendingPathComponent("1.ts")).hasPrefix("HTTP/1.1 200"))
        #expect(try #require(scene.request("/s/1.ts")).fields["Authorization"] == nil)
        var copy = first?.copy()
        first = nil
        #expect(try copy != nil && scene.get(url).hasPrefix("HTTP/1.1 200"))
        copy = nil
        #expect(try scene.get(url).hasPrefix("HTTP/1.1 403"))
        #expect(try scene.get(second.url).hasPrefix("HTTP/1.1 200"))
        withExtendedLifetime((first, second)) {}
        try await scene.close()
    }

    @Test func `a cache that is closed serves no player, and one without the option starts no proxy`() async throws {
        let scene = try ProxyScene(["/s/list.m3u8": Self.playlist])
        var factory = CachingAssetFactory(cache: scene.cache)
        factory.startsProxy = false
        #expect(factory.asset(for: try scene.url("/s/list.m3u8")).route == .original(.playlistWithoutEndpoint))
        let asset = scene.cache.asset(for: try scene.url("/s/list.m3u8"))
        #expect(asset.route == .loopback)
        try await scene.close()
        #expect(throws: SystemError.self) { try scene.get(asset.url) }
    }

    @Test func `one cache plays through both doors, and no byte is fetched twice`() async throws {
        let scene = try ProxyScene(["/s/list.m3u8": Self.playlist])
        let list = scene.cache.asset(for: try scene.url("/s/list.m3u8"))
        #expect(list.route == .loopback)
        let local = try #require(scene.cache.loopback?.url(for: scene.origin.url("/song.mp3")))
        #expect(try scene.get(try #require(URL(string: local))).hasPrefix("HTTP/1.1 200"))
        let asked = scene.origin.log.entries.count { $0.request.url.hasSuffix("/song.mp3") }
        #expect(asked == 1)
        // The same bytes by AVFoundation's loader.
        let asset = scene.cache.asset(for: try scene.url("/song.mp3"))
        #expect(asset.route == .cache)
        let world = PlaybackWorld(time: SystemTime(), random: SystemRandom())
        let bytes = await ProxyScene.load(asset, world)
        #expect(bytes == VirtualResource(url: scene.origin.url("/song.mp3"), seed: 7, length: 100_000).content.bytes(at: 0, count: 100_000))
        // And a segment that the loader stored, through the proxy.
        #expect(await ProxyScene.load(scene.cache.asset(for: try scene.url("/s/1.ts")), world).count == 100_000)
        #expect(try scene.get(list.url).hasPrefix("HTTP/1.1 200"))
        #expect(try scene.get(list.url.deletingLastPathComponent().appendingPathComponent("1.ts")).hasPrefix("HTTP/1.1 200"))
        for path in ["/song.mp3", "/s/1.ts"] { #expect(scene.origin.log.entries.count { $0.request.url.hasSuffix(path) } == 1, "\(path)") }
        world.journal.checkKept()
        #expect(world.journal.breaches == [])
        withExtendedLifetime((asset, list)) {}
        try await scene.close()
    }

    // MARK: App Transport Security

    /// The rules of an app on iOS 17, whose Info.plist permits loopback or not.
    private static func rules(
        permitsAddresses: Bool = false, asked: Locked<[URL]> = Locked([]), answer: @escaping @Sendable (URL) -> String?
    ) -> LoopbackRules {
        LoopbackRules(host: "localhost", permitsAddresses: permitsAddresses) { url, word, report in
            asked.withLock { $0.append(url) }
            report(answer(url) == word)
        }
    }

    /// Gets a URL at the proxy, and returns the body. Nil stands for a refusal by the system.
    private static func body(_ url: URL) -> String? {
        guard let text = try? ProxyScene.get(url) else { return nil }
        return text.split(separator: "\r\n\r\n").last.map(String.init)
    }

    @Test func `a playlist plays by the name localhost once a request has proved the way, and each network is asked once`() async throws {
        let scene = try ProxyScene(["/s/list.m3u8": Self.playlist])
        var factory = CachingAssetFactory(cache: scene.cache)
        let asked = Locked<[URL]>([])
        factory.loopback = Self.rules(asked: asked) { Self.body($0) }
        let first = factory.asset(for: try scene.url("/s/list.m3u8")), second = factory.asset(for: try scene.url("/s/list.m3u8"))
        #expect(first.route == .loopback && second.route == .loopback)
        #expect(first.url.host == "localhost" && second.url.host == "localhost")
        #expect(try scene.get(first.url).hasPrefix("HTTP/1.1 200"))
        let paths = asked.withLock { $0 }
        #expect(paths.count == 1 && paths.allSatisfy { $0.host == "localhost" })
        factory.loopback.network = { 1 }
        #expect(factory.asset(for: try scene.url("/s/list.m3u8")).route == .loopback && asked.withLock { $0.count } == 2)
        // The path of the check ends with it.
        #expect(try paths.allSatisfy { try scene.get($0).hasPrefix("HTTP/1.1 403") })
        withExtendedLifetime((first, second)) {}
        try await scene.close()
    }

    @Test(arguments: [true, false])
    func `a playlist gets its original URL where neither the name nor the app permits loopback`(answers: Bool) async throws {
        let scene = try ProxyScene(["/s/list.m3u8": Self.playlist])
        var factory = CachingAssetFactory(cache: scene.cache)
        let asked = Locked<[URL]>([])
        // Another program has the port, or the system refuses the request.
        factory.loopback = Self.rules(asked: asked) { _ in answers ? "another program" : nil }
        let url = try scene.url("/s/list.m3u8")
        let asset = factory.asset(for: url)
        #expect(asset.route == .original(.loopbackNotPermitted) && asset.url == url)
        #expect(scene.reasons == ["a plain asset: loopbackNotPermitted"])
        let count = asked.withLock { $0.count }
        #expect(factory.asset(for: url).route == .original(.loopbackNotPermitted))
        #expect(asked.withLock { $0.count } == count)
        try await scene.close()
    }

    @Test func `a check that brings no answer counts as none`() async throws {
        let scene = try ProxyScene(["/s/list.m3u8": Self.playlist])
        var factory = CachingAssetFactory(cache: scene.cache)
        factory.loopback = LoopbackRules(host: "localhost", permitsAddresses: false) { _, _, _ in }
        #expect(factory.asset(for: try scene.url("/s/list.m3u8")).route == .original(.loopbackNotPermitted))
        try await scene.close()
    }

    @Test func `an app that permits loopback plays by the address where the name does not lead to the proxy`() async throws {
        let scene = try ProxyScene(["/s/list.m3u8": Self.playlist])
        var factory = CachingAssetFactory(cache: scene.cache)
        factory.loopback = Self.rules(permitsAddresses: true) { _ in "another program" }
        let asset = factory.asset(for: try scene.url("/s/list.m3u8"))
        #expect(asset.route == .loopback && asset.url.host == "127.0.0.1")
        withExtendedLifetime(asset) {}
        try await scene.close()
    }
}
