import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct `The quota` {
    private let songs = (0..<6).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: 3 << 20) }

    /// Whether the whole resource is stored.
    private func isComplete(_ song: VirtualResource, _ world: EngineWorld) async throws -> Bool {
        try await world.cache.status(of: world.key(song))?.isComplete ?? false
    }

    @Test func `the longest unused resource is evicted, and the total stays within the quota`() async throws {
        let world = try EngineWorld(songs) { $0.limits.quotaBytes = 10 << 20 }
        for song in songs.prefix(3) { try await world.play(song) }
        try await world.play(songs[0])
        for song in songs.dropFirst(3) {
            try await world.play(song)
            #expect(try await world.cache.totalSizeBytes() <= 10 << 20)
        }
        for song in songs.suffix(2) { #expect(try await isComplete(song, world)) }
        #expect(try await world.cache.status(of: world.key(songs[1])) == nil)
        #expect(try await world.cache.status(of: world.key(songs[2])) == nil)
        await world.cache.close()
    }

    @Test func `a resource keeps its beginning longest, and plays again from the remaining bytes`() async throws {
        let world = try EngineWorld(songs) { $0.limits.quotaBytes = 5 << 20 }
        try await world.play(songs[0])
        try await world.play(songs[1])
        let left = try #require(try await world.cache.status(of: world.key(songs[0]))).stored
        // The exact number depends on how many writes were under way at once, since each reserves
        // whole pages. EvictionCutTests checks that eviction takes no more than is asked for.
        #expect(left.contains(0) && left.totalBytes <= 2 << 20, "\(left)")
        let before = world.cache.statistics.fetchedBytes
        try await world.play(songs[0])
        #expect(world.cache.statistics.fetchedBytes - before == songs[0].length - left.totalBytes)
        await world.cache.close()
    }

    @Test func `a resource larger than the quota plays to its end and keeps a window`() async throws {
        let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 9, length: 30 << 20)
        let world = try EngineWorld([film]) { $0.limits.quotaBytes = 5 << 20 }
        let bytes = try await world.cache.reader(for: film.url).bytes()
        #expect(bytes == world.expected(film, 0..<film.length))
        let stored = try await world.status(of: film) { $0.fetches == 0 && $0.readers == 0 }.stored
        // The exact number depends on how many bytes were on their way to the disk at once.
        #expect(stored.totalBytes >= 1 << 20 && stored.contains(film.length - 1), "\(stored)")
        #expect(try await world.cache.totalSizeBytes() <= 5 << 20)
        await world.cache.close()
    }

    @Test(arguments: [false, true])
    func `a pinned resource larger than the quota keeps its bytes, and the rest passes through`(isTemporary: Bool) async throws {
        let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 9, length: 30 << 20)
        let world = try EngineWorld([film]) { $0.limits.quotaBytes = 5 << 20 }
        let pin = isTemporary ? try world.cache.temporaryPin(film.url) : nil
        if !isTemporary { try await world.cache.pin(film.url) }
        let bytes = try await world.cache.reader(for: film.url).bytes()
        #expect(bytes == world.expected(film, 0..<film.length))
        let stored = try await world.status(of: film) { $0.fetches == 0 && $0.readers == 0 }.stored
        // The exact number depends on how many bytes were on their way to the disk at once.
        #expect(stored.totalBytes >= 1 << 20 && stored.contains(0), "\(stored)")
        #expect(!world.events.all.contains { if case .evicted = $0 { true } else { false } })
        #expect(try await world.cache.totalSizeBytes() <= 5 << 20)
        withExtendedLifetime(pin) {}
        await world.cache.close()
    }

    @Test func `a resource larger than the quota takes at most half of it from others`() async throws {
        let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 9, length: 60 << 20)
        let world = try EngineWorld([film] + songs) { $0.limits.quotaBytes = 16 << 20 }
        for song in songs.prefix(5) { try await world.play(song) }
        let bytes = try await world.cache.reader(for: film.url).bytes()
        #expect(bytes == world.expected(film, 0..<film.length))
        let stored = try await world.status(of: film) { $0.fetches == 0 && $0.readers == 0 }.stored
        #expect(stored.totalBytes >= 1 << 20, "\(stored)")
        // 15 of 16 MiB were taken. 6 MiB are two songs.
        for song in songs[3..<5] { #expect(try await isComplete(song, world), "\(song.url)") }
        #expect(try await world.cache.totalSizeBytes() <= 16 << 20)
        await world.cache.close()
    }

    @Test func `a store larger than the quota keeps its size with keepsPresentSize`() async throws {
        let directory = try ScratchDirectory()
        func open(_ change: (inout StorageLimits) -> Void) throws -> EngineWorld {
            let store = try SQLiteStore(directory: directory.path, fileSystem: POSIXFileSystem(), random: SystemRandom())
            return try EngineWorld(songs, store: store) { change(&$0.limits) }
        }
        let before = try open { $0.quotaBytes = 100 << 20 }
        for song in songs.prefix(4) { try await before.play(song) }
        await before.cache.close()
        let world = try open {
            $0.quotaBytes = 4 << 20
            $0.keepsPresentSize = true
        }
        try await world.play(songs[4])
        // One song was evicted for the new one, and no more.
        #expect(try await world.cache.totalSizeBytes() > 9 << 20)
        #expect(try await world.cache.totalSizeBytes() <= 12 << 20 + 4096)
        await world.cache.close()
    }

    @Test func `32 readers evict unused resources in order of last use, never pinned or used ones`() async throws {
        let length: Int64 = 256 << 10
        let old = (0..<24).map { VirtualResource(url: "http://origin.test/old\($0).mp3", seed: UInt64($0), length: length) }
        let new = (0..<32).map { VirtualResource(url: "http://origin.test/new\($0).mp3", seed: UInt64(100 + $0), length: length) }
        let world = try EngineWorld(old + new) { $0.limits.quotaBytes = 25 * length }
        for song in old { try await world.play(song) }
        // The songs play again in reverse order, because the last use counts.
        for song in old.reversed() { try await world.play(song) }
        let pinned = try [3, 20].map { try world.key(old[$0]) }
        for key in pinned { try await world.cache.pin(key) }
        let inUse = [7, 22, 23]
        let readers = try inUse.map { try world.cache.reader(for: old[$0].url) }
        for reader in readers { _ = try await reader.read(at: 0, count: 1000) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for song in new {
                group.addTask {
                    let bytes = try await world.cache.reader(for: song.url).bytes()
                    #expect(bytes == world.expected(song, 0..<length))
                }
            }
            try await group.waitForAll()
        }
        // Some of them are evicted already.
        for song in new {
            try await eventually("\(song.url) had no fetch and no reader") {
                guard let status = try await world.cache.status(of: world.key(song)) else { return true }
                return status.fetches == 0 && status.readers == 0
            }
        }
        var order: [ResourceKey] = []
        for case .evicted(let key, _, _) in world.events.all where !order.contains(key) { order.append(key) }
        let expected = try old.indices.reversed().filter { ![3, 20].contains($0) && !inUse.contains($0) }.map { try world.key(old[$0]) }
        #expect(Array(order.prefix(expected.count)) == expected)
        #expect(!order.contains { pinned.contains($0) })
        for song in inUse.map({ old[$0] }) { #expect(try await isComplete(song, world), "\(song.url)") }
        #expect(try await world.cache.totalSizeBytes() <= 25 * length)
        withExtendedLifetime(readers) {}
        await world.cache.close()
    }

    @Test func `on a real disk the files never occupy more than the quota`() async throws {
        let quota: Int64 = 6 << 20
        let directory = try ScratchDirectory()
        let store = try SQLiteStore(directory: directory.path, fileSystem: POSIXFileSystem(), random: SystemRandom())
        let world = try EngineWorld(songs, store: store) { $0.limits.quotaBytes = quota }
        let songs = songs
        let isOver = Locked(false)
        async let most = Task.detached {
            var most: Int64 = 0
            var isLast = false
            // One look comes after the last reader, however late this task begins.
            repeat {
                isLast = isOver.withLock { $0 }
                most = max(most, directory.allocatedBytes(below: "data"))
                await Task.yield()
            } while !isLast
            return most
        }.value
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in 0..<8 {
                group.addTask {
                    for turn in 0..<3 {
                        let song = songs[(reader + turn) % songs.count]
                        let bytes = try await world.cache.reader(for: song.url).bytes()
                        #expect(bytes == world.expected(song, 0..<song.length))
                    }
                }
            }
            try await group.waitForAll()
        }
        isOver.withLock { $0 = true }
        let found = await most
        #expect(found > quota / 2 && found <= quota + (1 << 20), "\(found) bytes were occupied")
        await world.cache.close()
    }

    @Test func `the oldest resource is evicted when there are more than the maximum count`() async throws {
        let world = try EngineWorld(songs) { $0.limits.maximumCount = 3 }
        for song in songs { try await world.play(song) }
        #expect(try await world.cache.resources().map(\.url) == songs.suffix(3).map(\.url))
        await world.cache.close()
    }
}

@Suite(.timeLimit(.minutes(20))) struct `A store that fails again and again` {
    @Test func `a store with repeated failures rests with an event, and readers get their bytes`() async throws {
        let songs = (0..<4).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: 300_000) }
        // The clock stands still. On a busy machine the rest could end before the last song is
        // requested.
        let world = try EngineWorld(songs, store: MemoryStore(capacityBytes: 0), time: ManualTime())
        func rests() -> [CacheEvent] { world.events.all.filter { if case .storeRests(30) = $0 { true } else { false } } }
        for (index, song) in songs.enumerated() {
            #expect(try await world.cache.reader(for: song.url).bytes() == world.expected(song, 0..<song.length))
            // A reader has its bytes before the disk refuses them.
            try await eventually("an event reported that \(song.url) is not stored") { world.passes.count > index }
            // The event of the third failure precedes the event of the rest.
            if index == 2 { try await eventually("the store rested") { !rests().isEmpty } }
        }
        #expect(rests().count == 1)
        let reasons = world.passes
        #expect(
            reasons.prefix(3).allSatisfy { $0.contains("no room") } && reasons.last?.contains("again after a pause") == true,
            "\(reasons)")
        await world.cache.close()
    }
}

@Suite struct `Limits that allow nothing` {
    struct Mistake: CustomStringConvertible, Sendable {
        var name: String
        var change: @Sendable (inout StorageLimits) -> Void
        var description: String { name }
    }

    static let mistakes = [
        Mistake(name: "limits.quotaBytes") { $0.quotaBytes = 0 }, Mistake(name: "limits.quotaBytes") { $0.quotaBytes = -1 },
        Mistake(name: "limits.maximumAge") { $0.maximumAge = .zero }, Mistake(name: "limits.maximumCount") { $0.maximumCount = 0 },
        Mistake(name: "limits.minimumFreeBytes") { $0.minimumFreeBytes = 0 },
    ]

    @Test(arguments: mistakes)
    func `a limit that allows nothing is refused with a hint at the right value`(mistake: Mistake) throws {
        do {
            _ = try EngineWorld([]) { mistake.change(&$0.limits) }
            Issue.record("\(mistake) was accepted")
        } catch let error as CacheError {
            #expect(error.code == .configuration)
            #expect(error.message.contains(mistake.name) && error.message.contains("nil for no limit"))
        }
    }

    @Test func `a store without any limit is allowed`() throws {
        _ = try EngineWorld([]) { configuration in
            configuration.limits.quotaBytes = nil
            configuration.limits.minimumFreeBytes = nil
        }
    }
}
