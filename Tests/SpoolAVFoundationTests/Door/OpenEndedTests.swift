import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Bodies whose length the origin does not state. The loader cannot serve them.
@Suite(.timeLimit(.minutes(20))) struct OpenEndedTests {
    private static let chunked = OriginBehaviour.unknownLength(.chunked, .ignoresRange)

    private static func scene(_ behaviour: OriginBehaviour = chunked) throws -> (ProxyScene, CachingAssetFactory, PlaybackWorld) {
        let scene = try ProxyScene(behaviours: ["/song.mp3": behaviour])
        let factory = CachingAssetFactory(cache: scene.cache)
        return (scene, factory, PlaybackWorld(time: SystemTime(), random: SystemRandom()))
    }

    private static func bytes(_ scene: ProxyScene) -> [UInt8] {
        VirtualResource(url: scene.origin.url("/song.mp3"), seed: 7, length: 100_000).content.bytes(at: 0, count: 100_000)
    }

    /// Waits until the body is stored as a whole.
    private static func isComplete(_ key: ResourceKey?, _ cache: MediaCache) async throws {
        let key = try #require(key)
        while try await cache.status(of: key)?.isComplete != true { await Task.yield() }
    }

    @Test func `a body without length plays through the proxy, and once it is stored through the loader, with its length`() async throws {
        let (scene, factory, world) = try Self.scene()
        let url = try scene.url("/song.mp3")
        let first = factory.asset(for: url)
        #expect(first.route == .cache)
        let places = await ProxyScene.redirects(of: first, count: 3, world)
        // Several requests for the information get one place.
        #expect(places.count == 3 && Set(places).count == 1)
        let place = try #require(places.first)
        #expect(place.host == "127.0.0.1" && place.path.hasSuffix("/song.mp3") && first.lastError?.code == .fellBack)
        let whole = try scene.get(place)
        try #require(whole.hasPrefix("HTTP/1.1 200") && !whole.lowercased().contains("content-length"))
        try await Self.isComplete(first.key, scene.cache)
        // The proxy's request joined the one of the loader. A body that ended with its connection costs
        // a question about its end.
        let count = scene.origin.log.entries.count
        #expect(count <= 3)
        // The next asset has a place at the proxy at once, which has the length now.
        let second = factory.asset(for: url)
        #expect(second.route == .loopback)
        #expect(try scene.get(second.url).lowercased().contains("content-length: 100000"))
        _ = try await scene.cache.status(of: try #require(second.key))
        let third = factory.asset(for: url)
        #expect(third.route == .cache)
        #expect(await ProxyScene.load(third, world) == Self.bytes(scene))
        #expect(scene.origin.log.entries.count == count)
        world.journal.checkKept()
        #expect(world.journal.breaches == [])
        withExtendedLifetime((first, second, third)) {}
        try await scene.close()
    }

    @Test(
        arguments: [
            ["icy-name": "Radio 1"], ["Ice-Audio-Info": "bitrate=128"], ["Server": "Icecast 2.4.4"], ["Cache-Control": "no-store"],
        ] as [HTTPFields])
    func `a live stream plays from its original URL`(fields: HTTPFields) async throws {
        let (scene, factory, world) = try Self.scene(.fields(fields, Self.chunked))
        let url = try scene.url("/song.mp3")
        let asset = factory.asset(for: url)
        #expect(await ProxyScene.redirects(of: asset, count: 1, world) == [url])
        #expect(factory.asset(for: url).route == .original(.unknownLength))
        withExtendedLifetime(asset) {}
        try await scene.close()
    }

    @Test func `a body without length plays from its original URL where players do not reach the proxy`() async throws {
        var (scene, factory, world) = try Self.scene()
        factory.loopback = LoopbackRules(host: "localhost", permitsAddresses: false) { _, _, report in report(false) }
        let url = try scene.url("/song.mp3")
        let asset = factory.asset(for: url)
        #expect(await ProxyScene.redirects(of: asset, count: 1, world) == [url])
        #expect(factory.asset(for: url).route == .original(.unknownLength))
        withExtendedLifetime(asset) {}
        try await scene.close()
    }

    @Test func `the proxy has the fields of the factory, and serves no body that a transform of the factory changes`() async throws {
        var (scene, factory, world) = try Self.scene()
        let url = try scene.url("/song.mp3")
        factory.readOptions.requestFields["Authorization"] = "Bearer 1"
        let first = factory.asset(for: url)
        let place = try #require(await ProxyScene.redirects(of: first, count: 1, world).first)
        // A request of the player that joins none of the loader's.
        scene.cache.remove(try #require(first.key)) { _ in }
        #expect(try scene.get(place).hasPrefix("HTTP/1.1 200"))
        #expect(scene.origin.log.entries.allSatisfy { $0.request.fields["Authorization"] == "Bearer 1" })
        let second = factory.asset(for: url)
        #expect(second.route == .loopback)
        #expect(try scene.get(second.url).hasPrefix("HTTP/1.1 200"))
        #expect(scene.origin.log.entries.allSatisfy { $0.request.fields["Authorization"] == "Bearer 1" })
        factory.readOptions.contentTransform = Mask()
        let third = factory.asset(for: url)
        #expect(third.route == .cache)
        withExtendedLifetime((first, second, third)) {}
        try await scene.close()
    }

    @Test func `an app that does not want it plays such a body from its original URL`() async throws {
        var (scene, factory, world) = try Self.scene()
        factory.storesOpenEndedBodies = false
        let url = try scene.url("/song.mp3")
        let asset = factory.asset(for: url)
        #expect(await ProxyScene.redirects(of: asset, count: 1, world) == [url])
        factory.storesOpenEndedBodies = true
        #expect(factory.asset(for: url).route != .loopback)
        withExtendedLifetime(asset) {}
        try await scene.close()
    }

    @Test func `a body that must be confirmed and has no validator is taken for a live stream`() {
        func isLive(_ fields: HTTPFields, _ validator: Validator = .none) -> Bool {
            let moment = Timestamp(nanoseconds: 0)
            return OpenEndedBody.isLive(
                Representation(length: nil, validator: validator, fields: fields, requestTime: moment, responseTime: moment))
        }
        #expect(isLive(["Cache-Control": "no-cache"]))
        #expect(!isLive(["Cache-Control": "no-cache"], .strong(entityTag: "\"1\"")))
        #expect(!isLive(["Content-Type": "audio/mpeg", "Server": "nginx"]))
    }

    @Test func `the keys of the Info dictionary decide whether media may come from loopback`() {
        func permits(_ keys: [String: Bool]) -> Bool { TransportSecurity(["NSAppTransportSecurity": keys]).permitsLoopback }
        #expect(!TransportSecurity([:]).permitsLoopback && !permits([:]))
        #expect(permits(["NSAllowsLocalNetworking": true]) && permits(["NSAllowsArbitraryLoads": true]))
        #expect(permits(["NSAllowsArbitraryLoadsForMedia": true]))
        #expect(!permits(["NSAllowsArbitraryLoads": true, "NSAllowsLocalNetworking": false]))
        #expect(!permits(["NSAllowsArbitraryLoads": true, "NSAllowsArbitraryLoadsInWebContent": true]))
    }
}
