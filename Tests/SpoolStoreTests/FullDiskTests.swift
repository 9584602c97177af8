import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Tests a disk that other programs fill to its last byte. A removal frees room and needs none.
struct FullDiskTests {
    private let film = StoreSample("film")
    private let song = StoreSample("song")

    private func open(
        _ disk: MemoryDisk, keepsReserve: Bool = true, expendable: SQLiteStore.Expendable? = nil,
        onExpended: @escaping @Sendable (ResourceKey?, Int64) -> Void = { _, _ in }
    ) throws(StoreError) -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        options.keepsReserve = keepsReserve
        options.expendable = expendable
        options.onExpended = onExpended
        options.bootID = "boot"
        options.processID = 1
        return try SQLiteStore(directory: "/cache", fileSystem: disk, random: SeededRandom(seed: 7), options: options)
    }

    /// Limits the disk to its present content.
    private func fill(_ disk: MemoryDisk) { disk.setFaults(FaultPlan(capacityBytes: disk.allocatedBytes)) }

    private func store(_ sample: StoreSample, _ bytes: Int64, in store: SQLiteStore) throws {
        try sample.store([0..<bytes], of: store.makeGeneration(), in: store)
    }

    @Test(arguments: [true, false])
    func `a resource is removed from a full disk`(keepsReserve: Bool) throws {
        let disk = MemoryDisk()
        let store = try open(disk, keepsReserve: keepsReserve)
        try self.store(film, 2_000_000, in: store)
        try self.store(song, 200_000, in: store)
        try store.makeDurable()
        fill(disk)
        #expect(try store.remove(film.key))
        #expect(try store.lookup(film.key) == nil)
        #expect(try store.lookup(song.key)?.spans == .of(0..<200_000))
        // The store has room again.
        try self.store(StoreSample("another"), 100_000, in: store)
        try store.close()
    }

    @Test(arguments: [true, false])
    func `all resources are removed from a full disk`(keepsReserve: Bool) throws {
        let disk = MemoryDisk()
        let store = try open(disk, keepsReserve: keepsReserve)
        for number in 0..<20 { try self.store(StoreSample("file \(number)"), 50_000, in: store) }
        try store.makeDurable()
        fill(disk)
        try store.removeAll()
        #expect(try store.count() == 0)
        try self.store(film, 500_000, in: store)
        try store.close()
    }

    @Test func `a store opens and removes on a disk that filled while it was closed`() throws {
        let disk = MemoryDisk()
        let store = try open(disk)
        try self.store(film, 200_000, in: store)
        try store.close()
        fill(disk)
        let again = try open(disk)
        #expect(try again.lookup(film.key)?.spans == .of(0..<200_000))
        #expect(try again.remove(film.key))
        try again.close()
    }

    @Test func `a store without a free byte is read, keeps others out, and writes again once there is room`() throws {
        let disk = MemoryDisk()
        let store = try open(disk, keepsReserve: false)
        try self.store(film, 1_000_000, in: store)
        try store.close()
        fill(disk)
        let reader = try open(disk, keepsReserve: false)
        #expect(!reader.isWritable)
        #expect(try reader.lookup(film.key)?.spans == .of(0..<1_000_000))
        #expect(throws: StoreError.locked(by: nil)) { try open(disk, keepsReserve: false) }
        #expect(try !reader.becomeWriter(), "there is still no room")
        #expect(try reader.lookup(film.key)?.spans == .of(0..<1_000_000))
        disk.setFaults(.none)
        #expect(try reader.becomeWriter())
        #expect(try reader.remove(film.key))
        try reader.close()
        let last = try open(disk)
        #expect(try last.count() == 0)
        try last.close()
    }

    @Test func `a store without a free byte that was killed is read with its last commits`() throws {
        let disk = MemoryDisk()
        let store = try open(disk, keepsReserve: false)
        try self.store(film, 1_000_000, in: store)
        try self.store(song, 200_000, in: store)
        let killed = disk.crash()
        fill(killed)
        let reader = try open(killed, keepsReserve: false)
        #expect(!reader.isWritable)
        #expect(try reader.lookup(song.key)?.spans == .of(0..<200_000))
        try reader.close()
    }

    @Test func `expendable resources make room for the index where nothing else does`() throws {
        let disk = MemoryDisk()
        let store = try open(disk, keepsReserve: false)
        for sample in [film, song, StoreSample("another")] { try self.store(sample, 1_000_000, in: store) }
        try store.close()
        fill(disk)
        let freed = Locked<[ResourceKey?: Int64]>([:])
        let again = try open(disk, keepsReserve: false, expendable: .resources([film.key])) { key, bytes in
            freed.withLock { $0[key, default: 0] += bytes }
        }
        #expect((try #require(freed.withLock { $0[film.key] })) >= 1_000_000)
        #expect(try again.remove(film.key))
        #expect(try again.lookup(film.key) == nil)
        #expect(try again.lookup(song.key)?.spans == .of(0..<1_000_000))
        try again.close()
        fill(disk)
        let last = try open(disk, keepsReserve: false, expendable: .everything)
        try last.removeAll()
        #expect(try last.count() == 0)
        try last.close()
    }

    @Test func `a store with room removes nothing that is expendable`() throws {
        let disk = MemoryDisk()
        let store = try open(disk)
        try self.store(film, 1_000_000, in: store)
        try store.close()
        let again = try open(disk, expendable: .everything)
        #expect(try again.lookup(film.key)?.spans == .of(0..<1_000_000))
        try again.close()
    }

    @Test func `bytes written before the disk became full are committed`() throws {
        let disk = MemoryDisk()
        let store = try open(disk)
        let generation = store.makeGeneration()
        let file = try film.store([0..<100_000], of: generation, in: store)
        var commit = film.commit(generation)
        commit.pieces = try file.write(film.pattern(generation.rawValue, at: 100_000, count: 100_000), at: 100_000)
        fill(disk)
        try store.commit(commit)
        #expect(try store.lookup(film.key)?.spans == .of(0..<200_000))
        try store.close()
    }

    @Test func `the reserve for the index returns when the disk has room again`() throws {
        let disk = MemoryDisk()
        let store = try open(disk)
        try self.store(film, 200_000, in: store)
        fill(disk)
        #expect(try store.remove(film.key))
        #expect(try disk.status("/cache/reserve") == nil)
        disk.setFaults(.none)
        try self.store(film, 200_000, in: store)
        try store.makeDurable()
        #expect(try disk.status("/cache/reserve")?.allocatedBytes == 1 << 20)
        try store.close()
    }

    @Test func `a reserve that a kill left half written is completed`() throws {
        let disk = MemoryDisk()
        try open(disk).close()
        try disk.open("/cache/reserve", .readWrite).truncate(to: 0)
        let store = try open(disk)
        #expect(try disk.status("/cache/reserve")?.allocatedBytes == 1 << 20)
        try store.close()
    }

    @Test func `bytes that never entered the index are freed, and the others stay`() throws {
        let disk = MemoryDisk()
        let store = try open(disk)
        let generation = store.makeGeneration()
        let file = try film.store([0..<100_000], of: generation, in: store)
        let index = ["", "-wal", "-shm"].map { "/cache/spool.sqlite\($0)" }
        let before = disk.allocatedBytes(except: index)
        let unnamed = ByteRange(lower: 131_072, upper: 2_000_000)
        try file.write(film.pattern(generation.rawValue, at: unnamed.lowerBound, count: Int(unnamed.count)), at: unnamed.lowerBound)
        // The block around a range that a reader holds stays.
        let held = ByteRange(lower: 1_000_000, upper: 1_000_010)
        let others = ByteRangeSet([unnamed.widenedToBlocks]).subtracting(ByteRangeSet([held.widenedToBlocks]))
        _ = try store.evict(others, of: generation, in: file)
        #expect(disk.allocatedBytes(except: index) <= before + Piece.blockBytes)
        #expect(try file.bytes(at: held.lowerBound, count: 10) == film.pattern(generation.rawValue, at: held.lowerBound, count: 10))
        _ = try store.evict(ByteRangeSet([unnamed.widenedToBlocks]), of: generation, in: file)
        #expect(disk.allocatedBytes(except: index) <= before)
        #expect(try file.bytes(at: 0, count: 100_000) == film.pattern(generation.rawValue, at: 0, count: 100_000))
        // The next session can still write to the file.
        try film.store([100_000..<150_000], of: generation, in: store)
        #expect(try store.lookup(film.key)?.spans == .of(0..<150_000))
        try store.close()
    }

    @Test func `a file beyond the file system's limit is not a disk error`() throws {
        let disk = MemoryDisk()
        let store = try open(disk)
        let file = try film.store([0..<10], of: store.makeGeneration(), in: store)
        disk.setFaults(FaultPlan(faults: [.init(.write, .from(1), code: EFBIG)]))
        #expect(throws: StoreError.tooLarge) { try file.write([1, 2, 3], at: 1 << 50) }
        disk.setFaults(.none)
        try store.close()
    }
}
