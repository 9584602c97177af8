import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Preloads by the URLs, assets and items of AVFoundation, and the window that follows a queue.
@MainActor @Suite(.timeLimit(.minutes(20))) struct AssetPreloadTests {
    private static func outcome(of preload: Preload) -> Locked<Result<PreloadResult, CacheError>?> {
        let outcome = Locked<Result<PreloadResult, CacheError>?>(nil)
        preload.whenOver { result in outcome.withLock { $0 = result } }
        return outcome
    }

    @Test func `an item is preloaded under the key, the fields and the cookies of its asset`() throws {
        let world = try DoorWorld()
        let cookie = try #require(
            HTTPCookie(properties: [.name: "user", .value: "7", .domain: "origin.test", .path: "/"]))
        world.cookies { _ in [cookie] }
        let key = ResourceKey(normalized: "song-7")
        let item = world.factory.playerItem(for: world.url, key: key, headers: ["X-Ticket": "a"])
        let preload = try world.world.cache.preload(item, .bytes(100_000))
        let outcome = Self.outcome(of: preload)
        #expect(world.run { outcome.withLock { $0 } != nil })
        #expect(try outcome.withLock { $0 }?.get().fetchedBytes == 100_000)
        #expect(preload.key == key)
        #expect(world.world.cache.storedNow(of: key)?.contains(ByteRange(lower: 0, upper: 100_000)) == true)
        #expect(world.requests.allSatisfy { $0.request.fields["X-Ticket"] == "a" && $0.request.fields["Cookie"] == "user=7" })
    }

    @Test func `what the player asks for after a preload needs no request`() throws {
        let world = try DoorWorld(length: 200_000)
        let asset = world.asset()
        let preload = try world.world.cache.preload(asset, .whole)
        let outcome = Self.outcome(of: preload)
        #expect(world.run { outcome.withLock { $0 } != nil })
        let requests = world.requests.count
        let load = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd() && world.difference(load, at: 0) == nil)
        #expect(world.requests.count == requests)
    }

    @Test func `an asset that no cache made cannot be preloaded`() throws {
        let world = try DoorWorld()
        #expect(throws: CacheError.self) { try world.world.cache.preload(AVURLAsset(url: world.url), .whole) }
        #expect(throws: CacheError.self) { try world.world.cache.preload(URL(fileURLWithPath: "/film.mp4"), .whole) }
    }

    @Test func `a progress shows the bytes, and cancelling it cancels the preload`() throws {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 400_000) }
        let preload = try world.world.cache.preload(world.url, .whole)
        let (outcome, progress) = (Self.outcome(of: preload), preload.makeProgress())
        #expect(world.run { progress.completedUnitCount > 500_000 } && outcome.withLock { $0 } == nil)
        #expect(progress.totalUnitCount == 4_000_000)
        // Foundation calls the handler on a thread of its own, which the simulation would outrun.
        progress.cancellationHandler?()
        #expect(world.run { outcome.withLock { $0 } != nil })
        #expect(throws: CacheError.self) { try outcome.withLock { $0 }?.get() }
    }

    @Test func `a look at a queue that did not change computes nothing of its items`() throws {
        let world = try DoorWorld(length: 400_000)
        let asked = Locked(0)
        world.cookies { _ in
            asked.withLock { $0 += 1 }
            return []
        }
        let player = AVQueuePlayer(items: [world.item()])
        let controller = PlaybackController(player: player, main: world.playback.main)
        controller.preloadWindow = world.world.cache.preloadWindow(ahead: 1, behind: 1, .bytes(1000))
        world.pass(.seconds(1))
        let count = asked.withLock { $0 }
        for _ in 0..<5 {
            player.change([.timeControlStatus]) { _ in }
            world.pass(.milliseconds(10))
        }
        #expect(count > 0 && asked.withLock { $0 } == count)
        withExtendedLifetime(controller) {}
    }

    @Test func `the window follows the queue, and keeps what has played behind it`() throws {
        let world = try DoorWorld(length: 400_000)
        let urls = (0..<5).map { "http://origin.test/feed/\($0).mp3" }
        for (index, url) in urls.enumerated() {
            world.world.serve(VirtualResource(url: url, seed: UInt64(index) + 60, length: 400_000, contentType: "audio/mpeg"))
        }
        let items = try urls.map { url in
            world.factory.playerItem(for: try #require(URL(string: url)), headers: ["X-Ticket": url])
        }
        let stage = ObservedPlayer(world, items: items, seconds: 20)
        let window = world.world.cache.preloadWindow(ahead: 1, behind: 1, .bytes(50_000))
        stage.controller.preloadWindow = window
        func isKept(_ index: Int) -> Bool {
            guard let asset = items[index].cachedAsset, let key = asset.key else { return false }
            return window.state(of: PreloadWindow.Item(url: asset.originalURL.absoluteString, key: key)) != nil
        }
        #expect(world.run { isKept(0) && isKept(1) })
        #expect(!isKept(2))
        stage.player.advanceToNextItem()
        #expect(world.run { isKept(0) && isKept(1) && isKept(2) })
        stage.player.advanceToNextItem()
        #expect(world.run { !isKept(0) && isKept(1) && isKept(2) && isKept(3) })
        #expect(!isKept(4))
        world.pass(.seconds(5))
        #expect(!world.requests.isEmpty && world.requests.allSatisfy { $0.request.fields["X-Ticket"] == $0.request.url })
        #expect(world.breaches == [])
    }
}
