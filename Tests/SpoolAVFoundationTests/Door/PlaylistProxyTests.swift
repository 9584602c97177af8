import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolSystem
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
        first = nil
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
}
