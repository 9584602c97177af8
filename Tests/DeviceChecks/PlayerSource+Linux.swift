#if os(Linux)
import AVFoundation
import SpoolCore
import SpoolSystem
import SpoolTesting

/// The machine behind a player of the double, which reads made-up bytes and compares each.
enum PlayerSource {
    @MainActor static func attach(_ player: AVPlayer, _ bench: Bench) -> (any Sendable)? {
        let fault = bench.fault
        return SimulatedPlayer(driving: player, habits: habits, world: bench.world) { [weak bench] item in
            guard fault != .nothingPlays, let sample = bench?.sample(of: item.mediaAsset as? AVURLAsset) else { return nil }
            let content = sample.content
            let layout: SimulatedMedia.Kind =
                switch sample.kind {
                case .film, .fragments, .song: .fastStart
                case .lateIndex: .indexAtEnd
                default: .mp3
                }
            return SimulatedMedia(
                kind: layout, seconds: sample.seconds, headBytes: 4000, tailBytes: layout == .indexAtEnd ? 4000 : 0
            ) { bytes, offset in fault == .wrongBytes ? 0 : content.firstDifference(in: bytes, at: offset) }
        }
    }

    /// Waits until a player has done the jobs that its mailbox has.
    static func settle(_ source: (any Sendable)?) async {
        guard let player = source as? SimulatedPlayer else { return }
        await withCheckedContinuation { isDone in player.inspect { _ in isDone.resume() } }
    }

    /// The double has no pictures. Its journal has the first wrong byte.
    static func frameNumber(_ source: (any Sendable)?, _ player: AVPlayer) -> Int? { nil }

    /// The usual player in proportion to small files.
    private static var habits: PlayerHabits {
        var habits = PlayerHabits()
        habits.highWaterBytes = 200_000
        habits.lowWaterBytes = 60_000
        habits.tick = .milliseconds(10)
        habits.retryDelay = .milliseconds(20)
        return habits
    }
}
#endif
