import Spool
import SpoolCore
import SpoolManifests
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// HLS presentations as entries of the list of downloads.
@Suite(.timeLimit(.minutes(20))) struct PresentationDownloadTests {
    private static let base = "http://origin.test/v/"
    private static let film = base + "film.m3u8"
    private static let partBytes = 100_000

    /// The names of the parts of the low variant, with its playlists.
    private static let low: Set<String> = Set(["film.m3u8", "low.m3u8", "low-init.mp4", "sound.m3u8", "sound-init.mp4"])
        .union((1...8).flatMap { ["low\($0).m4s", "sound\($0).m4s"] })

    private static let master = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en",DEFAULT=YES,URI="sound.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360,AUDIO="a"
        low.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=3000000,RESOLUTION=1280x720,AUDIO="a"
        high.m3u8
        """

    private static func playlist(_ name: String) -> String {
        let segments = (1...8).map { "#EXTINF:4,\n\(name)\($0).m4s" }.joined(separator: "\n")
        return "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MAP:URI=\"\(name)-init.mp4\"\n\(segments)\n#EXT-X-ENDLIST\n"
    }

    /// Returns the body of a resource of the origin.
    private static func body(_ name: String) -> (type: String, bytes: [UInt8]) {
        let manifest = "application/vnd.apple.mpegurl"
        return switch name {
        case "film.m3u8": (manifest, Array(master.utf8))
        case "low.m3u8", "high.m3u8", "sound.m3u8": (manifest, Array(playlist(String(name.dropLast(5))).utf8))
        default: ("video/mp4", [UInt8](repeating: UInt8(name.utf8.reduce(0, &+)), count: partBytes))
        }
    }

    private static func bytes(of names: Set<String>) -> Int64 { names.reduce(0) { $0 + Int64(body($1).bytes.count) } }

    private let disk = MemoryDisk()

    private func openStore() throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        return try SQLiteStore(directory: "/cache", fileSystem: disk, random: SeededRandom(seed: 1), options: options)
    }

    private func world(
        script: @escaping @Sendable (String) -> OriginBehaviour? = { _ in nil },
        configuration change: (inout Configuration) -> Void = { _ in }
    ) throws -> EngineWorld {
        try EngineWorld([], store: openStore(), configuration: change) { request, _ in
            let name = String(request.url.dropFirst(Self.base.count))
            if let answer = script(name) { return answer }
            let (type, body) = Self.body(name)
            return .status(200, fields: ["Content-Type": type, "ETag": "\"1\"", "Content-Length": "\(body.count)"], body: body)
        }
    }

    private static var lowVariant: PresentationSelection {
        var selection = PresentationSelection()
        selection.quality = .height(360)
        return selection
    }

    /// The names of the resources that are stored as a whole.
    private func stored(_ world: EngineWorld) async throws -> Set<String> {
        Set(try await world.cache.resources().filter(\.isComplete).map { String($0.url.dropFirst(Self.base.count)) })
    }

    /// The names of the parts that the origin was asked for, each as often as it was asked for.
    /// Manifests may be asked for again.
    private func askedParts(_ world: EngineWorld) -> [String] { asked(world).filter { !$0.hasSuffix(".m3u8") } }

    /// The names that the origin was asked for, each as often as it was asked for.
    private func asked(_ world: EngineWorld) -> [String] {
        world.origin.log.entries.map { String($0.request.url.dropFirst(Self.base.count)) }
    }

    @discardableResult
    private func download(
        _ url: String = Self.film, in world: EngineWorld, when condition: (Download.State) -> Bool
    ) async throws -> Download {
        try await eventually("the download of \(url)") {
            try await world.cache.downloads.list().first { $0.url == url && condition($0.state) }
        }
    }

    @Test func `a presentation is one entry, which is complete when all of its parts are stored`() async throws {
        let world = try world()
        try await world.cache.downloads.add(Self.film, selection: Self.lowVariant)
        try await world.cache.downloads.start()
        let done = try await download(in: world) { $0 == .complete }
        #expect(try await world.cache.downloads.list().count == 1)
        #expect(try await stored(world) == Self.low)
        #expect(done.doneBytes == Self.bytes(of: Self.low) && done.totalBytes == done.doneBytes)
        #expect(asked(world).count == Self.low.count, "each resource is fetched once")
        #expect(try await world.cache.presentations.status(of: Self.film)?.isComplete == true)
        await world.cache.close()
    }

    @Test func `a presentation outlives the process, and goes on with the missing parts`() async throws {
        let first = try world { name in name.hasSuffix("6.m4s") ? .silence : nil }
        try await first.cache.downloads.add(Self.film, selection: Self.lowVariant, group: "trip", priority: 2)
        try await first.cache.downloads.start()
        try await eventually("the fifth segments are stored") { try await stored(first).isSuperset(of: ["low5.m4s", "sound5.m4s"]) }
        let before = try await stored(first)
        await first.cache.close()

        let second = try world()
        let list = try await second.cache.downloads.list()
        #expect(list.map(\.state) == [.queued] && list.first?.selection == Self.lowVariant)
        #expect(list.first?.group == "trip" && list.first?.priority == 2)
        #expect((list.first?.doneBytes ?? 0) >= Self.bytes(of: before))
        try await second.cache.downloads.start()
        try await download(in: second) { $0 == .complete }
        #expect(Set(askedParts(second)).isDisjoint(with: before), "no stored part is fetched again")
        #expect(try await stored(second) == Self.low)
        await second.cache.close()

        let third = try world()
        #expect(try await third.cache.downloads.list().map(\.state) == [.complete])
        #expect(asked(third).isEmpty)
        await third.cache.close()
    }

    @Test func `the calls of a cache take the manifest of a presentation for the whole`() async throws {
        let world = try world()
        #expect(try await !world.cache.isComplete(Self.film))
        try await Preload.presentation(in: world.cache, Self.film, Self.lowVariant).result()
        try await eventually("every part is in the index") { try await stored(world) == Self.low }
        #expect(try await world.cache.isComplete(Self.film))
        #expect(try await world.cache.pin(Self.film))
        #expect(try await !world.cache.pin(Self.film), "all of it is pinned already")
        #expect(try await world.cache.resources().allSatisfy(\.isPinned))
        let error = await #expect(throws: CacheError.self) { _ = try await world.cache.export(Self.film, to: "/nowhere/film.mp4") }
        #expect(error?.code == .unsupportedURL)
        #expect(try await world.cache.completeFile(for: Self.film) == nil)
        try await world.cache.clear()
        #expect(try await stored(world) == Self.low, "every part is pinned")
        #expect(try await world.cache.remove(Self.base + "low3.m4s"))
        #expect(try await !world.cache.isComplete(Self.film), "the manifest alone is not the film")
        #expect(try await world.cache.unpin(Self.film))
        #expect(try await !world.cache.unpin(Self.film))
        #expect(try await world.cache.resources().allSatisfy { !$0.isPinned })
        #expect(try await world.cache.remove(Self.film))
        #expect(try await !world.cache.remove(Self.film))
        #expect(try await world.cache.count() == 0)
        await world.cache.close()
    }

    @Test func `a preload from the middle takes the segments there, and the initialisation section`() async throws {
        let world = try world()
        try await world.cache.preload(Self.base + "low.m3u8", .seconds(4, from: 17)).result()
        #expect(askedParts(world).sorted() == ["low-init.mp4", "low5.m4s", "low6.m4s"])
        try await world.cache.preload(Self.base + "low.m3u8", .seconds(4, from: 1000)).result()
        #expect(askedParts(world).sorted() == ["low-init.mp4", "low5.m4s", "low6.m4s", "low8.m4s"])
        await world.cache.close()
    }

    @Test func `a presentation waits while the store is suspended, and goes on with its parts`() async throws {
        let isBack = Locked(false)
        let world = try world { name in name == "low5.m4s" && !isBack.withLock { $0 } ? .silence : nil }
        try await world.cache.downloads.add(Self.film, selection: Self.lowVariant)
        try await world.cache.downloads.start()
        try await eventually("a part that does not come") { asked(world).contains("low5.m4s") }
        try await world.cache.suspend()
        let before = asked(world).count
        isBack.withLock { $0 = true }
        #expect(world.cache.liveStatuses.allSatisfy { $0.readers == 0 } && asked(world).count == before)
        try await world.cache.resume()
        try await download(in: world) { $0 == .complete }
        #expect(try await stored(world) == Self.low)
        await world.cache.close()
    }

    @Test func `the fields of an entry go to the origin of the manifest alone`() async throws {
        let list = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nlow1.m4s\n#EXTINF:4,\nhttp://elsewh.test/v/low2.m4s\n#EXT-X-ENDLIST\n"
        let fields: HTTPFields = ["Content-Type": "application/vnd.apple.mpegurl", "Content-Length": "\(list.utf8.count)"]
        let world = try world { $0 == "low.m3u8" ? .status(200, fields: fields, body: Array(list.utf8)) : nil }
        try await world.cache.downloads.add(
            Self.base + "low.m3u8", details: DownloadDetails(requestFields: ["Authorization": "Bearer t0ken"]))
        try await world.cache.downloads.start()
        try await download(Self.base + "low.m3u8", in: world) { $0 == .complete }
        for entry in world.origin.log.entries {
            let isOwn = entry.request.url.hasPrefix(Self.base)
            #expect(entry.request.fields["Authorization"] == (isOwn ? "Bearer t0ken" : nil), "\(entry.request.url)")
        }
        #expect(world.origin.log.entries.contains { $0.request.url.hasPrefix("http://elsewh.test/") })
        await world.cache.close()
    }

    @Test func `a presentation is paused, and goes on after a resume`() async throws {
        let isSilent = Locked(true)
        let world = try world { name in name == "low3.m4s" && isSilent.withLock { $0 } ? .silence : nil }
        try await world.cache.downloads.add(Self.film, selection: Self.lowVariant)
        try await world.cache.downloads.start()
        try await eventually("the second segment is stored") { try await stored(world).contains("low2.m4s") }
        #expect(try await world.cache.downloads.pause(Self.film))
        isSilent.withLock { $0 = false }
        #expect(try await world.cache.downloads.list().map(\.state) == [.paused])
        #expect(try await world.cache.downloads.resume(Self.film))
        try await download(in: world) { $0 == .complete }
        #expect(try await stored(world) == Self.low)
        await world.cache.close()
    }

    @Test func `the parts of a presentation are outside the quota, and playing evicts none of them`() async throws {
        let quota = Int64(Self.partBytes) * 4
        var world = try world(configuration: { $0.limits.quotaBytes = quota })
        try await world.cache.downloads.add(Self.film, selection: Self.lowVariant)
        try await world.cache.downloads.start()
        try await download(in: world) { $0 == .complete }
        // Another process of the same store spares them, too.
        await world.cache.close()
        world = try self.world(configuration: { $0.limits.quotaBytes = quota })
        for number in 1...8 { _ = try await world.cache.reader(for: Self.base + "played\(number).mp4").bytes() }
        // The whole quota is left for what is played.
        try await eventually("the last one is stored") { try await stored(world).contains("played8.mp4") }
        #expect(try await stored(world).isSuperset(of: Self.low))
        #expect(try await world.cache.downloads.room().usedBytes >= Self.bytes(of: Self.low))
        // Parts that are kept without the entry count again.
        #expect(try await world.cache.downloads.remove(Self.film, keepingBytes: true))
        #expect(try await world.cache.downloads.room().usedBytes == 0)
        await world.cache.close()
    }

    @Test func `a removal takes the parts along, apart from those of another download`() async throws {
        let world = try world()
        let sound = Self.base + "sound.m3u8"
        try await world.cache.downloads.add(Self.film, selection: Self.lowVariant)
        try await world.cache.downloads.add(sound)
        try await world.cache.downloads.start()
        for url in [Self.film, sound] { try await download(url, in: world) { $0 == .complete } }
        #expect(try await world.cache.downloads.remove(Self.film))
        #expect(try await stored(world) == Self.low.filter { $0.hasPrefix("sound") })
        #expect(try await world.cache.downloads.remove(sound))
        #expect(try await stored(world).isEmpty)
        #expect(try await world.cache.downloads.room().usedBytes == 0)
        await world.cache.close()
    }

    @Test func `a presentation ends when it has outgrown its allowance`() async throws {
        let world = try world()
        let allowance = Int64(Self.partBytes) * 3
        world.cache.downloads.settings.allowanceBytes = allowance
        try await world.cache.downloads.add(Self.film, selection: Self.lowVariant)
        try await world.cache.downloads.start()
        let failed = try await download(in: world) { if case .failed = $0 { true } else { false } }
        #expect(failed.state.reason?.contains("bytes so far, and \(allowance) of the \(allowance) bytes for downloads are left") == true)
        world.cache.downloads.settings.allowanceBytes = nil
        #expect(try await world.cache.downloads.resume(Self.film))
        try await download(in: world) { $0 == .complete }
        await world.cache.close()
    }

    @Test func `a finished presentation that lost a part is queued again, and fetches that part only`() async throws {
        let first = try world()
        try await first.cache.downloads.add(Self.film, selection: Self.lowVariant)
        try await first.cache.downloads.start()
        try await download(in: first) { $0 == .complete }
        #expect(try await first.cache.remove(Self.base + "low4.m4s"))
        await first.cache.close()
        let second = try world()
        #expect(try await second.cache.downloads.list().map(\.state) == [.queued])
        try await second.cache.downloads.start()
        try await download(in: second) { $0 == .complete }
        #expect(askedParts(second) == ["low4.m4s"])
        await second.cache.close()
    }

    @Test func `another selection runs again, and lets the parts of the first one go`() async throws {
        let world = try world()
        try await world.cache.downloads.add(Self.film, selection: Self.lowVariant)
        try await world.cache.downloads.start()
        try await download(in: world) { $0 == .complete }
        try await world.cache.downloads.add(Self.film)
        let done = try await download(in: world) { $0 == .complete }
        let high = Set(Self.low.map { $0.replacing("low", with: "high") })
        #expect(done.doneBytes == Self.bytes(of: high))
        // The bytes of the first one stay in the cache, and are part of the quota.
        #expect(try await stored(world) == Self.low.union(high))
        let (room, low) = (try await world.cache.downloads.room().usedBytes, Self.bytes(of: Self.low.subtracting(high)))
        #expect(room >= done.doneBytes && room < done.doneBytes + low)
        await world.cache.close()
    }

    @Test func `a live stream fails with the reason`() async throws {
        let world = try world { name in
            guard name == "low.m3u8" else { return nil }
            let text = Self.playlist("low").replacing("#EXT-X-ENDLIST\n", with: "")
            return .status(200, fields: ["Content-Type": "application/vnd.apple.mpegurl", "ETag": "\"1\""], body: Array(text.utf8))
        }
        try await world.cache.downloads.add(Self.film, selection: Self.lowVariant)
        try await world.cache.downloads.start()
        let failed = try await download(in: world) { if case .failed = $0 { true } else { false } }
        #expect(failed.state.reason?.contains("live stream") == true)
        await world.cache.close()
    }
}
