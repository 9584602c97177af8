import AVFoundation
import SpoolCore
import SpoolSystem
import SpoolTesting
import Testing

/// The double and the recorder on real queues, for the thread sanitizer.
@Suite(.timeLimit(.minutes(20))) struct RealQueueStressTests {
    @Test func `a file plays on real queues, and its trace can be replayed`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("double-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        let file = directory.appendingPathComponent("song.mp3")
        let content = OriginContent(seed: 7)
        // The player has enough in advance after a fifth of a second, and the rest takes most of a
        // second. So it cancels a request, unless the machine is busy.
        let length = 2_000_000
        try Data(content.bytes(at: 0, count: length)).write(to: file)

        let world = PlaybackWorld(time: SystemTime(), random: SystemRandom())
        let recorder = LoadingTraceRecorder(to: directory.appendingPathComponent("song.trace"), header: ["length": "\(length)"])
        let loader = try TracedFileLoader(file: file, contentType: "public.mp3", bytesPerSecond: 2_000_000, recorder: recorder)
        let item = AVPlayerItem(asset: loader.makeAsset())
        let player = AVPlayer(playerItem: item)
        var habits = PlayerHabits.small
        habits.tick = .milliseconds(5)
        let simulated = SimulatedPlayer(driving: player, habits: habits, world: world) { _ in
            SimulatedMedia(kind: .mp3, seconds: 2, headBytes: 10_000) { content.firstDifference(in: $0, at: $1) }
        }
        for await _ in ends(of: item, startedBy: { player.setRate(1) }) { break }
        recorder.close()

        world.journal.checkKept()
        #expect(world.journal.breaches == [])
        let trace = try LoadingTrace(try String(contentsOf: directory.appendingPathComponent("song.trace"), encoding: .utf8))
        #expect(trace.length == Int64(length))
        #expect(trace.entries.first?.event == .asked(information: true, isRenewal: false, .init(offset: 0, length: 2)))
        withExtendedLifetime(simulated) {}
    }

    /// A stream with one element for each end of `item`. It calls `start` at its beginning.
    private func ends(of item: AVPlayerItem, startedBy start: @escaping @Sendable () -> Void) -> AsyncStream<Void> {
        AsyncStream { continuation in
            // The notification centre holds the block, and the block holds the stream. Both end
            // with the test process.
            _ = NotificationCenter.default.addObserver(
                forName: .AVPlayerItemDidPlayToEndTime, object: item, queue: nil
            ) { _ in continuation.yield() }
            start()
        }
    }
}
