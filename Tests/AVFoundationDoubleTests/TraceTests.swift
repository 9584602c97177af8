import AVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Traces are parsed, replayed, and written by the recorder for apps.
@Suite struct TraceTests {
    @Test func `each pattern has a trace file that can be read`() throws {
        #expect(TraceFile.all.count >= 15)
        for file in TraceFile.all {
            let trace = try file.read()
            #expect(trace.length != nil && trace.entries.first?.milliseconds == 0, "\(file)")
        }
    }

    @Test(arguments: TraceFile.all)
    func `a replayed trace shows no breach by a correct delegate`(file: TraceFile) throws {
        let trace = try file.read()
        let bench = PlayBench(length: try #require(trace.length))
        bench.player.replaceCurrentItem(with: nil)
        let asset = AVURLAsset(url: LoaderBench.url)
        asset.resourceLoader.setDelegate(bench.delegate, queue: nil)
        let content = bench.resource.content
        let replayer = TraceReplayer(trace, on: asset, world: bench.world) { content.firstDifference(in: $0, at: $1) }
        bench.simulator.runUntilIdle(maxSteps: PlayBench.maxSteps)
        #expect(replayer.isOver)
        #expect(bench.world.journal.breaches == [])
        let asked = trace.entries.compactMap { if case .asked(_, _, let data) = $0.event { data } else { nil } }
        #expect(bench.delegate.asked.compactMap { $0.transaction.ask.data } == asked)
        for (number, bytes) in trace.cancels {
            #expect(bench.delegate.cancelled.contains(number), "\(number) after \(bytes)")
        }
    }

    @Test func `a replay detects a delegate's breaches`() throws {
        let trace = try LoadingTrace("# spool trace 1\n0.0 1 I+ @0+2\n0.1 1 →2 ✓\n0.2 2 @0+1000000 E\n9 2 →1000000 ✓")
        for misstep in [ServingDelegate.Misstep.sendsWrongByte, .neverAnswers, .finishesShort] {
            let bench = PlayBench()
            bench.player.replaceCurrentItem(with: nil)
            bench.delegate.misstep = misstep
            let asset = AVURLAsset(url: LoaderBench.url)
            asset.resourceLoader.setDelegate(bench.delegate, queue: nil)
            let content = bench.resource.content
            let replayer = TraceReplayer(trace, on: asset, world: bench.world) { content.firstDifference(in: $0, at: $1) }
            bench.simulator.runUntilIdle(maxSteps: PlayBench.maxSteps)
            #expect(replayer.isOver)
            #expect(!bench.world.journal.breaches.isEmpty, "\(misstep)")
        }
    }

    @Test func `a simulated player's transcript can be replayed`() throws {
        let bench = PlayBench(.indexAtEnd)
        bench.playToEnd()
        let trace = try LoadingTrace(bench.feeder.transcript.text)
        #expect(trace.entries.count == bench.asked.count)
    }

    @Test(arguments: [
        "", "# spool trace 2", "# spool trace 1\n0 1", "# spool trace 1\nx 1 I+", "# spool trace 1\n0 x I+",
        "# spool trace 1\n-1 1 I+", "# spool trace 1\n0 1 @-1+2", "# spool trace 1\n0 1 @1+-2", "# spool trace 1\n0 1 @1+2 F",
        "# spool trace 1\n0 1 →x ✗", "# spool trace 1\n0 1 →5", "# spool trace 1\n0 1 →5 ! domain", "# spool trace 1\n1e300 1 I+",
        "# spool trace 1\n0 1 @99999999999999999999+2",
    ])
    func `a malformed trace is refused with its line`(text: String) {
        #expect(throws: LoadingTrace.NotATrace.self) { try LoadingTrace(text) }
    }

    @Test func `a damaged trace is read or refused without a crash`() throws {
        let text = try TraceFile.all[0].text()
        for seed in Seeds.list(count: 200) {
            let random = SeededRandom(seed: seed)
            var bytes = Array(text.utf8)
            for _ in 0..<3 { bytes[Int(random.next(below: UInt64(bytes.count)))] = UInt8(truncatingIfNeeded: random.next()) }
            _ = try? LoadingTrace(String(decoding: bytes, as: UTF8.self))
        }
    }
}

extension LoadingTrace {
    fileprivate var cancels: [(Int, Int64)] {
        entries.compactMap { if case .cancelled(let bytes) = $0.event { ($0.request, bytes) } else { nil } }
    }
}
