import Spool
import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The list of downloads on an origin and a store of the test.
@Suite(.timeLimit(.minutes(20))) struct DownloadTests {
    private static let length: Int64 = 3 << 20
    private let film = VirtualResource(url: "http://origin.test/film.bin", seed: 1, length: DownloadTests.length)
    private let song = VirtualResource(url: "http://origin.test/song.bin", seed: 2, length: 1 << 20)
    private let disk = MemoryDisk()

    private func openStore() throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        return try SQLiteStore(directory: "/cache", fileSystem: disk, random: SeededRandom(seed: 1), options: options)
    }

    /// Waits until a download meets `condition`.
    @discardableResult
    private func download(
        _ resource: VirtualResource, in world: EngineWorld, when condition: (Download.State) -> Bool
    ) async throws -> Download {
        try await eventually("the download of \(resource.url)") {
            try await world.cache.downloads.list().first { $0.url == resource.url && condition($0.state) }
        }
    }

    @Test func `downloads are stored as a whole, verified and complete`() async throws {
        let world = try EngineWorld([film, song])
        try await world.cache.downloads.add(film.url)
        try await world.cache.downloads.add(song.url)
        #expect(try await world.cache.downloads.list().map(\.state) == [.queued, .queued])
        #expect(world.origin.log.entries.isEmpty, "a list that was not started asks no origin")
        try await world.cache.downloads.start()
        for resource in [film, song] {
            let done = try await download(resource, in: world) { $0 == .complete }
            #expect(done.doneBytes == resource.length && done.totalBytes == resource.length)
            #expect(try await world.cache.status(of: resource.url)?.isComplete == true)
        }
        #expect(world.cache.statistics.fetchedBytes == film.length + song.length)
        await world.cache.close()
    }

    @Test func `the list outlives the process, and goes on at the first missing byte`() async throws {
        let first = try EngineWorld([film, song], store: openStore())
        // A player left the first MiB.
        _ = try await first.cache.preload(film.url, .bytes(1 << 20)).result()
        try await first.cache.downloads.add(film.url, group: "trip", priority: 2)
        try await first.cache.downloads.add(song.url)
        #expect(try await first.cache.downloads.pause(song.url))
        let before = first.cache.statistics.fetchedBytes
        await first.cache.close()

        let second = try EngineWorld([film, song], store: openStore())
        let list = try await second.cache.downloads.list()
        #expect(list.map(\.url) == [film.url, song.url])
        #expect(list.map(\.state) == [.queued, .paused])
        #expect(list.first?.group == "trip" && list.first?.priority == 2)
        try await second.cache.downloads.start()
        try await download(film, in: second) { $0 == .complete }
        #expect(second.cache.statistics.fetchedBytes == film.length - before)
        await second.cache.close()

        let third = try EngineWorld([film, song], store: openStore())
        #expect(try await third.cache.downloads.list().map(\.state) == [.complete, .paused])
        try await third.cache.downloads.start()
        #expect(try await third.cache.downloads.resume(song.url))
        try await download(song, in: third) { $0 == .complete }
        #expect(third.cache.statistics.fetchedBytes == song.length)
        await third.cache.close()
    }

    @Test func `an origin without an answer makes a download wait for the network, and its return ends that`() async throws {
        let isAway = Locked(true)
        let world = try EngineWorld([film], script: { _, _ in isAway.withLock { $0 } ? .refuse : .correct })
        try await world.cache.downloads.add(film.url)
        try await world.cache.downloads.start()
        try await download(film, in: world) { if case .waitingForNetwork = $0 { true } else { false } }
        isAway.withLock { $0 = false }
        try await download(film, in: world) { $0 == .complete }
        await world.cache.close()
    }

    @Test func `a download that is larger than its allowance fails with the numbers`() async throws {
        let world = try EngineWorld([film])
        world.cache.downloads.settings.allowanceBytes = 1 << 20
        try await world.cache.downloads.add(film.url)
        try await world.cache.downloads.start()
        let failed = try await download(film, in: world) { if case .failed = $0 { true } else { false } }
        #expect(failed.state == .failed(reason: "it has 3145728 bytes, and 1048576 of the 1048576 bytes for downloads are left"))
        world.cache.downloads.settings.allowanceBytes = nil
        #expect(try await world.cache.downloads.resume(film.url))
        try await download(film, in: world) { $0 == .complete }
        await world.cache.close()
    }

    @Test func `downloads are outside the quota, and playing evicts none of their bytes`() async throws {
        let world = try EngineWorld([film, song], store: openStore()) { $0.limits.quotaBytes = 2 << 20 }
        try await world.cache.downloads.add(film.url)
        try await world.cache.downloads.start()
        try await download(film, in: world) { $0 == .complete }
        #expect(try await world.cache.pin(film.url))
        // The whole quota is left for what is played.
        try await world.play(song)
        #expect(try await world.cache.status(of: film.url)?.isComplete == true)
        #expect(try await world.cache.downloads.room().usedBytes >= film.length)
        // Bytes that are kept without the entry count again.
        #expect(try await world.cache.downloads.remove(film.url, keepingBytes: true))
        #expect(try await world.cache.downloads.room().usedBytes == 0)
        #expect(try await world.cache.downloads.list().isEmpty)
        await world.cache.close()
    }

    /// A reader that asks the origin, such as that of a page that is loaded again.
    private func read(_ resource: VirtualResource, in world: EngineWorld, takesAnyStatus: Bool, mode: ReadMode) async throws -> [UInt8] {
        var options = ReadOptions(mode: mode)
        options.takesAnyStatus = takesAnyStatus
        return try await world.cache.reader(for: resource.url, options: options).bytes()
    }

    @Test(arguments: [404, 410], [false, true])
    func `an origin that has a finished download no more does not take it away`(status: Int, takesAnyStatus: Bool) async throws {
        let isGone = Locked(false)
        let world = try EngineWorld(
            [film, song], configuration: { $0.freshness.policy = .standard },
            script: { _, _ in isGone.withLock { $0 } ? .status(status) : .fields(["Cache-Control": "max-age=0"], .correct) })
        try await world.cache.downloads.add(film.url)
        try await world.cache.downloads.start()
        try await download(film, in: world) { $0 == .complete }
        try await world.play(song)
        isGone.withLock { $0 = true }
        // The bytes are stale, so the origin is asked.
        let asked = world.origin.log.entries.count
        for _ in 0..<2 {
            let bytes = try await read(film, in: world, takesAnyStatus: takesAnyStatus, mode: .automatic)
            #expect(bytes == world.expected(film, 0..<film.length))
        }
        #expect(world.origin.log.entries.count > asked)
        // A reader that insists gets the answer, and removes nothing.
        if !takesAnyStatus {
            let error = await #expect(throws: CacheError.self) { try await read(film, in: world, takesAnyStatus: false, mode: .reload) }
            #expect(error?.status == status)
        } else {
            #expect(try await read(film, in: world, takesAnyStatus: true, mode: .reload) == [])
        }
        #expect(try await world.cache.status(of: film.url)?.isComplete == true)
        #expect(try await world.cache.downloads.list().map(\.state) == [.complete])
        // A resource outside the list of downloads goes with a 410.
        _ = try? await read(song, in: world, takesAnyStatus: false, mode: .automatic)
        #expect(try await (world.cache.status(of: song.url) == nil) == (status == 410))
        await world.cache.close()
    }

    @Test func `a download of which nothing may be stored fails with the reason`() async throws {
        let world = try EngineWorld([film], script: { _, _ in .fields(["Cache-Control": "no-store"], .correct) })
        try await world.cache.downloads.add(film.url)
        try await world.cache.downloads.start()
        let failed = try await download(film, in: world) { if case .failed = $0 { true } else { false } }
        #expect(failed.state.reason?.contains("no-store") == true)
        await world.cache.close()
    }

    @Test func `a download without a stated length is complete at its end`() async throws {
        let world = try EngineWorld([film], script: { _, _ in .unknownLength(.chunked, .ignoresRange) })
        try await world.cache.downloads.add(film.url)
        try await world.cache.downloads.start()
        #expect(try await download(film, in: world) { $0 == .complete }.totalBytes == film.length)
        await world.cache.close()
    }

    @Test func `a download without a stated length ends when it has outgrown its allowance`() async throws {
        let world = try EngineWorld([film], script: { _, _ in .unknownLength(.chunked, .ignoresRange) })
        world.cache.downloads.settings.allowanceBytes = 1 << 20
        try await world.cache.downloads.add(film.url)
        try await world.cache.downloads.start()
        let failed = try await download(film, in: world) { if case .failed = $0 { true } else { false } }
        #expect(failed.state.reason?.contains("1048576 of the 1048576 bytes for downloads are left") == true)
        await world.cache.close()
    }

    @Test func `an entry keeps its fields, data and requirements, and nothing shows the fields`() async throws {
        let first = try EngineWorld([film], store: openStore())
        var access = NetworkAccess(allowsCellular: false)
        (access.allowsLowPowerMode, access.hottest) = (false, .fair)
        let details = DownloadDetails(
            requestFields: ["Authorization": "Bearer t0ken", "X-Two": "a: b"], appData: Array("A film\n".utf8), access: access,
            maximumBytes: 1 << 30)
        try await first.cache.downloads.add(film.url, details: details)
        await first.cache.close()
        let second = try EngineWorld([film], store: openStore())
        try await second.cache.downloads.add(film.url, group: "trip")
        let entry = try #require(try await second.cache.downloads.list().first)
        #expect(entry.group == "trip" && entry.details == details, "an entry that is added again keeps its details")
        var dumped = ""
        dump(entry, to: &dumped)
        for text in ["\(entry)", String(reflecting: entry), dumped] { #expect(!text.contains("t0ken")) }
        try await second.cache.downloads.start()
        try await download(film, in: second) { $0 == .complete }
        let sent = second.origin.log.entries.map(\.request.fields)
        #expect(!sent.isEmpty && sent.allSatisfy { $0["Authorization"] == "Bearer t0ken" && $0["X-Two"] == "a: b" })
        await second.cache.close()
    }

    @Test func `an entry has a limit of its own, and details beyond their bounds enter nothing`() async throws {
        let world = try EngineWorld([film])
        let large = DownloadDetails(appData: [UInt8](repeating: 0, count: DownloadDetails.maximumAppDataBytes + 1))
        let broken = DownloadDetails(requestFields: ["X-A": "1\nX-B: 2"])
        let long = DownloadDetails(requestFields: ["X-A": String(repeating: "a", count: 9000)])
        for details in [large, broken, long] {
            let error = await #expect(throws: CacheError.self) { try await world.cache.downloads.add(film.url, details: details) }
            #expect(error?.code == .configuration)
        }
        #expect(try await world.cache.downloads.list().isEmpty)
        try await world.cache.downloads.add(film.url, details: DownloadDetails(maximumBytes: 1 << 20))
        try await world.cache.downloads.start()
        let failed = try await download(film, in: world) { if case .failed = $0 { true } else { false } }
        #expect(failed.state.reason?.contains("it has 3145728 bytes, and may have 1048576") == true)
        await world.cache.close()
    }

    @Test func `a download with other bytes than its SHA-256 fails, and its bytes go`() async throws {
        let world = try EngineWorld([film, song], store: openStore())
        let digest = world.expected(film, 0..<film.length).withUnsafeBytes { SHA256Digest.of($0) }
        let details = DownloadDetails(sha256: digest)
        // A part of the bytes is stored before.
        try await world.cache.preload(film.url, .bytes(1 << 20)).result()
        for resource in [film, song] { try await world.cache.downloads.add(resource.url, details: details) }
        try await world.cache.downloads.start()
        try await download(film, in: world) { $0 == .complete }
        let failed = try await download(song, in: world) { if case .failed = $0 { true } else { false } }
        #expect(failed.state.reason?.contains("must be \(digest.hexadecimal)") == true && failed.details == details)
        #expect(try await world.cache.status(of: song.url)?.stored.isEmpty != false)
        let error = await #expect(throws: CacheError.self) {
            try await world.cache.downloads.add(film.url, details: DownloadDetails(sha256: [1, 2]))
        }
        #expect(error?.code == .configuration)
        await world.cache.close()
        let next = try EngineWorld([film, song], store: openStore())
        #expect(try await next.cache.downloads.list().map(\.details) == [details, details])
        await next.cache.close()
    }

    @Test func `a download that is removed while it runs does not come back`() async throws {
        let world = try EngineWorld([film, song], store: openStore(), script: { _, _ in .stall(afterBytes: 100_000, .correct) })
        try await world.cache.downloads.start()
        for resource in [film, song] {
            try await world.cache.downloads.add(resource.url)
            try await download(resource, in: world) { $0 == .running }
        }
        #expect(try await world.cache.downloads.remove(film.url))
        try await world.cache.eraseEverything()
        #expect(try await world.cache.downloads.list().isEmpty)
        await world.cache.close()
        let next = try EngineWorld([film, song], store: openStore())
        #expect(try await next.cache.downloads.list().isEmpty)
        await next.cache.close()
    }

    @Test(arguments: [false, true])
    func `what fetches ahead waits while the store is suspended, and no byte comes twice`(isListed: Bool) async throws {
        let world = try EngineWorld([film], store: openStore(), script: { _, _ in .slow(bytesPerSecond: 2 << 20) })
        var preload: Preload?
        if isListed {
            try await world.cache.downloads.add(film.url)
            try await world.cache.downloads.start()
        } else {
            preload = try world.cache.preload(film.url, .whole)
        }
        _ = try await world.status(of: film) { !$0.stored.isEmpty }
        try await world.cache.suspend()
        // The store is suspended, so no fetch runs. A new preload waits as well.
        let later = try world.cache.preload(film.url, .bytes(1000))
        #expect(world.cache.liveStatuses.allSatisfy { $0.readers == 0 })
        try await world.cache.resume()
        try await later.result()
        if isListed { try await download(film, in: world) { $0 == .complete } }
        try await preload?.result()
        #expect(world.cache.statistics.fetchedBytes == film.length)
        #expect(try await world.cache.status(of: film.url)?.isComplete == true)
        await world.cache.close()
    }

    @Test func `a suspension that fails leaves a cache that stores`() async throws {
        let disk = MemoryDisk()
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        let store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: SystemRandom(), options: options)
        let world = try EngineWorld([film, song], store: store)
        try await world.play(song)
        disk.setFaults(FaultPlan(faults: [.init(.synchronize, .from(1), code: EIO, pathSuffix: "spool.sqlite-wal")]))
        await #expect(throws: CacheError.self) { try await world.cache.suspend() }
        disk.setFaults(.none)
        try await world.play(film)
        await world.cache.close()
    }

    @Test func `an entry that another process adds while this one is suspended is found and runs`() async throws {
        let world = try EngineWorld([film, song], store: openStore())
        try await world.cache.downloads.add(film.url)
        try await world.cache.downloads.start()
        try await download(film, in: world) { $0 == .complete }
        try await world.cache.suspend()
        let other = try EngineWorld([film, song], store: openStore())
        try await other.cache.downloads.add(song.url)
        await other.cache.close()
        try await world.cache.resume()
        try await download(song, in: world) { $0 == .complete }
        #expect(try await world.cache.downloads.list().map(\.url) == [film.url, song.url])
        await world.cache.close()
    }

    @Test func `a process that becomes the writer later runs the list then`() async throws {
        let directory = try ScratchDirectory()
        let first = try EngineWorld([film], store: directory.openStore())
        try await first.cache.downloads.add(film.url)
        let second = try EngineWorld([film], store: directory.openStore())
        try await second.cache.downloads.start()
        #expect(try await second.cache.downloads.list().map(\.state) == [.queued])
        #expect(!second.cache.store.isWritable && second.origin.log.entries.isEmpty)
        await first.cache.close()
        // No reader comes: the list itself takes the store over.
        try await download(film, in: second) { $0 == .complete }
        await second.cache.close()
    }

    @Test func `a removal takes the bytes along, and a removal of the resource takes the entry along`() async throws {
        let world = try EngineWorld([film, song])
        try await world.cache.downloads.start()
        for resource in [film, song] {
            try await world.cache.downloads.add(resource.url)
            try await download(resource, in: world) { $0 == .complete }
        }
        #expect(try await world.cache.downloads.remove(film.url))
        #expect(try await world.cache.status(of: film.url) == nil)
        #expect(try await !world.cache.downloads.remove(film.url))
        #expect(try await world.cache.remove(song.url))
        #expect(try await world.cache.downloads.list().isEmpty)
        await world.cache.close()
    }
}
