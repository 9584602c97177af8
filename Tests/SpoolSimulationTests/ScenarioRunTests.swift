import Foundation
import SpoolSystem
import SpoolTesting
import Testing

/// Runs scenarios from seeds for hours: plays, and mixes of every known behaviour of origins; the
/// seed decides which.
///
/// `scripts/scenarios` starts this suite in several processes that share the seeds. Without its
/// variables the suite is disabled.
@Suite struct ScenarioRunTests {
    @Test(.enabled(if: ScenarioShare.ofEnvironment != nil))
    func `every scenario of the run succeeds`() throws {
        guard let share = ScenarioShare.ofEnvironment else { return }
        try share.run { seed, story in
            Issue.record("\(story)\nscripts/scenarios --first \(seed) --count 1")
        }
    }
}

/// The share of one process: every `step`-th seed from `next` on, below `end`.
private struct ScenarioShare {
    private var next: UInt64
    private let step: UInt64
    private let end: UInt64
    private let seconds: Double
    /// The file with the current seed, the number of finished seeds, and the number of failures.
    /// The script reads it, also after a crash.
    private let notes: String

    /// The share in the environment variable of `scripts/scenarios`: `next,step,end,seconds,file`.
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
        // One bit of a hash of the whole seed decides, so that each process has both kinds,
        // whatever the number of processes.
        if (seed &* 0x9E37_79B9_7F4A_7C15) >> 63 == 1 { return try RandomPlay.story(ofSeed: seed) }
        #endif
        return try OriginMix.story(ofSeed: seed)
    }

    private func append(_ text: String, to path: String) throws {
        let before = FileManager.default.fileExists(atPath: path) ? try String(contentsOfFile: path, encoding: .utf8) : ""
        try (before + text).write(toFile: path, atomically: true, encoding: .utf8)
    }
}
