import Spool
import SpoolCore
import SpoolTesting
import Testing

/// The lanes on which data is written: what waits for them has a bound.
@Suite struct `A disk that stands still` {
    private static let clipBytes = 65_536
    private let clips = (0..<WriteBacklog.limitBytes / Self.clipBytes + 3).map { number in
        VirtualResource(url: "http://origin.test/\(number).ts", seed: UInt64(number), length: Int64(clipBytes))
    }

    @Test func `lets small files pile up in memory to a bound, and those that follow play once it goes on`() throws {
        let data = HeldMailbox()
        let stage = try LaneStage(clips, data: data)
        let fitting = WriteBacklog.limitBytes / Self.clipBytes
        let late = clips[fitting...]
        for clip in clips[..<fitting] {
            #expect(try stage.play(clip, steps: 500) == clip.content.bytes(at: 0, count: Self.clipBytes), "nobody waits so far")
        }
        #expect(data.count == fitting)
        for clip in late { #expect(try stage.play(clip, steps: 500) == []) }
        #expect(data.count == fitting, "nothing more is kept")

        func goOn() {
            for _ in 0..<3 {
                data.runAll()
                stage.simulator.advance(by: .seconds(2))
            }
        }
        goOn()
        for clip in late {
            #expect(try stage.play(clip, steps: 500) == clip.content.bytes(at: 0, count: Self.clipBytes))
            goOn()
        }
        for clip in clips {
            #expect(try stage.store.lookup(stage.cache.key(for: clip.url))?.spans.totalBytes == Int64(Self.clipBytes))
        }
        stage.simulator.shutdown()
    }
}
