import AVFoundation
import Dispatch
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// One play of a made-up file from beginning to end, through the AVFoundation door, with the
/// simulated player of the double, on virtual time and a real disk. The row `play-memory` starts it
/// as a separate process.
///
/// Every byte is compared. Its memory is that of a play in an app, and that of the double and the
/// simulator besides.
struct VirtualPlay {
    /// The length of the file.
    let bytes: Int64
    /// The directory of the store.
    let directory: String

    /// The bytes of the media in a second: 24 Mbit/s, as in good video.
    private static let bytesPerSecond: Int64 = 3_000_000
    /// The bytes that the origin sends in a second, and in one call.
    private static let originBytesPerSecond: Int64 = 60_000_000
    private static let chunkBytes = 200_000...262_144
    /// The quota of the store: more than the short play, a small part of the long one.
    private static let quotaBytes: Int64 = 256 << 20
    /// The largest number of steps. A longer run is a livelock: 20 GiB take a few millions.
    private static let maxSteps = 200_000_000

    private static let url = "http://origin.test/film.mp4"

    /// Plays, and prints the peak of resident memory in bytes.
    ///
    /// - Throws: An error that describes the failure.
    func run() throws {
        let simulator = Simulator(seed: 1)
        defer { simulator.shutdown() }
        let resource = VirtualResource(url: Self.url, seed: 1, length: bytes)
        let cache = try makeCache(simulator, resource)
        let world = PlaybackWorld(
            time: simulator, random: simulator, main: simulator.mailbox("main"), mailbox: { simulator.mailbox($0) })
        let player = AVQueuePlayer(items: [])
        let simulated = SimulatedPlayer(driving: player, habits: Self.habits, world: world) { _ in
            SimulatedMedia(
                kind: .fastStart, seconds: Double(bytes) / Double(Self.bytesPerSecond), headBytes: 300_000,
                firstDifference: { resource.content.firstDifference(in: $0, at: $1) })
        }
        player.insert(AVPlayerItem(asset: try makeAsset(cache, simulator)), after: nil)
        _ = simulator.after(0, on: world.main) { player.setRate(1) }
        guard simulator.run(until: { player.state.withLock { $0.items.isEmpty } }, maxSteps: Self.maxSteps) else {
            throw BenchmarkError("the play did not end: \(simulated.history.map(\.phase)) \(world.journal.breaches)")
        }
        world.journal.checkKept()
        try check(simulated, world.journal)
        let isClosed = Locked(false)
        cache.close { isClosed.withLock { $0 = true } }
        guard simulator.run(until: { isClosed.withLock { $0 } }) else { throw BenchmarkError("the cache did not close") }
        print(ProcessUsage.ownPeakResidentBytes)
    }

    private func makeCache(_ simulator: Simulator, _ resource: VirtualResource) throws -> MediaCache {
        let origin = ScriptedOrigin([resource], mailbox: simulator.mailbox("origin"), time: simulator, random: simulator) { _, _ in
            .slow(latency: .milliseconds(20), bytesPerSecond: Self.originBytesPerSecond, chunkBytes: Self.chunkBytes)
        }
        var environment = CacheEnvironment(
            time: simulator, random: simulator, transport: origin, control: simulator.mailbox("control"),
            indexLane: simulator.mailbox("index"), dataLanes: [simulator.mailbox("data")])
        environment.syncLane = simulator.mailbox("sync")
        var configuration = Configuration()
        configuration.limits.quotaBytes = Self.quotaBytes
        let store = try SQLiteStore(directory: directory, fileSystem: POSIXFileSystem(), random: simulator)
        return try MediaCache(configuration: configuration, environment: environment, store: store)
    }

    private func makeAsset(_ cache: MediaCache, _ simulator: Simulator) throws -> CachingAVURLAsset {
        guard let url = URL(string: Self.url) else { throw BenchmarkError("\(Self.url) is no URL") }
        var factory = CachingAssetFactory(cache: cache)
        factory.makeQueue = { LoaderQueue(queue: DispatchQueue(label: "unused"), mailbox: simulator.mailbox("asset")) }
        return factory.asset(for: url)
    }

    private static var habits: PlayerHabits {
        var habits = PlayerHabits()
        habits.highWaterBytes = 24 << 20
        habits.lowWaterBytes = 6 << 20
        return habits
    }

    private func check(_ simulated: SimulatedPlayer, _ journal: ContractJournal) throws {
        guard journal.breaches.isEmpty else { throw BenchmarkError("\(journal.breaches)") }
        let delivered = simulated.history.reduce(into: ByteRangeSet()) { $0.formUnion($1.delivered) }.totalBytes
        guard delivered == bytes else { throw BenchmarkError("\(delivered) of \(bytes) bytes were played") }
    }
}
