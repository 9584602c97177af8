import Spool
import SpoolCore
import SpoolTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct `The quota` {
    private let songs = (0..<6).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: 3 << 20) }

    @Test func `what was unused longest goes, and the total stays within it`() async throws {
        let world = try EngineWorld(songs) { $0.limits.quotaBytes = 10 << 20 }
        for song in songs.prefix(3) { try await world.play(song) }
        try await world.play(songs[0])
        for song in songs.dropFirst(3) {
            try await world.play(song)
            #expect(try await world.cache.totalSizeBytes() <= 10 << 20)
        }
        let left = try await world.cache.resources().map(\.url)
        #expect(left.contains(songs[5].url))
        #expect(left.count <= 3)
        #expect(!left.contains(songs[1].url))
        await world.cache.close()
    }

    @Test func `an evicted resource plays again from the origin`() async throws {
        let world = try EngineWorld(songs) { $0.limits.quotaBytes = 4 << 20 }
        try await world.play(songs[0])
        try await world.play(songs[1])
        #expect(try await world.cache.status(of: world.key(songs[0])) == nil)
        try await world.play(songs[0])
        await world.cache.close()
    }

    @Test func `a resource larger than the quota plays to its end`() async throws {
        let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 9, length: 30 << 20)
        let world = try EngineWorld([film]) { $0.limits.quotaBytes = 5 << 20 }
        let bytes = try await world.cache.reader(for: film.url).bytes()
        #expect(bytes == world.expected(film, 0..<film.length))
        #expect(try await world.cache.totalSizeBytes() < film.length)
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
    func `are refused with a word on what to give instead`(mistake: Mistake) throws {
        do {
            _ = try EngineWorld([]) { mistake.change(&$0.limits) }
            Issue.record("\(mistake) was accepted")
        } catch let error as CacheError {
            #expect(error.code == .configuration)
            #expect(error.message.contains(mistake.name) && error.message.contains("nil for no limit"))
        }
    }

    @Test func `none at all is allowed`() throws {
        _ = try EngineWorld([]) { configuration in
            configuration.limits.quotaBytes = nil
            configuration.limits.minimumFreeBytes = nil
        }
    }
}
