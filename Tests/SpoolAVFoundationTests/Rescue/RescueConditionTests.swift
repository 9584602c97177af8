import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Items that wait or stop for a reason of their own, which no original mends.
@MainActor @Suite(.timeLimit(.minutes(20))) struct RescueConditionTests {
    private static func playing(_ world: DoorWorld, habits: PlayerHabits = PlayerHabits()) -> ObservedPlayer {
        let stage = ObservedPlayer(world, items: [world.item()], habits: habits, seconds: 600)
        stage.controller.play()
        #expect(world.run { stage.controller.state == .playing })
        return stage
    }

    // MARK: Redirected items

    @Test func `a redirected item is neither in doubt nor made impatient`() throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(true)
        world.world.origin.follow { _, _ in .unknownLength(.chunked, .ignoresRange) }
        var habits = PlayerHabits()
        // Its bytes come slowly, and no cache counts them.
        habits.directOpening = .seconds(40)
        let item = world.item()
        let stage = ObservedPlayer(world, items: [item], habits: habits)
        stage.controller.play()
        #expect(world.run { item.cachedAsset?.lastError?.code == .fellBack })
        #expect(world.run { stage.controller.state == .playing })
        #expect(stage.player.automaticallyWaitsToMinimizeStalling)
        #expect(world.probes.isEmpty && stage.replaced.isEmpty && stage.player.currentItem === item)
        #expect(world.run { stage.controller.state == .ended })
        #expect(world.asset().route == .original(.unknownLength))
        #expect(world.breaches == [])
    }

    @Test func `an item that fails after a redirect is rescued all the same`() throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(true)
        world.world.origin.follow { _, _ in .unknownLength(.chunked, .ignoresRange) }
        var habits = PlayerHabits()
        habits.followsRedirects = false
        let stage = ObservedPlayer(world, items: [world.item()], habits: habits)
        stage.controller.play()
        #expect(world.run { stage.controller.state == .ended })
        #expect(stage.replaced.count == 1 && world.probes.count == 1)
    }

    @Test func `a playlist that the proxy serves after a redirect moves with the bytes of the cache`() throws {
        final class Endpoint: LoopbackEndpoint {
            func url(for original: String) -> String? { "http://127.0.0.1:4000/x" }
        }
        let world = try DoorWorld(contentType: "audio/mpegurl")
        world.answerProbes(true)
        let endpoint = Endpoint()
        world.world.cache.loopback = endpoint
        let segment = "http://origin.test/segment.ts"
        world.world.serve(VirtualResource(url: segment, seed: 3, length: 10_000_000, contentType: "video/mp2t"))
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        var habits = PlayerHabits()
        habits.directOpening = .seconds(40)
        let item = world.item()
        let stage = ObservedPlayer(world, items: [item], habits: habits)
        stage.controller.play()
        #expect(world.run { item.cachedAsset?.lastError?.code == .fellBack })
        // The segments of the playlist come through the cache.
        let preload = try world.factory.preload(#require(URL(string: segment)), .whole)
        #expect(world.run { stage.controller.state == .playing })
        #expect(world.probes.isEmpty && stage.replaced.isEmpty)
        withExtendedLifetime((preload, endpoint)) {}
    }

    // MARK: Reasons for waiting

    @Test(arguments: [
        (AVPlayer.WaitingReason.waitingForCoordinatedPlayback, false), (.interstitialEvent, false), (.toMinimizeStalls, true),
    ])
    func `a player that waits for others, or for an interstitial, is not rescued`(reason: AVPlayer.WaitingReason, isRescued: Bool) throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(true)
        let stage = Self.playing(world)
        world.pass(.seconds(5))
        stage.player.machinery = nil
        stage.player.change([.timeControlStatus, .reasonForWaitingToPlay]) { state in
            (state.timeControlStatus, state.reasonForWaitingToPlay) = (.waitingToPlayAtSpecifiedRate, reason)
        }
        world.pass(.seconds(120))
        #expect(stage.replaced.isEmpty == !isRescued && world.probes.isEmpty == !isRescued)
    }

    @Test func `items that failed for want of a network do not bypass the cache`() throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(true)
        world.world.origin.setOffline(true)
        for _ in 1...4 {
            let stage = ObservedPlayer(world, items: [world.item()])
            stage.controller.play()
            // The network is back for the original.
            #expect(world.run { stage.replaced.first?.status == .readyToPlay })
            world.pass(.seconds(1))
        }
        #expect(!world.world.cache.isBypassed && world.asset().route == .cache)
    }

    @Test func `an app that switches rescues off while the original is asked keeps the item, and its failure`() throws {
        let world = try DoorWorld(length: 600_000)
        world.holdProbes()
        let stage = Self.playing(world)
        stage.simulated.inspect { player in
            player.current?.fail(AVError.nsError(.unknown))
            player.itemsChanged()
        }
        #expect(world.run { world.probes.count == 1 } && stage.controller.state == .loading)
        stage.controller.rescuesItems = false
        world.answerHeldProbes(true)
        stage.player.pause()
        world.pass(.seconds(1))
        #expect(stage.replaced.isEmpty)
        #expect({ if case .failed = stage.controller.state { true } else { false } }())
    }

    // MARK: Failures that were overcome

    /// Lets the item report that it failed, and stop, although it can go on.
    private static func interrupt(_ stage: ObservedPlayer) {
        stage.player.pauseBySystem(nil)
        NotificationCenter.default.post(name: .AVPlayerItemFailedToPlayToEndTime, object: stage.player.currentItem)
    }

    @Test func `an item that plays again while the original is asked is left alone`() throws {
        let world = try DoorWorld(length: 600_000)
        world.holdProbes()
        let stage = Self.playing(world)
        Self.interrupt(stage)
        #expect(world.run { world.probes.count == 1 })
        #expect(stage.controller.state == .loading)
        stage.player.play()
        #expect(world.run { stage.controller.state == .playing })
        world.answerHeldProbes(true)
        world.pass(.seconds(5))
        #expect(stage.replaced.isEmpty && stage.controller.state == .playing)
        // A pause after a failure that was overcome is a pause.
        stage.player.pause()
        world.pass(.milliseconds(1))
        #expect(stage.controller.state == .paused)
    }

    @Test func `an item that stays where it failed is replaced by its original`() throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(true)
        let stage = Self.playing(world)
        Self.interrupt(stage)
        #expect(world.run { stage.replaced.count == 1 })
    }
}
