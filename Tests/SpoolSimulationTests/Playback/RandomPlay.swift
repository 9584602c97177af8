#if os(Linux)
import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// One seed's play: its media, the app's actions, and the checks at the end.
enum RandomPlay {
    /// Plays a seed. Returns nil for a correct play, or else the violations and the events that led
    /// to them.
    static func story(ofSeed seed: UInt64) throws -> String? {
        let scenario = try make(seed)
        play(scenario)
        return scenario.violations.isEmpty ? nil : story(scenario)
    }

    private static func make(_ seed: UInt64) throws -> PlaybackScenario {
        // The parts of the world are drawn before the world is created.
        let random = SeededRandom(seed: seed)
        let length = random.number(in: random.pick([1...3, 1000...70_000, 200_000...1_500_000]))
        var plan = World.Plan()
        plan.usesDisk = random.chance(1, in: 5)
        plan.windowBytes = random.chance(1, in: 4) ? 200_000 : nil
        let scenario = try PlaybackScenario(seed: seed, habits: .random(length: length, using: random), plan: plan)
        let tunes = (1...random.number(in: 1...3)).map { number in
            let content = random.next() >> 32
            // Random bytes may begin like a page of text; then the server has to send a media type.
            let looksLikeText = OriginContent(seed: content).byte(at: 0) < 0x80
            let resource = VirtualResource(
                url: "http://origin.test/song-\(number).mp3", seed: content, length: number == 1 ? length : random.number(in: 1...600_000),
                contentType: looksLikeText ? "audio/mpeg" : random.pick([nil, "audio/mpeg", "application/octet-stream"]))
            let media = SimulatedMedia.random(length: resource.length, seconds: 1...20, using: random) {
                OriginContent(seed: content).firstDifference(in: $0, at: $1)
            }
            return scenario.serve(resource, media)
        }
        let rate = random.pick([nil, 100_000, 1_000_000] as [Int64?])
        let latency = random.number(in: 0...400)
        scenario.world.origin.follow { _, _ in
            .slow(latency: .milliseconds(latency), bytesPerSecond: rate, chunkBytes: 1000...40_000)
        }
        addApp(to: scenario, tunes, random)
        return scenario
    }

    private static func addApp(to scenario: PlaybackScenario, _ tunes: [PlaybackScenario.Tune], _ random: SeededRandom) {
        for tune in tunes { scenario.append(tune) }
        for _ in 0..<random.number(in: 0...8) {
            let act = act(random.pick(tunes), random)
            scenario.app(after: .milliseconds(random.number(in: 0...25_000)), act)
        }
        if random.chance(1, in: 3) {
            let start = random.number(in: 0...10_000)
            scenario.app(after: .milliseconds(start)) { scenario in
                scenario.lostNetwork = true
                scenario.world.origin.setOffline(true, breaksTransfers: start % 2 == 0)
            }
            scenario.app(after: .milliseconds(start + random.number(in: 1...5000))) { $0.world.origin.setOffline(false) }
        }
    }

    /// Performs one action of an app.
    private static func act(_ tune: PlaybackScenario.Tune, _ random: SeededRandom) -> @Sendable (PlaybackScenario) -> Void {
        let number = Double(random.number(in: 0...20))
        switch random.next(below: 8) {
        case 0, 1, 2: return { $0.seek(to: number) }
        case 3: return { $0.player?.setRate(0) }
        case 4: return { $0.player?.setRate(Float(max(1, number / 8))) }
        case 5: return { $0.player?.advanceToNextItem() }
        case 6: return { $0.player?.replaceCurrentItem(with: $0.makeItem(tune)) }
        default: return { $0.append(tune) }
        }
    }

    private static func play(_ scenario: PlaybackScenario) {
        scenario.app { $0.player?.setRate(1) }
        scenario.pass(.seconds(30))
        // The play goes to its end now, whatever state the app left.
        for _ in 0..<PlaybackScenario.maxFailures {
            if scenario.playToEnd() { break }
            guard let failed = scenario.failedFeeder else { break }
            // Without a network, an unknown resource has no answer: the item fails, as it would
            // without a cache.
            guard failed.information == nil, scenario.lostNetwork, scenario.violations.isEmpty else {
                return describe(failed, in: scenario)
            }
            scenario.player?.advanceToNextItem()
        }
        scenario.checkEnd()
        scenario.checkFetched()
        scenario.checkSecondRun()
        scenario.checkEnd()
        guard scenario.violations.isEmpty else { return }
        scenario.world.run()
        if scenario.world.disk.openHandleCount > 0 { scenario.violated("\(scenario.world.disk.openHandleCount) files stay open") }
        for violation in scenario.world.violations { scenario.violated(violation) }
    }

    private static func describe(_ failed: MediaFeeder, in scenario: PlaybackScenario) {
        scenario.violated("an item failed: \(failed.lastError.map { "\($0)" } ?? "")\n\(failed.transcript.text)")
    }

    private static func story(_ scenario: PlaybackScenario) -> String {
        let history = scenario.feeders + (scenario.simulated?.history ?? [])
        let transcripts = history.map { "\($0.media.label) \($0.media.kind), \($0.length ?? -1) bytes, \($0.phase)\n\($0.transcript.text)" }
        let requests = scenario.requests.map { "\($0.request.url) \($0.range ?? "whole") \($0.handedOverBytes)" }
        return scenario.simulator.report(
            (scenario.violations + transcripts + requests + ["\(scenario.habits)"]).joined(separator: "\n"))
    }
}
#endif
