import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// A version that the origin contradicts before its first bytes are in the index.
@Suite(.timeLimit(.minutes(20))) struct ForgottenVersionTests {
    @Test func `a version that is forgotten before its first commit leaves no file`() async throws {
        let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 3, length: 8 << 20)
        let disk = MemoryDisk()
        // Without a timer that fires, nothing is committed.
        let world = try EngineWorld(
            [film], store: Bench.sqlite(on: disk), time: ManualTime(),
            script: { request, _ in
                let isFirst = request.fields["Range"] == "bytes=0-"
                return isFirst ? .stall(afterBytes: 400_000, .correct) : .status(416, fields: ["Content-Range": "bytes */1000"])
            })
        let first = try world.cache.reader(for: film.url)
        #expect(try await first.read(at: 0, count: 100_000) == world.expected(film, 0..<100_000))
        _ = try await world.status(of: film) { $0.stored.totalBytes > 0 }
        let file = try dataFile(disk)
        let second = try world.cache.reader(for: film.url)
        await #expect(throws: CacheError.self) { _ = try await second.read(at: 6 << 20, count: 10) }
        first.cancel()
        second.cancel()
        try await eventually("the file was gone") { try disk.status(file) == nil }
        await world.cache.close()
    }

    @Test func `a version leaves the store with the head of another one, and no later`() async throws {
        let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 5, length: 1 << 20)
        let isStopped = Locked(false)
        let world = try EngineWorld(
            [song], script: { _, _ in isStopped.withLock { $0 } ? .stall(afterBytes: 0, .correct) : .correct })
        try await world.play(song)
        #expect(try await world.cache.count() == 1)
        world.origin.serve(song.version(seed: 90))
        isStopped.withLock { $0 = true }
        let reader = try world.cache.reader(for: song.url, options: ReadOptions(mode: .reload))
        _ = try await reader.contentInformation()
        #expect(try await world.cache.count() == 0)
        reader.cancel()
        await world.cache.close()
    }

    /// The path of the only data file.
    private func dataFile(_ disk: MemoryDisk) throws -> String {
        var path = "/cache/data"
        for _ in 0..<3 {
            let name = try #require(try disk.list(path).first)
            path += "/\(name)"
        }
        return path
    }
}
