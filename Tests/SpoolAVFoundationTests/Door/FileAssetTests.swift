import AVFoundation
import SpoolAVFoundation
import SpoolOrigin
import SpoolSystem
import SpoolTesting
import Testing

/// Complete resources that are played from their files, in a store on a real disk.
@Suite(.timeLimit(.minutes(20))) struct FileAssetTests {
    private static let songs = (0..<4).map {
        VirtualResource(url: "http://origin.test/song-\($0).mp3", seed: UInt64($0) + 1, length: 3 << 20, contentType: "audio/mpeg")
    }

    private static func url(_ index: Int) -> URL { URL(string: songs[index].url).unsafelyUnwrapped }

    @Test func `a complete resource plays from its file, and one with a gap through the loader`() async throws {
        let shelf = try Shelf(Self.songs)
        #expect(await shelf.cache.preparedAsset(for: Self.url(0)).route == .cache)
        _ = try await shelf.cache.reader(for: Self.songs[0].url).read(at: 0, count: 100_000)
        #expect(await shelf.cache.preparedAsset(for: Self.url(0)).route == .cache)
        try await shelf.cache.preload(Self.url(0), .whole).result()
        let asset = await shelf.cache.preparedAsset(for: Self.url(0))
        #expect(asset.route == .file && asset.url.isFileURL && asset.url.pathExtension == "mp3")
        let key = try shelf.cache.key(for: Self.songs[0].url)
        #expect(asset.originalURL == Self.url(0) && asset.key == key)
        #expect(asset.resourceLoader.delegate == nil)
        var progress: [AssetProgress] = []
        for await state in asset.progress { progress.append(state) }
        #expect(progress.map(\.isComplete) == [true] && progress.first?.cachedFractions == [0...1])
        let bytes = try Data(contentsOf: asset.url)
        #expect(bytes.count == 3 << 20)
        #expect(bytes.withUnsafeBytes { Self.songs[0].content.firstDifference(in: $0, at: 0) } == nil)
        // Only `preparedAsset(for:)` of a factory with `handsOutFiles` returns the file.
        #expect(shelf.cache.asset(for: Self.url(0)).route == .cache)
        #expect(await CachingAssetFactory(cache: shelf.cache).preparedAsset(for: Self.url(0)).route == .cache)
        await shelf.close()
    }

    @MainActor @Test func `an item of a file can be preloaded, and is created again after it failed`() async throws {
        let shelf = try Shelf(Self.songs)
        try await shelf.fill(Self.songs[0])
        let item = AVPlayerItem(asset: await shelf.cache.preparedAsset(for: Self.url(0)))
        #expect(item.cachedAsset?.route == .file)
        _ = try shelf.cache.preload(item, .bytes(1000))
        let player = AVQueuePlayer(items: [item])
        let controller = PlaybackController(player: player)
        item.change([.status]) { $0.status = .failed }
        controller.play()
        #expect(player.currentItem !== item && player.currentItem?.cachedAsset?.route == .cache)
        await shelf.close()
    }

    @Test func `a file stays while its asset lives, and is evicted in its turn afterwards`() async throws {
        let shelf = try Shelf(Self.songs) { $0.limits.quotaBytes = 7 << 20 }
        try await shelf.fill(Self.songs[0])
        var asset: CachingAVURLAsset? = await shelf.cache.preparedAsset(for: Self.url(0))
        let path = try #require(asset?.url.path)
        for song in Self.songs[1...2] { try await shelf.fill(song) }
        // The oldest resource besides the one that plays, in parts.
        #expect(try Set(shelf.evicted) == [shelf.cache.key(for: Self.songs[1].url)])
        #expect(asset?.route == .file && FileManager.default.fileExists(atPath: path))
        asset = nil
        try await shelf.fill(Self.songs[3])
        let first = try shelf.cache.key(for: Self.songs[0].url)
        #expect(shelf.evicted.contains(first))
        #expect(try await shelf.cache.completeFile(for: first) == nil)
        await shelf.close()
    }

    @Test func `a factory with a transform or the standard policy keeps the loader for a complete resource`() async throws {
        let shelf = try Shelf(Self.songs)
        try await shelf.fill(Self.songs[0])
        let changes: [(inout ReadOptions) -> Void] = [{ $0.contentTransform = Mask() }, { $0.cachePolicy = .standard }]
        for change in changes {
            var factory = CachingAssetFactory(cache: shelf.cache)
            factory.handsOutFiles = true
            #expect(await factory.preparedAsset(for: Self.url(0)).route == .file)
            change(&factory.readOptions)
            #expect(await factory.preparedAsset(for: Self.url(0)).route == .cache)
        }
        await shelf.close()
    }

    @Test func `an encrypted store, a misleading name and the standard policy keep the loader`() async throws {
        let key = try #require(EncryptionKey(bytes: [UInt8](1...32)))
        let changes: [(inout Configuration) -> Void] = [
            { $0.security.encryption = EncryptionOptions(keyProvider: .key(key)) }, { $0.freshness.policy = .standard },
        ]
        for change in changes {
            let shelf = try Shelf(Self.songs, change)
            try await shelf.cache.preload(Self.url(0), .whole).result()
            #expect(await shelf.cache.preparedAsset(for: Self.url(0)).route == .cache)
            await shelf.close()
        }
        let misnamed = VirtualResource(url: "http://origin.test/film.mp3", seed: 9, length: 100_000, contentType: "video/mp4")
        let renamed = VirtualResource(url: "http://origin.test/film.m4v", seed: 9, length: 100_000, contentType: "video/mp4")
        let shelf = try Shelf([misnamed, renamed])
        for (resource, route) in [(misnamed, AssetRoute.cache), (renamed, .file)] {
            let url = try #require(URL(string: resource.url))
            try await shelf.cache.preload(url, .whole).result()
            #expect(await shelf.cache.preparedAsset(for: url).route == route)
        }
        await shelf.close()
    }
}

/// A cache on a disk, and its events.
private final class Shelf: Sendable {
    let cache: MediaCache
    private let events = Events()
    private let lane = DiskLane(name: "origin")
    private let directory: URL

    init(_ resources: [VirtualResource], _ change: (inout Configuration) -> Void = { _ in }) throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-files-\(UUID().uuidString)")
        var configuration = Configuration()
        configuration.storage.directory = directory.path
        configuration.network.transport = ScriptedOrigin(resources, mailbox: lane, time: SystemTime(), random: SystemRandom())
        configuration.events = [events]
        change(&configuration)
        cache = try MediaCache(configuration: configuration)
    }

    /// The evicted keys, in order.
    var evicted: [ResourceKey] {
        events.all.compactMap { if case .evicted(let key, _, _) = $0 { key } else { nil } }
    }

    /// Stores a whole resource, and waits until it is in the index and no fetch runs. From then on
    /// it can be evicted.
    func fill(_ resource: VirtualResource) async throws {
        guard let url = URL(string: resource.url) else { return }
        let wanted = try cache.key(for: resource.url)
        try await cache.preload(url, .whole).result()
        await events.until { events in
            var committed: Int64 = 0, fetches = 0
            for event in events {
                switch event {
                case .bytesCommitted(wanted, let bytes): committed += bytes
                case .fetchStarted(wanted, _, _): fetches += 1
                case .fetchEnded(wanted, _, _): fetches -= 1
                default: break
                }
            }
            return committed >= resource.length && fetches == 0
        }
    }

    func close(_ look: () -> Void = {}) async {
        await cache.close()
        look()
        lane.shutdown()
        #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) }
    }
}

/// Records events, and lets a test wait for them.
private final class Events: EventSink {
    private struct State {
        var all: [CacheEvent] = []
        var waiting: (isMet: @Sendable ([CacheEvent]) -> Bool, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Locked(State())

    var all: [CacheEvent] { state.withLock { $0.all } }

    func record(_ event: CacheEvent) {
        let ready = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.all.append(event)
            guard let waiting = state.waiting, waiting.isMet(state.all) else { return nil }
            state.waiting = nil
            return waiting.continuation
        }
        ready?.resume()
    }

    /// Waits until `isMet` is true for the events so far. One task can wait at a time.
    func until(_ isMet: @escaping @Sendable ([CacheEvent]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isSo = state.withLock { state in
                if isMet(state.all) { return true }
                state.waiting = (isMet, continuation)
                return false
            }
            if isSo { continuation.resume() }
        }
    }
}
