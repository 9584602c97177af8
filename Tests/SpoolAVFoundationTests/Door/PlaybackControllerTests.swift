import AVFoundation
import Dispatch
import SpoolAVFoundation
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The controller of players, with a simulated one behind it. On the main actor, as in an app.
@MainActor @Suite(.timeLimit(.minutes(20))) struct PlaybackControllerTests {
    private static func serve(_ world: DoorWorld, _ name: String, length: Int64) -> URL {
        let url = "http://origin.test/album/\(name).mp3"
        world.world.serve(VirtualResource(url: url, seed: UInt64(name.utf8.count) + 40, length: length, contentType: "audio/mpeg"))
        return URL(string: url).unsafelyUnwrapped
    }

    /// Runs a job on another thread, as an app may change a queue.
    private static func elsewhere(_ job: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            job()
            done.signal()
        }
        done.wait()
    }

    @Test func `a play from start to end goes through loading, playing and ended`() throws {
        let world = try DoorWorld(length: 600_000)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], seconds: 20)
        #expect(!stage.player.automaticallyWaitsToMinimizeStalling || stage.controller.state == .idle)
        stage.controller.play()
        #expect(world.run { stage.controller.state == .ended })
        #expect(stage.seen.first == .idle && stage.seen.contains(.loading) && stage.seen.contains(.playing) && stage.seen.last == .ended)
        #expect(stage.simulated.stallCount == 0)
        #expect(world.breaches == [])
    }

    @Test func `the player does not wait to minimise stalls for cached items, and does for others`() throws {
        let world = try DoorWorld(length: 600_000)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        #expect(world.run { !stage.player.automaticallyWaitsToMinimizeStalling })
        stage.player.replaceCurrentItem(with: AVPlayerItem(url: world.url))
        #expect(world.run { stage.player.automaticallyWaitsToMinimizeStalling })
    }

    @Test func `an item that left the queue stops loading after the grace, without being released`() throws {
        let world = try DoorWorld(length: 60_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 1_000_000) }
        var habits = PlayerHabits()
        habits.isGreedy = true
        let first = world.factory.playerItem(for: world.url)
        let second = world.factory.playerItem(for: Self.serve(world, "b", length: 500_000))
        let stage = ObservedPlayer(world, items: [first, second], habits: habits)
        stage.controller.play()
        #expect(world.run { stage.controller.state == .playing })
        stage.player.advanceToNextItem()
        // The grace, and the pause of the fetch.
        world.pass(.seconds(20))
        let asset = try #require(first.cachedAsset)
        let stored = world.world.cache.storedNow(of: try #require(asset.key))?.totalBytes ?? 0
        world.pass(.seconds(30))
        #expect(world.world.cache.storedNow(of: try #require(asset.key))?.totalBytes ?? 0 < stored + 200_000)
        #expect(asset.cancelledOnMain.withLock { $0 } == 0)
        #expect(world.breaches == [])
    }

    @Test func `an item that returns within the grace goes on`() throws {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 300_000) }
        let item = world.factory.playerItem(for: world.url)
        let stage = ObservedPlayer(world, items: [item])
        stage.controller.play()
        #expect(world.run { stage.controller.state == .playing })
        let asset = try #require(item.asset as? CachingAVURLAsset)
        stage.player.remove(item)
        stage.player.insert(AVPlayerItem(asset: asset), after: nil)
        world.pass(.seconds(5))
        #expect(asset.lastError == nil)
        #expect(world.run { stage.controller.state == .playing })
        #expect(world.breaches == [])
    }

    @Test func `a looper plays one resource repeatedly from one loader and one origin request`() throws {
        let world = try DoorWorld(length: 300_000)
        let player = AVQueuePlayer()
        let simulated = SimulatedPlayer(driving: player, habits: PlayerHabits(), world: world.playback) { _ in
            SimulatedMedia(kind: .mp3, seconds: 5, headBytes: 1000) { bytes, offset in
                world.world.versions[DoorWorld.url]?.last?.content.firstDifference(in: bytes, at: offset)
            }
        }
        let controller = PlaybackController(player: player, main: world.playback.main)
        let looper = AVPlayerLooper(player: player, templateItem: world.factory.playerItem(for: world.url))
        player.play()
        #expect(world.run { simulated.endCount >= 3 })
        #expect(world.requests.count == 1)
        #expect(world.breaches == [])
        withExtendedLifetime((controller, looper)) {}
    }

    @Test func `the controller reports a stall, and the player resumes once bytes arrive`() throws {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], seconds: 60)
        stage.controller.play()
        #expect(world.run { stage.controller.state == .playing })
        world.world.origin.setOffline(true, breaksTransfers: true)
        #expect(world.run { stage.controller.state == .stalled })
        world.world.origin.setOffline(false)
        #expect(world.run { stage.controller.state == .playing })
        #expect(world.run { stage.controller.state == .ended })
        #expect(world.breaches == [])
    }

    @Test func `a pause during a stall stays a pause`() throws {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], seconds: 60)
        stage.controller.play()
        #expect(world.run { stage.controller.state == .playing })
        world.world.origin.setOffline(true, breaksTransfers: true)
        #expect(world.run { stage.controller.state == .stalled })
        stage.controller.pause()
        world.world.origin.setOffline(false)
        world.pass(.seconds(60))
        #expect(stage.controller.state == .paused)
    }

    @Test func `a failure has the cause that AVFoundation hides`() throws {
        let world = try DoorWorld()
        world.world.origin.follow { _, _ in .status(404) }
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        stage.controller.play()
        #expect(world.run { if case .failed = stage.controller.state { true } else { false } })
        guard case .failed(let failure) = stage.controller.state else { return }
        #expect(failure.error.domain == AVFoundationErrorDomain)
        #expect(failure.cause?.code == .originStatus && failure.cause?.status == 404)
    }

    @Test func `the player's own play creates a failed item again, at its position`() throws {
        let world = try DoorWorld(length: 600_000)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], seconds: 60)
        stage.controller.rescuesItems = false
        stage.player.play()
        #expect(world.run { stage.player.currentTime().seconds > 3 })
        stage.simulated.inspect { player in
            player.current?.fail(AVError.nsError(.unknown))
            player.itemsChanged()
        }
        #expect(world.run { if case .failed = stage.controller.state { true } else { false } })
        stage.player.pause()
        world.pass(.seconds(1))
        let time = stage.player.currentTime().seconds
        stage.player.play()
        #expect(world.run { stage.replaced.count == 1 && stage.controller.state == .playing })
        #expect(stage.player.currentTime().seconds >= time && time > 3)
        #expect(world.run { stage.controller.state == .ended } && stage.replaced.count == 1)
    }

    @Test(arguments: [true, false])
    func `a redirected player plays the original or fails with the cause, and the next asset is plain`(
        followsRedirects: Bool
    ) throws {
        let world = try DoorWorld()
        world.world.origin.follow { _, _ in .unknownLength(.chunked, .ignoresRange) }
        var habits = PlayerHabits()
        habits.followsRedirects = followsRedirects
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], habits: habits)
        stage.controller.play()
        #expect(
            world.run {
                switch (stage.simulated.current?.phase, stage.controller.state) {
                case (.direct(let url), _): followsRedirects && url == world.url
                case (_, .failed(let failure)): !followsRedirects && failure.cause?.code == .fellBack
                default: false
                }
            })
        if case .failed(let failure) = stage.controller.state {
            #expect(failure.cause?.message.contains("the origin states no length") == true)
        }
        // The player goes on by itself, and its end is the item's.
        if followsRedirects { #expect(world.run { stage.controller.state == .ended } && stage.simulated.endCount == 1) }
        let next = world.asset()
        #expect(next.url == world.url && next.route == .original(.unknownLength))
        #expect(world.breaches == [])
    }

    @Test func `a playlist that the player is sent to plays, and a receiver gets its original URL`() throws {
        final class Endpoint: LoopbackEndpoint {
            func url(for original: String) -> String? { "http://127.0.0.1:4000/list.m3u8" }
        }
        let world = try DoorWorld(contentType: "audio/mpegurl")
        let endpoint = Endpoint()
        world.world.cache.loopback = endpoint
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], seconds: 60)
        stage.controller.play()
        #expect(world.run { stage.controller.state == .playing })
        guard case .direct(let place) = stage.simulated.current?.phase else { Issue.record("it was not sent away"); return }
        #expect(place.absoluteString == endpoint.url(for: "") && world.breaches == [])
        stage.player.change([.isExternalPlaybackActive]) { $0.isExternalPlaybackActive = true }
        #expect(world.run { (stage.player.currentItem?.asset as? AVURLAsset)?.url == world.url && stage.controller.state == .playing })
        #expect(world.run { stage.controller.state == .ended })
    }

    @Test func `a player that does not wait for stalls has no reason for waiting at its start`() throws {
        let world = try DoorWorld(length: 600_000)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        #expect(world.run { !stage.player.automaticallyWaitsToMinimizeStalling })
        stage.player.play()
        #expect(stage.player.reasonForWaitingToPlay == nil && stage.player.timeControlStatus == .waitingToPlayAtSpecifiedRate)
        #expect(world.run { stage.controller.state == .playing })
        stage.player.pause()
        stage.player.automaticallyWaitsToMinimizeStalling = true
        stage.player.play()
        #expect(stage.player.reasonForWaitingToPlay == .evaluatingBufferingRate)
    }

    @Test(arguments: [true, false])
    func `an item that the app inserts yields, also when nothing else of the player changes`(isOurPlayer: Bool) throws {
        let world = try DoorWorld(length: 20_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 500_000) }
        world.limit { $0.upcomingRunAheadBytes = 300_000 }
        let next = Self.serve(world, "next", length: 20_000_000)
        let first = world.factory.playerItem(for: world.url), second = world.factory.playerItem(for: next)
        let player = isOurPlayer ? CachingQueuePlayer(items: [first]) : AVQueuePlayer(items: [first])
        (player as? CachingQueuePlayer)?.observe(on: world.playback.main)
        let watching = isOurPlayer ? nil : PlaybackController(player: player, main: world.playback.main)
        let assets = [first, second].compactMap(\.cachedAsset)
        world.probe(assets[0])
        let playing = world.load(assets[0], 0, toEnd: true)
        world.pass(.milliseconds(100))
        Self.elsewhere { player.insert(second, after: nil) }
        world.probe(assets[1])
        let waiting = world.load(assets[1], 0, toEnd: true)
        world.pass(.seconds(10))
        #expect(playing.bytes.count > 4_000_000)
        #expect(waiting.bytes.count < 1_200_000)
        // An item that the app takes out again gets a few bytes a minute.
        if isOurPlayer {
            Self.elsewhere { player.remove(second) }
            world.pass(.seconds(2))
            let count = waiting.bytes.count
            world.pass(.seconds(20))
            #expect(waiting.bytes.count < count + 200_000)
        }
        withExtendedLifetime((watching, player)) {}
    }

    @Test func `the next item of a queue yields to the one that plays`() throws {
        let world = try DoorWorld(length: 20_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 500_000) }
        world.limit { $0.upcomingRunAheadBytes = 300_000 }
        let next = Self.serve(world, "next", length: 20_000_000)
        let items = [world.factory.playerItem(for: world.url), world.factory.playerItem(for: next)]
        let player = AVQueuePlayer(items: items)
        let watching = PlaybackController(player: player, main: world.playback.main)
        world.pass(.milliseconds(1))
        let assets = items.compactMap { $0.asset as? CachingAVURLAsset }
        world.probe(assets[0])
        world.probe(assets[1])
        // The playing item waits all the time, because its origin is slower than the player.
        let playing = world.load(assets[0], 0, toEnd: true)
        let waiting = world.load(assets[1], 0, toEnd: true)
        world.pass(.seconds(10))
        #expect(playing.bytes.count > 4_000_000)
        #expect(waiting.bytes.count < 1_200_000)
        player.advanceToNextItem()
        world.pass(.seconds(10))
        #expect(waiting.bytes.count > 4_000_000)
        withExtendedLifetime(watching) {}
    }

    /// The seed decides which of the later items has the second slot.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `the playing item gets its origin request before later items, which wait their turn`(seed: UInt64) throws {
        var plan = World.Plan()
        plan.fetchesPerHost = 2
        let world = try DoorWorld(seed: seed, length: 8_000_000, plan: plan)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 500_000) }
        let names = ["next", "after next"].map { $0.replacing(" ", with: "-") }
        let items = ([world.url] + names.map { Self.serve(world, $0, length: 8_000_000) }).map { world.factory.playerItem(for: $0) }
        let player = AVQueuePlayer(items: items)
        let watching = PlaybackController(player: player, main: world.playback.main)
        world.pass(.milliseconds(1))
        let assets = items.compactMap { $0.asset as? CachingAVURLAsset }
        let later = [2, 1].map { world.load(assets[$0], information: true, 0, toEnd: true) }
        world.pass(.milliseconds(100))
        let playing = world.load(assets[0], information: true, 0, toEnd: true)
        world.pass(.seconds(2))
        // Later items share one of the host's two slots, so the playing item has the origin's whole
        // rate from the start.
        #expect(playing.bytes.count > 900_000)
        #expect(later.allSatisfy { $0.bytes.count < 400_000 })
        player.advanceToNextItem()
        world.pass(.seconds(4))
        #expect(later[1].bytes.count > 1_000_000)
        withExtendedLifetime(watching) {}
    }

    @Test(arguments: [true, false])
    func `an asset that another player or reader uses is not parked`(hasController: Bool) throws {
        let world = try DoorWorld(length: 60_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 1_000_000) }
        let asset = world.asset()
        let feed = AVQueuePlayer(items: [AVPlayerItem(asset: asset)]), screen = AVQueuePlayer(items: [])
        let controllers = (hasController ? [feed, screen] : [feed]).map { PlaybackController(player: $0, main: world.playback.main) }
        world.probe(asset)
        world.pass(.seconds(1))
        if hasController { screen.replaceCurrentItem(with: AVPlayerItem(asset: asset)) }
        var reader = world.load(asset, 0, toEnd: true)
        world.pass(.seconds(1))
        feed.replaceCurrentItem(with: nil)
        if !hasController {
            // The other reader asks within the grace of the first player.
            world.pass(.milliseconds(500))
            reader = world.load(asset, 1_000_000, toEnd: true)
        }
        world.pass(.seconds(20))
        let count = reader.bytes.count
        #expect(count > 10_000_000)
        // The last one leaves.
        if hasController {
            screen.replaceCurrentItem(with: nil)
            world.pass(.seconds(2))
            let count = reader.bytes.count
            world.pass(.seconds(20))
            #expect(reader.bytes.count < count + 200_000)
        }
        withExtendedLifetime(controllers) {}
    }

    @Test func `changes of the urgency leave one timer for a feed that rests`() throws {
        let world = try DoorWorld(length: 60_000_000)
        let asset = world.asset()
        world.probe(asset)
        world.load(asset, 0, toEnd: true)
        world.pass(.seconds(5))
        asset.stopLoading()
        world.pass(.milliseconds(10))
        let timers = world.simulator.waitingTimers
        for _ in 0..<20 {
            asset.stopLoading()
            world.pass(.milliseconds(10))
        }
        #expect(world.simulator.waitingTimers <= timers)
    }

    @Test func `a later item of one player is no later item while another player plays it`() throws {
        let world = try DoorWorld(length: 60_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 10_000_000) }
        world.limit { $0.upcomingRunAheadBytes = 300_000 }
        let asset = world.asset(), other = Self.serve(world, "other", length: 1_000_000)
        let plays = AVQueuePlayer(items: [AVPlayerItem(asset: asset)])
        let queue = AVQueuePlayer(items: [world.factory.playerItem(for: other), AVPlayerItem(asset: asset)])
        let controllers = [plays, queue].map { PlaybackController(player: $0, main: world.playback.main) }
        world.probe(asset)
        world.pass(.milliseconds(100))
        // The queue looks last.
        queue.change([.timeControlStatus]) { _ in }
        world.pass(.milliseconds(100))
        let all = world.load(asset, 0, toEnd: true)
        world.pass(.seconds(5))
        #expect(all.bytes.count > 20_000_000)
        withExtendedLifetime(controllers) {}
    }

    @Test func `an AirPlay receiver takes over with the original URL`() throws {
        let world = try DoorWorld(length: 600_000)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], seconds: 30)
        stage.controller.play()
        #expect(world.run { stage.controller.state == .playing })
        stage.player.change([.isExternalPlaybackActive]) { $0.isExternalPlaybackActive = true }
        #expect(world.run { (stage.player.currentItem?.asset as? AVURLAsset)?.url == world.url })
        #expect((stage.player.currentItem?.asset as? CachingAVURLAsset)?.route == .original(.requested))
    }

    @Test func `an item that a reset of the media services ended plays on through the cache, and is no rescue`() throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(true)
        let stage = ObservedPlayer(world, items: [world.item()], seconds: 20)
        stage.controller.play()
        // More resets than the rescues after which the cache turns itself off.
        for number in 1...4 {
            #expect(world.run { stage.controller.state == .playing })
            stage.simulated.current?.fail(AVError.nsError(.mediaServicesWereReset))
            #expect(world.run { stage.replaced.count == number })
        }
        #expect(world.run { stage.controller.state == .ended })
        #expect(stage.replaced.allSatisfy { $0.cachedAsset?.route == .cache })
        #expect(world.probes.isEmpty && !world.world.cache.isBypassed)
    }

    @Test func `a queue player from the cache has a playback controller`() throws {
        let world = try DoorWorld()
        let player = world.world.cache.queuePlayer(items: [world.factory.playerItem(for: world.url)])
        #expect(player.items().count == 1)
        #expect(player.playback.state == .idle)
    }
}
