import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct `Pinned resources` {
    private let songs = (0..<4).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: 3 << 20) }

    /// Room for three of the songs. Beside the pinned song and the one that plays there is one
    /// unused song, so no song is cut while it plays.
    private static let quota: Int64 = 10 << 20

    private func isComplete(_ song: VirtualResource, in world: EngineWorld) async throws -> Bool {
        try await world.cache.status(of: world.key(song))?.isComplete ?? false
    }

    @Test func `a pinned resource stays while others are evicted, and is evicted in its turn once unpinned`() async throws {
        let world = try EngineWorld(songs) { $0.limits.quotaBytes = Self.quota }
        let first = try world.key(songs[0])
        #expect(try await world.cache.pin(first))
        #expect(try await !world.cache.pin(first))
        for song in songs { try await world.play(song) }
        #expect(try await isComplete(songs[0], in: world))
        #expect(try await world.cache.status(of: first)?.isPinned == true)
        #expect(try await !isComplete(songs[1], in: world))
        #expect(try await world.cache.unpin(first))
        #expect(try await !world.cache.unpin(first))
        for song in songs.dropFirst() { try await world.play(song) }
        #expect(try await !isComplete(songs[0], in: world))
        await world.cache.close()
    }

    @Test func `a temporary pin ends with its object, and a permanent pin outlives it`() async throws {
        let world = try EngineWorld(songs) { $0.limits.quotaBytes = Self.quota }
        let keys = try songs.map { try world.key($0) }
        do {
            let pins = [try world.cache.temporaryPin(keys[0]), try world.cache.temporaryPin(keys[0])]
            for song in songs { try await world.play(song) }
            #expect(try await isComplete(songs[0], in: world))
            #expect(try await world.cache.status(of: keys[0])?.isPinned == false)
            withExtendedLifetime(pins) {}
        }
        try await world.cache.pin(keys[3])
        do { _ = try world.cache.temporaryPin(keys[3]) }
        for song in songs.prefix(3) { try await world.play(song) }
        #expect(try await isComplete(songs[3], in: world))
        await world.cache.close()
    }

    @Test func `the sizes are those of downloads, of pins and of the rest, each byte once`() async throws {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        let store = try SQLiteStore(directory: "/cache", fileSystem: MemoryDisk(), random: SeededRandom(seed: 1), options: options)
        let world = try EngineWorld(songs, store: store)
        let empty = try await world.cache.storedSizes()
        #expect(empty.downloadedBytes == 0 && empty.pinnedBytes == 0 && empty.streamedBytes == 0)
        for song in songs { try await world.play(song) }
        try await world.cache.pin(world.key(songs[0]))
        // A download that is pinned as well is a download.
        try await world.cache.pin(world.key(songs[1]))
        try await world.cache.downloads.add(songs[1].url)
        let sizes = try await world.cache.storedSizes()
        #expect(sizes.downloadedBytes >= 3 << 20 && sizes.downloadedBytes < 4 << 20)
        #expect(sizes.pinnedBytes >= 3 << 20 && sizes.pinnedBytes < 4 << 20)
        #expect(try await sizes.downloadedBytes + sizes.pinnedBytes + sizes.streamedBytes == world.cache.totalSizeBytes())
        #expect(sizes.streamedBytes >= 6 << 20)
        await world.cache.close()
    }

    @Test func `removing a resource removes its pin`() async throws {
        let world = try EngineWorld(songs)
        let key = try world.key(songs[0])
        try await world.cache.pin(key)
        try await world.play(songs[0])
        try await world.cache.remove(key)
        #expect(try await !world.cache.unpin(key))
        await world.cache.close()
    }
}
