import Foundation
import SpoolCore
import Testing

/// Random walks over small worlds: in every order of events, the invariants hold and readers get
/// their bytes.
@Suite struct SessionWalkTests {
    @Test(.timeLimit(.minutes(20)))
    func `every reader gets bytes of one version, and no byte is fetched twice`() {
        for seed in Self.seeds {
            var walk = SessionWalk(seed: seed)
            for _ in 0..<150 where walk.violation == nil { walk.event() }
            walk.settle()
            if walk.isClean, walk.takenBytes > walk.origin.length {
                walk.fail("took \(walk.takenBytes) bytes of \(walk.origin.length)")
            }
            if let violation = walk.violation {
                Issue.record(
                    """
                    \(violation)
                    replay: SPOOL_SEED=\(seed) swift test --filter SessionWalkTests
                    \(walk.origin) \(walk.faults)
                    \(walk.trail.joined(separator: "\n"))
                    """)
                return
            }
        }
    }

    /// The seed in `SPOOL_SEED`, or else 1 to 2000. A nightly run has ten times as many random
    /// seeds.
    private static var seeds: [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SPOOL_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        guard environment["SPOOL_DEPTH"] == "nightly" else { return Array(1...2000) }
        return (0..<20_000).map { _ in .random(in: 1...UInt64(UInt32.max)) }
    }
}
