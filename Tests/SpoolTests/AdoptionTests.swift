import Foundation
import Spool
import SpoolAdoption
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// The stores of other caches that `Tests/Fixtures/adoption/make.py` writes.
@Suite(.timeLimit(.minutes(20))) struct `A store that is adopted` {
    private static let fixtures = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures/adoption").path

    private let directory: ScratchDirectory

    init() throws {
        directory = try ScratchDirectory()
        try FileManager.default.copyItem(atPath: Self.fixtures, toPath: directory.path + "/from")
    }

    private func path(_ name: String) -> String { directory.path + "/from/" + name }

    /// A cache whose origin has these resources, each with the bytes of its seed.
    private func world(_ resources: [VirtualResource] = [], _ change: (inout Configuration) -> Void = { _ in }) throws -> EngineWorld {
        try EngineWorld(resources, store: directory.openStore(), configuration: change)
    }

    private static func resource(_ name: String, _ seed: UInt64, _ length: Int64) -> VirtualResource {
        VirtualResource(url: "http://media.example/" + name, seed: seed, length: length)
    }

    private func outcomes(_ report: AdoptionReport) -> [String: AdoptionReport.Entry.Outcome] {
        Dictionary(report.entries.map { ($0.url?.replacingOccurrences(of: "http://media.example/", with: "") ?? $0.name, $0.outcome) }) {
            a, _ in a
        }
    }

    /// The bytes and times of all files of a directory.
    private func snapshot(_ name: String) throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        for case let file as String in try #require(FileManager.default.enumerator(atPath: path(name))) {
            let attributes = try FileManager.default.attributesOfItem(atPath: path(name) + "/" + file)
            let content = try? Data(contentsOf: URL(fileURLWithPath: path(name) + "/" + file)).base64EncodedString()
            found[file] = ["\(attributes[.modificationDate] ?? "")", "\(attributes[.posixPermissions] ?? "")", content ?? ""]
        }
        return found
    }

    // MARK: Room

    @Test func `evicts nothing, and names what has no room`() async throws {
        let other = Self.resource("other.mp4", 9, 20_000)
        let world = try world([other]) { $0.limits.quotaBytes = 90_000 }
        try await world.play(other)
        var options = AdoptionOptions()
        options.isDryRun = true
        let planned = try await world.cache.adopt(path("ktv"), options: options)
        let report = try await world.cache.adopt(path("ktv"))
        for report in [planned, report] {
            guard case .leftOut(let reason)? = outcomes(report)["song.mp3"] else {
                Issue.record("the song is not left out: \(report)")
                continue
            }
            #expect(reason.hasPrefix("the store has no room for it") && reason.hasSuffix("an adoption evicts nothing"))
        }
        #expect(report.takenCount == planned.takenCount && report.takenCount > 0)
        // Neither what was played nor what was adopted makes room.
        #expect(try await world.cache.status(of: other.url)?.isComplete == true)
        #expect(try await world.cache.resources().filter { !$0.stored.isEmpty }.count == 1 + report.takenCount)
        await world.cache.close()
    }

    @Test func `takes no more resources than the store keeps`() async throws {
        let other = Self.resource("other.mp4", 9, 20_000)
        let world = try world([other]) { $0.limits.maximumCount = 2 }
        try await world.play(other)
        #expect(try await world.cache.adopt(path("ktv")).takenCount == 1)
        #expect(try await world.cache.status(of: other.url)?.isComplete == true)
        await world.cache.close()
    }

    // MARK: Whole resources

    struct Case: Sendable, CustomTestStringConvertible {
        var directory: String
        var map: String?
        var whole: [(name: String, seed: UInt64, length: Int64)]
        var testDescription: String { directory }
    }

    static let cases = [
        Case(directory: "ktv", whole: [("film.mp4?token=a%26b", 21, 9000), ("song.mp3", 22, 70000)]),
        Case(directory: "ktv/KTVHTTPCache", whole: [("film.mp4?token=a%26b", 21, 9000), ("song.mp3", 22, 70000)]),
        Case(
            directory: "vi", map: "urls.txt", whole: [("vi/whole.mp4", 31, 6000), ("vi/old.mp4", 33, 3000), ("vi/xml.mp4", 34, 3000)]),
        Case(directory: "gs", map: "urls.txt", whole: [("gs/whole.mp4", 41, 5000), ("gs/clip.mov", 43, 2000)]),
        Case(directory: "files", whole: [("files/song.mp3", 51, 4000), ("files/clip", 52, 3000)]),
    ]

    @Test(arguments: cases)
    func `plays its whole resources without an origin, byte for byte, also after the next start`(store: Case) async throws {
        let before = try snapshot(store.directory)
        let first = try world()
        var options = AdoptionOptions()
        options.mappingFile = store.map.map(path)
        let done = Locked<Int64>(0)
        let report = try await first.cache.adopt(path(store.directory), options: options) { now in done.withLock { $0 = now.doneBytes } }
        let outcomes = outcomes(report)
        for (name, _, length) in store.whole { #expect(outcomes[name] == .taken(bytes: length, length: length), "\(name)") }
        #expect(report.takenBytes == done.withLock { $0 })
        await first.cache.close()
        let second = try world()
        for (name, seed, length) in store.whole {
            let url = "http://media.example/" + name
            let bytes = try await second.cache.reader(for: url, options: ReadOptions(mode: .onlyStored)).bytes()
            #expect(bytes == OriginContent(seed: seed).bytes(at: 0, count: Int(length)), "\(name)")
            #expect(try await second.cache.verify(second.cache.key(for: url))?.soundBytes == length)
        }
        #expect(first.origin.log.entries.isEmpty && second.origin.log.entries.isEmpty)
        await second.cache.close()
        #expect(try snapshot(store.directory) == before)
    }

    @Test func `has the types and tags of its index or its mapping file`() async throws {
        let world = try world()
        try await world.cache.adopt(path("ktv"))
        try await world.cache.adopt(path("files"))
        try await world.cache.adopt(path("vi"))
        func version(_ name: String) async throws -> Representation? {
            try await world.cache.status(of: "http://media.example/" + name)?.representation
        }
        #expect(try await version("song.mp3")?.contentType == "audio/mpeg")
        #expect(try await version("tagged.mp4")?.validator == .strong(entityTag: "\"v24\""))
        #expect(try await version("files/clip")?.contentType == "video/mp4")
        #expect(try await version("files/clip")?.validator == .strong(entityTag: "\"v52\""))
        #expect(try await version("vi/whole.mp4")?.contentType == "video/mp4")
        await world.cache.close()
    }

    // MARK: Parts

    @Test func `has a part with a strong validator, and the origin fills the rest of the same version only`() async throws {
        let tagged = Self.resource("tagged.mp4", 24, 8000)
        let world = try world([tagged])
        let report = try await world.cache.adopt(path("ktv"))
        #expect(outcomes(report)["tagged.mp4"] == .taken(bytes: 3000, length: 8000))
        #expect(try await world.cache.reader(for: tagged.url).bytes() == tagged.content.bytes(at: 0, count: 8000))
        let ranges = world.origin.log.entries.compactMap { $0.request.fields["Range"] }
        #expect(!ranges.isEmpty && ranges.allSatisfy { !$0.hasPrefix("bytes=0-") || $0 == "bytes=0-0" }, "\(ranges)")
        await world.cache.close()
    }

    @Test func `has no byte of a part whose version changed at the origin`() async throws {
        let changed = Self.resource("tagged.mp4", 99, 8000)
        let world = try world([changed])
        try await world.cache.adopt(path("ktv"))
        // A read that has taken bytes of the part before the origin answers ends with an error.
        let bytes: [UInt8]
        do {
            bytes = try await world.cache.reader(for: changed.url).bytes()
        } catch let error as CacheError where error.code == .representationChanged {
            bytes = try await world.cache.reader(for: changed.url).bytes()
        }
        #expect(bytes == changed.content.bytes(at: 0, count: 8000))
        await world.cache.close()
    }

    @Test func `leaves out parts that no strong validator ties to a version`() async throws {
        let world = try world()
        var options = AdoptionOptions()
        options.mappingFile = path("urls.txt")
        for (directory, name) in [("ktv", "part.mp4"), ("vi", "vi/part.mp4"), ("gs", "gs/part.mp4"), ("files", "files/short.mp3")] {
            options.mappingFile = directory == "gs" ? path("urls.txt") : nil
            let report = try await world.cache.adopt(path(directory), options: options)
            guard case .leftOut(let reason)? = outcomes(report)[name] else {
                Issue.record("\(name): \(report)")
                continue
            }
            #expect(reason.contains("no strong validator"), "\(reason)")
            #expect(try await world.cache.status(of: "http://media.example/" + name) == nil)
        }
        #expect(world.origin.log.entries.isEmpty)
        await world.cache.close()
    }

    @Test func `has a trusted part as a part of the version that the origin has now`() async throws {
        let part = Self.resource("vi/part.mp4", 32, 6000)
        let world = try world([part])
        var options = AdoptionOptions()
        options.trustsParts = true
        let report = try await world.cache.adopt(path("vi"), options: options)
        #expect(outcomes(report)["vi/part.mp4"] == .taken(bytes: 3000, length: 6000))
        let status = try #require(try await world.cache.status(of: part.url))
        #expect(status.stored == .of(0..<2000, 4000..<5000))
        #expect(status.representation.validator == .strong(entityTag: "\"v32\""))
        #expect(try await world.cache.reader(for: part.url).bytes() == part.content.bytes(at: 0, count: 6000))
        await world.cache.close()
    }

    @Test(arguments: ["length", "validator", "origin"])
    func `leaves out a trusted part if the origin does not name a fitting version`(missing: String) async throws {
        var part = Self.resource("vi/part.mp4", 32, missing == "length" ? 6001 : 6000)
        if missing == "validator" { part.entityTag = "W/\"v32\"" }
        let world = try world(missing == "origin" ? [] : [part])
        var options = AdoptionOptions()
        options.trustsParts = true
        let report = try await world.cache.adopt(path("vi"), options: options)
        let outcome = outcomes(report)["vi/part.mp4"]
        let isLeft = if case .leftOut? = outcome { true } else { false }, hasFailed = if case .failed? = outcome { true } else { false }
        #expect(missing == "origin" ? hasFailed : isLeft, "\(report)")
        #expect(try await world.cache.status(of: part.url)?.stored != .of(0..<2000, 4000..<5000))
        await world.cache.close()
    }

    // MARK: Damage

    @Test func `reports what is damaged, and stores nothing of it`() async throws {
        let world = try world()
        var options = AdoptionOptions()
        options.mappingFile = path("urls.txt")
        var report = try await world.cache.adopt(path("ktv"), options: options)
        var failed = ["beyond.mp4", "torn.mp4"]
        for name in failed { #expect(isFailed(outcomes(report)[name]), "\(name): \(report)") }
        report = try await world.cache.adopt(path("vi"), options: options)
        #expect(report.failedCount == 2, "\(report)")
        #expect(isFailed(outcomes(report)["vi/short.mp4"]))
        failed.append("vi/short.mp4")
        report = try await world.cache.adopt(path("gs"), options: options)
        #expect(report.failedCount == 1, "\(report)")
        report = try await world.cache.adopt(path("files"))
        #expect(isFailed(outcomes(report)["files/missing.mp3"]))
        failed += ["vi/torn.mp4", "gs/torn.mp4", "files/missing.mp3", "list.m3u8", "lost.mp4"]
        for name in failed { #expect(try await world.cache.status(of: "http://media.example/" + name) == nil, "\(name)") }
        await world.cache.close()
    }

    private func isFailed(_ outcome: AdoptionReport.Entry.Outcome?) -> Bool {
        if case .failed? = outcome { true } else { false }
    }

    @Test(arguments: ["cut", "emptied", "other", "map", "none"])
    func `is refused as a whole if its index can't be read`(damage: String) async throws {
        let archive = URL(fileURLWithPath: path("ktv/KTVHTTPCache/KTVHTTPCache.archive"))
        var store = "ktv"
        switch damage {
        case "cut": try Data(contentsOf: archive).prefix(900).write(to: archive)
        case "emptied": try Data().write(to: archive)
        case "other": try Data(#"{"fragments": []}"#.utf8).write(to: archive)
        case "map":
            store = "files"
            try Data("clip\thttp://media.example/a\tlength=x\n".utf8).write(to: URL(fileURLWithPath: path("files/spool-adopt.tsv")))
        default: try FileManager.default.removeItem(at: archive)
        }
        let world = try world()
        let error = await #expect(throws: CacheError.self) { try await world.cache.adopt(path(store)) }
        #expect(error?.code == .file)
        #expect(try await world.cache.count() == 0)
        await world.cache.close()
    }

    // MARK: Safety

    @Test func `has no byte from outside the directory`() async throws {
        let secret = directory.path + "/secret.mp3"
        try Data(repeating: 1, count: 4000).write(to: URL(fileURLWithPath: secret))
        let name = path("files/0B1C4C8E-5B0F-4B43-9B0B-0C6E2E9C9A51.mp3"), folder = path("files/films")
        try FileManager.default.removeItem(atPath: name)
        try FileManager.default.createSymbolicLink(atPath: name, withDestinationPath: secret)
        try FileManager.default.moveItem(atPath: folder, toPath: directory.path + "/films")
        try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: directory.path + "/films")
        let world = try world()
        let report = try await world.cache.adopt(path("files"))
        #expect(report.takenCount == 0, "\(report)")
        #expect(report.entries.filter { $0.outcome == .leftOut("it is a link or a special file, which is not followed") }.count == 2)
        #expect(try await world.cache.count() == 0)
        try Data("../secret.mp3\thttp://media.example/a\n".utf8).write(to: URL(fileURLWithPath: path("files/spool-adopt.tsv")))
        let error = await #expect(throws: CacheError.self) { try await world.cache.adopt(path("files")) }
        #expect(error?.code == .file)
        await world.cache.close()
    }

    @Test func `changes nothing in a dry run, and keeps stored bytes unless they are to be replaced`() async throws {
        let song = Self.resource("files/song.mp3", 7, 500)
        let world = try world([song])
        var options = AdoptionOptions()
        options.isDryRun = true
        #expect(try await world.cache.adopt(path("files"), options: options).takenCount == 2)
        #expect(try await world.cache.count() == 0)
        try await world.play(song)
        let kept = try await world.cache.adopt(path("files"))
        #expect(outcomes(kept)["files/song.mp3"] == .leftOut("the cache has bytes of it already"))
        options = AdoptionOptions()
        options.replacesStored = true
        #expect(try await world.cache.adopt(path("files"), options: options).takenCount == 2)
        let bytes = try await world.cache.reader(for: song.url, options: ReadOptions(mode: .onlyStored)).bytes()
        #expect(bytes == OriginContent(seed: 51).bytes(at: 0, count: 4000))
        await world.cache.close()
    }

    @Test func `ends with the task that adopts it`() async throws {
        let world = try world()
        let cache = world.cache, path = path("ktv")
        let task = Task { try await cache.adopt(path) }
        task.cancel()
        let error = await #expect(throws: CacheError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        await world.cache.close()
    }

    @Test func `leaves out what has no room, and takes the others`() async throws {
        let world = try world { $0.storage.maximumResourceBytes = 10_000 }
        let outcomes = outcomes(try await world.cache.adopt(path("ktv")))
        #expect(isFailed(outcomes["song.mp3"]))
        #expect(outcomes["film.mp4?token=a%26b"] == .taken(bytes: 9000, length: 9000))
        await world.cache.close()
    }
}
