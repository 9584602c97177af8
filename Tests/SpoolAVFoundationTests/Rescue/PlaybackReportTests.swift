import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The reports of a player's items.
@MainActor @Suite(.timeLimit(.minutes(20))) struct PlaybackReportTests {
    @Test func `each item has one report, plain ones included, without a URL`() throws {
        let world = try DoorWorld(length: 600_000)
        let plain = AVPlayerItem(url: world.url)
        let stage = ObservedPlayer(world, items: [world.item(), plain], seconds: 20)
        stage.controller.play()
        #expect(world.run { stage.simulated.endCount == 2 && stage.reports.count == 2 })
        let (cached, original) = (stage.reports[0], stage.reports[1])
        #expect(cached.route == "cache" && cached.end == .ended && cached.bytesFromOrigin == 600_000)
        #expect((19_000...21_000).contains(cached.playedMilliseconds) && cached.stallCount == 0)
        #expect(cached.startupMilliseconds != nil)
        #expect(original.route == "original" && original.end == .ended && original.bytesFromOrigin == nil)
        let text = String(decoding: try JSONEncoder().encode(cached), as: UTF8.self)
        #expect(!text.contains("origin.test") && !text.contains("song"))
    }

    @Test func `a rescue is the end of one report and the route of the next`() throws {
        let world = try DoorWorld(length: 600_000)
        world.answerProbes(true)
        let stage = ObservedPlayer(world, items: [world.item()], seconds: 60)
        stage.controller.play()
        #expect(world.run { stage.player.currentTime().seconds > 3 })
        stage.simulated.inspect { player in
            player.current?.fail(AVError.nsError(.unknown))
            player.itemsChanged()
        }
        #expect(world.run { stage.controller.state == .ended })
        stage.player.removeAllItems()
        #expect(world.run { stage.reports.count == 2 })
        #expect(stage.reports.map(\.end) == [.rescued, .ended] && stage.reports.map(\.isRescue) == [false, true])
    }

    @Test func `a failure has its codes, and a controller that is released reports its last item`() throws {
        let world = try DoorWorld()
        world.world.origin.follow { _, _ in .status(404) }
        let reports = Locked<[PlaybackReport]>([])
        var stage: ObservedPlayer? = ObservedPlayer(world, items: [world.item()])
        stage?.controller.reporter.follow { report in reports.withLock { $0.append(report) } }
        stage?.controller.play()
        #expect(world.run { if case .failed = stage?.controller.state { true } else { false } })
        stage = nil
        let report = try #require(reports.withLock { $0.first })
        #expect(report.end == .failed && report.errorDomain == AVFoundationErrorDomain && report.cacheError == "originStatus")
        #expect(report.startupMilliseconds == nil)
    }

    @Test func `the control group plays originals and is measured`() throws {
        var plan = World.Plan()
        plan.configure = { $0.rollout = Rollout(fraction: 0, control: 1, salt: "s", unit: "u") }
        let world = try DoorWorld(length: 600_000, plan: plan)
        #expect(world.world.cache.rolloutGroup == .control && world.asset().route == .original(.bypassed))
        let stage = ObservedPlayer(world, items: [world.item()], seconds: 20)
        stage.controller.play()
        #expect(world.run { stage.controller.state == .ended })
        stage.player.removeAllItems()
        #expect(world.run { stage.reports.count == 1 })
        #expect(stage.reports[0].group == .control && stage.reports[0].isBypassed && stage.reports[0].route == "original")
        // Downloads are the app's, and no part of the experiment.
        let download = try world.download()
        #expect(world.run { world.isDownloaded(download) })
        #expect(world.storedBytes(of: download) == 600_000)
    }

    @Test func `an app that ended twice while an item opened begins with a bypassed cache`() throws {
        let kept = Locked<CrashBreaker?>(nil)
        // A process that ends releases nothing.
        var stages: [ObservedPlayer] = []
        for number in 1...3 {
            let world = try DoorWorld(length: 600_000)
            let cache = world.world.cache
            let record = StartWatch.Record(load: { kept.withLock { $0 } }, save: { breaker in kept.withLock { $0 = breaker } })
            let watch = StartWatch(record: record, build: "1", isDebugged: false, center: NotificationCenter(), now: { 1000 })
            world.factory.watchStarts(watch)
            #expect(cache.isBypassed == (number == 3))
            guard number < 3 else { break }
            world.world.origin.follow { _, _ in .silence }
            let stage = ObservedPlayer(world, items: [world.item()])
            stages.append(stage)
            stage.controller.play()
            world.pass(.seconds(1))
            // The process ends here.
        }
    }

    @Test(arguments: 0..<5) func `an item that leaves while it opens leaves no mark`(way: Int) throws {
        let kept = Locked<CrashBreaker?>(nil)
        let world = try DoorWorld(length: 600_000)
        world.world.origin.follow { _, _ in .silence }
        let record = StartWatch.Record(load: { nil }, save: { breaker in kept.withLock { $0 = breaker } })
        world.factory.watchStarts(
            StartWatch(record: record, build: "1", isDebugged: false, center: NotificationCenter(), now: { 1000 }))
        let item = world.item(), player = AVQueuePlayer(items: [item])
        var controller: PlaybackController? = PlaybackController(player: player, main: world.playback.main)
        controller?.play()
        world.pass(.seconds(1))
        #expect(kept.withLock { $0?.hasMark } == true)
        switch way {
        case 0: player.removeAllItems()
        case 1: controller = nil
        case 2: controller?.rescuesItems = false
        case 3: player.replaceCurrentItem(with: AVPlayerItem(url: world.url))
        default:
            // A second item of the same media, as a looper has.
            player.insert(AVPlayerItem(asset: item.asset), after: nil)
            player.remove(item)
        }
        world.pass(.seconds(1))
        #expect(kept.withLock { $0?.hasMark } == false)
        withExtendedLifetime(controller) {}
    }

    @Test func `an item that opens leaves no mark`() throws {
        let kept = Locked<[CrashBreaker]>([])
        let world = try DoorWorld(length: 600_000)
        let record = StartWatch.Record(load: { nil }, save: { breaker in kept.withLock { $0.append(breaker) } })
        world.factory.watchStarts(
            StartWatch(record: record, build: "1", isDebugged: false, center: NotificationCenter(), now: { 1000 }))
        let stage = ObservedPlayer(world, items: [world.item()])
        stage.controller.play()
        #expect(world.run { stage.controller.state == .playing })
        #expect(kept.withLock { $0.map(\.hasMark) } == [true, false])
    }
}
