import Spool
import SpoolCore
import SpoolTesting
import SpoolTestSupport
import Testing

/// The order in which the parts of presentations are evicted.
@Suite(.timeLimit(.minutes(20))) struct PresentationEvictionTests {
    private static let length: Int64 = 512 << 10
    private let parts = (0..<16).map { VirtualResource(url: "http://origin.test/\($0).ts", seed: UInt64($0), length: length) }
    private let songs = (0..<3).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64(50 + $0), length: 1 << 20) }
    private let list = ResourceKey(normalized: "http://origin.test/film.m3u8")

    private func isComplete(_ part: VirtualResource, _ world: EngineWorld) async throws -> Bool {
        try await world.cache.status(of: world.key(part))?.isComplete ?? false
    }

    /// Plays a part, and lets the eviction take it in its turn.
    private func play(_ part: VirtualResource, _ world: EngineWorld) async throws {
        let bytes = try await world.cache.reader(for: part.url).bytes()
        #expect(bytes == world.expected(part, 0..<part.length))
        try await eventually("\(part.url) had no fetch and no reader") {
            guard let status = try await world.cache.status(of: world.key(part)) else { return true }
            return status.fetches == 0 && status.readers == 0
        }
        // A part with bytes that wait for their commit is in use, and would be passed over.
        try await withCheckedContinuation { entered in world.cache.enterReceived { entered.resume(returning: $0) } }.get()
    }

    @Test func `a presentation larger than the quota keeps its beginning for another play`() async throws {
        let world = try EngineWorld(parts) { $0.limits.quotaBytes = 11 * Self.length }
        world.cache.room.listed(PartKeys(try parts.map { try world.key($0) }), in: list, isLive: false)
        for part in parts { try await play(part, world) }
        for part in parts.prefix(8) { #expect(try await isComplete(part, world), "\(part.url)") }
        let before = world.cache.statistics.fetchedBytes
        for part in parts { try await play(part, world) }
        #expect(world.cache.statistics.fetchedBytes - before <= 8 * Self.length)
        await world.cache.close()
    }

    @Test func `unused songs go before a presentation that is played`() async throws {
        let world = try EngineWorld(parts + songs) { $0.limits.quotaBytes = 5 << 20 }
        world.cache.room.listed(PartKeys(try parts.map { try world.key($0) }), in: list, isLive: false)
        try await play(parts[0], world)
        for song in songs { try await play(song, world) }
        for part in parts[1..<8] { try await play(part, world) }
        for part in parts.prefix(8) { #expect(try await isComplete(part, world), "\(part.url)") }
        #expect(try await !isComplete(songs[0], world))
        await world.cache.close()
    }

    @Test func `segments that their live playlist no longer lists go before everything else`() async throws {
        let world = try EngineWorld(parts + songs) { $0.limits.quotaBytes = 5 << 20 }
        let keys = try parts.map { try world.key($0) }
        for song in songs { try await play(song, world) }
        for (number, part) in parts.enumerated() {
            world.cache.room.listed(PartKeys(Array(keys[max(0, number - 1)...number])), in: list, isLive: true)
            try await play(part, world)
        }
        for song in songs { #expect(try await isComplete(song, world), "\(song.url)") }
        #expect(try await isComplete(parts[15], world))
        await world.cache.close()
    }
}
