#if os(Linux)
import AVFoundation
import Spool
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests lives of an app: a user who plays, pauses and seeks, calls, headphones, receivers, the
/// background, suspensions and kills, URLs that expire, and a network that goes away.
@MainActor @Suite(.timeLimit(.minutes(20)), .serialized) struct AppLifeTests {
    /// The parts of a run. Each has a time limit of its own.
    nonisolated static let parts = 4

    @Test(arguments: 0..<parts)
    func `nothing plays against the user or the system, and each byte is right and fetched once`(part: Int) throws {
        var turns = AppTurns(), lives = 0
        for (number, seed) in Seeds.list(count: 150, nightly: 10_000).enumerated() where number % Self.parts == part {
            lives += 1
            guard let story = try AppLife.story(ofSeed: seed, &turns) else { continue }
            Issue.record("\(story)\nSPOOL_SEED=\(seed) swift test -c release --filter AppLifeTests")
            // A nightly run reports all failing seeds.
            if !Seeds.isNightly { return }
        }
        if Seeds.isNightly { print("\(lives) lives: \(turns)") }
        // 500 of 10 000. A run of one seed says nothing about the mix.
        guard lives > 1 else { return }
        #expect(min(turns.bypasses, turns.rescues, turns.breakers) * 20 >= lives, "\(lives) lives: \(turns)")
    }

    /// The lives in which bytes came between the last write and the suspension, an app returned
    /// before its store was back, or the user chose a rate while the player waited.
    nonisolated static let formerFaults: [UInt64] = [
        1_002_214_227_997, 1_010_910_548_042, 333_066_941_458, 724_724_801_669, 64_186_901_202, 123_946_839_359, 439_521_776_385,
    ]

    @Test(arguments: formerFaults) func `a life that once went wrong goes right`(seed: UInt64) throws {
        var turns = AppTurns()
        if let story = try AppLife.story(ofSeed: seed, &turns) { Issue.record("\(story)") }
    }
}

/// One app's life: several processes over one disk.
@MainActor enum AppLife {
    /// The seconds of received bytes that a kill may lose: they wait for a part of a buffer to be
    /// written, and for the next commit.
    static let secondsLostAtKill: Int64 = 3
    /// The bytes in transit at any break.
    static let transitBytes = PlaybackScenario.windowBytes * PlaybackScenario.positionsAtOnce

    /// Lives a seed. Returns nil for a correct life, or else the violations and the events that led
    /// to them.
    ///
    /// - Parameter turns: Counts the life if it had these events.
    static func story(ofSeed seed: UInt64, _ turns: inout AppTurns) throws -> String? {
        let script = AppScript(seed: seed)
        var disk: MemoryDisk?
        var sums = Sums(), own = AppTurns()
        defer { turns.add(own) }
        for (number, events) in script.processes.enumerated() {
            let process = try AppProcess(seed: seed &+ UInt64(number) << 40, script: script, disk: disk)
            process.live(events)
            if number == script.processes.count - 1 { process.finish() }
            own.add(process.turns.now)
            sums.add(process.scenario)
            sums.kills = Int64(number)
            check(sums, process, script)
            disk = process.scenario.world.disk.crash()
            guard process.violations.isEmpty else { return "process \(number + 1) of seed \(seed): \(process.story)" }
        }
        return nil
    }

    /// The bytes that all processes of a life got from the origin.
    private struct Sums {
        /// The bytes that the origin sent, by content.
        var sent: [UInt64: ByteRangeSet] = [:]
        var sentBytes: Int64 = 0
        /// The bytes that the caches took. The end of the chunk at which a request is clipped is
        /// not taken.
        var takenBytes: Int64 = 0
        /// The requests to the origin.
        var requests: Int64 = 0
        var kills: Int64 = 0

        var differentBytes: Int64 { sent.values.reduce(0) { $0 + $1.totalBytes } }

        mutating func add(_ scenario: PlaybackScenario) {
            let log = scenario.world.origin.log
            for (_, found) in log.handedOver.sorted(by: { $0.key < $1.key }) {
                sentBytes += found.bytes
                for (content, ranges) in found.ranges { sent[content, default: ByteRangeSet()].formUnion(ranges) }
            }
            takenBytes += scenario.world.cache.statistics.fetchedBytes
            requests += Int64(log.entries.count)
        }
    }

    /// Checks that no byte is fetched twice, except those that a kill lost, and that no more is
    /// fetched than the player needs, except the windows that were under way at an early end. A
    /// request that takes over the rest of another one costs a chunk.
    private static func check(_ sums: Sums, _ process: AppProcess, _ script: AppScript) {
        guard process.violations.isEmpty else { return }
        let scenario = process.scenario
        let lost = sums.kills * (secondsLostAtKill * script.bytesPerSecond + transitBytes)
        let twice = sums.takenBytes - sums.differentBytes
        if twice > lost { scenario.violated("\(twice) bytes were taken twice after \(sums.kills) kills, \(lost) are allowed") }
        let sentTwice = sums.sentBytes - sums.differentBytes, chunks = lost + sums.requests * Int64(AppScript.chunkBytes.upperBound)
        if sentTwice > chunks { scenario.violated("\(sentTwice) bytes were sent twice, \(chunks) are allowed") }
        let fetched = scenario.world.cache.statistics.fetchedBytes
        let allowed = process.deliveredBytes + (process.ends + Int64(process.breaks)) * transitBytes
        if fetched > allowed { scenario.violated("fetched \(fetched) bytes, \(allowed) are allowed") }
    }
}
#endif
