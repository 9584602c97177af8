import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Readers that go on with their version beside others that get a newer one.
@Suite(.timeLimit(.minutes(20))) struct PastVersionTests {
    private let songs = (0..<6).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64(50 + $0), length: 1 << 20) }

    @Test(arguments: [true, false])
    func `a reader with all its bytes stops no other reader from getting the new version`(isReload: Bool) async throws {
        let song = songs[0], newer = song.version(seed: 90)
        let fields: HTTPFields = ["Cache-Control": isReload ? "max-age=600" : "max-age=0, stale-while-revalidate=600"]
        let world = try EngineWorld(
            [song], configuration: { $0.freshness.policy = .standard }, script: { _, _ in .fields(fields, .correct) })
        try await world.play(song)
        let paused = try world.cache.reader(for: song.url)
        #expect(try await paused.read(at: 0, count: 1000) == world.expected(song, 0..<1000))
        world.origin.serve(newer)
        let options = ReadOptions(mode: isReload ? .reload : .automatic)
        try await eventually("a reader got the new version") {
            try await world.cache.reader(for: song.url, options: options).bytes() == world.expected(newer, 0..<newer.length)
        }
        #expect(try await paused.read(at: 1000, count: 500_000) == world.expected(song, 1000..<501_000))
        await world.cache.close()
    }

    @Test func `no byte of a version goes while a reader of it goes on beside a newer one`() async throws {
        let world = try EngineWorld(songs) {
            $0.limits.quotaBytes = 4 << 20
            $0.freshness.policy = .standard
        }
        try await world.play(songs[0])
        let paused = try world.cache.reader(for: songs[0].url)
        #expect(try await paused.read(at: 0, count: 1000) == world.expected(songs[0], 0..<1000))
        world.origin.serve(songs[0].version(seed: 90))
        _ = try await world.cache.reader(for: songs[0].url, options: ReadOptions(mode: .reload)).bytes()
        for song in songs[1...] { _ = try await world.cache.reader(for: song.url).bytes() }
        #expect(try await paused.read(at: 1000, count: 500_000) == world.expected(songs[0], 1000..<501_000))
        await world.cache.close()
    }

    @Test func `bytes of an earlier process are verified after another version has taken their place`() async throws {
        let song = songs[0], newer = song.version(seed: 90), disk = MemoryDisk()
        let first = try EngineWorld([song], store: Bench.sqlite(on: disk))
        try await first.play(song)
        await first.cache.close()
        let world = try EngineWorld([song], store: Bench.sqlite(on: disk))
        let paused = try world.cache.reader(for: song.url)
        #expect(try await paused.read(at: 0, count: 1000) == world.expected(song, 0..<1000))
        world.origin.serve(newer)
        let other = try world.cache.reader(for: song.url, options: ReadOptions(mode: .reload))
        #expect(try await other.bytes() == world.expected(newer, 0..<newer.length))
        _ = try await world.status(of: newer) { $0.isComplete && $0.fetches == 0 }
        let rest = try await paused.read(at: 1000, count: Int(song.length) - 1000)
        #expect(rest == world.expected(song, 1000..<song.length))
        await world.cache.close()
    }

    @Test func `a gap is asked by the request of the reader that waits for it`() async throws {
        let film = VirtualResource(url: "http://origin.test/film.mp4?t=good", seed: 7, length: 8 << 20)
        let world = try EngineWorld([film], script: { request, _ in request.url.hasSuffix("good") ? .correct : .status(403) })
        let key = try world.key(film)
        let valid = try world.cache.reader(for: film.url, key: key)
        #expect(try await valid.read(at: 0, count: 1000) == world.expected(film, 0..<1000))
        let expired = try world.cache.reader(for: "http://origin.test/film.mp4?t=expired", key: key)
        #expect(try await expired.read(at: 0, count: 1000) == world.expected(film, 0..<1000))
        #expect(try await valid.read(at: 7 << 20, count: 1000) == world.expected(film, 7 << 20..<(7 << 20) + 1000))
        await world.cache.close()
    }
}
