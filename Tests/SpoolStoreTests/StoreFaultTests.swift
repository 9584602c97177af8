import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests disks whose calls fail.
@Suite struct StoreFaultTests {
    private let film = StoreSample()

    @Test func `a full disk is reported for the data file and the index`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        let file = try film.store([0..<10], of: generation, in: store)
        disk.setFaults(FaultPlan(faults: [.init(.write, .from(1), code: ENOSPC)]))
        #expect(throws: StoreError.full) { try file.write([1, 2, 3], at: 10) }
        #expect(throws: StoreError.full) { try store.commit(film.commit(generation, [5..<10])) }
        disk.setFaults(.none)
        #expect(try store.lookup(film.key)?.spans == .of(0..<10))
        try film.store([10..<20], of: generation, in: store)
        #expect(try store.lookup(film.key)?.spans == .of(0..<20))
        try store.close()
    }

    /// The system may mark pages as clean that it failed to write, so a second sync would claim
    /// them.
    @Test func `bytes whose sync failed are removed from the index`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        let file = try film.store([0..<10], of: generation, in: store)
        try store.makeDurable()
        try film.store([10..<20], of: generation, in: store)
        disk.setFaults(FaultPlan(faults: [.init(.synchronize, .from(1), code: EIO, pathSuffix: ".mp4")]))
        #expect(throws: StoreError.self) { try store.makeDurable() }
        disk.setFaults(.none)
        #expect(try store.lookup(film.key)?.spans == .of(0..<10))
        try store.makeDurable()
        #expect(try store.lookup(film.key)?.spans == .of(0..<10))
        try store.close()
        withExtendedLifetime(file) {}
    }

    @Test func `a file that can't be unlinked is reported, and its resource is removed anyway`() throws {
        let log = RecoveryLog()
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk) { log.add($0) }
        try film.store([0..<10], of: store.makeGeneration(), in: store)
        disk.setFaults(FaultPlan(faults: [.init(.unlink, .from(1), code: EIO)]))
        #expect(try store.remove(film.key))
        disk.setFaults(.none)
        #expect(try store.lookup(film.key) == nil)
        #expect(log.notes.count == 1)
        try store.close()
    }

    /// After every fault, the store has either done what was requested or thrown an error, and it
    /// never claims a byte that is not there.
    @Test(arguments: Seeds.list(count: 30))
    func `random faults leave a store that reports its state correctly`(seed: UInt64) throws {
        let random = SeededRandom(seed: seed)
        var disk = MemoryDisk()
        let films = (0..<4).map { StoreSample("film-\($0)") }
        var store = try SQLiteStore.simulated(on: disk)
        for round in 0..<5 {
            disk.setFaults(
                FaultPlan(
                    seed: random.next(),
                    faults: [FaultPlan.Call.write, .read, .synchronize, .open, .unlink, .truncate, .synchronizeDirectory].map {
                        .init($0, .oneIn(15), code: random.next() % 2 == 0 ? EIO : ENOSPC)
                    }))
            for _ in 0..<25 { act(on: store, films, random) }
            disk.setFaults(.none)
            try check(store, films, "seed \(seed), round \(round)")
            if random.next() % 2 == 0 {
                disk = disk.crash()
            } else {
                do { try store.close() } catch { #expect(error != .closed) }
            }
            store = try SQLiteStore.simulated(on: disk)
            try check(store, films, "seed \(seed), opened after round \(round)")
        }
    }

    private func act(on store: SQLiteStore, _ films: [StoreSample], _ random: SeededRandom) {
        let film = films[Int(random.next() % UInt64(films.count))]
        let lower = Int64(random.next() % 300_000)
        let range = lower..<(lower + Int64(random.next() % 100_000) + 1)
        do throws(StoreError) {
            switch random.next() % 10 {
            case 0: _ = try store.remove(film.key)
            case 1, 2: try store.makeDurable()
            case 3: try film.store([range], of: store.makeGeneration(), in: store)
            case 4: if let found = try store.lookup(film.key) { try store.discard(.of(range), of: found.generation) }
            default:
                let generation = try store.lookup(film.key)?.generation ?? store.makeGeneration()
                try film.store([range], of: generation, in: store)
            }
        } catch {
            // An error is allowed here; `check` looks for wrong bytes.
        }
    }

    private func check(_ store: SQLiteStore, _ films: [StoreSample], _ label: String) throws {
        for film in films {
            if let found = try store.lookup(film.key) { try film.expectBytes(of: found, in: store, label) }
        }
    }
}
