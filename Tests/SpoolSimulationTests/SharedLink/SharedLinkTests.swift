import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
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
        return Run(player: player.measures, othersBytes: stored)
    }

    /// The least part of each value that is left to a player beside others.
    private static let least = 0.95

    @Test func `preloads and downloads cost a player less than a twentieth of its throughput and its time`() throws {
        for seed in Seeds.list(count: 20, nightly: 10_000) {
            let scene = Scene(SeededRandom(seed: seed))
            let alone = try Self.run(seed, scene, withOthers: false).player
            let beside = try Self.run(seed, scene, withOthers: true)
            func rate(_ run: LinkPlayer.Measures) -> Double { Double(run.playedBytes) / Double(run.elapsed) }
            let context = "SPOOL_SEED=\(seed): alone \(alone), beside others \(beside)"
            #expect(rate(beside.player) >= Self.least * rate(alone), "\(context)")
            #expect(Double(beside.player.waits) <= Double(alone.waits) / Self.least, "\(context)")
            #expect(Double(beside.player.stalls) <= Double(alone.stalls) / Self.least, "\(context)")
            #expect(beside.othersBytes > 0, "\(context)")
        }
    }
}
