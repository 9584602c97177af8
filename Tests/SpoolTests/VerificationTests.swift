import Spool
import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Bytes of an earlier opening are compared with their checks before they are used.
@Suite(.timeLimit(.minutes(20))) struct VerificationTests {
    private static let block = Piece.blockBytes
    private let film = VirtualResource(url: "http://origin.test/film.mp4", seed: 7, length: 3 * 1_048_576 + 1_000)
    private let disk = MemoryDisk()

    private func openWorld() throws -> EngineWorld {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        let store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: SeededRandom(seed: 1), options: options)
        return try EngineWorld([film], store: store)
    }

    /// Stores the film in an opening of its own, and returns the path of its data file.
    private func storeFilm() async throws -> String {
        let world = try openWorld()
        #expect(isFilm(try await world.cache.reader(for: film.url).bytes()))
        await world.cache.close()
        return try dataFile()
    }

    private func dataFile() throws -> String {
        for group in try disk.list("/cache/data") {
            for hash in try disk.list("/cache/data/\(group)") {
                for name in try disk.list("/cache/data/\(group)/\(hash)") { return "/cache/data/\(group)/\(hash)/\(name)" }
            }
        }
        throw SystemError(code: 2, operation: "look for the data file")
    }

    private var all: [UInt8] { film.content.bytes(at: 0, count: Int(film.length)) }

    /// Not `#expect(bytes == all)`: the difference of long arrays takes minutes to print.
    private func isFilm(_ bytes: [UInt8]) -> Bool { bytes == all }

    private func damagedBytes(_ world: EngineWorld) -> [Int64] {
        world.events.all.compactMap { if case .damageFound(_, let bytes) = $0 { bytes } else { nil } }
    }

    @Test(arguments: [0, 65_535, 65_536, 1_048_576, 3 * 1_048_576 + 999])
    func `a byte that the disk spoilt is not served, and its block is fetched in the same read`(offset: Int64) async throws {
        try disk.damage(try await storeFilm(), at: offset)
        let world = try openWorld()
        let bytes = try await world.cache.reader(for: film.url).bytes()
        #expect(isFilm(bytes))
        let start = offset / Self.block * Self.block
        let end = min(start + Self.block, film.length)
        #expect(damagedBytes(world) == [end - start])
        #expect(world.cache.statistics.fetchedBytes == end - start)
        await world.cache.close()
        // The fetched block is stored and right.
        let next = try openWorld()
        let again = try await next.cache.reader(for: film.url, options: ReadOptions(mode: .onlyStored)).bytes()
        #expect(isFilm(again))
        #expect(damagedBytes(next) == [])
        await next.cache.close()
    }

    @Test(arguments: [EPERM, EACCES])
    func `bytes that cannot be read now are fetched, and stay in the store`(code: Int32) async throws {
        _ = try await storeFilm()
        let world = try openWorld()
        disk.setFaults(FaultPlan(faults: [.init(.read, .from(1), code: code, pathSuffix: ".mp4")]))
        let bytes = try await world.cache.reader(for: film.url).bytes()
        #expect(isFilm(bytes))
        disk.setFaults(FaultPlan())
        await world.cache.close()
        let next = try openWorld()
        #expect(try await next.cache.status(of: next.key(film))?.stored.totalBytes == film.length)
        let again = try await next.cache.reader(for: film.url, options: ReadOptions(mode: .onlyStored)).bytes()
        #expect(isFilm(again), "the stored bytes were right all the time")
        await next.cache.close()
    }

    @Test(arguments: [EPERM, EIO])
    func `verifying discards bytes that the disk has lost, and none of a locked device`(code: Int32) async throws {
        _ = try await storeFilm()
        let world = try openWorld()
        let key = try world.key(film)
        disk.setFaults(FaultPlan(faults: [.init(.read, .from(1), code: code, pathSuffix: ".mp4")]))
        if code == EIO {
            #expect(try await world.cache.verify(key, isRepairing: true)?.damaged.totalBytes == film.length)
        } else {
            await #expect(throws: CacheError.self) { try await world.cache.verify(key, isRepairing: true) }
        }
        disk.setFaults(FaultPlan())
        #expect(try await world.cache.status(of: key)?.stored.totalBytes == (code == EIO ? 0 : film.length))
        await world.cache.close()
    }

    @Test func `every stored byte is read once to be verified, however often it is used`() async throws {
        let path = try await storeFilm()
        let written = disk.readBytes(of: path)
        let world = try openWorld()
        for round in 1...3 {
            async let first = world.cache.reader(for: film.url).bytes()
            async let second = world.cache.reader(for: film.url).bytes()
            let (one, other) = try await (first, second)
            #expect(isFilm(one) && isFilm(other))
            #expect(disk.readBytes(of: path) - written == film.length * Int64(1 + 2 * round), "round \(round)")
        }
        #expect(world.cache.statistics.fetchedBytes == 0)
        await world.cache.close()
    }

    @Test func `bytes that this opening wrote are not verified`() async throws {
        let world = try openWorld()
        #expect(isFilm(try await world.cache.reader(for: film.url).bytes()))
        let status = try await world.status(of: film) { $0.isComplete }
        #expect(status.isComplete)
        let path = try dataFile()
        let before = disk.readBytes(of: path)
        #expect(isFilm(try await world.cache.reader(for: film.url).bytes()))
        #expect(disk.readBytes(of: path) - before == film.length)
        await world.cache.close()
    }

    @Test func `a reader with the mode onlyStored ends at a damaged block`() async throws {
        try disk.damage(try await storeFilm(), at: 2 * 1_048_576)
        let world = try openWorld()
        let reader = try world.cache.reader(for: film.url, options: ReadOptions(mode: .onlyStored))
        let before = try await reader.read(at: 0, count: 2 << 20)
        #expect(before.elementsEqual(all[..<(2 << 20)]))
        await #expect(throws: CacheError.self) { try await reader.read(at: 2 << 20, count: 10) }
        await world.cache.close()
    }

    // MARK: Verification on request

    @Test func `verifying reads every stored byte and finds no damage in sound ones`() async throws {
        _ = try await storeFilm()
        let world = try openWorld()
        let seen = Locked<Int64>(0)
        let found = try await world.cache.verify(world.key(film)) { bytes in seen.withLock { $0 += bytes } }
        #expect(found?.soundBytes == film.length && found?.uncheckedBytes == 0)
        #expect(found?.isSound == true && found?.isRepaired == false)
        #expect(seen.withLock { $0 } == film.length)
        #expect(try await world.cache.verify(ResourceKey(normalized: "http://origin.test/unknown")) == nil)
        await world.cache.close()
    }

    @Test func `verifying reports damaged blocks, and repairing makes gaps of them`() async throws {
        let path = try await storeFilm()
        for offset in [70_000, 1_048_576, film.length - 1] { try disk.damage(path, at: offset) }
        let damaged = ByteRangeSet.of(65_536..<131_072, 1_048_576..<1_114_112, (film.length / Self.block * Self.block)..<film.length)
        let world = try openWorld()
        let looked = try await world.cache.verify(world.key(film))
        #expect(looked?.damaged == damaged && looked?.isRepaired == false)
        #expect(try await world.cache.status(of: world.key(film))?.isComplete == true)
        let repaired = try await world.cache.verify(world.key(film), isRepairing: true)
        #expect(repaired?.damaged == damaged && repaired?.isRepaired == true)
        #expect(repaired?.soundBytes == film.length - damaged.totalBytes)
        let status = try await world.cache.status(of: world.key(film))
        #expect(status?.stored.totalBytes == film.length - damaged.totalBytes)
        #expect(try await world.cache.verify(world.key(film))?.isSound == true)
        #expect(isFilm(try await world.cache.reader(for: film.url).bytes()))
        #expect(world.cache.statistics.fetchedBytes == damaged.totalBytes)
        await world.cache.close()
    }

    @Test func `repairing a resource in use lets its reader fetch the damaged block`() async throws {
        let world = try openWorld()
        let reader = try world.cache.reader(for: film.url)
        #expect(isFilm(try await reader.bytes()))
        _ = try await world.status(of: film) { $0.isComplete }
        // Bytes that this opening wrote are not verified again on their own.
        try disk.damage(try dataFile(), at: 500_000)
        let found = try await world.cache.verify(world.key(film), isRepairing: true)
        #expect(found?.damaged == .of(458_752..<524_288))
        #expect(isFilm(try await reader.bytes()))
        #expect(world.cache.statistics.fetchedBytes == film.length + Self.block)
        await world.cache.close()
    }
}
