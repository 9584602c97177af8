import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct `The limits besides the quota` {
    private let songs = (0..<6).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: 3 << 20) }
    private let time = ManualTime()

    private func sqlite(_ disk: MemoryDisk) throws -> SQLiteStore { try Bench.sqlite(on: disk) }

    private func isStored(_ song: VirtualResource, _ world: EngineWorld) async throws -> Bool {
        try await world.cache.status(of: world.key(song)) != nil
    }

    /// The limits for which resources were evicted.
    private func causes(_ world: EngineWorld) -> Set<EvictionCause> {
        Set(world.events.all.compactMap { if case .evicted(_, _, let cause) = $0 { cause } else { nil } })
    }

    private func urls(_ world: EngineWorld) async throws -> [String] { try await world.cache.resources().map(\.url) }

    /// Plays a resource and enters it in the index, because a clock that stands still triggers no
    /// commit.
    private func play(_ song: VirtualResource, _ world: EngineWorld) async throws {
        #expect(try await world.cache.reader(for: song.url).bytes() == world.expected(song, 0..<song.length))
        _ = try await world.status(of: song) { $0.isComplete && $0.fetches == 0 && $0.readers == 0 }
        try await withCheckedContinuation { continuation in world.cache.enterReceived { continuation.resume(returning: $0) } }.get()
    }

    // MARK: Age

    @Test func `a resource unused for the maximum age is evicted by the wall clock, and a recently used one stays`() async throws {
        let world = try EngineWorld(songs, time: time) { $0.limits.maximumAge = .seconds(3600) }
        for song in songs.prefix(3) { try await play(song, world) }
        try await world.cache.pin(world.key(songs[2]))
        time.advance(by: .seconds(50 * 60))
        // Used again. Its access time still waits in memory when the other resources are checked.
        try await play(songs[1], world)
        #expect(try await urls(world).count == 3, "no resource is too old yet")
        time.advance(by: .seconds(20 * 60))
        try await eventually("the first was too old") { try await !isStored(songs[0], world) }
        #expect(try await urls(world) == [songs[1].url, songs[2].url], "one was used a moment ago, the other is pinned")
        time.advance(by: .seconds(61 * 60))
        try await eventually("the second was too old") { try await !isStored(songs[1], world) }
        #expect(try await urls(world) == [songs[2].url])
        #expect(causes(world) == [.maximumAge])
        await world.cache.close()
    }

    @Test func `resources that became too old between two runs are evicted soon after the start`() async throws {
        let disk = MemoryDisk()
        let first = try EngineWorld(songs, store: sqlite(disk), time: time) { $0.limits.maximumAge = .seconds(3600) }
        for song in songs.prefix(2) { try await play(song, first) }
        await first.cache.close()
        time.advance(by: .seconds(2 * 3600))
        let second = try EngineWorld(songs, store: sqlite(disk), time: time) { $0.limits.maximumAge = .seconds(3600) }
        #expect(try await urls(second).count == 2, "readers are served before expired resources are evicted")
        time.advance(by: .seconds(2))
        try await eventually("both were evicted") { try await urls(second).isEmpty }
        #expect(disk.allocatedBytes(except: try disk.indexFiles) == 0)
        await second.cache.close()
    }

    // MARK: Count

    @Test func `resources above the maximum count are evicted soon after a start, pinned ones never`() async throws {
        let disk = MemoryDisk()
        let first = try EngineWorld(songs, store: sqlite(disk), time: time)
        for song in songs {
            try await play(song, first)
            time.advance(by: .seconds(1))
        }
        try await first.cache.pin(first.key(songs[0]))
        await first.cache.close()
        let second = try EngineWorld(songs, store: sqlite(disk), time: time) { $0.limits.maximumCount = 3 }
        time.advance(by: .seconds(2))
        try await eventually("three were left") { try await second.cache.count() == 3 }
        #expect(try await urls(second) == [songs[0], songs[4], songs[5]].map(\.url))
        #expect(causes(second) == [.maximumCount])
        await second.cache.close()
    }

    // MARK: Limits that change

    @Test func `a limit below its least value counts as that value, so a slider at zero empties the cache`() async throws {
        let world = try EngineWorld(songs, time: time)
        try await play(songs[0], world)
        world.cache.limits.quotaBytes = 0
        #expect(world.cache.limits.quotaBytes == 1)
        try await eventually("nothing was left") { try await world.cache.totalSizeBytes() == 0 }
        #expect(causes(world) == [.quota])
        world.cache.limits.maximumCount = -1
        world.cache.limits.minimumFreeBytes = .min
        world.cache.limits.maximumAge = .seconds(-1)
        let limits = world.cache.limits
        #expect(limits.maximumCount == 1 && limits.minimumFreeBytes == 1 && limits.maximumAge == .nanoseconds(1))
        await world.cache.close()
    }

    @Test func `a smaller quota evicts at once, and a larger one makes room`() async throws {
        let disk = MemoryDisk()
        let world = try EngineWorld(songs, store: sqlite(disk), time: time)
        for song in songs.prefix(4) {
            try await play(song, world)
            time.advance(by: .seconds(1))
        }
        world.cache.limits.quotaBytes = 7 << 20
        try await eventually("the store shrank") { try await world.cache.totalSizeBytes() <= 7 << 20 }
        #expect(try await !isStored(songs[0], world), "the longest unused went first")
        for song in songs[2...3] { #expect(try await world.cache.status(of: world.key(song))?.isComplete == true) }
        #expect(causes(world) == [.quota])
        world.cache.limits.quotaBytes = 64 << 20
        for song in songs { try await play(song, world) }
        #expect(try await world.cache.count() == songs.count)
        await world.cache.close()
    }

    @Test func `a quota that is set on a cache without limits holds from then on`() async throws {
        let disk = MemoryDisk()
        let world = try EngineWorld(songs, store: sqlite(disk), time: time) { configuration in
            configuration.limits.quotaBytes = nil
            configuration.limits.minimumFreeBytes = nil
        }
        for song in songs.prefix(3) { try await play(song, world) }
        world.cache.limits.quotaBytes = 7 << 20
        // A song that is played before this eviction may lose its bytes again at once.
        try await eventually("the store shrank") { try await world.cache.totalSizeBytes() <= 7 << 20 }
        for song in songs {
            time.advance(by: .seconds(1))
            try await play(song, world)
            #expect(try await world.cache.totalSizeBytes() <= 7 << 20)
        }
        await world.cache.close()
    }

    @Test func `a count and an age that are set later are enforced, and an invalid limit changes nothing`() async throws {
        let world = try EngineWorld(songs, time: time)
        for song in songs {
            try await play(song, world)
            time.advance(by: .seconds(1))
        }
        var limits = world.cache.limits
        limits.maximumCount = 2
        limits.quotaBytes = 0
        #expect { try world.cache.setLimits(limits) } throws: { ($0 as? CacheError)?.code == .configuration }
        #expect(try await world.cache.count() == songs.count)
        limits.quotaBytes = nil
        try world.cache.setLimits(limits)
        try await eventually("two were left") { try await world.cache.count() == 2 }
        world.cache.limits.maximumAge = .seconds(3600)
        time.advance(by: .seconds(2 * 3600))
        try await eventually("both were too old") { try await world.cache.count() == 0 }
        await world.cache.close()
    }

    // MARK: Free disk

    @Test func `unused resources are evicted to keep the minimum of free disk`() async throws {
        let free: Int64 = 6 << 20
        let disk = MemoryDisk(faults: FaultPlan(capacityBytes: 16 << 20))
        // The clock stands still, so timers keep the sessions of unused resources open.
        let world = try EngineWorld(songs, store: sqlite(disk), time: time) { configuration in
            configuration.limits.quotaBytes = nil
            configuration.limits.minimumFreeBytes = free
        }
        for song in songs {
            try await play(song, world)
            // The index takes some of the disk as well.
            let left = try #require(try disk.freeBytes("/cache"))
            #expect(left >= free - (1 << 20), "\(left) bytes were left")
        }
        #expect(try await isStored(songs[5], world))
        #expect(try await !isStored(songs[0], world))
        #expect(causes(world) == [.minimumFreeDisk])
        await world.cache.close()
    }

    @Test func `a reader gets its bytes unstored when other files leave too little free disk`() async throws {
        let disk = MemoryDisk(faults: FaultPlan(capacityBytes: 4 << 20))
        let world = try EngineWorld(songs, store: sqlite(disk)) { $0.limits.minimumFreeBytes = 4 << 20 }
        #expect(try await world.cache.reader(for: songs[0].url).bytes() == world.expected(songs[0], 0..<songs[0].length))
        #expect(disk.allocatedBytes(except: try disk.indexFiles) == 0)
        let reasons = world.events.all.compactMap { event -> String? in
            if case .degradedToPassthrough(_, let reason) = event { reason } else { nil }
        }
        #expect(!reasons.isEmpty, "an event reports it")
        await world.cache.close()
    }

    @Test func `no resource is evicted when even an empty store would leave too little free disk`() async throws {
        let disk = MemoryDisk(faults: FaultPlan(capacityBytes: 32 << 20))
        let first = try EngineWorld(songs, store: sqlite(disk), time: time) { $0.limits.minimumFreeBytes = 1 << 20 }
        for song in songs.prefix(2) { try await play(song, first) }
        await first.cache.close()
        let second = try EngineWorld(songs, store: sqlite(disk), time: time) { $0.limits.minimumFreeBytes = 64 << 20 }
        #expect(try await second.cache.reader(for: songs[2].url).bytes() == second.expected(songs[2], 0..<songs[2].length))
        for song in songs.prefix(2) { #expect(try await isStored(song, second), "\(song.url)") }
        await second.cache.close()
    }

    // MARK: A tiny quota

    @Test func `with a quota below one resource, its beginning stays after it has played`() async throws {
        let quota: Int64 = 1 << 20
        let world = try EngineWorld(songs, store: sqlite(MemoryDisk())) { $0.limits.quotaBytes = quota }
        for song in songs.prefix(2) {
            #expect(try await world.cache.reader(for: song.url).bytes() == world.expected(song, 0..<song.length))
            let status = try await world.status(of: song) { $0.fetches == 0 && $0.readers == 0 }
            // An eighth of the quota.
            let head = ByteRangeSet([ByteRange(lower: 0, upper: quota / 8)])
            #expect(head.subtracting(status.stored).isEmpty, "\(status.stored)")
            #expect(try await world.cache.totalSizeBytes() <= quota)
        }
        await world.cache.close()
    }
}
