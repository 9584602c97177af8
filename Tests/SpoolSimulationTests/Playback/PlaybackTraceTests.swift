#if os(Linux)
import AVFoundation
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Replays the traces of docs/traces against assets of a cache.
@Suite(.timeLimit(.minutes(20))) struct PlaybackTraceTests {
    /// The results of a replay, whose asset is released by then.
    private struct Outcome {
        var delivered: ByteRangeSet
        var cancelCount: Int
        var errors: [NSError]
    }

    private static func replay(_ trace: LoadingTrace, _ tune: PlaybackScenario.Tune, _ scenario: PlaybackScenario) -> Outcome {
        let replayer = TraceReplayer(
            trace, on: scenario.makeAsset(tune), world: scenario.playback, firstDifference: tune.media.firstDifference)
        scenario.run("the replay") { replayer.isOver }
        return Outcome(delivered: replayer.delivered, cancelCount: replayer.cancelCount, errors: replayer.errors)
    }

    /// Reads the whole resource, so that it is stored.
    private static func complete(_ tune: PlaybackScenario.Tune, _ scenario: PlaybackScenario) throws {
        let length = tune.resource.length
        let trace = try LoadingTrace("# spool trace 1\n0 1 I+ @0+2\n0 1 →2 ✓\n0 2 @0+\(length) E\n0 2 →\(length) ✓")
        #expect(replay(trace, tune, scenario).delivered.totalBytes == length)
        scenario.pass(.seconds(3))
    }

    @Test(arguments: TraceFile.all)
    func `a trace gets its bytes with one fetch each, and none when repeated`(file: TraceFile) throws {
        let trace = try file.read()
        let scenario = try PlaybackScenario(seed: 1)
        scenario.factory.limits.runAheadBytes = .max / 2
        scenario.world.origin.follow { _, _ in .slow(latency: .milliseconds(50), bytesPerSecond: 3_000_000) }
        let tune = scenario.serve(length: try #require(trace.length))
        let first = Self.replay(trace, tune, scenario)
        #expect(scenario.requests.first?.range == "bytes=0-", "a cold start is one request from the first byte on")
        #expect(first.errors == [])
        let fetched = scenario.world.cache.statistics.fetchedBytes
        let allowed = first.delivered.totalBytes + Int64(first.cancelCount + 1) * PlaybackScenario.windowBytes
        #expect(fetched >= first.delivered.totalBytes && fetched <= allowed, "\(first.delivered), \(first.cancelCount) cancels")

        scenario.pass(.seconds(3))
        try Self.complete(tune, scenario)
        #expect(scenario.world.cache.statistics.fetchedBytes == tune.resource.length)
        let before = scenario.requests.count
        _ = Self.replay(trace, tune, scenario)
        #expect(scenario.requests.count == before, "\(scenario.requests[before...].map(\.range))")
        scenario.checkEnd()
        #expect(scenario.violations == [])
    }
}
#endif
