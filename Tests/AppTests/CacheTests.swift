import Foundation
import Spool
import SpoolStore
import SpoolTesting
import Testing

/// The tests of an app that plays films through a cache. They see what an app sees: the public
/// declarations of the products.
@Suite(.timeLimit(.minutes(20)))
struct CacheTests {
    static let film = VirtualResource(url: "https://media.test/film.mp4", seed: 7, length: 3_000_000)

    @Test func `a second play in memory asks the origin for nothing`() async throws {
        let origin = ScriptedOrigin([Self.film])
        let cache = try MediaCache.inMemory(origin: origin)
        let first = try TestPlayer(cache: cache, playing: Self.film)
        #expect(try await first.open().length == 3_000_000)
        #expect(try await first.play(bytes: .max) == 3_000_000)
        let requests = origin.log.entries.count

        origin.setOffline(true)
        let second = try TestPlayer(cache: cache, playing: Self.film)
        #expect(try await second.play(bytes: 3_000_000) == 3_000_000)
        #expect(origin.log.entries.count == requests)
        #expect(first.firstWrongOffset == nil && second.firstWrongOffset == nil)
        #expect(origin.log.handedOver(Self.film.url).duplicateBytes == 0)
        await cache.close()
    }

    @Test func `a seek plays the right bytes, and a stopped player reads no more`() async throws {
        let origin = ScriptedOrigin([Self.film])
        let cache = try MediaCache.inMemory(origin: origin)
        let player = try TestPlayer(cache: cache, playing: Self.film)
        player.seek(to: 2_900_000)
        #expect(try await player.play(bytes: 200_000) == 100_000)
        #expect(player.position == 3_000_000 && player.readBytes == 100_000 && player.firstWrongOffset == nil)
        player.stop()
        let error = await #expect(throws: CacheError.self) { try await player.play(bytes: 1) }
        #expect(error?.code == .closed)
        await cache.close()
    }

    @Test func `the app shows the status of an origin that refuses`() async throws {
        let origin = ScriptedOrigin { _, _ in .status(403) }
        let cache = try MediaCache.inMemory(origin: origin)
        let reader = try cache.reader(for: "https://media.test/paid.mp4")
        let error = await #expect(throws: CacheError.self) { try await reader.contentInformation() }
        #expect(error?.code == .originStatus && error?.status == 403)
        await cache.close()
    }

    @Test func `stored bytes are stale after an hour of the clock, and the origin is asked`() async throws {
        let clock = ManualTime()
        var song = VirtualResource(url: "https://media.test/song.mp3", seed: 1, length: 10_000, fields: ["Cache-Control": "max-age=60"])
        song.contentType = "audio/mpeg"
        let origin = ScriptedOrigin([song], clock: clock)
        var configuration = Configuration()
        configuration.freshness.policy = .standard
        let cache = try MediaCache.inMemory(origin: origin, clock: clock, configuration: configuration)

        _ = try await cache.reader(for: song.url).read(at: 0, count: 10_000)
        _ = try await cache.reader(for: song.url).read(at: 0, count: 10_000)
        #expect(origin.log.entries.count == 1)
        clock.move(by: .seconds(3600))
        _ = try await cache.reader(for: song.url).read(at: 0, count: 10_000)
        #expect(origin.log.entries.count == 2)
        #expect(origin.log.entries.last?.status == 304)
        await cache.close()
    }

    @Test func `committed bytes survive a killed process, and a later start plays them offline`() async throws {
        let disk = MemoryDisk()
        let origin = ScriptedOrigin([Self.film])
        let cache = try MediaCache.onDisk(disk, origin: origin)
        _ = try await TestPlayer(cache: cache, playing: Self.film).play(bytes: .max)
        await cache.close()

        origin.setOffline(true)
        let next = try MediaCache.onDisk(disk.crash(), origin: origin)
        let player = try TestPlayer(cache: next, playing: Self.film)
        #expect(try await player.play(bytes: .max) == 3_000_000)
        #expect(player.firstWrongOffset == nil)
        await next.close()
    }

    @Test func `a full disk stops no playback`() async throws {
        let disk = MemoryDisk(faults: FaultPlan(capacityBytes: 1 << 20))
        let cache = try MediaCache.onDisk(disk, origin: ScriptedOrigin([Self.film]))
        let player = try TestPlayer(cache: cache, playing: Self.film)
        #expect(try await player.play(bytes: .max) == 3_000_000)
        #expect(player.firstWrongOffset == nil)
        await cache.close()
    }

    @Test func `a resource is named by its URL or its key`() async throws {
        let cache = try MediaCache.inMemory(origin: ScriptedOrigin([Self.film]))
        _ = try await TestPlayer(cache: cache, playing: Self.film).play(bytes: .max)
        let url = Self.film.url
        let key = try cache.key(for: url)
        #expect(try await cache.status(of: url)?.key == key)
        let status = try #require(try await cache.status(of: key))
        #expect(status.url == url)
        #expect("\(status)".hasPrefix("\(url): \(status.stored.totalBytes) of "), "print(status) is one short line")
        // A reader has the last bytes before the store has them.
        while try await !cache.isComplete(url) { await Task.yield() }
        #expect(try await cache.pin(url))
        #expect(try await !cache.pin(key))
        #expect(try await cache.unpin(url))
        #expect(try cache.temporaryPin(url).key == key)
        #expect(try await cache.verify(url)?.isSound == true)
        #expect(try await cache.remove(url))
        let error = await #expect(throws: CacheError.self) { try await cache.status(of: "film.mp4") }
        #expect(error?.code == .unsupportedURL)
        await cache.close()
    }

    @Test func `closures receive events and log lines`() async throws {
        let seen = Seen()
        var configuration = Configuration()
        configuration.onEvent { event in
            if case .fetchStarted = event { seen.add("fetch") }
        }
        configuration.onLog(atLeast: .debug) { level, _ in seen.add("\(level)") }
        let cache = try MediaCache.inMemory(origin: ScriptedOrigin([Self.film]), configuration: configuration)
        _ = try await cache.reader(for: Self.film.url).read(at: 0, count: 10)
        await cache.close()
        #expect(seen.words.isSuperset(of: ["fetch", "debug"]))
        #expect(!seen.words.contains("trace"))
    }

    @Test func `opening a cache with a value out of bounds throws`() {
        var configuration = Configuration()
        configuration.limits.quotaBytes = 0
        let error = #expect(throws: CacheError.self) { try MediaCache(configuration: configuration, store: MemoryStore()) }
        #expect(error?.code == .configuration)
    }

    @Test func `opening a cache asynchronously gives a cache, or the error of its initialiser`() async throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("spool-app-" + UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: place) }
        var configuration = Configuration()
        configuration.storage.directory = place.path
        let cache = try await MediaCache.open(configuration)
        #expect(try await cache.totalSizeBytes() == 0)
        await cache.close()
        configuration.limits.quotaBytes = 0
        let error = await #expect(throws: CacheError.self) { try await MediaCache.open(configuration) }
        #expect(error?.code == .configuration)
    }

    /// Returns the reaction of an app to an error. The `default` is for codes of later versions.
    @Test func `an app handles the errors that it knows and falls back for others`() {
        func advice(_ error: OriginError) -> String {
            switch error {
            case .timeout, .unreachable: "check the network"
            case .status(let status, _): "the server answers \(status)"
            default: "try again"
            }
        }
        #expect(advice(.status(404, fields: [:])) == "the server answers 404")
    }
}
