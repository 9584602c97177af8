import Spool
import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Calls that come between two jobs of the lanes, in orders that threads rarely have.
@Suite struct LaneOrderTests {
    private let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 1, length: 300_000)

    private func spans(of url: String, in stage: LaneStage) throws -> ByteRangeSet {
        try stage.store.lookup(stage.cache.key(for: url))?.spans ?? ByteRangeSet()
    }

    // MARK: Removals

    @Test func `no session of a removed resource stays, not even of a reader that came at its removal`() throws {
        let stage = try LaneStage(
            [film], script: { _, number in number == 0 ? .stall(afterBytes: 200_000, .correct) : .correct })
        let readers = Locked<[SessionReader]>([])
        let isRemoving = Locked(false)
        let comeBack: @Sendable () -> Void = { [cache = stage.cache, url = film.url] in
            guard isRemoving.withLock({ exchange(&$0, with: false) }) else { return }
            let reader = try? cache.sessionReader(for: url, start: 0, end: nil, wantsBytes: true, wake: {})
            if let reader { readers.withLock { $0.append(reader) } }
        }
        let first = try stage.cache.sessionReader(for: film.url, start: 0, end: nil, wantsBytes: true, wake: comeBack)
        stage.simulator.advance(by: .seconds(2))
        _ = try stage.read(first, steps: 1)
        #expect(try !spans(of: film.url, in: stage).isEmpty, "a part is stored, and the reader waits for more")
        isRemoving.withLock { $0 = true }
        let key = try stage.cache.key(for: film.url)
        #expect(try stage.result { stage.cache.remove(key, $0) })
        #expect(readers.withLock { $0.count } == 1)
        #expect(try stage.play(film).count == Int(film.length))
        stage.simulator.runUntilIdle()
        #expect(try spans(of: film.url, in: stage).totalBytes == film.length)
        withExtendedLifetime(first) {}
        stage.simulator.shutdown()
    }

    @Test func `a variant with a second copy stays if a client joins it before it is dropped`() throws {
        let stage = try LaneStage([film])
        #expect(try stage.play(film).count == Int(film.length))
        stage.simulator.runUntilIdle()
        stage.cache.variants.drop(try stage.cache.key(for: film.url))
        #expect(try stage.play(film).count == Int(film.length))
        stage.simulator.runUntilIdle()
        #expect(stage.cache.statistics.fetchedBytes == film.length)
        stage.simulator.shutdown()
    }

    @Test func `a download that is added while it is removed is protected exactly if it is in the list`() throws {
        for steps in 0..<20 {
            let stage = try LaneStage([film])
            let key = try stage.cache.key(for: film.url)
            let add: @Sendable (inout DownloadList) -> [ResourceKey] = { [url = film.url] list in
                list.add(key, url: url, group: "", priority: 0) ? [key] : []
            }
            _ = try stage.downloads(add)
            stage.simulator.runUntilIdle()
            stage.cache.remove(key) { _ in }
            for _ in 0..<steps { stage.simulator.step() }
            _ = try stage.downloads(add)
            stage.simulator.runUntilIdle()
            #expect(try stage.play(film).count == Int(film.length))
            stage.simulator.runUntilIdle()
            let status = try #require(try stage.result { stage.cache.status(of: key, $0) })
            let isListed = try stage.downloads()[key] != nil
            #expect(Removal.keeps(status, in: stage.cache) == isListed, "added after \(steps) steps")
            stage.simulator.shutdown()
        }
    }

    // MARK: Downloads

    @Test func `a presentation whose first part loses bytes while the last one comes is complete with all of them`() throws {
        let base = "http://origin.test/"
        let parts = ["a", "b"].enumerated().map { VirtualResource(url: "\(base)\($1).ts", seed: UInt64($0), length: 100_000) }
        let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.ts\n#EXTINF:4,\nb.ts\n#EXT-X-ENDLIST\n"
        let stage = try LaneStage(
            parts,
            script: { request, _ in
                switch request.url.dropFirst(base.count) {
                case "a.ts": .correct
                case "b.ts": .slow(latency: .seconds(6))
                default:
                    .status(200, fields: ["Content-Type": "application/vnd.apple.mpegurl", "ETag": "\"1\""], body: Array(playlist.utf8))
                }
            })
        try stage.download(base + "film.m3u8")
        stage.simulator.advance(by: .seconds(3))
        let first = try stage.cache.key(for: parts[0].url)
        let stored = try #require(try stage.store.lookup(first))
        #expect(stored.spans.totalBytes == parts[0].length)
        try stage.disk.damage(try #require(stage.store.filePath(of: stored)), at: 100)
        let found = try stage.result { stage.cache.verify(first, isRepairing: true, progress: { _ in }, $0) }
        #expect(found?.isSound == false)
        #expect(try spans(of: parts[0].url, in: stage).totalBytes < parts[0].length)
        stage.simulator.advance(by: .seconds(60))
        #expect(try stage.downloads().downloads.map(\.state) == [.complete])
        for part in parts { #expect(try spans(of: part.url, in: stage).totalBytes == part.length, "\(part.url)") }
        stage.simulator.shutdown()
    }

    @Test func `no version but that of the SHA-256 takes the place of a download, whenever it comes`() throws {
        let (url, length) = ("http://origin.test/film.mp4", 100_000)
        let digest = [UInt8](repeating: 1, count: length).withUnsafeBytes { SHA256Digest.of($0) }
        var steps = 0
        var isOver = false
        while !isOver {
            let version = Locked(UInt8(1))
            let stage = try LaneStage(
                [], configuration: { $0.freshness.policy = .standard },
                script: { _, _ in
                    let version = version.withLock { $0 }
                    let fields: HTTPFields = ["ETag": "\"\(version)\"", "Content-Length": "\(length)", "Cache-Control": "max-age=0"]
                    return .status(200, fields: fields, body: [UInt8](repeating: version, count: length))
                })
            try stage.download(url, details: DownloadDetails(sha256: digest))
            for _ in 0..<steps { stage.simulator.step() }
            isOver = try stage.downloads().downloads.map(\.state) == [.complete]
            version.withLock { $0 = 2 }
            let player = try stage.cache.sessionReader(for: url, start: 0, end: nil, wantsBytes: true, wake: {})
            let last = try stage.read(player).last
            player.leave(explicitly: true)
            stage.simulator.advance(by: .seconds(60))
            // A player may join the download before the origin has the other version.
            let state = try #require(try stage.downloads().downloads.first).state
            let isRight = last == 1 ? state == .complete : state.name == "failed"
            let stored = try stage.store.lookup(stage.cache.key(for: url))
            let validator = last == 1 ? Validator.strong(entityTag: "\"1\"") : nil
            #expect(isRight && stored?.representation.validator == validator, "\(state), \(last ?? 0) after \(steps) steps")
            stage.simulator.shutdown()
            steps += 1
        }
        #expect(steps > 20)
    }

    // MARK: Preloads

    @Test func `a preload whose first bytes are evicted before its end has no room`() throws {
        let film = VirtualResource(url: film.url, seed: 1, length: 6 << 20)
        let stage = try LaneStage([film], script: { _, _ in .slow(bytesPerSecond: 2 << 20) })
        let preload = try stage.cache.preload(film.url, .whole)
        stage.simulator.advance(by: .seconds(2))
        stage.cache.limits.quotaBytes = 64 << 10
        stage.simulator.advance(by: .milliseconds(1))
        stage.cache.limits.quotaBytes = 1 << 30
        stage.simulator.advance(by: .seconds(30))
        let error = Locked<CacheError?>(nil)
        preload.whenOver { result in if case .failure(let failure) = result { error.withLock { $0 = failure } } }
        #expect(error.withLock { $0 }?.code == .noRoom)
        #expect(error.withLock { $0 }?.message.contains("evicted before it was stored") == true)
        stage.simulator.shutdown()
    }

    // MARK: Suspension

    /// A preload that lets the store go on at the first hold, as another thread may.
    private final class EarlyPreload: EnginePreload {
        let isHeld = Locked(false)
        let preloads: RunningPreloads

        init(_ preloads: RunningPreloads) { self.preloads = preloads }

        func hold(_ hold: PreloadHold) {
            preloads.release()
            isHeld.withLock { $0 = true }
        }

        func release(_ hold: PreloadHold) { isHeld.withLock { $0 = false } }
    }

    @Test func `a preload that begins while the store goes on is not held`() {
        let preloads = RunningPreloads()
        preloads.hold()
        let preload = EarlyPreload(preloads)
        preloads.enter(preload)
        #expect(!preload.isHeld.withLock { $0 })
    }

    /// A door whose system has stored the bytes of a transfer before the transfer is held.
    private final class EarlyDoor: PlayerDoor {
        private let isFirst = Locked(true)

        func cacheCloses() {}
        func bypassChanged() {}
        func downloadEnded(_ key: ResourceKey) {}

        func downloadBegan(_ transfer: ListedTransfer) -> Bool {
            let wasFetching = isFirst.withLock { exchange(&$0, with: false) }
            if wasFetching { transfer.release() }
            return wasFetching
        }
    }

    @Test func `a download goes on that the system has stored before it was held`() throws {
        let stage = try LaneStage([film])
        _ = stage.cache.playerDoor { EarlyDoor() }
        try stage.download(film.url)
        stage.simulator.advance(by: .seconds(10))
        #expect(try stage.downloads().downloads.map(\.state) == [.complete])
        stage.simulator.shutdown()
    }

    @Test func `a suspended store is no failing store, and stores again after the resume`() throws {
        let songs = (0..<4).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: 100_000) }
        let events = EventRecorder()
        let stage = try LaneStage(songs) { configuration in
            configuration.events = [events]
            configuration.fetching.idleSessionCount = 0
        }
        #expect(try stage.play(songs[0]).count == 100_000)
        stage.simulator.runUntilIdle()
        stage.sync.runAll()
        _ = try stage.result { stage.cache.suspend($0) } as Void
        for song in songs.dropLast() { #expect(try stage.play(song).count == 100_000) }
        stage.simulator.runUntilIdle()
        _ = try stage.result { stage.cache.resume($0) } as Void
        #expect(try stage.play(songs[3]).count == 100_000)
        stage.simulator.runUntilIdle()
        #expect(try spans(of: songs[3].url, in: stage).totalBytes == 100_000)
        let troubles = events.all.filter {
            switch $0 {
            case .storeRests, .storeTrouble: true
            default: false
            }
        }
        #expect(troubles.isEmpty, "\(troubles)")
        stage.simulator.shutdown()
    }

    @Test func `a suspension that a resume has dropped does not close the store under the next one`() throws {
        let events = EventRecorder()
        let film = VirtualResource(url: film.url, seed: 1, length: 4 << 20)
        let stage = try LaneStage(
            [film], configuration: { $0.events = [events] }, script: { _, _ in .slow(bytesPerSecond: 200_000) })
        let preload = try stage.cache.preload(film.url, .whole)
        #expect(stage.simulator.run(until: { stage.sync.count == 1 }))
        let suspended = Locked(0)
        stage.cache.suspend { _ in suspended.withLock { $0 += 1 } }
        stage.simulator.advance(by: .milliseconds(10))
        #expect(suspended.withLock { $0 } == 0 && stage.sync.count == 1, "the suspension waits for a durable point")
        _ = try stage.result { stage.cache.resume($0) } as Void
        stage.simulator.advance(by: .seconds(1))
        stage.data.delay(true)
        stage.cache.suspend { _ in suspended.withLock { $0 += 1 } }
        stage.simulator.advance(by: .milliseconds(10))
        stage.sync.runAll()
        stage.simulator.advance(by: .milliseconds(10))
        stage.data.deliver()
        while suspended.withLock({ $0 }) < 2 {
            stage.simulator.advance(by: .milliseconds(10))
            stage.sync.runAll()
        }
        _ = try stage.result { stage.cache.resume($0) } as Void
        stage.simulator.advance(by: .seconds(40))
        #expect(preload.currentProgress?.doneBytes == film.length)
        #expect(try spans(of: film.url, in: stage).totalBytes == film.length)
        #expect(stage.cache.statistics.fetchedBytes == film.length, "no byte came twice")
        stage.simulator.shutdown()
    }
}
