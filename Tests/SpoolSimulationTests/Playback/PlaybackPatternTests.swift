#if os(Linux)
import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests the playback patterns T1 to T12 with a player that decides by itself, on media from a
/// scripted origin.
@Suite(.timeLimit(.minutes(20))) struct PlaybackPatternTests {
    private static func scenario(_ change: (inout PlayerHabits) -> Void = { _ in }) throws -> PlaybackScenario {
        var habits = PlayerHabits.modest
        change(&habits)
        let scenario = try PlaybackScenario(seed: 1, habits: habits)
        scenario.world.origin.follow { _, _ in .slow(latency: 50_000_000, bytesPerSecond: 500_000) }
        return scenario
    }

    /// Checks the conditions that hold at the end of every scenario without failures.
    private static func check(_ scenario: PlaybackScenario) {
        scenario.checkEnd()
        scenario.checkFetched()
        scenario.checkSecondRun()
        scenario.checkEnd()
        #expect(scenario.violations == [])
    }

    /// Runs until the current item is ready.
    private static func runUntilReady(_ scenario: PlaybackScenario) {
        scenario.run("the item is ready") {
            if case .ready? = scenario.simulated?.current?.phase { true } else { false }
        }
    }

    @Test(arguments: SimulatedMedia.Kind.allCases)
    func `T1, T3, T4, T12: any kind of media plays, and a cold start is one request`(kind: SimulatedMedia.Kind) throws {
        let scenario = try Self.scenario()
        scenario.append(scenario.serve(kind, length: 1_000_000))
        Self.runUntilReady(scenario)
        // The index at the end is a second request; no request waits for the bytes between.
        #expect(scenario.requests.count == (kind == .indexAtEnd ? 2 : 1))
        #expect(scenario.requests.first?.range == "bytes=0-")
        #expect(scenario.playToEnd())
        #expect(scenario.simulated?.stallCount == 0)
        Self.check(scenario)
    }

    @Test(arguments: PlayerHabits.CancelOrder.allCases)
    func `T2: seeks forward, back, in quick succession and to the end succeed`(order: PlayerHabits.CancelOrder) throws {
        let scenario = try Self.scenario { $0.cancelOrder = order }
        scenario.append(scenario.serve(length: 2_000_000))
        for (seconds, target) in [(1.0, 15.0), (3, 2), (5, 8), (5.1, 4), (5.2, 17), (5.3, 11), (5.4, 6), (9, 20)] {
            scenario.app(after: .milliseconds(Int64(seconds * 1000))) { $0.seek(to: target) }
        }
        #expect(scenario.playToEnd())
        Self.check(scenario)
    }

    @Test func `T5: ten minutes of pause cause no further requests`() throws {
        let scenario = try Self.scenario()
        scenario.append(scenario.serve(length: 1_000_000))
        scenario.app(after: .seconds(2)) { $0.player?.setRate(0) }
        scenario.app(after: .seconds(602)) { $0.player?.setRate(1) }
        #expect(scenario.playToEnd())
        let start = scenario.requests[0].time.seconds
        #expect(!scenario.requests.contains { $0.time.seconds > start + 15 && $0.time.seconds < start + 600 })
        Self.check(scenario)
    }

    @Test func `T6: a queue plays on without a stall`() throws {
        let scenario = try Self.scenario()
        for number in 1...3 { scenario.append(scenario.serve(length: 600_000, name: "song-\(number).mp3", seconds: 10)) }
        #expect(scenario.playToEnd())
        #expect(scenario.simulated?.stallCount == 0 && scenario.simulated?.endCount == 3)
        Self.check(scenario)
    }

    @Test func `T6: an uncancelled item that was switched away does not fetch its whole file`() throws {
        let scenario = try Self.scenario { $0.isGreedy = true }
        scenario.factory.limits.runAheadBytes = 300_000
        scenario.factory.limits.floorBytesPerSecond = 10_000
        scenario.world.origin.follow { _, _ in .slow(bytesPerSecond: 5_000_000) }
        scenario.append(scenario.serve(length: 20_000_000, seconds: 2000))
        scenario.append(scenario.serve(length: 200_000, name: "next.mp3", seconds: 3))
        scenario.app { $0.player?.setRate(1) }
        let held = scenario.player?.state.withLock { $0.items[0] }
        scenario.pass(.seconds(1))
        scenario.player?.advanceToNextItem()
        scenario.pass(.seconds(60))
        let feeder = scenario.simulated?.history[0]
        #expect(feeder?.openAskCount == 1)
        #expect((feeder?.deliveredBytes ?? 0) < 1_200_000)
        let fetched = scenario.world.origin.log.handedOver("http://origin.test/song.mp3").bytes
        #expect(fetched < 1_200_000 + PlaybackScenario.windowBytes)
        withExtendedLifetime(held) {}
        scenario.dropPlayer()
    }

    @Test func `T7: a stored item is read in small parts without origin requests`() throws {
        let scenario = try Self.scenario()
        let tune = scenario.serve(length: 500_000)
        scenario.append(tune)
        #expect(scenario.playToEnd())
        scenario.pass(.seconds(3))
        let before = scenario.requests.count
        scenario.append(tune)
        #expect(scenario.playToEnd())
        #expect(scenario.simulated?.history.last?.information?.isEntireLengthAvailableOnDemand == true)
        #expect(scenario.requests.count == before)
        Self.check(scenario)
    }

    @Test(arguments: [true, false])
    func `T8: playback continues through a network outage`(breaksTransfers: Bool) throws {
        let scenario = try Self.scenario { ($0.retries, $0.isGreedy) = (0, true) }
        scenario.append(scenario.serve(length: 2_000_000))
        scenario.app(after: .seconds(1)) { $0.world.origin.setOffline(true, breaksTransfers: breaksTransfers) }
        scenario.app(after: .seconds(10)) { $0.world.origin.setOffline(false) }
        #expect(scenario.playToEnd())
        #expect(scenario.simulated?.history[0].transcript.lines.contains { $0.contains("!") } == false)
        Self.check(scenario)
    }

    @Test func `T8: without network an item fails with a cause within the player's two minutes`() throws {
        let scenario = try Self.scenario { $0.retries = 0 }
        scenario.world.origin.setOffline(true)
        scenario.append(scenario.serve(length: 2_000_000))
        #expect(!scenario.playToEnd())
        let asset = scenario.player?.state.withLock { $0.items.first }?.mediaAsset as? CachingAVURLAsset
        #expect(asset?.lastError?.code == .originUnreachable)
        scenario.checkEnd()
        #expect(scenario.violations.filter { !$0.contains("lives on") } == [])
    }

    @Test func `a released failed item leaves an ended queue and no failure`() throws {
        let scenario = try Self.scenario { $0.retries = 0 }
        scenario.world.origin.setOffline(true)
        scenario.append(scenario.serve(length: 100_000))
        #expect(!scenario.playToEnd() && scenario.failedFeeder != nil)
        // The player keeps the item until it has reported the failure.
        scenario.run("the news of the failure") {
            scenario.player?.state.withLock { $0.items.first }?.state.withLock { $0.status } == .failed
        }
        scenario.player?.advanceToNextItem()
        #expect(scenario.failedFeeder == nil)
        #expect(scenario.playToEnd())
        scenario.checkEnd()
        #expect(scenario.violations == [])
    }

    @Test func `a scenario that never ends fails when its steps are used up`() throws {
        @Sendable func again(_ scenario: PlaybackScenario) { scenario.app { again($0) } }
        let scenario = try Self.scenario()
        scenario.maxSteps = 1000
        again(scenario)
        #expect(!scenario.run("what never ends"))
        #expect(scenario.violations == ["no end of what never ends after 1000 steps"])
        scenario.pass(.seconds(1))
        #expect(scenario.violations.count == 2)
    }

    @Test func `T9: identical requests near the end are served by one fetch`() throws {
        let scenario = try Self.scenario { $0.repeatsTail = true }
        scenario.append(scenario.serve(length: 1_000_000))
        scenario.app(after: .seconds(1)) { $0.seek(to: 18.5) }
        #expect(scenario.playToEnd())
        Self.check(scenario)
    }

    @Test func `T10: a resource that changes during playback causes an error, never mixed bytes`() throws {
        let scenario = try Self.scenario { ($0.retries, $0.highWaterBytes) = (0, 500_000) }
        let tune = scenario.serve(length: 2_000_000)
        scenario.append(tune)
        scenario.app(after: .seconds(5)) { $0.world.serve(tune.resource.version(seed: 8)) }
        #expect(!scenario.playToEnd())
        let asset = scenario.player?.state.withLock { $0.items.first }?.mediaAsset as? CachingAVURLAsset
        #expect(asset?.lastError?.code == .representationChanged)
        #expect(scenario.playback.journal.breaches == [])
    }

    @Test func `T11: three simultaneous requests for content information cause one origin request`() throws {
        let scenario = try Self.scenario { $0.duplicateInformation = 2 }
        scenario.append(scenario.serve(length: 1_000_000))
        Self.runUntilReady(scenario)
        #expect(scenario.requests.count == 1)
        #expect(scenario.playToEnd())
        Self.check(scenario)
    }

    @Test func `a copied asset plays on after the original is released`() throws {
        let scenario = try Self.scenario()
        let tune = scenario.serve(length: 500_000)
        let copy = scenario.makeAsset(tune).copy() as? AVURLAsset
        let delivered = Locked(0)
        if let copy {
            let load = copy.resourceLoader.begin(
                AVFoundation.LoadingAsk(url: copy.url, wantsInformation: true, data: .init(offset: 0, length: 2)), for: copy,
                world: scenario.playback, on: scenario.simulator.mailbox("test")
            ) { event in if case .data(let data, _) = event { delivered.withLock { $0 += data.count } } }
            scenario.run("the probe") { delivered.withLock { $0 } == 2 }
            #expect(load.information.contentLength == 500_000)
        }
        #expect(delivered.withLock { $0 } == 2)
        scenario.checkEnd()
        #expect(scenario.violations == [])
    }
}
#endif
