import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The two calls that empty a cache, in seeded orders beside downloads, pins, players and preloads.
///
/// A model has what must be stored, pinned and listed. Half of the calls run at the same time as
/// another one, which plays, preloads or downloads one song. Of that song, the model takes over what
/// it finds afterwards. Of the others, it has the exact result.
@Suite(.timeLimit(.minutes(20))) struct ClearingOrderTests {
    private static let length: Int64 = 40_000
    /// The calls of one order.
    private static let callCount = 14
    /// The orders that run at the same time. Each cache has threads of its own, and a nightly run
    /// has more orders than the system has threads.
    private static let groupCount = 8
    private let songs = (0..<5).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: Self.length) }

    /// The URLs in each of the states that a song may have.
    private struct Model: Equatable {
        var stored: Set<String> = [], pinned: Set<String> = [], listed: Set<String> = []

        /// `clear()`, except for a song that another call uses at the same time.
        mutating func clear(except other: String?) {
            stored = stored.filter { $0 == other || pinned.contains($0) || listed.contains($0) }
        }

        /// Takes over the state of one song.
        mutating func adopt(_ url: String, from found: Model) {
            for set in [\Model.stored, \.pinned, \.listed] {
                self[keyPath: set].remove(url)
                if found[keyPath: set].contains(url) { self[keyPath: set].insert(url) }
            }
        }
    }

    private enum Call: CaseIterable { case play, preload, download, pin, unpin, unlist, hold, clear, clearBeside, erase, eraseBeside }

    @Test(arguments: 0..<groupCount)
    func `in any order, nothing goes that has to stay, and nothing stays that has to go`(group: Int) async throws {
        for (number, seed) in Seeds.list(count: 60, nightly: 10_000).enumerated() where number % Self.groupCount == group {
            try await run(seed)
        }
    }

    private func run(_ seed: UInt64) async throws {
        let random = SeededRandom(seed: seed)
        let (world, time) = try openWorld()
        var model = Model()
        // Players that have read a song and stay at its end.
        var players: [(url: String, reader: ByteReader)] = []
        try await world.cache.downloads.start()
        for number in 0..<Self.callCount {
            let song = songs[Int(random.next(below: UInt64(songs.count)))]
            let call = Call.allCases[Int(random.next(below: UInt64(Call.allCases.count)))]
            let beside = [Call.play, .preload, .download][Int(random.next(below: 3))]
            let label = "seed \(seed), call \(number): \(call) \(song.url) \(beside)"
            var other: String?
            switch call {
            case .pin:
                try await world.cache.pin(song.url)
                model.pinned.insert(song.url)
            case .unpin:
                try await world.cache.unpin(song.url)
                model.pinned.remove(song.url)
            case .unlist:
                try await world.cache.downloads.remove(song.url, keepingBytes: true)
                model.listed.remove(song.url)
            case .hold:
                let reader = try world.cache.reader(for: song.url)
                let isRight = try await reader.read(at: 0, count: Int(Self.length)) == world.expected(song, 0..<Self.length)
                #expect(isRight, "\(label)")
                players.append((song.url, reader))
                model.stored.insert(song.url)
            case .play, .preload, .download:
                try await end(of: Task { try await use(song, call, world.cache) }, time)
                model.stored.insert(song.url)
                if call == .download { model.listed.insert(song.url) }
            case .clear:
                try await world.cache.clear()
                model.clear(except: nil)
            case .erase:
                try await world.cache.eraseEverything()
                model = Model()
            case .clearBeside, .eraseBeside:
                other = song.url
                let used = Task { try await use(song, beside, world.cache) }
                if call == .clearBeside {
                    try await world.cache.clear()
                    model.clear(except: other)
                } else {
                    try await world.cache.eraseEverything()
                    model = Model()
                }
                // It may have lost its resource on the way.
                do { try await end(of: used, time) } catch let error as CacheError { #expect(error.code == .removed, "\(label): \(error)") }
            }
            let found = try await settled(world, time)
            if let other { model.adopt(other, from: found) }
            #expect(found == model, "\(label)")
            guard found == model else { break }
            // A player of a song that is gone gets an error, and every other one its bytes.
            for (url, reader) in players where url != other {
                let bytes: [UInt8]?
                do throws(CacheError) { bytes = try await reader.read(at: 10, count: 100) } catch {
                    #expect(error.code == .removed && !model.stored.contains(url), "\(label): \(error)")
                    bytes = nil
                }
                let source = try #require(songs.first { $0.url == url })
                if let bytes { #expect(bytes == world.expected(source, 10..<110), "\(label)") }
            }
            players.removeAll { !model.stored.contains($0.url) || $0.url == other }
        }
        for player in players { player.reader.cancel() }
        await world.cache.close()
    }

    private func openWorld() throws -> (EngineWorld, ManualTime) {
        let time = ManualTime()
        return (try EngineWorld(songs, store: MemoryStore(), time: time), time)
    }

    private func use(_ song: VirtualResource, _ call: Call, _ cache: MediaCache) async throws {
        switch call {
        case .preload: _ = try await cache.preload(song.url, .whole).result()
        case .download: try await cache.downloads.add(song.url)
        default: _ = try await cache.reader(for: song.url).bytes()
        }
    }

    /// Waits for a call whose timers need the clock.
    private func end(of call: Task<Void, any Error>, _ time: ManualTime) async throws {
        let outcome = Locked<Result<Void, any Error>?>(nil)
        Task {
            let result = await call.result
            outcome.withLock { $0 = result }
        }
        let result: Result<Void, any Error> = try await eventually("the call is over") {
            time.advance(by: .milliseconds(10))
            return outcome.withLock { $0 }
        }
        try result.get()
    }

    /// Waits until no song has a fetch and each download is complete, and returns what there is.
    private func settled(_ world: EngineWorld, _ time: ManualTime) async throws -> Model {
        let cache = world.cache
        try await eventually("the downloads are complete, and nothing is fetched") {
            time.advance(by: .milliseconds(100))
            let downloads = try await cache.downloads.list()
            for case .failed(let reason) in downloads.map(\.state) { throw NeverCame(condition: "a download failed: \(reason)") }
            guard downloads.allSatisfy({ $0.state == .complete }) else { return false }
            for song in songs where try await cache.status(of: song.url).map({ $0.fetches > 0 }) ?? false { return false }
            return true
        }
        await world.dataLanesAreDone()
        try await withCheckedContinuation { continuation in cache.enterReceived { continuation.resume(returning: $0) } }.get()
        let resources = try await cache.resources()
        let pins = try await ResourceKey.pinnedWithoutBytes(in: cache).map(\.string)
        return Model(
            stored: Set(resources.map(\.url)), pinned: Set(resources.filter(\.isPinned).map(\.url)).union(pins),
            listed: Set(try await cache.downloads.list().map(\.url)))
    }
}
