import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// A fault at each stage of an item's life, before and after the rules that lead to the original.
@MainActor @Suite(.timeLimit(.minutes(20))) struct FaultTableTests {
    /// The end of a row's item.
    enum End: Hashable, Sendable { case ended, failed, stuck }

    /// A fault, and where it leaves the item without a rescue.
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var before: End
        /// Whether a redirect leads to the original, so that no item is replaced.
        var isRedirected = false
        /// Whether the item plays before the fault.
        var playsFirst = true
        var usesDisk = false
        /// Sets the world up, before the item is made.
        var prepare: @Sendable @MainActor (DoorWorld) -> Void = { _ in }
        /// The fault.
        var strike: @Sendable @MainActor (DoorWorld, ObservedPlayer) -> Void

        var testDescription: String { name }
    }

    private nonisolated static let slow = OriginBehaviour.slow(bytesPerSecond: 60_000)

    /// Lets the player report this error, as AVFoundation does for a playlist or a body that it
    /// cannot read.
    @MainActor private static func fail(_ stage: ObservedPlayer, _ code: AVError.Code) {
        stage.simulated.inspect { player in
            player.current?.fail(AVError.nsError(code))
            player.itemsChanged()
        }
    }

    /// Breaks the transfers, and lets the origin behave like this towards the cache.
    private nonisolated static func turn(_ world: DoorWorld, _ behaviour: OriginBehaviour) {
        world.world.origin.setOffline(true, breaksTransfers: true)
        world.world.origin.setOffline(false)
        world.world.origin.follow { _, _ in behaviour }
    }

    nonisolated static let rows: [Row] = [
        Row(name: "open: the origin refuses the cache's requests", before: .failed, isRedirected: true, playsFirst: false) { world, _ in
            world.world.origin.follow { _, _ in .status(403) }
        },
        Row(name: "information: the answer is no HTTP for the cache", before: .failed, isRedirected: true, playsFirst: false) { world, _ in
            world.world.origin.follow { _, _ in .raw(Array("no HTTP at all\r\n\r\n".utf8)) }
        },
        Row(name: "information: no answer comes", before: .failed, playsFirst: false) { world, _ in
            world.world.origin.follow { _, _ in .silence }
        },
        Row(name: "first byte: the body does not begin", before: .failed, playsFirst: false) { world, _ in
            world.world.origin.follow { _, _ in .stall(afterBytes: 0, .correct) }
        },
        Row(name: "mid-play: the body stops", before: .stuck, prepare: { $0.world.origin.follow { _, _ in slow } }) { world, _ in
            turn(world, .silence)
        },
        Row(name: "mid-play: the resource changes", before: .failed, prepare: { $0.world.origin.follow { _, _ in slow } }) { world, _ in
            world.world.serve(VirtualResource(url: DoorWorld.url, seed: 8, length: 600_000, contentType: "audio/mpeg"))
            turn(world, .correct)
        },
        Row(name: "replay: the stored bytes cannot be read, and the origin refuses the cache", before: .failed, usesDisk: true) {
            world, stage in
            world.world.disk.setFaults(FaultPlan(faults: [.init(.read, .from(1), code: EIO)]))
            turn(world, .status(500))
            stage.player.replaceCurrentItem(with: world.factory.playerItem(for: world.url))
            stage.controller.play()
        },
        Row(name: "HLS master: the playlist does not load", before: .failed, playsFirst: false, prepare: playThroughProxy) { _, stage in
            fail(stage, .serverIncorrectlyConfigured)
        },
        Row(name: "HLS segment: a segment does not load", before: .failed, prepare: playThroughProxy) { _, stage in
            fail(stage, .contentIsUnavailable)
        },
        Row(name: "loopback: nothing listens any more", before: .failed, prepare: playThroughProxy) { _, stage in
            fail(stage, .unknown)
        },
        Row(
            name: "store: no byte can be written or read", before: .failed, usesDisk: true,
            prepare: { $0.world.origin.follow { _, _ in slow } }
        ) { world, _ in
            world.world.disk.setFaults(FaultPlan(faults: [.init(.read, .from(1), code: EIO), .init(.write, .from(1), code: EIO)]))
            turn(world, .status(500))
        },
        Row(name: "type: AVFoundation cannot parse what the cache named", before: .failed, playsFirst: false) { _, stage in
            fail(stage, .fileFailedToParse)
        },
        Row(
            name: "renewal: the fresh URL is refused to the cache", before: .stuck,
            prepare: { world in
                world.renew { _ in RenewedURL(URL(string: "http://origin.test/album/song.mp3?fresh").unsafelyUnwrapped) }
                world.world.origin.follow { _, _ in slow }
            }
        ) { world, _ in turn(world, .status(403)) },
    ]

    /// Lets the asset play by the URL of an endpoint.
    private nonisolated static func playThroughProxy(_ world: DoorWorld) {
        final class Endpoint: LoopbackEndpoint {
            func url(for original: String) -> String? { "http://127.0.0.1:4000/x" }
        }
        let endpoint = Endpoint()
        world.keep(endpoint)
        world.world.cache.loopback = endpoint
        world.hint("application/vnd.apple.mpegurl")
    }

    /// Plays a row to its end.
    private static func play(_ row: Row, isRescued: Bool) throws -> (End, ObservedPlayer, DoorWorld) {
        var plan = World.Plan()
        plan.usesDisk = row.usesDisk
        let world = try DoorWorld(length: 1_200_000, plan: plan)
        row.prepare(world)
        world.answerProbes(true)
        // Without the rules of today: an app with challenges of its own keeps its items.
        if !isRescued { world.challenge { _ in false } }
        if !row.playsFirst, !row.name.hasPrefix("HLS"), !row.name.hasPrefix("type") {
            let stage = ObservedPlayer(world, items: [])
            row.strike(world, stage)
        }
        let stage = ObservedPlayer(world, items: [world.item()])
        stage.controller.play()
        if row.playsFirst { #expect(world.run { stage.player.currentTime().seconds > 3 }, "\(row.name)") }
        if row.playsFirst || row.name.hasPrefix("HLS") || row.name.hasPrefix("type") { row.strike(world, stage) }
        let deadline = world.simulator.now + .seconds(900)
        let isOver = world.run {
            if case .failed = stage.controller.state { return true }
            return stage.controller.state == .ended || world.simulator.now > deadline
        }
        if !isOver || world.simulator.now > deadline { return (.stuck, stage, world) }
        return (stage.controller.state == .ended ? .ended : .failed, stage, world)
    }

    @Test(arguments: rows) func `an item with a fault plays to its end from the original`(row: Row) throws {
        let (before, old, _) = try Self.play(row, isRescued: false)
        #expect(before == row.before, "\(row.name) before: \(old.seen)")
        let (after, stage, world) = try Self.play(row, isRescued: true)
        #expect(after == .ended, "\(row.name) after: \(stage.seen), rate \(stage.player.rate)")
        // The user heard each second once: the original begins where the item stopped.
        #expect(stage.seen.allSatisfy { if case .failed = $0 { false } else { true } }, "\(row.name): \(stage.seen)")
        if row.isRedirected {
            #expect(stage.replaced.isEmpty && world.probes.isEmpty)
        } else {
            #expect(stage.replaced.count == 1 && world.probes.count == 1, "\(row.name)")
            #expect(stage.replaced.first?.cachedAsset?.route.isRescued == true)
            #expect(world.probes.allSatisfy { $0.value(forHTTPHeaderField: "Range") == "bytes=0-0" })
        }
        if row.name.hasPrefix("renewal") {
            #expect((stage.replaced.first?.asset as? AVURLAsset)?.url.query == "fresh" && world.probes.first?.url?.query == "fresh")
        }
    }

    /// The stages at which an app turns the cache off.
    enum Flip: CaseIterable, Sendable { case beforeTheItem, whileItOpens, whileItPlays, inAStall }

    @Test(arguments: Flip.allCases) func `an item plays to its end when the cache is bypassed at any stage`(flip: Flip) throws {
        let world = try DoorWorld(length: 600_000)
        let cache = world.world.cache
        world.world.origin.follow { _, _ in flip == .whileItOpens ? .silence : Self.slow }
        if flip == .beforeTheItem { cache.isBypassed = true }
        let item = world.item()
        #expect(item.cachedAsset?.route == (flip == .beforeTheItem ? .original(.bypassed) : .cache))
        let stage = ObservedPlayer(world, items: [item])
        stage.controller.play()
        switch flip {
        case .beforeTheItem: break
        case .whileItOpens: #expect(world.run { world.requests.count == 1 })
        case .whileItPlays: #expect(world.run { stage.player.currentTime().seconds > 3 })
        case .inAStall:
            #expect(world.run { stage.player.currentTime().seconds > 3 })
            world.world.origin.setOffline(true, breaksTransfers: true)
            #expect(world.run { stage.controller.state == .stalled })
        }
        cache.isBypassed = true
        world.world.origin.setOffline(false)
        #expect(world.asset().route == .original(.bypassed))
        #expect(world.run { stage.controller.state == .ended })
        #expect(stage.replaced.isEmpty && world.breaches == [])
    }

    @Test func `an origin that does not answer keeps its item, and the failure is published once`() throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(false)
        let stage = ObservedPlayer(world, items: [world.item()])
        stage.controller.play()
        #expect(world.run { stage.player.currentTime().seconds > 3 })
        Self.fail(stage, .unknown)
        #expect(world.run { if case .failed = stage.controller.state { true } else { false } })
        #expect(stage.replaced.isEmpty && world.probes.count == 1)
    }

    @Test func `a play without a fault asks no original`() throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(true)
        let stage = ObservedPlayer(world, items: [world.item()], seconds: 60)
        stage.controller.play()
        #expect(world.run { stage.controller.state == .ended })
        #expect(world.probes.isEmpty && stage.replaced.isEmpty)
    }

    @Test func `a pause while the original is asked keeps the player paused, at its place`() throws {
        let world = try DoorWorld(length: 600_000)
        world.holdProbes()
        let stage = ObservedPlayer(world, items: [world.item()], seconds: 60)
        stage.controller.play()
        #expect(world.run { stage.player.currentTime().seconds > 3 })
        Self.fail(stage, .unknown)
        #expect(world.run { world.probes.count == 1 })
        stage.controller.pause()
        let time = stage.player.currentTime().seconds
        world.answerHeldProbes(true)
        #expect(world.run { stage.replaced.count == 1 })
        world.pass(.seconds(5))
        #expect(stage.player.rate == 0 && stage.player.currentTime().seconds == time)
        #expect(stage.controller.state == .paused)
    }

    @Test func `the original keeps what the app set on the item, and its place in the queue`() throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(true)
        let item = world.item()
        item.preferredForwardBufferDuration = 7
        item.audioTimePitchAlgorithm = .spectral
        let next = AVPlayerItem(url: world.url)
        let stage = ObservedPlayer(world, items: [item, next], seconds: 60)
        stage.controller.play()
        stage.player.rate = 1.5
        #expect(world.run { stage.player.currentTime().seconds > 3 })
        Self.fail(stage, .unknown)
        #expect(world.run { stage.replaced.count == 1 && stage.player.rate == 1.5 })
        let original = try #require(stage.player.currentItem)
        #expect(original === stage.replaced.first && stage.player.items() == [original, next])
        #expect(original.preferredForwardBufferDuration == 7 && original.audioTimePitchAlgorithm == .spectral)
        #expect(original.currentTime().seconds > 3)
    }

    @Test func `the original keeps the audio and the subtitles that the user selected`() throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(true)
        let item = world.item()
        let groups = Self.addGroups(to: item)
        item.select(groups.audio.options[1], in: groups.audio)
        item.select(nil, in: groups.text)
        let stage = ObservedPlayer(world, items: [item], seconds: 60)
        var original: AVPlayerItem?, later: (audio: AVMediaSelectionGroup, text: AVMediaSelectionGroup)?
        // The groups of the original's asset have options of their own.
        stage.controller.onReplacement = { _, new in (original, later) = (new, Self.addGroups(to: new)) }
        stage.controller.play()
        #expect(world.run { stage.player.currentTime().seconds > 3 })
        Self.fail(stage, .unknown)
        #expect(world.run { original?.status == .readyToPlay })
        world.pass(.seconds(1))
        let (selection, own) = (try #require(original).currentMediaSelection, try #require(later))
        #expect(selection.selectedMediaOption(in: own.audio) === own.audio.options[1] && own.audio.options[1] !== groups.audio.options[1])
        #expect(selection.selectedMediaOption(in: own.text) == nil)
    }

    /// Gives the media of an item two languages, and subtitles.
    private static func addGroups(to item: AVPlayerItem) -> (audio: AVMediaSelectionGroup, text: AVMediaSelectionGroup) {
        let groups = (audio: AVMediaSelectionGroup(names: ["en", "fr"]), text: AVMediaSelectionGroup(names: ["en"]))
        item.asset.simulatedGroups.withLock { $0 = [.audible: groups.audio, .legible: groups.text] }
        return groups
    }

    @Test func `two rescues bypass the cache, and the app can end that`() throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(true)
        for number in 1...2 {
            let stage = ObservedPlayer(world, items: [world.item()], seconds: 60)
            stage.controller.play()
            #expect(world.run { stage.player.currentTime().seconds > 3 })
            Self.fail(stage, .unknown)
            #expect(world.run { stage.replaced.first?.status == .readyToPlay })
            world.pass(.seconds(1))
            #expect(world.run { world.world.cache.isBypassed == (number == 2) })
            // The rescued resource plays from its original from now on.
            if let key = world.asset().key { world.factory.forgetFallback(of: key) }
        }
        #expect(world.asset().route == .original(.bypassed))
        world.world.cache.isBypassed = false
        #expect(world.asset().route == .cache)
    }
}

extension AssetRoute {
    fileprivate var isRescued: Bool { if case .original(.rescued) = self { true } else { false } }
}
