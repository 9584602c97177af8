#if os(Linux)
import SpoolTesting
import Testing

/// Random scenarios: any habits, any media, an app that seeks, pauses, switches and drops, a network that is slow or goes away for a while.
@Suite(.timeLimit(.minutes(20))) struct PlaybackScenarioTests {
    @Test func `whatever the player and the app do, every byte is right and is fetched once, and nothing is left over`() throws {
        for seed in Seeds.list(count: 1000) {
            guard let story = try RandomPlay.story(ofSeed: seed) else { continue }
            Issue.record("\(story)\nSPOOL_SEED=\(seed) swift test -c release --filter PlaybackScenarioTests")
            // In the nights all seeds that fail are wanted.
            if !Seeds.isNightly { return }
        }
    }
}
#endif
