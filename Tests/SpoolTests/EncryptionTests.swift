import Foundation
import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// A cache over an encrypted store, seen through its readers and its disk.
@Suite(.timeLimit(.minutes(20))) struct EncryptionTests {
    private static let block = Piece.blockBytes
    private let film = VirtualResource(
        url: "http://origin.test/a-private-film-with-a-name.mp4?token=of-more-than-16-bytes", seed: 7, length: 3 * 1_048_576 + 1_000)
    private let disk = MemoryDisk()

    private func openWorld(
        _ algorithm: CipherAlgorithm = .chaCha20Poly1305, configuration change: (inout Configuration) -> Void = { _ in }
    ) throws -> EngineWorld {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        options.encryption = EncryptionOptions(keyProvider: .key(try #require(EncryptionKey(bytes: [UInt8](1...32)))), algorithm: algorithm)
        let store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: SystemRandom(), options: options)
        return try EngineWorld([film], store: store, configuration: change)
    }

    private func storeFilm() async throws {
        let world = try openWorld()
        #expect(try await world.cache.reader(for: film.url).bytes() == all)
        await world.cache.close()
    }

    private var all: [UInt8] { film.content.bytes(at: 0, count: Int(film.length)) }

    // MARK: Right bytes

    @Test(arguments: CipherAlgorithm.allCases)
    func `500 random ranges of an encrypted store equal the source`(algorithm: CipherAlgorithm) async throws {
        let world = try openWorld(algorithm)
        let seed = Seeds.list(count: 1)[0]
        // The first opening stores the bytes on the way, the second one finds them all.
        try await readRandomRanges(world, seed, of: all)
        #expect(try await world.cache.reader(for: film.url).bytes() == all)
        await world.cache.close()
        let again = try openWorld(algorithm)
        try await readRandomRanges(again, seed + 1, of: all)
        #expect(again.cache.statistics.fetchedBytes == 0)
        await again.cache.close()
    }

    private func readRandomRanges(_ world: EngineWorld, _ seed: UInt64, of all: [UInt8]) async throws {
        let url = film.url
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in 0..<8 {
                group.addTask {
                    let random = SeededRandom(seed: seed * 8 + UInt64(reader))
                    let bytes = try world.cache.reader(for: url)
                    for _ in 0..<63 {
                        let lower = Int(random.next(below: UInt64(all.count)))
                        let count = min(all.count - lower, 1 + Int(random.next(below: 200_000)))
                        let isRight = try await bytes.read(at: Int64(lower), count: count) == Array(all[lower..<lower + count])
                        #expect(isRight, "seed \(seed): \(lower)..<\(lower + count)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: The disk

    @Test func `an encrypted store has no 16 plaintext bytes of media, URL or headers`() async throws {
        let world = try openWorld()
        _ = try await world.cache.reader(for: film.url).bytes()
        // Once with the index's write-ahead log, once without.
        let secrets = [all, Array(film.url.utf8), Array("Content-Type: video/mp4".utf8)]
        #expect(try leaks(of: secrets) == [])
        await world.cache.close()
        #expect(try leaks(of: secrets) == [])
        #expect(try files(below: "/cache").contains { $0.contains("/data/") })
    }

    @Test func `a block that was replaced by another is reported as damage and fetched again in the same read`() async throws {
        try await storeFilm()
        let path = try #require(try files(below: "/cache/data").first)
        let first = try read(path, at: 0, count: Int(Self.block))
        let third = try read(path, at: 2 * Self.block, count: Int(Self.block))
        try write(third, to: path, at: 0)
        try write(first, to: path, at: 2 * Self.block)
        let world = try openWorld()
        let bytes = try await world.cache.reader(for: film.url).bytes()
        #expect(bytes == all)
        let damaged = world.events.all.compactMap { if case .damageFound(_, let bytes) = $0 { bytes } else { nil } }
        #expect(damaged == [Self.block, Self.block])
        #expect(world.cache.statistics.fetchedBytes == 2 * Self.block)
        await world.cache.close()
        let next = try openWorld()
        #expect(try await next.cache.reader(for: film.url, options: ReadOptions(mode: .onlyStored)).bytes() == all)
        await next.cache.close()
    }

    @Test func `bytes that are fetched again while the index is busy stay stored`() async throws {
        try await storeFilm()
        let path = try #require(try files(below: "/cache/data").first)
        // Damage makes both blocks gaps, one after the other.
        for block in [0, 2 * Self.block] { try disk.damage(path, at: block + 5) }
        let hold = IndexHold()
        let world = try openWorld { $0.events.append(hold) }
        let reader = try world.cache.reader(for: film.url)
        let count = Int(Self.block)
        #expect(try await reader.read(at: 0, count: count) == Array(all.prefix(count)))
        try await eventually("the first block was committed") { hold.isReached }
        #expect(try await reader.read(at: 2 * Self.block, count: count) == Array(all[2 * count..<3 * count]))
        try await eventually("both fetches ended") {
            world.events.all.count { if case .fetchEnded = $0 { true } else { false } } == 2
        }
        await world.dataLanesAreDone()
        hold.release()
        await world.cache.close()
        let next = try openWorld()
        #expect(try await next.cache.reader(for: film.url, options: ReadOptions(mode: .onlyStored)).bytes() == all)
        await next.cache.close()
    }

    @Test func `a file that was cut short is fetched again where it ends`() async throws {
        try await storeFilm()
        let path = try #require(try files(below: "/cache/data").first)
        try disk.open(path, .readWrite).truncate(to: 1_000_000)
        let world = try openWorld()
        #expect(try await world.cache.reader(for: film.url).bytes() == all)
        await world.cache.close()
    }

    @Test func `an earlier version of an encrypted block is refused`() async throws {
        try await storeFilm()
        let path = try #require(try files(below: "/cache/data").first)
        let earlier = try read(path, at: 0, count: Int(Self.block))
        // Damage makes the block a gap, which is written again.
        try disk.damage(path, at: 5)
        let world = try openWorld()
        #expect(try await world.cache.reader(for: film.url).bytes() == all)
        await world.cache.close()
        #expect(try read(path, at: 0, count: Int(Self.block)) != earlier)
        try write(earlier, to: path, at: 0)
        let again = try openWorld()
        #expect(try await again.cache.reader(for: film.url).bytes() == all)
        #expect(again.cache.statistics.fetchedBytes == Self.block)
        await again.cache.close()
    }

    // MARK: Keys

    @Test func `opening a cache with another key fails with a clear error and changes nothing`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var configuration = Configuration()
        configuration.storage.directory = directory
        configuration.security.encryption = EncryptionOptions(keyProvider: .key(try #require(EncryptionKey(bytes: [UInt8](1...32)))))
        try await MediaCache(configuration: configuration).close()
        configuration.security.encryption = EncryptionOptions(keyProvider: .key(try #require(EncryptionKey(bytes: [UInt8](2...33)))))
        #expect(throws: CacheError.self) { try MediaCache(configuration: configuration) }
        do {
            _ = try MediaCache(configuration: configuration)
        } catch {
            #expect(error.code == .key)
            #expect(error.message.contains("another key") && error.message.contains(directory))
        }
        configuration.security.encryption = nil
        do {
            _ = try MediaCache(configuration: configuration)
            Issue.record("an encrypted store was opened without a key")
        } catch {
            #expect(error.code == .key && error.message.contains("give its key"))
        }
    }

    // MARK: Support

    private func files(below directory: String) throws -> [String] {
        try disk.list(directory).flatMap { name -> [String] in
            let path = "\(directory)/\(name)"
            return try disk.status(path)?.isDirectory == true ? files(below: path) : [path]
        }
    }

    private func leaks(of secrets: [[UInt8]]) throws -> [String] {
        var wanted: Set<[UInt8]> = []
        // Every aligned window of 16 bytes in the secret is searched for in every window of the
        // file. So any run of 31 secret bytes is found.
        for secret in secrets {
            for start in stride(from: 0, to: secret.count - 15, by: 16) { wanted.insert(Array(secret[start..<start + 16])) }
        }
        let firsts = Set(wanted.map { UInt32($0[0]) << 16 | UInt32($0[1]) << 8 | UInt32($0[2]) })
        return try files(below: "/cache").filter { path in
            let bytes = try read(path, at: 0, count: Int(disk.status(path)?.size ?? 0))
            return (0..<max(0, bytes.count - 15)).contains { start in
                firsts.contains(UInt32(bytes[start]) << 16 | UInt32(bytes[start + 1]) << 8 | UInt32(bytes[start + 2]))
                    && wanted.contains(Array(bytes[start..<start + 16]))
            }
        }
    }

    private func read(_ path: String, at offset: Int64, count: Int) throws -> [UInt8] {
        let file = try disk.open(path, .read)
        var bytes = [UInt8](repeating: 0, count: count)
        let got = try bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(SystemError) in try file.read(into: buffer, at: offset) }
        }.get()
        return Array(bytes.prefix(got))
    }

    private func write(_ bytes: [UInt8], to path: String, at offset: Int64) throws {
        let file = try disk.open(path, .readWrite)
        try bytes.withUnsafeBytes { buffer in
            Result { () throws(SystemError) in try file.write(buffer, at: offset) }
        }.get()
    }
}

/// Holds the index lane at each commit of fetched bytes until it is released, or for a number of
/// looks: a write may have to wait for the lane.
private final class IndexHold: EventSink {
    private static let looks = 1_000_000
    private let state = Locked((isReached: false, isReleased: false))

    var isReached: Bool { state.withLock { $0.isReached } }

    func record(_ event: CacheEvent) {
        guard case .bytesCommitted(_, let bytes) = event, bytes > 0 else { return }
        state.withLock { $0.isReached = true }
        for _ in 0..<Self.looks where !state.withLock({ $0.isReleased }) { sched_yield() }
    }

    func release() { state.withLock { $0.isReleased = true } }
}
