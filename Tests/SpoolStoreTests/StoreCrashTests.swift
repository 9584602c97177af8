import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Runs one short life of a store on a recording disk, stops it after every single change of the
/// disk, and opens the remaining store.
@Suite struct StoreCrashTests {
    private static let films = ["a", "b", "c"].map { StoreSample("https://media.example/\($0)") }
    private static let block = Piece.blockBytes

    /// Performs every kind of operation: growing, replacing, discarding, removing, durable points,
    /// closing and reopening.
    private static func live(on disk: MemoryDisk) throws -> StoreModel {
        var model = StoreModel()
        let (a, b, c) = (films[0], films[1], films[2])
        var store = try SQLiteStore.simulated(on: disk)
        model.step(disk)

        func grow(_ film: StoreSample, _ generation: GenerationID, _ ranges: [Range<Int64>]) throws {
            let file = try film.store(ranges, of: generation, in: store)
            model.step(disk) { entries in
                var entry = entries[film.key].flatMap { $0.generation == generation ? $0 : nil }
                for range in ranges.compactMap({ ByteRange($0) }) {
                    entry = entry ?? StoreModel.Entry(generation: generation, spans: ByteRangeSet())
                    entry?.spans.insert(range)
                }
                entries[film.key] = entry
            }
            withExtendedLifetime(file) {}
        }
        func makeDurable() throws {
            try store.makeDurable()
            model.step(disk, isDurable: true)
        }

        let (a1, b1) = (store.makeGeneration(), store.makeGeneration())
        try grow(a, a1, [0..<1000])
        try grow(a, a1, [1000..<block, (2 * block)..<(3 * block)])
        try grow(b, b1, [500..<700])
        try makeDurable()
        try grow(a, a1, [block..<(2 * block)])
        try grow(b, b1, [700..<(block + 5)])
        try grow(c, store.makeGeneration(), [0..<10])
        try makeDurable()
        try store.discard(.of(100..<200), of: a1)
        // A checksum covers a whole block, so the block is discarded.
        model.step(disk) { $0[a.key]?.spans.subtract(.of(0..<block)) }
        try grow(a, a1, [100..<150])
        try grow(a, store.makeGeneration(), [0..<300])
        _ = try store.remove(b.key)
        model.step(disk) { $0[b.key] = nil }
        try grow(b, store.makeGeneration(), [400..<900])
        try store.close()
        model.step(disk, isDurable: true)
        store = try SQLiteStore.simulated(on: disk)
        model.step(disk)
        try grow(c, store.makeGeneration(), [5..<15])
        try makeDurable()
        try store.removeAll()
        model.step(disk) { $0 = [:] }
        try grow(a, store.makeGeneration(), [0..<20])
        try store.close()
        model.step(disk, isDurable: true)
        return model
    }

    /// Returns the entries of the three films in a store, and compares every byte that it claims
    /// with the written one.
    private func found(
        in store: SQLiteStore, _ label: String
    ) throws -> [ResourceKey: StoreModel.Entry] {
        var entries: [ResourceKey: StoreModel.Entry] = [:]
        for film in Self.films {
            guard let resource = try store.lookup(film.key) else { continue }
            entries[film.key] = StoreModel.Entry(
                generation: resource.generation, spans: try store.readableSpans(of: resource))
            try film.expectBytes(of: resource, in: store, label)
        }
        return entries
    }

    @Test func `a kill at any disk change loses no commit and claims no missing byte`() throws {
        let disk = MemoryDisk(isRecording: true)
        let model = try Self.live(on: disk)
        for count in 0...disk.operationCount {
            let store = try SQLiteStore.simulated(on: disk.crash(keeping: count))
            let found = try found(in: store, "killed behind change \(count)")
            let moment = model.lastMoment(after: count)
            let before = model.moments[moment].entries
            let after = model.moments[min(moment + 1, model.moments.count - 1)].entries
            #expect(found == before || found == after, "killed behind change \(count), in step \(moment + 1)")
            // The store remains usable.
            try Self.films[2].store([3000..<3010], of: store.makeGeneration(), in: store)
            #expect(try store.lookup(Self.films[2].key)?.spans == .of(3000..<3010))
            try store.close()
        }
    }

    @Test(arguments: Seeds.list(count: 2))
    func `a power loss at any disk change keeps durable bytes and claims none falsely`(seed: UInt64) throws {
        let disk = MemoryDisk(isRecording: true)
        let model = try Self.live(on: disk)
        for count in 0...disk.operationCount {
            let label = "seed \(seed), power lost behind change \(count)"
            let rest = disk.powerLoss(keeping: count, random: SeededRandom(seed: seed &+ UInt64(count)))
            let store = try SQLiteStore.simulated(on: rest, bootID: "second boot")
            let found = try found(in: store, label)
            for (key, entry) in model.survivors(at: model.lastMoment(after: count)) {
                #expect(found[key]?.generation == entry.generation, "\(label): \(key)")
                let lost = entry.spans.subtracting(found[key]?.spans ?? ByteRangeSet())
                #expect(lost.isEmpty, "\(label): \(key) lost \(lost), which was durable")
            }
            try store.close()
        }
    }

    /// A power loss may keep the first pages of a log that was truncated and not synced. SQLite
    /// would then replay an old state over the newer one.
    @Test func `a close deletes the log and does not shorten it before`() throws {
        let disk = MemoryDisk(isRecording: true)
        let store = try SQLiteStore.simulated(on: disk)
        try Self.films[0].store([0..<1000], of: store.makeGeneration(), in: store)
        try store.makeDurable()
        let before = disk.operationCount
        try store.close()
        let close = disk.operations.dropFirst(before)
        let index = try #require(close.firstIndex { if case .unlink("/cache/spool.sqlite-wal") = $0 { true } else { false } })
        let cuts = close[..<index].filter { if case .truncate(_, size: 0) = $0 { true } else { false } }
        #expect(cuts.isEmpty)
    }

    /// Two kills and then a power loss: the second process's durable point also syncs the bytes
    /// that the first one wrote.
    @Test(arguments: Seeds.list(count: 20))
    func `a durable point covers unsynced bytes of a killed process`(seed: UInt64) throws {
        let random = SeededRandom(seed: seed)
        let film = Self.films[0]
        let first = MemoryDisk()
        let killed = try SQLiteStore.simulated(on: first)
        let generation = killed.makeGeneration()
        let file = try film.store([0..<200_000], of: generation, in: killed)
        let second = first.crash()
        let store = try SQLiteStore.simulated(on: second)
        try store.makeDurable()
        let third = second.powerLoss(random: random)
        let survivor = try SQLiteStore.simulated(on: third, bootID: "second boot")
        let found = try found(in: survivor, "seed \(seed)")
        #expect(found[film.key]?.spans == .of(0..<200_000), "seed \(seed)")
        withExtendedLifetime((file, killed, store)) {}
    }

    @Test func `bytes that were not durable are dropped and reported after a reboot`() throws {
        let log = RecoveryLog()
        let film = Self.films[0]
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        let file = try film.store([0..<100], of: generation, in: store)
        try store.makeDurable()
        try film.store([100..<200], of: generation, in: store)
        // This disk lost nothing, but the store cannot detect that.
        let next = try SQLiteStore.simulated(on: disk.crash(), bootID: "second boot") { log.add($0) }
        #expect(try next.lookup(film.key)?.spans == .of(0..<100))
        #expect(log.notes == [.unsyncedDropped(generations: 1)])
        withExtendedLifetime((file, store)) {}
    }
}
