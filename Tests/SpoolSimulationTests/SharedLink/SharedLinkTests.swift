import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// A player on a link of 8 MiB/s and 40 ms, alone and beside eight preloads and two downloads.
@Suite struct SharedLinkTests {
    private static let host = "http://origin.test/"

    private struct Scene {
        var bytesPerSecond: Int64
        var filmBytes: Int64
        var parts: [LinkPlayer.Part]
        var preloadBytes: [Int64]
        var downloadBytes: [Int64]
        var share = 0.5
        /// The time from the start of the others to that of the player.
        var delay: Nanoseconds

        init(_ numbers: SeededRandom) {
            func number(_ range: ClosedRange<Int64>) -> Int64 {
                range.lowerBound + Int64(numbers.next() % UInt64(range.upperBound - range.lowerBound + 1))
            }
            let rate = number(512 << 10...4 << 20)
            bytesPerSecond = rate
            filmBytes = 64 << 20
            // A start, and two seeks to places that are not stored.
            parts = [0, 20 << 20, 40 << 20].map { LinkPlayer.Part(start: $0 + number(0...4 << 20), bytes: rate * number(1...3)) }
            preloadBytes = (0..<8).map { _ in number(256 << 10...2 << 20) }
            downloadBytes = (0..<2).map { _ in number(4 << 20...12 << 20) }
            delay = .milliseconds(number(0...1000))
        }
    }

    private struct Run {
        var player: LinkPlayer.Measures
        /// The bytes of the others that were stored when the player was done.
        var othersBytes: Int64
    }

    private static func run(_ seed: UInt64, _ scene: Scene, withOthers: Bool) throws -> Run {
        let simulator = Simulator(seed: seed)
        defer { simulator.shutdown() }
        let film = host + "film.bin"
        let others = (scene.preloadBytes + scene.downloadBytes).enumerated().map { ("\(host)\($0).bin", $1) }
        let link = SharedLink(Dictionary(uniqueKeysWithValues: others + [(film, scene.filmBytes)]), simulator)
        var configuration = Configuration()
        configuration.network.shareBesidePlayers = scene.share
        let environment = CacheEnvironment(
            time: simulator, random: simulator, transport: link, control: simulator.mailbox("control"),
            indexLane: simulator.mailbox("index"),
            dataLanes: [simulator.mailbox("data")])
        let cache = try MediaCache(configuration: configuration, environment: environment, store: MemoryStore(capacityBytes: 256 << 20))
        let preloads = withOthers ? try others.map { try cache.preload($0.0, .whole) } : []
        simulator.advance(by: scene.delay)
        let player = LinkPlayer(cache, simulator, url: film, bytesPerSecond: scene.bytesPerSecond, parts: scene.parts)
        simulator.mailbox("start").post { player.start() }
        try #require(simulator.run(until: { player.isOver }, maxSteps: 2_000_000), "the player does not end")
        let stored = preloads.reduce(0) { $0 + (cache.storedNow(of: $1.key)?.totalBytes ?? 0) }
        // An open cache and its transfers would stay in memory.
        let isClosed = Locked(false)
        cache.close { isClosed.withLock { $0 = true } }
        try #require(simulator.run(until: { isClosed.withLock { $0 } }, maxSteps: 2_000_000), "the cache does not close")
        return Run(player: player.measures, othersBytes: stored)
    }

    /// The least part of each value that is left to players beside others.
    private static let least = 0.95
    /// The most that others may take from one player at each start and seek: two round trips, in
    /// which what is on its way crosses the link.
    private static let mostDelay = 4 * SharedLink.latency

    /// The measures of the players of all seeds together.
    private struct Sum {
        var rates = 0.0
        var waits: Nanoseconds = 0
        var stalls: Nanoseconds = 0

        mutating func add(_ player: LinkPlayer.Measures) {
            rates += Double(player.playedBytes) / Double(player.elapsed)
            waits += player.waits
            stalls += player.stalls
        }
    }

    @Test func `preloads and downloads cost players less than a twentieth of their throughput and their time`() throws {
        var alone = Sum(), beside = Sum(), othersBytes: Int64 = 0, playedBytes: Int64 = 0
        for seed in Seeds.list(count: 20, nightly: 10_000) {
            let scene = Scene(SeededRandom(seed: seed))
            let undisturbed = try Self.run(seed, scene, withOthers: false).player
            let run = try Self.run(seed, scene, withOthers: true)
            let context = "SPOOL_SEED=\(seed): alone \(undisturbed), beside others \(run)"
            let delay = Self.mostDelay * Int64(scene.parts.count)
            #expect(run.player.elapsed <= undisturbed.elapsed + delay, "\(context)")
            #expect(run.player.waits <= undisturbed.waits + delay, "\(context)")
            #expect(run.player.stalls <= undisturbed.stalls + delay, "\(context)")
            alone.add(undisturbed)
            beside.add(run.player)
            othersBytes += run.othersBytes
            playedBytes += run.player.playedBytes
        }
        #expect(beside.rates >= Self.least * alone.rates)
        #expect(Double(beside.waits) <= Double(alone.waits) / Self.least)
        #expect(Double(beside.stalls) <= Double(alone.stalls) / Self.least)
        // The others are slower than the player, and do not stand still.
        #expect(othersBytes >= playedBytes / 10)
    }
}
