import AVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// A simulated player, one delegate, and an app that acts at certain times, all on virtual time.
final class PlayBench: @unchecked Sendable {
    // Sendable for the jobs of the simulator, all of which run on one thread.

    /// The largest number of steps of a run. A longer run is a livelock.
    static let maxSteps = 200_000

    let simulator: Simulator
    let world: PlaybackWorld
    let resource: VirtualResource
    let delegate: ServingDelegate
    let player: AVQueuePlayer
    var simulated: SimulatedPlayer!
    private let kind: SimulatedMedia.Kind
    private(set) var notifications: [String] = []
    private var tokens: [any NSObjectProtocol] = []

    init(
        length: Int64 = 1_000_000, _ kind: SimulatedMedia.Kind = .mp3, habits: PlayerHabits = .small, seed: UInt64 = 1, items: Int = 1,
        url: String = "spool-https://origin.test/song.mp3"
    ) {
        simulator = Simulator(seed: seed)
        world = PlaybackWorld(
            time: simulator, random: simulator, main: simulator.mailbox("main"), mailbox: { [simulator] in simulator.mailbox($0) })
        resource = VirtualResource(url: "https://origin.test/song.mp3", seed: seed, length: length)
        delegate = ServingDelegate(resource, simulator)
        self.kind = kind
        player = AVQueuePlayer(items: [])
        for _ in 0..<items {
            let asset = AVURLAsset(url: URL(string: url)!)
            asset.resourceLoader.setDelegate(delegate, queue: nil)
            let item = AVPlayerItem(asset: asset)
            player.insert(item, after: nil)
            listen(to: item)
        }
        let content = resource.content
        let media = SimulatedMedia(
            kind: kind, seconds: 20, headBytes: min(length, 30_000), tailBytes: kind == .indexAtEnd ? 20_000 : 0,
            firstDifference: { content.firstDifference(in: $0, at: $1) })
        simulated = SimulatedPlayer(driving: player, habits: habits, world: world, media: { _ in media })
    }

    deinit {
        for token in tokens { NotificationCenter.default.removeObserver(token) }
        simulator.shutdown()
    }

    private func listen(to item: AVPlayerItem) {
        let names: [(Notification.Name, String)] = [
            (.AVPlayerItemDidPlayToEndTime, "end"), (.AVPlayerItemPlaybackStalled, "stall"),
            (.AVPlayerItemFailedToPlayToEndTime, "failed"),
        ]
        for (name, word) in names {
            tokens.append(
                NotificationCenter.default.addObserver(forName: name, object: item, queue: nil) { [weak self] _ in
                    self?.notifications.append(word)
                })
        }
    }

    /// Runs `body` on the app's main queue after `delay`.
    func app(after delay: Nanoseconds = 0, _ body: @escaping @Sendable (PlayBench) -> Void) {
        _ = simulator.after(delay, on: world.main) { [weak self] in self.map(body) }
    }

    /// Plays from the start and runs until no job is left.
    func playToEnd() {
        app { $0.player.setRate(1) }
        simulator.runUntilIdle(maxSteps: Self.maxSteps)
        world.journal.checkKept()
    }

    var feeder: MediaFeeder { simulated.history[0] }

    /// The requests and their outcomes, without times and numbers: `I+ @0+2`, `→2 ✓`.
    var asked: [String] { transcript(of: 0) }

    func transcript(of item: Int) -> [String] {
        guard simulated.history.indices.contains(item) else { return [] }
        return simulated.history[item].transcript.lines.map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") }
    }

    /// The requests alone.
    var requests: [String] { asked.filter { !$0.hasPrefix("→") && !$0.hasPrefix("!") } }

    var rules: Set<ContractRule> { Set(world.journal.breaches.map(\.rule)) }
}

extension PlayerHabits {
    /// Habits in proportion to a file of a megabyte.
    static var small: PlayerHabits {
        var habits = PlayerHabits()
        habits.highWaterBytes = 200_000
        habits.lowWaterBytes = 100_000
        return habits
    }
}
