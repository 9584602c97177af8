import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct `A cache that runs for long` {
    private let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 1, length: 200_000)

    @Test func `a song is stored after 65 536 responses that stored nothing`() async throws {
        let store = try Bench.sqlite(on: MemoryDisk())
        let world = try EngineWorld([song], store: store)
        // Generations that earlier responses used up. The loop below makes the last of them.
        for _ in 0..<65_500 { _ = store.makeGeneration() }
        for number in 0..<40 {
            await #expect(throws: CacheError.self) { try await world.cache.reader(for: "http://origin.test/none\(number)").bytes() }
        }
        try await world.play(song)
        #expect(world.passes == [])
        await world.cache.close()
    }

    /// A store whose longest unused resources have no bytes.
    private static func storeWithEmpty(_ count: Int) throws -> SQLiteStore {
        let store = try Bench.sqlite(on: MemoryDisk())
        for number in 0..<count { try store.commit(StoreSample("http://origin.test/?n=\(number)").commit(store.makeGeneration())) }
        return store
    }

    @Test func `eviction makes room for a song behind thousands of resources without bytes`() async throws {
        let songs = (0..<4).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: 1 << 20) }
        let world = try EngineWorld(songs, store: Self.storeWithEmpty(4_200)) { $0.limits.quotaBytes = 3 << 20 }
        for song in songs { try await world.play(song) }
        #expect(world.passes == [])
        await world.cache.close()
    }
}
