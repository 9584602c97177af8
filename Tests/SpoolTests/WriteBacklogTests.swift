import Spool
import SpoolCore
import SpoolTestSupport
import SpoolTesting
import Testing

/// The bound on data that waits for the lanes that write it.
@Suite struct `A disk that stands still` {
    private static let clipBytes = 65_536
    private let clips = (0..<WriteBacklog.limitBytes / Self.clipBytes + 3).map { number in
        VirtualResource(url: "http://origin.test/\(number).ts", seed: UInt64(number), length: Int64(clipBytes))
    }

    @Test func `a stuck disk lets small files fill memory up to a bound, and later ones play once it recovers`() throws {
        let data = HeldMailbox()
        let stage = try LaneStage(clips, data: data)
        let fitting = WriteBacklog.limitBytes / Self.clipBytes
        let late = clips[fitting...]
        for clip in clips[..<fitting] {
            #expect(try stage.play(clip, steps: 500) == clip.content.bytes(at: 0, count: Self.clipBytes), "no reader waits so far")
        }
        #expect(data.count == fitting)
        for clip in late { #expect(try stage.play(clip, steps: 500) == []) }
        #expect(data.count == fitting, "no more bytes are kept")

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

    /// So many files of so few bytes that the bound on bytes does not apply.
    private let icons = (0..<WriteBacklog.limitJobs + 3).map { number in
        VirtualResource(url: "http://origin.test/icon-\(number).ts", seed: UInt64(number), length: 1024)
    }

    @Test func `a stuck disk has a bounded number of small files that wait to be written`() throws {
        let data = HeldMailbox()
        let stage = try LaneStage(icons, data: data)
        try playUntilFull(on: stage)
        #expect(data.count == WriteBacklog.limitJobs)
        for _ in 0..<6 {
            data.runAll()
            stage.simulator.advance(by: .seconds(2))
        }
        for icon in icons.suffix(3) {
            #expect(try stage.play(icon, steps: 500) == icon.content.bytes(at: 0, count: 1024))
        }
        data.runAll()
        stage.simulator.shutdown()
    }

    @Test func `a stuck index lane has a bounded number of small files that wait for their commit`() throws {
        let first = VirtualResource(url: "http://origin.test/first.ts", seed: 7, length: 1024)
        let stage = try LaneStage([first] + icons)
        // The store's keys are read with the first fetch. From then on a new resource needs no
        // look-up.
        _ = try stage.play(first)
        stage.simulator.advance(by: .seconds(60))
        stage.index.delay(true)
        try playUntilFull(on: stage)
        stage.index.deliver()
        stage.simulator.advance(by: .seconds(2))
        for icon in icons.suffix(3) { #expect(try stage.play(icon) == icon.content.bytes(at: 0, count: 1024)) }
        stage.simulator.advance(by: .seconds(60))
        for icon in icons {
            #expect(try stage.store.lookup(stage.cache.key(for: icon.url))?.spans.totalBytes == 1024)
        }
        stage.simulator.shutdown()
    }

    private func playUntilFull(on stage: LaneStage) throws {
        for icon in icons.prefix(WriteBacklog.limitJobs) {
            #expect(try stage.play(icon, steps: 500) == icon.content.bytes(at: 0, count: 1024), "no reader waits so far")
        }
        for icon in icons.suffix(3) { #expect(try stage.play(icon, steps: 500) == []) }
    }
}
