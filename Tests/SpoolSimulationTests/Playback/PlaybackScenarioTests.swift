#if os(Linux)
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests random scenarios: any habits, any media, an app that seeks, pauses, switches and drops, a
/// network that is slow or goes away for a while.
@Suite(.timeLimit(.minutes(20))) struct PlaybackScenarioTests {
    @Test func `random plays get right bytes, fetch each once, and leave nothing behind`() throws {
        for seed in Seeds.list(count: 1000) {
            guard let story = try RandomPlay.story(ofSeed: seed) else { continue }
            Issue.record("\(story)\nSPOOL_SEED=\(seed) swift test -c release --filter PlaybackScenarioTests")
            // A nightly run reports all failing seeds.
            if !Seeds.isNightly { return }
        }
    }
}
#endif
