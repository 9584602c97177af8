import Foundation
import SpoolSystem
import SpoolTesting
import Testing

/// Scenarios from seeds for hours: plays, and mixes of everything that origins do, as each seed has it.
///
/// `scripts/scenarios` starts it in several processes that share the seeds among them; without its variables there is nothing to do.
@Suite struct ScenarioRunTests {
    @Test(.enabled(if: ScenarioShare.ofEnvironment != nil))
    func `every scenario of the run ends well`() throws {
        guard let share = ScenarioShare.ofEnvironment else { return }
        try share.run { seed, story in
            Issue.record("\(story)\nscripts/scenarios --first \(seed) --count 1")
        }
    }
}

/// What one process of a run does: every `step`-th seed from `next` on, below `end`.
private struct ScenarioShare {
    private var next: UInt64
    private let step: UInt64
    private let end: UInt64
    private let seconds: Double
    /// Where it notes the seed that it is at, how many are done, and which failed; the script reads it, after a crash too.
    private let notes: String

    /// As `scripts/scenarios` has it: `next,step,end,seconds,file`.
    static var ofEnvironment: ScenarioShare? {
        let parts = (ProcessInfo.processInfo.environment["SPOOL_SCENARIO_SHARE"] ?? "").split(separator: ",").map(String.init)
        guard parts.count == 5, let next = UInt64(parts[0]), let step = UInt64(parts[1]), let end = UInt64(parts[2]),
            let seconds = Double(parts[3]), step > 0
        else { return nil }
        return ScenarioShare(next: next, step: step, end: end, seconds: seconds, notes: parts[4])
    }

    func run(_ failed: (UInt64, String) -> Void) throws {
        let begin = ContinuousClock.now
        var done = 0, failures = 0
        var seed = next
        while seed < end, ContinuousClock.now - begin < .seconds(seconds) {
            try "\(seed) \(done) \(failures)\n".write(toFile: notes, atomically: true, encoding: .utf8)
            if let story = try Self.story(ofSeed: seed) {
                failures += 1
                try append("\(seed)\n", to: notes + ".failed")
                failed(seed, story)
            }
            done += 1
            seed += step
        }
        try "end \(done) \(failures)\n".write(toFile: notes, atomically: true, encoding: .utf8)
    }

    private static func story(ofSeed seed: UInt64) throws -> String? {
        #if os(Linux)
        // By a bit that all of the seed decides, so that each process has both kinds, however many processes there are.
        if (seed &* 0x9E37_79B9_7F4A_7C15) >> 63 == 1 { return try RandomPlay.story(ofSeed: seed) }
        #endif
        return try OriginMix.story(ofSeed: seed)
    }

    private func append(_ text: String, to path: String) throws {
        let before = FileManager.default.fileExists(atPath: path) ? try String(contentsOfFile: path, encoding: .utf8) : ""
        try (before + text).write(toFile: path, atomically: true, encoding: .utf8)
    }
}
