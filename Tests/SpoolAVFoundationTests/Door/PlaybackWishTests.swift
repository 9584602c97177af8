import AVFoundation
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Nothing plays against the user or the system, and everything else goes on.
@MainActor @Suite(.timeLimit(.minutes(20))) struct PlaybackWishTests {
    /// A player that stalled, because the network is gone.
    private static func stalled(rate: Float = 1, habits: PlayerHabits = PlayerHabits()) throws -> (DoorWorld, ObservedPlayer) {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], habits: habits)
        stage.player.rate = rate
        #expect(world.run { stage.controller.state == .playing })
        world.world.origin.setOffline(true, breaksTransfers: true)
        #expect(world.run { stage.controller.state == .stalled })
        return (world, stage)
    }

    private static func expectSilence(_ world: DoorWorld, _ stage: ObservedPlayer, sourceLocation: SourceLocation = #_sourceLocation) {
        world.world.origin.setOffline(false)
        for _ in 0..<120 {
            world.pass(.milliseconds(500))
            #expect(stage.player.timeControlStatus == .paused, sourceLocation: sourceLocation)
        }
    }

    @Test func `a pause of the player itself during a stall stays a pause`() throws {
        let (world, stage) = try Self.stalled()
        stage.player.pause()
        Self.expectSilence(world, stage)
        #expect(stage.controller.state == .paused)
        // The user plays again.
        stage.player.play()
        #expect(world.run { stage.controller.state == .ended })
        #expect(world.breaches == [])
    }

    @Test(arguments: 0..<12)
    func `a pause at any moment after a stall stays a pause`(steps: Int) throws {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        world.world.origin.setOffline(true, breaksTransfers: true)
        #expect(world.run { stage.player.timeControlStatus != .playing })
        for _ in 0..<steps { _ = world.simulator.step() }
        stage.player.pause()
        world.pass(.milliseconds(1))
        Self.expectSilence(world, stage)
    }

    @Test func `a phone call during a stall leaves the player paused`() throws {
        let (world, stage) = try Self.stalled()
        stage.interrupt()
        world.pass(.seconds(1))
        Self.expectSilence(world, stage)
    }

    @Test func `headphones that are pulled out during a stall leave the player paused`() throws {
        let (world, stage) = try Self.stalled()
        stage.pullHeadphones()
        world.pass(.seconds(1))
        Self.expectSilence(world, stage)
    }

    @Test func `a muted feed goes on after headphones that are pulled out, because the user heard nothing`() throws {
        let (world, stage) = try Self.stalled()
        stage.player.isMuted = true
        stage.pullHeadphones()
        world.world.origin.setOffline(false)
        #expect(world.run { stage.controller.state == .ended })
    }

    @Test func `an interruption of a playing item is not taken for a stall`() throws {
        let world = try DoorWorld(length: 4_000_000)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        stage.interrupt()
        world.pass(.seconds(30))
        #expect(stage.player.timeControlStatus == .paused && stage.controller.state == .paused)
    }

    @Test(arguments: [true, false])
    func `a call or lost headphones while an item waits for its first bytes leave the player paused`(isCall: Bool) throws {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(latency: 5_000_000_000, bytesPerSecond: 200_000) }
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        stage.player.play()
        world.pass(.seconds(1))
        #expect(stage.player.timeControlStatus == .waitingToPlayAtSpecifiedRate)
        if isCall { stage.interrupt() } else { stage.pullHeadphones() }
        world.pass(.seconds(1))
        Self.expectSilence(world, stage)
        stage.player.play()
        #expect(world.run { stage.controller.state == .ended })
    }

    @Test(arguments: [true, false])
    func `a call or lost headphones in the moment of play leave the player paused`(isCall: Bool) throws {
        let world = try DoorWorld(length: 4_000_000)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        world.pass(.seconds(1))
        // The notice arrives while the rate is being set, before the controller has seen it.
        let watch = stage.player.observe(\.timeControlStatus) { _, _ in
            MainActor.assumeIsolated { isCall ? stage.interrupt() : stage.pullHeadphones() }
        }
        stage.player.play()
        watch.invalidate()
        world.pass(.seconds(1))
        Self.expectSilence(world, stage)
    }

    @Test func `a player without an item does not start the next one after a call`() throws {
        let world = try DoorWorld(length: 4_000_000)
        let stage = ObservedPlayer(world, items: [])
        stage.player.play()
        stage.interrupt()
        world.pass(.seconds(1))
        stage.player.insert(world.factory.playerItem(for: world.url), after: nil)
        Self.expectSilence(world, stage)
    }

    @Test(arguments: [true, false])
    func `playback goes on at its rate after a stall`(resumesByItself: Bool) throws {
        var habits = PlayerHabits()
        habits.resumesByItself = resumesByItself
        let (world, stage) = try Self.stalled(rate: 1.5, habits: habits)
        world.world.origin.setOffline(false)
        #expect(world.run { stage.player.timeControlStatus == .playing })
        #expect(stage.player.rate == 1.5)
        world.pass(.seconds(1))
        #expect(!stage.player.automaticallyWaitsToMinimizeStalling)
        #expect(world.run { stage.controller.state == .ended })
        #expect(world.breaches == [])
    }

    @Test func `a stop without the notification of a stall is taken for a pause, and nothing resumes it`() throws {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        var habits = PlayerHabits()
        habits.notifiesStalls = false
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], habits: habits)
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        world.world.origin.setOffline(true, breaksTransfers: true)
        #expect(world.run { stage.controller.state == .paused })
        Self.expectSilence(world, stage)
        stage.player.play()
        #expect(world.run { stage.controller.state == .ended })
    }

    @Test func `an app that leaves stalls to the player keeps its setting, and the controller changes no rate`() throws {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        world.pass(.milliseconds(10))
        #expect(!stage.player.automaticallyWaitsToMinimizeStalling)
        stage.controller.stallHandling = .system
        #expect(stage.player.automaticallyWaitsToMinimizeStalling)
        stage.player.rate = 1.5
        #expect(world.run { stage.controller.state == .playing })
        world.world.origin.setOffline(true, breaksTransfers: true)
        #expect(world.run { stage.player.reasonForWaitingToPlay == .toMinimizeStalls })
        #expect(stage.player.automaticallyWaitsToMinimizeStalling && stage.player.rate == 1.5)
        world.world.origin.setOffline(false)
        #expect(world.run { stage.controller.state == .ended })
        #expect(world.breaches == [])
    }

    @Test func `a stop at a buffer that is empty for a moment only is a stall, too`() throws {
        let world = try DoorWorld(length: 4_000_000)
        // The disk has every byte. The player reads small parts, each when its buffer is empty.
        world.load(world.asset(), information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        world.pass(.seconds(3))
        var habits = PlayerHabits()
        habits.onDemandBytes = 16_384
        (habits.highWaterBytes, habits.lowWaterBytes) = (20_000, 1)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], habits: habits)
        stage.player.play()
        #expect(world.run { stage.controller.state == .ended })
        #expect(stage.simulated.stallCount > 0)
        #expect(world.breaches == [])
    }

    @Test func `a controller that does not resume leaves a stalled player stopped`() throws {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        stage.controller.resumesAfterStall = false
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        world.world.origin.setOffline(true, breaksTransfers: true)
        #expect(world.run { stage.player.timeControlStatus == .paused })
        Self.expectSilence(world, stage)
    }

    /// A rate that could not be set, and the live edge, are no requests of anybody.
    @Test(arguments: [AVPlayer.RateDidChangeReason.setRateFailed, .reachedLiveEdge])
    func `a stall whose change of the rate has a reason that is no request is still a stall`(reason: AVPlayer.RateDidChangeReason) throws {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        let (name, key) = (AVPlayer.rateDidChangeNotification, AVPlayer.rateDidChangeReasonKey)
        let token = stage.player.observe(\.rate) { player, _ in
            guard player.rate == 0 else { return }
            NotificationCenter.default.post(name: name, object: player, userInfo: [key: reason.rawValue])
        }
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        world.world.origin.setOffline(true, breaksTransfers: true)
        #expect(world.run { stage.controller.state == .stalled })
        world.world.origin.setOffline(false)
        #expect(world.run { stage.controller.state == .ended })
        withExtendedLifetime(token) {}
    }

    @Test func `an item of another source keeps the app's setting, and its pause`() throws {
        let world = try DoorWorld()
        let stage = ObservedPlayer(world, items: [AVPlayerItem(url: world.url)])
        world.pass(.seconds(1))
        #expect(stage.player.automaticallyWaitsToMinimizeStalling)
        stage.player.pause()
        NotificationCenter.default.post(name: AVPlayerItem.playbackStalledNotification, object: stage.player.currentItem)
        world.pass(.seconds(60))
        #expect(stage.player.rate == 0)
    }

    @Test func `a film of 60 Mbit a second plays without a stall, with ten seconds of it in memory`() throws {
        let world = try DoorWorld(length: 150_000_000)
        var habits = PlayerHabits()
        // Ten seconds of such a film, as players buffer.
        habits.highWaterBytes = 75_000_000
        habits.lowWaterBytes = 30_000_000
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], habits: habits, seconds: 20)
        stage.player.play()
        #expect(world.run { stage.controller.state == .ended })
        #expect(stage.simulated.stallCount == 0)
        #expect(stage.simulated.history[0].mostAheadBytes <= habits.highWaterBytes + (16 << 20))
        #expect(world.breaches == [])
    }

    @Test func `a film of 60 Mbit a second plays at three times its rate without a stall, in one request`() throws {
        let world = try DoorWorld(length: 450_000_000)
        var habits = PlayerHabits()
        habits.isGreedy = true
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], habits: habits, seconds: 60)
        stage.player.rate = 3
        #expect(world.run { stage.controller.state == .ended })
        #expect(stage.simulated.stallCount == 0)
        #expect(world.breaches == [])
    }

    // MARK: Items that leave and come back

    @Test func `an item that the app inserts again later plays`() throws {
        let world = try DoorWorld(length: 4_000_000)
        let item = world.factory.playerItem(for: world.url)
        let stage = ObservedPlayer(world, items: [item])
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        stage.player.remove(item)
        world.pass(.seconds(200))
        stage.player.insert(item, after: nil)
        stage.player.play()
        #expect(world.run { stage.controller.state == .ended })
        #expect(world.breaches == [])
    }

    @Test func `play creates a failed item again at its position`() throws {
        let world = try DoorWorld(length: 4_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        var habits = PlayerHabits()
        habits.retries = 0
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)], habits: habits)
        var replaced: [AVPlayerItem] = []
        stage.controller.onReplacement = { _, new in replaced.append(new) }
        stage.player.play()
        #expect(world.run { stage.player.currentTime().seconds > 5 })
        world.world.origin.setOffline(true, breaksTransfers: true)
        #expect(world.run { if case .failed = stage.controller.state { true } else { false } })
        let time = stage.player.currentTime().seconds
        world.world.origin.setOffline(false)
        stage.controller.play()
        world.pass(.seconds(1))
        #expect(replaced.count == 1 && stage.player.currentItem === replaced.first)
        #expect(stage.player.currentTime().seconds >= time)
        #expect(world.run { stage.controller.state == .ended })
        #expect(world.breaches == [])
    }

    @Test func `an item that replaces another keeps everything that the app set`() throws {
        let world = try DoorWorld(length: 4_000_000)
        let item = world.factory.playerItem(for: world.url)
        item.audioTimePitchAlgorithm = .spectral
        item.allowedAudioSpatializationFormats = .monoAndStereo
        (item.audioMix, item.videoComposition) = (AVAudioMix(), AVVideoComposition())
        item.seekingWaitsForVideoCompositionRendering = true
        item.videoApertureMode = .encodedPixels
        item.appliesPerFrameHDRDisplayMetadata = false
        item.textStyleRules = [AVTextStyleRule()]
        item.forwardPlaybackEndTime = CMTime(seconds: 50, preferredTimescale: 1000)
        item.reversePlaybackEndTime = CMTime(seconds: 2, preferredTimescale: 1000)
        item.automaticallyPreservesTimeOffsetFromLive = true
        item.configuredTimeOffsetFromLive = CMTime(seconds: 9, preferredTimescale: 1000)
        item.preferredForwardBufferDuration = 12
        item.canUseNetworkResourcesForLiveStreamingWhilePaused = true
        (item.preferredPeakBitRate, item.preferredPeakBitRateForExpensiveNetworks) = (2_000_000, 1_000_000)
        item.preferredMaximumResolution = CGSize(width: 1280, height: 720)
        item.preferredMaximumResolutionForExpensiveNetworks = CGSize(width: 640, height: 360)
        item.startsOnFirstEligibleVariant = true
        item.variantPreferences = .scalabilityToLosslessAudio
        let stage = ObservedPlayer(world, items: [item])
        stage.player.rate = 1.5
        #expect(world.run { stage.player.currentTime().seconds > 5 })
        stage.player.change([.isExternalPlaybackActive]) { $0.isExternalPlaybackActive = true }
        #expect(world.run { stage.player.currentItem !== item })
        let new = try #require(stage.player.currentItem)
        #expect(Self.settings(of: new) == Self.settings(of: item))
        #expect(new.audioMix === item.audioMix && new.videoComposition === item.videoComposition)
        #expect(stage.player.rate == 1.5 && new.currentTime().seconds > 4)
        #expect(new.state.withLock { $0.seekTolerance } == .zero)
    }

    /// The settings of an item whose values can be compared.
    private static func settings(of item: AVPlayerItem) -> [String] {
        [
            "\(item.audioTimePitchAlgorithm.rawValue)", "\(item.allowedAudioSpatializationFormats.rawValue)",
            "\(item.seekingWaitsForVideoCompositionRendering)", "\(item.videoApertureMode.rawValue)",
            "\(item.appliesPerFrameHDRDisplayMetadata)", "\(item.textStyleRules?.count ?? 0)", "\(item.forwardPlaybackEndTime.seconds)",
            "\(item.reversePlaybackEndTime.seconds)", "\(item.automaticallyPreservesTimeOffsetFromLive)",
            "\(item.configuredTimeOffsetFromLive.seconds)",
            "\(item.preferredForwardBufferDuration)", "\(item.canUseNetworkResourcesForLiveStreamingWhilePaused)",
            "\(item.preferredPeakBitRate)", "\(item.preferredPeakBitRateForExpensiveNetworks)",
            "\(item.preferredMaximumResolution)", "\(item.preferredMaximumResolutionForExpensiveNetworks)",
            "\(item.startsOnFirstEligibleVariant)", "\(item.variantPreferences.rawValue)",
        ]
    }

    // MARK: AirPlay

    @Test func `an item goes to a receiver and comes back to the cache, at its position`() throws {
        let world = try DoorWorld(length: 4_000_000)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        stage.player.play()
        #expect(world.run { stage.player.currentTime().seconds > 5 })
        stage.player.change([.isExternalPlaybackActive]) { $0.isExternalPlaybackActive = true }
        #expect(world.run { stage.player.currentItem?.cachedAsset?.route == .original(.requested) })
        let time = stage.player.currentTime().seconds
        #expect(time > 4)
        world.pass(.seconds(10))
        stage.player.change([.isExternalPlaybackActive]) { $0.isExternalPlaybackActive = false }
        #expect(world.run { stage.player.currentItem?.cachedAsset?.route == .cache })
        #expect(stage.player.currentTime().seconds >= time)
        #expect(world.run { stage.controller.state == .ended })
        #expect(world.breaches == [])
    }

    @Test func `an item that a receiver fails goes on as its original, which is no rescue, and comes back`() throws {
        let world = try DoorWorld(length: 4_000_000)
        world.answerProbes(true)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        stage.player.rate = 1.5
        #expect(world.run { stage.player.currentTime().seconds > 5 })
        // A receiver that plays the sound alone gets it from this device.
        stage.playOnAirPlay(true)
        world.pass(.seconds(2))
        #expect(stage.player.currentItem?.cachedAsset?.route == .cache)
        stage.simulated.inspect { player in
            player.current?.fail(AVError.nsError(.unknown))
            player.itemsChanged()
        }
        #expect(world.run { stage.player.currentItem?.cachedAsset?.route == .original(.requested) })
        #expect(stage.player.rate == 1.5 && stage.player.currentTime().seconds > 5)
        world.pass(.seconds(2))
        #expect(stage.replaced.count == 1 && world.probes.isEmpty && world.world.cache.isBypassed == false)
        stage.playOnAirPlay(false)
        #expect(world.run { stage.player.currentItem?.cachedAsset?.route == .cache })
        #expect(world.run { stage.controller.state == .ended })
        #expect(stage.seen.allSatisfy { if case .failed = $0 { false } else { true } }, "\(stage.seen)")
        #expect(world.breaches == [])
    }

    @Test func `the next song on an audio route stays with the cache`() throws {
        let world = try DoorWorld(length: 4_000_000)
        world.answerProbes(true)
        let next = URL(string: "http://origin.test/next.mp3").unsafelyUnwrapped
        world.world.serve(VirtualResource(url: next.absoluteString, seed: 3, length: 4_000_000, contentType: "audio/mpeg"))
        let second = world.factory.playerItem(for: next)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url), second])
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        stage.playOnAirPlay(true)
        stage.simulated.inspect { player in
            player.current?.fail(AVError.nsError(.unknown))
            player.itemsChanged()
        }
        #expect(world.run { stage.player.currentItem?.cachedAsset?.route == .original(.requested) })
        stage.player.advanceToNextItem()
        world.pass(.seconds(5))
        #expect(stage.player.currentItem === second && stage.controller.state == .playing)
        #expect(world.breaches == [])
    }

    @Test func `an item that fails on AirPlay keeps its place when its original could not play`() throws {
        let world = try DoorWorld(length: 4_000_000)
        world.challenge { _ in false }
        let stage = ObservedPlayer(world, items: [world.item()])
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        stage.playOnAirPlay(true)
        stage.simulated.inspect { player in
            player.current?.fail(AVError.nsError(.unknown))
            player.itemsChanged()
        }
        #expect(world.run { if case .failed = stage.controller.state { true } else { false } })
        #expect(stage.replaced.isEmpty)
    }

    @Test func `a receiver cannot play what only this device can load`() throws {
        let world = try DoorWorld(length: 4_000_000)
        let stage = ObservedPlayer(world, items: [world.factory.playerItem(for: world.url)])
        stage.controller.externalPlayback = nil
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        stage.player.change([.isExternalPlaybackActive]) { $0.isExternalPlaybackActive = true }
        #expect(world.run { if case .failed = stage.controller.state { true } else { false } })
    }

    @Test func `the current items are a stream, also without a pause between two`() async throws {
        let world = try DoorWorld(length: 100_000)
        let items = [world.factory.playerItem(for: world.url), world.factory.playerItem(for: world.url)]
        let stage = ObservedPlayer(world, items: items, seconds: 4)
        let seen = Locked<[CurrentItem?]>([])
        _ = stage.controller.itemBroadcast.follow({ item in seen.withLock { $0.append(item) } })
        stage.player.play()
        #expect(world.run { stage.simulated.endCount == 2 })
        world.pass(.seconds(1))
        let found = seen.withLock { $0 }.compactMap(\.self)
        #expect(found.map(\.id) == items.map(ObjectIdentifier.init))
        #expect(found.allSatisfy { $0.url == world.url && $0.key != nil })
    }

    @Test func `a player for a URL has its controller`() throws {
        let world = try DoorWorld()
        let key = ResourceKey(normalized: "song")
        let player = world.world.cache.player(for: world.url, key: key)
        #expect(player.currentItem?.cachedAsset?.route == .cache && player.currentItem?.cachedAsset?.key == key)
        // At the end a plain player stays on its last frame, and plays again.
        #expect(!(player is AVQueuePlayer) && player.actionAtItemEnd == .pause)
        #expect(player.playbackController?.externalPlayback == .original)
        let queue = world.world.cache.queuePlayer(items: [])
        #expect(queue.playbackController === queue.playback)
        #expect(AVPlayer().playbackController == nil)
    }
}
