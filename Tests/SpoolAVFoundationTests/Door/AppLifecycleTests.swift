import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// An app that enters the background and returns.
@Suite(.timeLimit(.minutes(20))) struct AppLifecycleTests {
    private static func follow(_ world: DoorWorld, _ time: GrantedTime = GrantedTime()) -> (AppLifecycle, NotificationCenter) {
        let center = NotificationCenter()
        let lifecycle = LifecycleCenter(
            center: center, resigned: "inactive", background: "away", foreground: "back", time: { time.begin($0) })
        return (AppLifecycle(cache: world.world.cache, center: lifecycle), center)
    }

    /// The time that the system grants in the background.
    private final class GrantedTime: Sendable {
        private let expired = Locked<(@Sendable () -> Void)?>(nil)

        func begin(_ expired: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
            self.expired.withLock { $0 = expired }
            return { [weak self] in self?.expired.withLock { $0 = nil } }
        }

        var isRunning: Bool { expired.withLock { $0 != nil } }

        func expire() { expired.withLock { $0 }?() }
    }

    /// A world with a disk, whose store can be suspended.
    private static func world(length: Int64) throws -> DoorWorld {
        var plan = World.Plan()
        plan.usesDisk = true
        return try DoorWorld(length: length, plan: plan)
    }

    @Test func `the store is released when the time in the background ends, and the play goes on afterwards`() throws {
        let world = try Self.world(length: 3_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        let time = GrantedTime()
        let (lifecycle, center) = Self.follow(world, time)
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.run { all.bytes.count > 200_000 })
        Self.post("away", center)
        world.pass(.seconds(3))
        #expect(time.isRunning && !world.isSuspended)
        time.expire()
        #expect(world.run { world.isSuspended })
        #expect(!time.isRunning)
        Self.post("back", center)
        #expect(world.run { !world.isSuspended })
        #expect(world.runToEnd())
        #expect(all.bytes.count == 3_000_000 && world.difference(all, at: 0) == nil && all.error == nil)
        let key = try world.world.cache.key(for: DoorWorld.url)
        #expect(world.run { world.world.cache.storedNow(of: key)?.totalBytes == 3_000_000 })
        #expect(world.breaches == [])
        withExtendedLifetime(lifecycle) {}
    }

    @MainActor @Test func `a paused player with an open request holds no lock in the background`() throws {
        let world = try Self.world(length: 30_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        let (lifecycle, center) = Self.follow(world)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], seconds: 600)
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        stage.player.pause()
        #expect(world.run { stage.controller.state == .paused })
        Self.post("away", center)
        #expect(world.run { world.isSuspended })
        // Within the two minutes after which the player itself gives up.
        world.pass(.seconds(90))
        Self.post("back", center)
        #expect(world.run { !world.isSuspended })
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        world.pass(.seconds(20))
        if case .failed(let failure) = stage.controller.state { Issue.record("\(failure)") }
        #expect(world.breaches == [])
        withExtendedLifetime(lifecycle) {}
    }

    @MainActor @Test func `audio that plays in the background keeps the store, and a pause releases it`() throws {
        let world = try Self.world(length: 4_000_000)
        let time = GrantedTime()
        let (lifecycle, center) = Self.follow(world, time)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], seconds: 600)
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        Self.post("away", center)
        world.pass(.seconds(30))
        #expect(!world.isSuspended)
        // The process still runs after the end of the time, because it plays.
        time.expire()
        #expect(world.run { world.isSuspended })
        #expect(world.run { !world.isSuspended && time.isRunning })
        stage.player.pause()
        #expect(world.run { world.isSuspended })
        withExtendedLifetime(lifecycle) {}
    }

    @MainActor @Test func `a stall in the background keeps the store, and the transfer that brings the bytes`() throws {
        let world = try Self.world(length: 4_000_000)
        // Slower than the media, so that the buffer runs dry again and again.
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 50_000) }
        let (lifecycle, center) = Self.follow(world)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        Self.post("away", center)
        var wasReleased = false
        #expect(
            world.run {
                wasReleased = wasReleased || world.isSuspended
                return stage.simulated.stallCount >= 2 && stage.controller.state == .playing
            })
        #expect(!wasReleased && world.requests.count == 1)
        // A pause after a stall releases the store all the same.
        stage.player.pause()
        #expect(world.run { world.isSuspended })
        #expect(world.breaches == [])
        withExtendedLifetime(lifecycle) {}
    }

    @MainActor @Test func `a stop without a stall or a reason releases the store in the background`() throws {
        let world = try Self.world(length: 4_000_000)
        let (lifecycle, center) = Self.follow(world)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], seconds: 600)
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        Self.post("away", center)
        stage.player.pauseBySystem(nil)
        #expect(world.run { world.isSuspended })
        withExtendedLifetime(lifecycle) {}
    }

    @MainActor @Test func `a player without a controller plays on in the background beside a paused one that has one`() throws {
        let world = try Self.world(length: 4_000_000)
        let (lifecycle, center) = Self.follow(world)
        let film = URL(string: "http://origin.test/film.mp3").unsafelyUnwrapped
        world.world.serve(VirtualResource(url: film.absoluteString, seed: 2, length: 4_000_000, contentType: "audio/mpeg"))
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let trailer = ObservedPlayer(world, items: [world.factory.playerItem(for: film)], seconds: 600)
        trailer.player.play()
        #expect(world.run { trailer.controller.state == .playing })
        trailer.player.pause()
        #expect(world.run { trailer.controller.state == .paused })
        let asset = world.asset()
        world.probe(asset)
        let music = world.load(asset, 0, toEnd: true)
        #expect(world.run { music.bytes.count > 100_000 })
        Self.post("away", center)
        world.pass(.seconds(3))
        #expect(!world.isSuspended && !music.isOver)
        let count = music.bytes.count
        world.pass(.seconds(5))
        #expect(music.bytes.count > count + 500_000)
        // Without the open request nothing plays.
        world.cancel(music, of: asset)
        #expect(world.run { world.isSuspended })
        // The next request of the player takes the store again.
        let more = world.load(asset, 1_000_000, 100_000)
        #expect(world.run { more.bytes.count == 100_000 } && world.difference(more, at: 1_000_000) == nil)
        withExtendedLifetime((lifecycle, trailer)) {}
    }

    @MainActor @Test func `a playlist that plays in the background keeps the store of its proxy, and a pause releases it`() throws {
        final class Endpoint: LoopbackEndpoint {
            func url(for original: String) -> String? { "http://127.0.0.1:4000/list.m3u8" }
        }
        let world = try Self.world(length: 1000)
        let url = try #require(URL(string: "http://origin.test/list.m3u8")), endpoint = Endpoint()
        world.world.serve(VirtualResource(url: url.absoluteString, seed: 1, length: 1000))
        world.world.cache.loopback = endpoint
        let (lifecycle, center) = Self.follow(world)
        let item = world.factory.playerItem(for: url)
        #expect(item.cachedAsset?.route == .loopback)
        let stage = ObservedPlayer(world, items: [item], seconds: 600)
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        Self.post("away", center)
        world.pass(.seconds(30))
        #expect(!world.isSuspended)
        stage.player.pause()
        #expect(world.run { world.isSuspended })
        withExtendedLifetime((lifecycle, endpoint)) {}
    }

    @MainActor @Test func `a player that plays again in the background, by the lock screen, gets its bytes`() throws {
        let world = try Self.world(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let time = GrantedTime()
        let (lifecycle, center) = Self.follow(world, time)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        Self.post("away", center)
        stage.player.pause()
        #expect(world.run { world.isSuspended })
        world.pass(.seconds(60))
        #expect(world.isSuspended)
        let endpoint = CountingEndpoint()
        world.world.cache.loopback = endpoint
        stage.player.play()
        #expect(world.run { !world.isSuspended })
        #expect(endpoint.returns.withLock { $0 } == 1)
        #expect(world.run { stage.controller.state == .ended })
        #expect(world.world.cache.statistics.fetchedBytes == 4_000_000)
        stage.player.pause()
        #expect(world.run { world.isSuspended })
        #expect(world.breaches == [])
        withExtendedLifetime(lifecycle) {}
    }

    @MainActor @Test func `an item whose first request comes in the background waits for the store`() throws {
        let world = try Self.world(length: 300_000)
        let (lifecycle, center) = Self.follow(world)
        let stage = ObservedPlayer(world, items: [])
        Self.post("away", center)
        #expect(world.run { world.isSuspended })
        stage.player.insert(world.factory.playerItem(for: world.url), after: nil)
        world.pass(.seconds(10))
        #expect(world.isSuspended && world.requests.isEmpty)
        Self.post("back", center)
        stage.player.play()
        #expect(world.run { stage.controller.state == .ended })
        #expect(world.world.cache.statistics.fetchedBytes == 300_000)
        #expect(world.breaches == [])
        withExtendedLifetime(lifecycle) {}
    }

    @Test func `a preload goes on in the background for a while, with time that the app asked for in the foreground`() throws {
        let world = try Self.world(length: 2_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        let time = GrantedTime()
        let (lifecycle, center) = Self.follow(world, time)
        let preload = try world.factory.preload(world.url, .bytes(800_000))
        world.pass(.seconds(2))
        Self.post("inactive", center)
        #expect(time.isRunning)
        Self.post("away", center)
        world.pass(.seconds(3))
        #expect(!world.isSuspended)
        #expect(world.run { world.isSuspended })
        let key = try world.world.cache.key(for: DoorWorld.url)
        #expect((world.world.cache.storedNow(of: key)?.totalBytes ?? 0) >= 800_000 && !time.isRunning)
        withExtendedLifetime((lifecycle, preload)) {}
    }

    @Test func `a download waits while the process is suspended, and is complete afterwards`() throws {
        let world = try Self.world(length: 3_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let time = GrantedTime()
        let (lifecycle, center) = Self.follow(world, time)
        let download = try world.download()
        #expect(world.run { world.storedBytes(of: download) > 500_000 })
        Self.post("away", center)
        world.pass(.seconds(2))
        #expect(!world.isSuspended)
        time.expire()
        // The process is suspended before it can look again.
        #expect(world.run { world.isSuspended })
        Self.post("back", center)
        #expect(world.run { world.isDownloaded(download) })
        #expect(world.storedBytes(of: download) == 3_000_000 && world.world.cache.statistics.fetchedBytes == 3_000_000)
        withExtendedLifetime(lifecycle) {}
    }

    /// An endpoint that counts the checks of its listener.
    private final class CountingEndpoint: LoopbackEndpoint {
        let returns = Locked(0)
        func url(for original: String) -> String? { nil }
        func appReturned() { returns.withLock { $0 += 1 } }
    }

    @Test func `the loopback endpoint checks its listener when the app returns`() throws {
        let world = try DoorWorld()
        let endpoint = CountingEndpoint()
        world.world.cache.loopback = endpoint
        let (lifecycle, center) = Self.follow(world)
        Self.post("away", center)
        world.pass(.seconds(1))
        #expect(endpoint.returns.withLock { $0 } == 0)
        Self.post("back", center)
        #expect(endpoint.returns.withLock { $0 } == 1)
        withExtendedLifetime(lifecycle) {}
    }

    private static func post(_ name: String, _ center: NotificationCenter) {
        center.post(name: Notification.Name(name), object: nil)
    }

    @Test func `broken connections are retried at once when the app returns to the foreground`() throws {
        let world = try DoorWorld(length: 600_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        let (lifecycle, center) = Self.follow(world)
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.run { all.bytes.count > 100_000 })
        Self.post("away", center)
        world.world.origin.setOffline(true, breaksTransfers: true)
        // Retries get rarer. The next one is seconds away.
        world.pass(.seconds(40))
        #expect(!all.isOver)
        world.world.origin.setOffline(false)
        Self.post("back", center)
        let taken = all.bytes.count
        world.pass(.seconds(1))
        #expect(all.bytes.count > taken)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 600_000 && world.difference(all, at: 0) == nil && all.error == nil)
        #expect(world.breaches == [])
        withExtendedLifetime(lifecycle) {}
    }

    @Test func `stored bytes are served after the background as before`() throws {
        var plan = World.Plan()
        plan.usesDisk = true
        let world = try DoorWorld(length: 300_000, plan: plan)
        let (lifecycle, center) = Self.follow(world)
        let asset = world.asset()
        world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        world.pass(.seconds(5))
        Self.post("away", center)
        world.pass(.seconds(5))
        Self.post("back", center)
        world.pass(.seconds(1))
        let again = world.load(asset, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(again.bytes.count == 300_000 && world.difference(again, at: 0) == nil)
        #expect(world.requests.count == 1)
        #expect(world.breaches == [])
        withExtendedLifetime(lifecycle) {}
    }

    @Test func `playback goes on across several stays in the background`() throws {
        var plan = World.Plan()
        plan.usesDisk = true
        let world = try DoorWorld(length: 900_000, plan: plan)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        let (lifecycle, center) = Self.follow(world)
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.run { all.bytes.count > 200_000 })
        for _ in 0..<3 {
            Self.post("away", center)
            world.pass(.milliseconds(700))
            Self.post("back", center)
            world.pass(.milliseconds(300))
        }
        #expect(world.runToEnd())
        #expect(all.bytes.count == 900_000 && world.difference(all, at: 0) == nil && all.error == nil)
        #expect(world.requests.count == 1)
        #expect(world.breaches == [])
        withExtendedLifetime(lifecycle) {}
    }
}
