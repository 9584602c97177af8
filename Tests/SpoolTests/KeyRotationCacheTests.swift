import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// A cache that changes the key of its store, or encrypts it, while the store is in use.
@Suite(.timeLimit(.minutes(20))) struct KeyRotationCacheTests {
    private static let films = (1...3).map { number in
        VirtualResource(url: "http://origin.test/film-\(number).mp4", seed: UInt64(number), length: Int64(number) * 1_500_000 + 7)
    }
    private let disk = MemoryDisk()

    private func key(_ byte: UInt8) throws -> EncryptionKey {
        try #require(EncryptionKey(bytes: [UInt8](repeating: byte, count: EncryptionKey.byteCount)))
    }

    private func openWorld(_ keyByte: UInt8?, on disk: MemoryDisk) throws -> EngineWorld {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        options.encryption = try keyByte.map { EncryptionOptions(keyProvider: .key(try key($0))) }
        let store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: SystemRandom(), options: options)
        return try EngineWorld(Self.films, store: store)
    }

    /// Expects every byte of every film from the store, opened with this key and with no other.
    ///
    /// Works on a copy of the disk. A file that an earlier cache still has open counts as open in
    /// another process, which keeps it.
    private func expectEverything(_ keyByte: UInt8, on disk: MemoryDisk) async throws {
        let disk = disk.crash()
        for other in [UInt8(1), 2] where other != keyByte {
            #expect(throws: StoreError.key(.wrong)) { try openWorld(other, on: disk) }
        }
        let world = try openWorld(keyByte, on: disk)
        for film in Self.films {
            let isRight =
                try await world.cache.reader(for: film.url, options: ReadOptions(mode: .onlyStored)).bytes()
                == world.expected(film, 0..<film.length)
            #expect(isRight, "\(film.url)")
        }
        #expect(world.origin.log.entries.isEmpty)
        await world.cache.close()
    }

    @Test func `rotation reseals unused resources at once and used ones after their readers leave`()
        async throws
    {
        let world = try openWorld(1, on: disk)
        for film in Self.films { try await world.play(film) }
        let reader = try world.cache.reader(for: Self.films[1].url)
        let first = try await reader.read(at: 0, count: 100_000)
        #expect(first == world.expected(Self.films[1], 0..<100_000))
        let progress = Locked<[KeyRotationProgress]>([])
        async let rotation: Void = world.cache.rotateKey(to: .key(try key(2))) { step in progress.withLock { $0.append(step) } }
        try await eventually("the rotation waits for the reader") {
            progress.withLock { $0.last }.map { $0.waitingResources == 1 && $0.resealedResources == 2 } ?? false
        }
        // New readers find everything meanwhile.
        for film in Self.films { #expect(try await world.cache.reader(for: film.url).bytes() == world.expected(film, 0..<film.length)) }
        let rest = try await reader.read(at: 100_000, count: 400_000)
        #expect(rest == world.expected(Self.films[1], 100_000..<500_000))
        reader.cancel()
        try await rotation
        let last = try #require(progress.withLock { $0.last })
        #expect(last.resealedResources == 3 && last.totalResources == 3)
        #expect(last.totalBytes == Self.films.reduce(0) { $0 + $1.length } && last.resealedBytes >= last.totalBytes)
        #expect(world.origin.log.entries.count == 3)
        for film in Self.films { #expect(try await world.cache.reader(for: film.url).bytes() == world.expected(film, 0..<film.length)) }
        await world.cache.close()
        try await expectEverything(2, on: disk)
    }

    @Test func `a cancelled rotation leaves a whole store under the new key, and the same call resumes it`() async throws {
        let world = try openWorld(1, on: disk)
        for film in Self.films { try await world.play(film) }
        let new = try key(2)
        let isUnderWay = Locked(false)
        let rotation = Task {
            do throws(CacheError) {
                try await world.cache.rotateKey(to: .key(new)) { if $0.resealedBytes > 0 { isUnderWay.withLock { $0 = true } } }
                // The rotation may have finished before the cancellation.
            } catch { #expect(error.code == .closed && error.message.contains("new key")) }
        }
        try await eventually("the rotation is under way") { isUnderWay.withLock { $0 } }
        rotation.cancel()
        await rotation.value
        await world.cache.close()
        let rest = disk.crash()
        try await expectEverything(2, on: rest)
        let again = try openWorld(2, on: rest)
        try await again.cache.rotateKey(to: .key(new))
        await again.cache.close()
        try await expectEverything(2, on: rest)
        let files = try files(of: rest, below: "/cache/data")
        #expect(files.count == 3, "\(files)")
    }

    @Test func `closing the cache ends a rotation that waits for a reader`() async throws {
        let world = try openWorld(1, on: disk)
        for film in Self.films { try await world.play(film) }
        let reader = try world.cache.reader(for: Self.films[0].url)
        _ = try await reader.read(at: 0, count: 1)
        let new = try key(2)
        let isWaiting = Locked(false)
        let rotation = Task {
            do throws(CacheError) {
                try await world.cache.rotateKey(to: .key(new)) { step in
                    if step.waitingResources > 0 { isWaiting.withLock { $0 = true } }
                }
                return CacheError.Code?.none
            } catch { return error.code }
        }
        try await eventually("the rotation waits") { isWaiting.withLock { $0 } }
        let second = await #expect(throws: CacheError.self) { try await world.cache.rotateKey(to: .key(new)) }
        #expect(second?.code == .storeLocked)
        await world.cache.close()
        #expect(await rotation.value == .closed)
        try await expectEverything(2, on: disk)
    }

    @Test func `a full disk ends the rotation with an error and loses no byte`() async throws {
        let world = try openWorld(1, on: disk)
        for film in Self.films { try await world.play(film) }
        disk.setFaults(FaultPlan(capacityBytes: disk.allocatedBytes + 1_000_000))
        let failure = await #expect(throws: CacheError.self) { try await world.cache.rotateKey(to: .key(try key(2))) }
        #expect(failure?.code == .store)
        disk.setFaults(.none)
        for film in Self.films { #expect(try await world.cache.reader(for: film.url).bytes() == world.expected(film, 0..<film.length)) }
        try await world.cache.rotateKey(to: .key(try key(2)))
        await world.cache.close()
        try await expectEverything(2, on: disk)
    }

    @Test func `a plain cache is encrypted in use, after its readers and files are released`() async throws {
        let world = try openWorld(nil, on: disk)
        for film in Self.films { try await world.play(film) }
        let reader = try world.cache.reader(for: Self.films[1].url)
        #expect(try await reader.read(at: 0, count: 100_000) == world.expected(Self.films[1], 0..<100_000))
        var file = try await world.cache.completeFile(for: Self.films[2].url)
        let path = try #require(file?.path)
        let progress = Locked<[KeyRotationProgress]>([])
        async let encryption: Void = world.cache.rotateKey(to: .key(try key(2))) { step in progress.withLock { $0.append(step) } }
        try await eventually("the encryption waits for the reader and the file") {
            progress.withLock { $0.contains { $0.waitingResources == 2 && $0.resealedResources == 1 } }
        }
        #expect(try disk.status(path) != nil, "a player has the path of the file")
        #expect(try await world.cache.completeFile(for: Self.films[0].url) == nil)
        for film in Self.films { #expect(try await world.cache.reader(for: film.url).bytes() == world.expected(film, 0..<film.length)) }
        #expect(try await reader.read(at: 100_000, count: 400_000) == world.expected(Self.films[1], 100_000..<500_000))
        reader.cancel()
        file = nil
        try await encryption
        #expect(try disk.status(path) == nil)
        #expect(world.origin.log.entries.count == 3)
        await world.cache.close()
        #expect(throws: StoreError.key(.missing)) { try openWorld(nil, on: disk.crash()) }
        try await expectEverything(2, on: disk)
    }

    @Test func `a cache over an own store takes no key`() async throws {
        let world = try EngineWorld(Self.films)
        let failure = await #expect(throws: CacheError.self) { try await world.cache.rotateKey(to: .key(try key(2))) }
        #expect(failure?.code == .key)
        await world.cache.close()
    }

    private func files(of disk: MemoryDisk, below directory: String) throws -> [String] {
        try disk.list(directory).flatMap { name -> [String] in
            let path = "\(directory)/\(name)"
            return try disk.status(path)?.isDirectory == true ? files(of: disk, below: path) : [path]
        }
    }
}
