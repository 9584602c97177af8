import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// A finished download whose origin has another version.
@Suite(.timeLimit(.minutes(20))) struct ReplacedDownloadTests {
    private static let url = "http://origin.test/film.mp4"
    private static let length = 1 << 20

    /// The behaviour of the origin.
    private enum Origin {
        case has(version: UInt8)
        /// The bytes stop after a part.
        case stopsWithin(version: UInt8)
        case forbidsToStore(version: UInt8)
        case isAway
    }

    private let disk = MemoryDisk()
    private let origin = Locked(Origin.has(version: 1))

    private static func bytes(_ version: UInt8) -> [UInt8] { [UInt8](repeating: version, count: length) }

    private static func response(_ version: UInt8, _ cacheControl: String = "max-age=0") -> OriginBehaviour {
        let fields: HTTPFields = [
            "Content-Type": "video/mp4", "ETag": "\"\(version)\"", "Content-Length": "\(length)", "Cache-Control": cacheControl,
        ]
        return .status(200, fields: fields, body: bytes(version))
    }

    private func world() throws -> EngineWorld {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        let store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: SeededRandom(seed: 1), options: options)
        return try EngineWorld([], store: store, configuration: { $0.freshness.policy = .standard }) { [origin] _, _ in
            switch origin.withLock({ $0 }) {
            case .has(let version): Self.response(version)
            case .stopsWithin(let version): .stall(afterBytes: 300_000, Self.response(version))
            case .forbidsToStore(let version): Self.response(version, "no-store")
            case .isAway: .refuse
            }
        }
    }

    /// The data files on the disk.
    private func dataFiles() throws -> [String] {
        let root = "/cache/data"
        return try disk.list(root).flatMap { first in
            try disk.list("\(root)/\(first)").flatMap { try disk.list("\(root)/\(first)/\($0)") }
        }
    }

    private func set(_ state: Origin) { origin.withLock { $0 = state } }

    private func complete(in world: EngineWorld) async throws {
        try await eventually("the download is complete") { try await world.cache.downloads.list().map(\.state) == [.complete] }
    }

    /// Downloads the first version, and stops the list.
    private func downloaded() async throws -> EngineWorld {
        let world = try world()
        try await world.cache.downloads.add(Self.url)
        try await world.cache.downloads.start()
        try await complete(in: world)
        try await world.cache.downloads.stop()
        return world
    }

    /// Reads the first bytes that the cache has for a reader, and leaves.
    private func beginning(in world: EngineWorld) async throws -> UInt8? {
        let reader = try world.cache.reader(for: Self.url)
        defer { reader.cancel() }
        for try await chunk in reader.chunks() { return chunk.first }
        return nil
    }

    private func read(_ world: EngineWorld) async throws -> [UInt8] { try await world.cache.reader(for: Self.url).bytes() }

    @Test(arguments: [false, true])
    func `a part of a new version does not take the place of a finished download`(restarts: Bool) async throws {
        var world = try await downloaded()
        set(.stopsWithin(version: 2))
        // A player gets the new version.
        #expect(try await beginning(in: world) == 2)
        set(.isAway)
        if restarts {
            await world.cache.close()
            world = try self.world()
        }
        try await eventually("the old version is back") { (try? await read(world)) == Self.bytes(1) }
        #expect(try await world.cache.downloads.list().map(\.state) == [.complete])
        await world.cache.close()
        #expect(try dataFiles().count == 1, "no part of the new version stays")
    }

    @Test func `a new version takes the place of a finished download when all of it is stored`() async throws {
        var world = try await downloaded()
        set(.has(version: 2))
        try await world.cache.downloads.start()
        #expect(try await beginning(in: world) == 2)
        try await eventually("the list has fetched the new version") {
            let states = try await world.cache.downloads.list().map(\.state)
            let version = try await world.cache.status(of: Self.url)?.representation.validator
            return states == [.complete] && version == .strong(entityTag: "\"2\"")
        }
        await world.cache.close()
        set(.isAway)
        world = try self.world()
        #expect(try await read(world) == Self.bytes(2))
        #expect(try await world.cache.downloads.list().map(\.state) == [.complete])
        await world.cache.close()
    }

    @Test func `a new version that must not be stored leaves a finished download as it is`() async throws {
        let world = try await downloaded()
        set(.forbidsToStore(version: 2))
        #expect(try await read(world) == Self.bytes(2))
        set(.isAway)
        try await eventually("the old version is back") { (try? await read(world)) == Self.bytes(1) }
        await world.cache.close()
    }

    @Test func `a new version in the place of a resource outside the list leaves nothing of the old one`() async throws {
        var world = try world()
        #expect(try await read(world) == Self.bytes(1))
        set(.stopsWithin(version: 2))
        #expect(try await beginning(in: world) == 2)
        await world.cache.close()
        set(.isAway)
        world = try self.world()
        #expect(try await beginning(in: world) == 2)
        await world.cache.close()
    }
}
