import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Removals of many resources at once, on an origin and a store of the test.
@Suite(.timeLimit(.minutes(20))) struct ClearingTests {
    private static let length: Int64 = 1 << 20
    private let songs = (0..<4).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: Self.length) }
    private let disk = MemoryDisk()
    private let time = ManualTime()

    private func openWorld(store: (any ResourceStore)? = nil) throws -> EngineWorld {
        try EngineWorld(songs, store: store ?? Bench.sqlite(on: disk), time: time)
    }

    private func play(_ song: VirtualResource, _ world: EngineWorld) async throws {
        #expect(try await world.cache.reader(for: song.url).bytes() == world.expected(song, 0..<song.length))
        _ = try await world.status(of: song) { $0.isComplete && $0.fetches == 0 && $0.readers == 0 }
        try await withCheckedContinuation { continuation in world.cache.enterReceived { continuation.resume(returning: $0) } }.get()
        time.advance(by: .seconds(1))
    }

    private func urls(_ world: EngineWorld) async throws -> [String] { try await world.cache.resources().map(\.url) }

    /// Adds a download and waits until it is complete.
    private func download(_ song: VirtualResource, _ world: EngineWorld) async throws {
        try await world.cache.downloads.add(song.url)
        try await world.cache.downloads.start()
        try await eventually("the download is complete") {
            time.advance(by: .milliseconds(100))
            return try await world.cache.downloads.list().first { $0.url == song.url }?.state == .complete
        }
    }

    /// The files of the store that contain a text.
    private func files(containing text: String, in directory: String = "/cache") throws -> [String] {
        try disk.list(directory).flatMap { name -> [String] in
            let path = "\(directory)/\(name)"
            guard let status = try disk.status(path) else { return [] }
            if status.isDirectory { return try files(containing: text, in: path) }
            var bytes = [UInt8](repeating: 0, count: Int(status.size))
            let file = try disk.open(path, .read)
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            return bytes.prefix(count).firstRange(of: text.utf8) == nil ? [] : [path]
        }
    }

    private func expectNothing(in world: EngineWorld) async throws {
        #expect(try await world.cache.count() == 0)
        #expect(try await world.cache.totalSizeBytes() == 0)
        #expect(try await world.cache.downloads.list().isEmpty)
        #expect(try await ResourceKey.pinnedWithoutBytes(in: world.cache).isEmpty)
    }

    @Test(arguments: [false, true])
    func `clearing removes what was played, and keeps downloads, pins and temporary pins`(inMemory: Bool) async throws {
        let world = try openWorld(store: inMemory ? MemoryStore() : nil)
        try await download(songs[0], world)
        for song in songs[1...] { try await play(song, world) }
        try await world.cache.pin(songs[1].url)
        let held = try world.cache.temporaryPin(songs[2].url)
        #expect(try await world.cache.clear() >= Self.length)
        #expect(try await urls(world) == songs[...2].map(\.url))
        #expect(try await world.cache.downloads.list().map(\.state) == [.complete])
        withExtendedLifetime(held) {}
        #expect(try await world.cache.clear() >= 0)
        await world.cache.close()
    }

    @Test func `clearing ends the readers of what goes, and no others`() async throws {
        let world = try openWorld()
        for song in songs[...1] { try await play(song, world) }
        try await world.cache.pin(songs[0].url)
        let (kept, removed) = (try world.cache.reader(for: songs[0].url), try world.cache.reader(for: songs[1].url))
        for reader in [kept, removed] { #expect(try await reader.read(at: 0, count: 10).count == 10) }
        try await world.cache.clear()
        #expect(try await kept.read(at: 1000, count: 10).count == 10)
        let error = await #expect(throws: CacheError.self) { _ = try await removed.read(at: 1000, count: 10) }
        #expect(error?.code == .removed)
        await world.cache.close()
    }

    @Test func `trimming removes the longest unused first, and nothing that is in use, pinned or downloaded`() async throws {
        let world = try openWorld()
        for song in songs { try await play(song, world) }
        let reader = try world.cache.reader(for: songs[0].url)
        #expect(try await reader.read(at: 0, count: 10).count == 10)
        try await world.cache.pin(songs[1].url)
        let size = try await world.cache.totalSizeBytes()
        try await world.cache.trim(toBytes: size)
        #expect(try await world.cache.count() == songs.count)
        try await world.cache.trim(toBytes: size - 1)
        #expect(try await urls(world) == [songs[0], songs[1], songs[3]].map(\.url))
        try await world.cache.trim(toBytes: 0)
        #expect(try await urls(world) == songs[...1].map(\.url))
        #expect(try await reader.read(at: 1000, count: 10).count == 10)
        await world.cache.close()
    }

    @Test func `trimming by time removes what was last used before it`() async throws {
        let world = try openWorld()
        for song in songs { try await play(song, world) }
        let time = try #require(try await world.cache.status(of: songs[2].url)?.lastAccess)
        #expect(try await world.cache.trim(unusedSince: time) >= 2 * Self.length)
        #expect(try await urls(world) == songs[2...].map(\.url))
        await world.cache.close()
    }

    @Test func `erasing everything leaves no download, no pin and no URL in any file`() async throws {
        let world = try openWorld()
        try await download(songs[0], world)
        for song in songs[1...] { try await play(song, world) }
        try await world.cache.pin(songs[1].url)
        try await world.cache.pin("http://origin.test/never-stored.mp3")
        #expect(try !files(containing: "origin.test").isEmpty)
        try await world.cache.eraseEverything()
        #expect(try files(containing: "origin.test").isEmpty)
        try await expectNothing(in: world)
        await world.cache.close()
        let next = try openWorld()
        try await expectNothing(in: next)
        try await play(songs[0], next)
        await next.cache.close()
        #expect(try !files(containing: "origin.test").isEmpty, "the search finds a URL that is stored")
    }

    @Test func `more resources than one page of candidates go, and the bytes of all are counted`() async throws {
        let many = (0..<EvictionCandidate.pageCount * 2 + 10).map { VirtualResource(url: "http://origin.test/\($0)", seed: 1, length: 100) }
        let world = try EngineWorld(many, store: MemoryStore())
        for one in many { _ = try await world.cache.reader(for: one.url).bytes() }
        try await eventually("all are stored") { try await world.cache.count() == many.count }
        let size = try await world.cache.totalSizeBytes()
        #expect(size > 0)
        #expect(try await world.cache.clear() == size)
        #expect(try await world.cache.count() == 0)
        await world.cache.close()
    }

    @Test(arguments: 0..<40)
    func `in any order of calls, nothing goes that has to stay`(seed: UInt64) async throws {
        let random = SeededRandom(seed: seed)
        let world = try openWorld(store: MemoryStore())
        var kept: Set<String> = []
        try await download(songs[0], world)
        kept.insert(songs[0].url)
        for _ in 0..<12 {
            let song = songs[Int(random.next() % UInt64(songs.count))]
            switch random.next() % 6 {
            case 0, 1: try await play(song, world)
            case 2:
                try await play(song, world)
                try await world.cache.pin(song.url)
                kept.insert(song.url)
            case 3: try await world.cache.clear()
            case 4: try await world.cache.trim(toBytes: Int64(random.next() % 4) << 20)
            default:
                try await world.cache.eraseEverything()
                kept = []
                #expect(try await urls(world).isEmpty, "seed \(seed)")
            }
            #expect(try await kept.isSubset(of: urls(world)), "seed \(seed)")
        }
        try await world.cache.clear()
        #expect(try await Set(urls(world)) == kept, "seed \(seed)")
        await world.cache.close()
    }
}
