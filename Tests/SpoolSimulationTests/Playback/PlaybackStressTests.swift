#if os(Linux)
import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Runs a dozen plays on real queues for the thread sanitizer: the delegate on its own queue, the
/// engine on its lanes, the app on the main queue.
@Suite(.timeLimit(.minutes(20))) struct PlaybackStressTests {
    @Test(arguments: 1...12)
    func `a queue plays on real queues while the app seeks and switches`(number: Int) async throws {
        let live = try LivePlayback(seed: UInt64(number))
        await live.play()
        #expect(live.failures == [])
        #expect(await live.windUp() == [])
    }
}

/// A cache on real lanes, a scripted origin, and a simulated player that works on real queues.
private final class LivePlayback: Sendable {
    private struct State {
        var player: AVQueuePlayer?
        var simulated: SimulatedPlayer?
        var assets: [WeakAsset] = []
        var failures: [String] = []
    }

    private struct WeakAsset {
        weak var asset: CachingAVURLAsset?
    }

    private static let lengths: [Int64] = [400_000, 70_000, 250_000]

    private let time = SystemTime()
    private let random: SeededRandom
    private let lanes: [DiskLane]
    private let resources: [VirtualResource]
    private let origin: ScriptedOrigin
    private let cache: MediaCache
    private let world: PlaybackWorld
    private let habits: PlayerHabits
    private let state: Locked<State>

    init(seed: UInt64) throws {
        let random = SeededRandom(seed: seed)
        self.random = random
        lanes = ["origin", "control", "index", "data 0", "data 1"].map { DiskLane(name: $0) }
        resources = Self.lengths.enumerated().map { index, length in
            VirtualResource(
                url: "http://origin.test/song-\(index).mp3", seed: seed &+ UInt64(index), length: length, contentType: "audio/mpeg")
        }
        origin = ScriptedOrigin(resources, mailbox: lanes[0], time: time, random: random) { _, _ in
            .slow(bytesPerSecond: 8_000_000, chunkBytes: 1000...40_000)
        }
        var configuration = Configuration()
        configuration.fetching.readAheadBytes = 128 << 10
        let environment = CacheEnvironment(
            time: time, random: random, transport: origin, control: lanes[1], indexLane: lanes[2], dataLanes: [lanes[3], lanes[4]],
            shutDown: { [lanes] in for lane in lanes { lane.shutdown() } })
        cache = try MediaCache(configuration: configuration, environment: environment, store: MemoryStore())
        world = PlaybackWorld(time: time, random: random)
        var habits = PlayerHabits.random(length: 300_000, using: random)
        habits.tick = .milliseconds(3)
        habits.retryDelay = .milliseconds(5)
        self.habits = habits
        state = Locked(State())
    }

    var failures: [String] { state.withLock { $0.failures } }

    // MARK: Playing

    /// Plays the whole queue, with random actions of an app in between, until the queue is empty.
    func play() async {
        open()
        for _ in 0..<random.number(in: 2...6) {
            let (what, seconds) = (random.next(below: 5), Double(random.number(in: 0...30)) / 100)
            _ = time.after(.milliseconds(random.number(in: 0...150)), on: world.main) { [weak self] in self?.act(what, seconds) }
        }
        await until { self.hasEnded }
    }

    private func open() {
        let player = AVQueuePlayer(items: [])
        let media = resources.map { resource in
            SimulatedMedia.random(length: resource.length, seconds: 1...1, using: random) {
                resource.content.firstDifference(in: $0, at: $1)
            }
        }
        let urls = resources.map(\.url)
        let simulated = SimulatedPlayer(driving: player, habits: habits, world: world) { item in
            guard let asset = item.mediaAsset as? CachingAVURLAsset, let index = urls.firstIndex(of: asset.originalURL.absoluteString)
            else { return nil }
            var media = media[index]
            media.seconds = 0.3
            return media
        }
        state.withLock { ($0.player, $0.simulated) = (player, simulated) }
        for resource in resources { player.insert(item(resource), after: nil) }
        world.main.post { player.setRate(1) }
    }

    private func item(_ resource: VirtualResource) -> AVPlayerItem {
        let asset = cache.asset(for: URL(string: resource.url).unsafelyUnwrapped)
        state.withLock { $0.assets.append(WeakAsset(asset: asset)) }
        return AVPlayerItem(asset: asset)
    }

    /// Performs one action of an app, on the main queue.
    private func act(_ what: UInt64, _ seconds: Double) {
        guard let player = state.withLock({ $0.player }) else { return }
        switch what {
        case 0, 1: player.seek(to: CMTime(seconds: seconds, preferredTimescale: 1000))
        case 2: player.replaceCurrentItem(with: item(resources[0]))
        case 3: player.advanceToNextItem()
        default: player.insert(item(resources[1]), after: nil)
        }
    }

    /// Whether the queue is empty or the current item has failed.
    private var hasEnded: Bool {
        guard let current = state.withLock({ $0.player })?.state.withLock({ $0.items.first }) else { return true }
        guard let error = current.state.withLock({ $0.error }) else { return false }
        state.withLock { $0.failures.append("\(error)") }
        return true
    }

    // MARK: The end

    /// Releases everything, and returns leaked objects and every breach of the contract.
    func windUp() async -> [String] {
        state.withLock { old in
            let gone = (old.player, old.simulated)
            (old.player, old.simulated) = (nil, nil)
            return gone
        }.0?.replaceCurrentItem(with: nil)
        // Running jobs keep the assets until they have ended.
        await until { self.state.withLock { $0.assets.allSatisfy { $0.asset == nil } } }
        await cache.close()
        world.journal.checkKept()
        var left = world.journal.breaches.map(\.description)
        let total = Self.lengths.reduce(0, +), fetched = cache.statistics.fetchedBytes
        if fetched > total { left.append("fetched \(fetched) of \(total) bytes") }
        return left
    }

    /// Waits until the condition is met, checking it every few milliseconds on the main queue.
    private func until(_ isMet: @escaping @Sendable () -> Bool) async {
        await withCheckedContinuation { continuation in look(isMet) { continuation.resume() } }
    }

    private func look(_ isMet: @escaping @Sendable () -> Bool, _ done: @escaping @Sendable () -> Void) {
        _ = time.after(.milliseconds(5), on: world.main) { [self] in isMet() ? done() : look(isMet, done) }
    }
}
#endif
