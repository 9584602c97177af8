import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Keys of protected media, and delegates of the app.
@MainActor @Suite(.timeLimit(.minutes(20))) struct ContentKeyTests {
    /// A delegate of an app that loads keys, and refuses everything else.
    private final class KeyLoader: NSObject, AVAssetResourceLoaderDelegate, Sendable {
        func resourceLoader(
            _ resourceLoader: AVAssetResourceLoader, shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
        ) -> Bool { false }
    }

    private final class Events: EventSink {
        private let state = Locked<[CacheEvent]>([])
        var reasons: [String] {
            state.withLock { $0 }.compactMap { if case .degradedToPassthrough(_, let reason) = $0 { reason } else { nil } }
        }

        func record(_ event: CacheEvent) { state.withLock { $0.append(event) } }
    }

    @Test func `an app's own delegate on a cached asset is reported once, by the event, the error and the failed item`() throws {
        let events = Events()
        var plan = World.Plan()
        plan.configure = { $0.events.append(events) }
        let world = try DoorWorld(plan: plan)
        let asset = world.asset(), keys = KeyLoader()
        asset.resourceLoader.setDelegate(keys, queue: DispatchQueue(label: "keys"))
        let stage = ObservedPlayer(world, items: [AVPlayerItem(asset: asset)])
        stage.controller.play()
        #expect(world.run { if case .failed = stage.controller.state { true } else { false } })
        guard case .failed(let failure) = stage.controller.state else { return }
        #expect(failure.cause?.code == .delegateReplaced && asset.lastError?.code == .delegateReplaced)
        #expect(events.reasons.filter { $0.contains("delegate") }.count == 1)
        #expect(world.requests.isEmpty)
        withExtendedLifetime(keys) {}
    }

    @Test func `without a controller, the error of the asset names the replaced delegate`() throws {
        let world = try DoorWorld()
        let asset = world.asset(), keys = KeyLoader()
        #expect(asset.lastError == nil)
        asset.resourceLoader.setDelegate(keys, queue: nil)
        #expect(asset.lastError?.code == .delegateReplaced)
        withExtendedLifetime(keys) {}
    }

    @Test func `requests for keys go to the app's handler, and those for bytes to the cache`() throws {
        let asked = Locked<[String]>([])
        let world = try DoorWorld(length: 100_000)
        var factory = world.factory
        factory.onOtherRequest = { request in
            asked.withLock { $0.append(request.request.url?.absoluteString ?? "") }
            request.dataRequest?.respond(with: Data("key".utf8))
            request.finishLoading()
            return true
        }
        for (factory, isAnswered) in [(factory, true), (world.factory, false)] {
            let asset = factory.asset(for: world.url)
            let all = world.load(asset, information: true, 0, toEnd: true)
            let key = try world.load(#require(URL(string: "skd://key/1")), of: asset, 0, 3)
            #expect(world.run { all.isOver && (key.isOver || key.isRefused) })
            #expect(all.bytes.count == 100_000 && world.difference(all, at: 0) == nil)
            #expect(key.bytes == (isAnswered ? Array("key".utf8) : []) && key.isRefused == !isAnswered)
        }
        #expect(asked.withLock { $0 } == ["skd://key/1"])
        #expect(world.breaches == [])
    }

    @Test func `a playlist at the proxy leaves the delegate and the key session to the app`() throws {
        final class Endpoint: LoopbackEndpoint {
            func url(for original: String) -> String? { "http://127.0.0.1:4000/x" }
        }
        let world = try DoorWorld()
        let endpoint = Endpoint(), keys = KeyLoader()
        world.world.cache.loopback = endpoint
        let asset = world.factory.asset(for: try #require(URL(string: "http://origin.test/film.m3u8")))
        #expect(asset.route == .loopback && asset.resourceLoader.delegate == nil)
        asset.resourceLoader.setDelegate(keys, queue: nil)
        #expect(asset.lastError == nil && asset.resourceLoader.delegate === keys)
        let session = AVContentKeySession(keySystem: .fairPlayStreaming)
        session.addContentKeyRecipient(asset)
        #expect(session.contentKeyRecipients.count == 1 && session.contentKeyRecipients.first === asset)
        withExtendedLifetime((endpoint, keys)) {}
    }

    @Test func `an asset that replaces another is a recipient of the app's key session before its item exists`() throws {
        final class Endpoint: LoopbackEndpoint {
            func url(for original: String) -> String? { "http://127.0.0.1:4000/x" }
        }
        let world = try DoorWorld()
        world.answerProbes(true)
        let endpoint = Endpoint(), made = Locked<[CachingAVURLAsset]>([])
        world.world.cache.loopback = endpoint
        var factory = world.factory
        factory.onReplacementAsset = { asset in made.withLock { $0.append(asset) } }
        let item = factory.playerItem(for: try #require(URL(string: "http://origin.test/film.m3u8")))
        let player = AVQueuePlayer(items: [item])
        let controller = PlaybackController(player: player, main: world.playback.main)
        controller.onReplacement = { _, new in #expect(made.withLock { $0.last } === new.asset) }
        // A receiver takes over, and goes.
        player.change([.isExternalPlaybackActive]) { $0.isExternalPlaybackActive = true }
        #expect(world.run { player.currentItem?.cachedAsset?.route == .original(.requested) })
        player.change([.isExternalPlaybackActive]) { $0.isExternalPlaybackActive = false }
        #expect(world.run { player.currentItem?.cachedAsset?.route == .loopback })
        // The item does not open, and its original does.
        controller.play()
        world.pass(.seconds(60))
        #expect(made.withLock { $0.map(\.route.isOriginal) } == [true, false, true])
        withExtendedLifetime(endpoint) {}
    }

    @Test(arguments: [true, false])
    func `a playlist with the app's delegate is left alone, because its original has none`(hasDelegate: Bool) throws {
        final class Endpoint: LoopbackEndpoint {
            func url(for original: String) -> String? { "http://127.0.0.1:4000/x" }
        }
        let world = try DoorWorld()
        world.answerProbes(true)
        let endpoint = Endpoint(), keys = KeyLoader()
        world.world.cache.loopback = endpoint
        let item = world.factory.playerItem(for: try #require(URL(string: "http://origin.test/film.m3u8")))
        if hasDelegate { (item.asset as? AVURLAsset)?.resourceLoader.setDelegate(keys, queue: nil) }
        // The licence takes longer than an item may take to open.
        let player = AVQueuePlayer(items: [item])
        let controller = PlaybackController(player: player, main: world.playback.main)
        controller.play()
        world.pass(.seconds(60))
        #expect(world.probes.count == (hasDelegate ? 0 : 1) && (player.currentItem === item) == hasDelegate)
        withExtendedLifetime((endpoint, keys)) {}
    }
}

extension AssetRoute {
    fileprivate var isOriginal: Bool { if case .original = self { true } else { false } }
}
