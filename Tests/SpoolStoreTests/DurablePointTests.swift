import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests durable points that sync data while other calls run.
@Suite struct DurablePointTests {
    private let film = StoreSample("film"), song = StoreSample("song")

    private func spans(_ store: SQLiteStore, _ sample: StoreSample) throws -> ByteRangeSet {
        try store.readableSpans(of: store.lookup(sample.key))
    }

    @Test func `a durable point does not cover commits made while it runs`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let (generation, other) = (store.makeGeneration(), store.makeGeneration())
        let file = try film.store([0..<1000], of: generation, in: store)
        let point = try #require(try store.beginDurablePoint())
        // These bytes are adjacent and in the same block, so that the rows would merge.
        try film.store([1000..<2000, 70_000..<70_010], of: generation, in: store)
        let second = try song.store([0..<10], of: other, in: store)
        point.synchronize()
        #expect(try spans(store, film) == .of(0..<2000, 70_000..<70_010))
        #expect(store.finish(point).failure == nil)
        #expect(try spans(store, film) == .of(0..<2000, 70_000..<70_010))

        let afterPowerLoss = try SQLiteStore.simulated(on: disk.crash(), bootID: "second boot")
        #expect(try spans(afterPowerLoss, film) == .of(0..<1000))
        #expect(try spans(afterPowerLoss, song) == ByteRangeSet())
        // The next point covers the rest.
        try store.makeDurable()
        let later = try SQLiteStore.simulated(on: disk.crash(), bootID: "second boot")
        #expect(try spans(later, film) == .of(0..<2000, 70_000..<70_010))
        #expect(try spans(later, song) == .of(0..<10))
        withExtendedLifetime((file, second)) {}
    }

    @Test func `the next durable point covers an abandoned one`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        let file = try film.store([0..<1000], of: generation, in: store)
        let first = try #require(try store.beginDurablePoint())
        try film.store([1000..<2000], of: generation, in: store)
        try store.makeDurable()
        // The abandoned point finishes late and changes nothing.
        first.synchronize()
        #expect(store.finish(first).failure == nil)
        let later = try SQLiteStore.simulated(on: disk.powerLoss(random: SeededRandom(seed: 3)), bootID: "second boot")
        #expect(try spans(later, film) == .of(0..<2000))
        withExtendedLifetime(file) {}
    }

    @Test func `a kill during a durable point loses nothing, and the next process syncs it`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        let file = try film.store([0..<1000], of: generation, in: store)
        let point = try store.beginDurablePoint()
        try film.store([1000..<2000], of: generation, in: store)
        let heirDisk = disk.crash()
        let heir = try SQLiteStore.simulated(on: heirDisk)
        #expect(try spans(heir, film) == .of(0..<2000))
        let again = try film.store([2000..<3000], of: generation, in: heir)
        try heir.makeDurable()
        let later = try SQLiteStore.simulated(on: heirDisk.powerLoss(random: SeededRandom(seed: 5)), bootID: "second boot")
        #expect(try spans(later, film) == .of(0..<3000))
        withExtendedLifetime((file, point, again)) {}
    }

    @Test func `more files than the store keeps handles for become durable`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let before = disk.openHandleCount
        let samples = (0..<OpenFileLimits().unsyncedHandles + 20).map { StoreSample("file \($0)") }
        // No test holds the files any longer when they are to be synced.
        for sample in samples { _ = try sample.store([0..<10], of: store.makeGeneration(), in: store) }
        #expect(disk.openHandleCount - before == OpenFileLimits().unsyncedHandles)
        // The next point opens the files that the abandoned point had to open.
        _ = try store.beginDurablePoint()
        try store.makeDurable()
        #expect(disk.openHandleCount == before)
        let later = try SQLiteStore.simulated(on: disk.powerLoss(random: SeededRandom(seed: 11)), bootID: "second boot")
        for sample in samples.prefix(20) + samples.suffix(20) { #expect(try spans(later, sample) == .of(0..<10)) }
    }

    @Test(arguments: [false, true])
    func `a file removed during a durable point takes no room any more`(isSynced: Bool) throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let before = disk.openHandleCount
        _ = try film.store([0..<1000], of: store.makeGeneration(), in: store)
        let path = try #require(try store.lookup(film.key).flatMap { store.filePath(of: $0) })
        let point = try #require(try store.beginDurablePoint())
        if isSynced { point.synchronize() }
        #expect(try store.remove(film.key))
        #expect(try disk.status(path) == nil && disk.openHandleCount == before)
        // The point covers the others.
        _ = try song.store([0..<10], of: store.makeGeneration(), in: store)
        point.synchronize()
        #expect(store.finish(point).failure == nil)
        try store.makeDurable()
        let later = try SQLiteStore.simulated(on: disk.powerLoss(random: SeededRandom(seed: 7)), bootID: "second boot")
        #expect(try spans(later, song) == .of(0..<10))
    }

    /// Tests changes, kills and power cuts at each point of a life in which commits fall into
    /// durable points.
    @Test(arguments: Seeds.list(count: 4))
    func `a power loss never takes durable bytes or claims wrong ones`(seed: UInt64) throws {
        let disk = MemoryDisk(isRecording: true)
        var store = try SQLiteStore.simulated(on: disk)
        // The spans that were durable, and after which change.
        var durable: [(operations: Int, spans: ByteRangeSet)] = [(0, ByteRangeSet())]
        var written = ByteRangeSet()
        let random = SeededRandom(seed: seed)
        let generation = store.makeGeneration()
        var file: (any DataFile)?
        func grow() throws {
            let lower = Int64(random.next(below: 40)) * 10_000
            let gaps = written.gaps(in: ByteRange(lower: lower, upper: lower + 1 + Int64(random.next(below: 90_000))))
            file = try film.store(gaps.map { $0.lowerBound..<$0.upperBound }, of: generation, in: store)
            for gap in gaps { written.insert(gap) }
        }
        for round in 0..<6 {
            try grow()
            let covered = written
            let point = try #require(try store.beginDurablePoint())
            if round % 3 != 0 { try grow() }
            point.synchronize()
            if round % 3 == 2 { try grow() }
            #expect(store.finish(point).failure == nil)
            durable.append((disk.operationCount, covered))
            if round == 3 {
                file = nil
                try store.close()
                durable.append((disk.operationCount, written))
                store = try SQLiteStore.simulated(on: disk)
            }
        }
        for count in stride(from: 0, through: disk.operationCount, by: 1) {
            let label = "seed \(seed), power lost behind change \(count)"
            let rest = disk.powerLoss(keeping: count, random: SeededRandom(seed: seed &+ UInt64(count)))
            let survivor = try SQLiteStore.simulated(on: rest, bootID: "second boot")
            let found = try survivor.lookup(film.key)
            if let found { try film.expectBytes(of: found, in: survivor, label) }
            let wanted = durable.last { $0.operations <= count }?.spans ?? ByteRangeSet()
            let lost = wanted.subtracting(try survivor.readableSpans(of: found))
            #expect(lost.isEmpty, "\(label): lost \(lost), which was durable")
        }
        withExtendedLifetime(file) {}
    }

    // MARK: Failing

    private func failingSync(_ code: Int32 = EIO, of suffix: String = ".mp4") -> FaultPlan {
        FaultPlan(faults: [.init(.synchronize, .call(1), code: code, pathSuffix: suffix)])
    }

    @Test func `bytes whose sync failed are reported, and their open file accepts no commit`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let (generation, other) = (store.makeGeneration(), store.makeGeneration())
        var file: (any DataFile)? = try film.store([0..<10], of: generation, in: store)
        try store.makeDurable()
        try film.store([10..<20], of: generation, in: store)
        let second = try song.store([0..<10], of: other, in: store)
        let point = try #require(try store.beginDurablePoint())
        // The write precedes the failing sync and the commit follows it, so the next sync would
        // claim the bytes.
        try film.store([20..<30], of: generation, in: store)
        try file?.write(film.pattern(generation.rawValue, at: 30, count: 10), at: 30)
        disk.setFaults(failingSync())
        point.synchronize()
        let outcome = store.finish(point)
        #expect(outcome.failure != nil)
        #expect(outcome.losses == [generation: .of(0..<10)])
        #expect(throws: StoreError.self) { try store.commit(film.commit(generation, [30..<40])) }
        try store.makeDurable()
        let later = try SQLiteStore.simulated(on: disk.powerLoss(random: SeededRandom(seed: 9)), bootID: "second boot")
        #expect(try spans(later, film) == .of(0..<10))
        #expect(try spans(later, song) == .of(0..<10))

        // A handle that is opened anew writes pages that the system really writes.
        file = nil
        let again = try film.store([10..<20], of: generation, in: store)
        try store.makeDurable()
        let last = try SQLiteStore.simulated(on: disk.powerLoss(random: SeededRandom(seed: 9)), bootID: "second boot")
        #expect(try spans(last, film) == .of(0..<20))
        withExtendedLifetime((second, again)) {}
    }

    @Test(arguments: [".sqlite-wal", ""])
    func `a durable point that the index rejects is retried as a whole`(suffix: String) throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        let file = try film.store([0..<10], of: generation, in: store)
        let point = try #require(try store.beginDurablePoint())
        try film.store([10..<20], of: generation, in: store)
        point.synchronize()
        disk.setFaults(FaultPlan(faults: [.init(.write, .from(1), code: EIO, pathSuffix: suffix)]))
        #expect(store.finish(point).failure != nil)
        disk.setFaults(.none)
        #expect(try spans(store, film) == .of(0..<20))
        try store.makeDurable()
        let later = try SQLiteStore.simulated(on: disk.powerLoss(random: SeededRandom(seed: 1)), bootID: "second boot")
        #expect(try spans(later, film) == .of(0..<20))
        withExtendedLifetime(file) {}
    }

    /// The sync fails, and then the index fails as well. Its rows are still there, and no later
    /// point may cover them.
    @Test func `bytes whose sync failed stay out of every later durable point`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        let file = try film.store([0..<10], of: generation, in: store)
        let point = try #require(try store.beginDurablePoint())
        disk.setFaults(failingSync())
        point.synchronize()
        disk.setFaults(FaultPlan(faults: [.init(.write, .from(1), code: EIO)]))
        let outcome = store.finish(point)
        #expect(outcome.losses == [generation: ByteRangeSet()])
        #expect(throws: StoreError.self) { try store.makeDurable() }
        disk.setFaults(.none)
        try store.makeDurable()
        #expect(try spans(store, film) == ByteRangeSet())
        withExtendedLifetime(file) {}
    }
}
