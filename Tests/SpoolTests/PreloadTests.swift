import Spool
import SpoolCore
import SpoolTestSupport
import SpoolTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct `Preloads` {
    private static let length: Int64 = 6 << 20
    private let film = VirtualResource(url: "http://origin.test/film.bin", seed: 1, length: Preloads.length)
    private let other = VirtualResource(url: "http://other.test/song.bin", seed: 2, length: 3 << 20)

    /// An MP3 file of 100 seconds and a constant rate of 128 kbit/s.
    private static let song: [UInt8] = {
        let frame: [UInt8] = [0xFF, 0xFB, 0x90, 0x64] + [UInt8](repeating: 0x55, count: 413)
        return (0..<3829).flatMap { _ in frame }
    }()

    @Test func `the first bytes are stored, and no second preload fetches them`() async throws {
        let world = try EngineWorld([film])
        let first = try await world.cache.preload(film.url, .bytes(1 << 20)).result()
        #expect((first.fetchedBytes, first.storedBytes) == (1 << 20, 0))
        let stored = try #require(try await world.cache.status(of: film.url)?.stored)
        #expect(stored.contains(ByteRange(lower: 0, upper: 1 << 20)))
        #expect(stored.totalBytes < 3 << 20)
        let requests = world.cache.statistics.originRequests
        let second = try await world.cache.preload(film.url, .bytes(1 << 20)).result()
        #expect((second.fetchedBytes, second.storedBytes) == (0, 1 << 20))
        #expect(world.cache.statistics.originRequests == requests)
        await world.cache.close()
    }

    @Test func `the whole resource is stored, by its key too`() async throws {
        let world = try EngineWorld([film])
        let key = ResourceKey(normalized: "film")
        let result = try await world.cache.preload(film.url, .whole, key: key).result()
        #expect(result.key == key)
        #expect(try await world.cache.isComplete(key))
        await world.cache.close()
    }

    @Test func `the first seconds of a song are stored, and little more`() async throws {
        let song = Self.song
        let world = try EngineWorld(
            [film],
            script: { _, _ in
                .status(200, fields: ["Content-Type": "audio/mpeg", "ETag": "\"1\"", "Content-Length": "\(song.count)"], body: song)
            })
        let result = try await world.cache.preload(film.url, .seconds(10)).result()
        #expect(result.bytesReason == nil)
        let stored = try #require(try await world.cache.status(of: film.url)?.stored)
        // Ten seconds have 160 000 bytes.
        #expect(stored.contains(ByteRange(lower: 0, upper: 160_000)))
        #expect(result.fetchedBytes < 175_000)
        await world.cache.close()
    }

    @Test func `seconds of a file that cannot be read are preloaded by bytes, with a reason`() async throws {
        let world = try EngineWorld([film])
        let result = try await world.cache.preload(film.url, .seconds(3)).result()
        #expect(result.fetchedBytes == 3 << 20)
        #expect(result.bytesReason?.isEmpty == false)
        await world.cache.close()
    }

    @Test func `the progress ends with all planned bytes`() async throws {
        let world = try EngineWorld([film])
        let preload = try world.cache.preload(film.url, .whole)
        var last: PreloadProgress?
        for await progress in preload.progress {
            #expect(progress.doneBytes >= last?.doneBytes ?? 0)
            last = progress
        }
        try await preload.result()
        #expect(last == PreloadProgress(doneBytes: Self.length, totalBytes: Self.length))
        await world.cache.close()
    }

    @Test func `a paused preload goes on after resume`() async throws {
        let world = try EngineWorld([film])
        let preload = try world.cache.preload(film.url, .whole)
        preload.pause()
        preload.resume()
        preload.pause()
        preload.resume()
        #expect(try await preload.result().fetchedBytes == Self.length)
        await world.cache.close()
    }

    @Test func `a cancelled preload throws, and so does one of a URL that is none`() async throws {
        let world = try EngineWorld([film], script: { _, _ in .silence })
        let preload = try world.cache.preload(film.url, .whole)
        preload.cancel()
        await #expect { try await preload.result() } throws: { ($0 as? CacheError)?.code == .cancelled }
        #expect { _ = try world.cache.preload("ftp://origin.test/a", .whole) } throws: { ($0 as? CacheError)?.code == .unsupportedURL }
        await world.cache.close()
    }

    /// The clock stands still, so a wait would not end.
    @Test func `a resource that must not be stored gives an error with the reason at once`() async throws {
        let film = VirtualResource(url: film.url, seed: 1, length: 5000, fields: ["Cache-Control": "no-store"])
        let world = try EngineWorld([film], time: ManualTime())
        let preload = try world.cache.preload(film.url, .whole)
        await #expect { try await preload.result() } throws: { error in
            (error as? CacheError)?.code == .notStored && (error as? CacheError)?.message.contains("no-store") == true
        }
        await world.cache.close()
    }

    @Test func `a preload does not begin while a player waits for bytes`() async throws {
        let clock = ManualTime()
        let waiting = film.url
        let world = try EngineWorld([film, other], time: clock, script: { request, _ in request.url == waiting ? .silence : .correct })
        let watch = PauseWatch()
        watch.watch(world.cache)
        let player = try world.cache.reader(for: film.url)
        let read = Task { try? await player.read(at: 0, count: 10) }
        try await eventually("the player asks") { world.origin.log.entries.count == 1 }
        let preload = try world.cache.preload(other.url, .whole)
        // The preload looks at the players on these lanes.
        for _ in 0..<20 { _ = try await world.cache.status(of: other.url) }
        #expect(world.origin.log.entries.map(\.request.url) == [film.url])
        let pause = "\(try world.key(other)): a player needs the link"
        try await eventually("the reason is noted") { watch.pauses.contains(pause) }
        player.cancel()
        _ = await read.value
        try await eventually("the preload goes on") {
            clock.advance(by: BackgroundShare.calm)
            return world.origin.log.entries.count == 2
        }
        // The looks of the preload for the stored bytes would run out before real threads wrote
        // them.
        _ = try await world.status(of: other) { $0.isComplete }
        clock.flow()
        #expect(try await preload.result().fetchedBytes == 3 << 20)
        await world.cache.close()
    }
}
