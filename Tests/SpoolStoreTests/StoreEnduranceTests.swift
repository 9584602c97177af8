import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Tests the resources that a store must not exhaust while it is open for a long time.
@Suite struct StoreEnduranceTests {
    private let film = StoreSample()
    private let disk = MemoryDisk()

    // MARK: Generation numbers

    /// One more than an opening reserves.
    private static let manyAnswers = 65_537

    @Test func `a file can be created for each number, whatever is committed meanwhile`() throws {
        let store = try SQLiteStore.simulated(on: disk)
        let first = store.makeGeneration()
        var last = first
        for number in 0..<Self.manyAnswers {
            last = store.makeGeneration()
            // Another 304 for the stored version.
            if number % 10_000 == 0 { try store.commit(film.commit(first)) }
        }
        try StoreSample("next").store([0..<10], of: last, in: store)
        #expect(try store.lookup(StoreSample("next").key)?.spans == .of(0..<10))
        try store.close()
    }

    @Test func `a store requests more numbers in time, and once`() throws {
        let store = try SQLiteStore.simulated(on: disk)
        var asked = 0
        var last = store.makeGeneration()
        for _ in 0..<Self.manyAnswers {
            last = store.makeGeneration()
            if store.owesGenerations() { asked += 1 }
        }
        #expect(asked == 1)
        try store.reserveGenerations()
        #expect(!store.owesGenerations())
        try film.store([0..<10], of: last, in: store)
        try store.close()
        let again = try SQLiteStore.simulated(on: disk)
        #expect(again.makeGeneration() > last)
        try again.close()
    }

    // MARK: Temporary failures

    @Test func `a directory that is removed during an open is created again`() throws {
        let store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        disk.setFaults(FaultPlan(faults: [.init(.open, .call(1), code: ENOENT, pathSuffix: ".mp4")]))
        try film.store([0..<10], of: generation, in: store)
        #expect(try store.lookup(film.key)?.spans == .of(0..<10))
        disk.setFaults(.none)
        try store.close()
    }

    @Test func `a change is entered even if the log can't be truncated after it`() throws {
        let log = RecoveryLog()
        let store = try SQLiteStore.simulated(on: disk) { log.add($0) }
        // The log accepts changes; the database does not.
        disk.setFaults(FaultPlan(faults: [.init(.write, .from(1), code: EIO, pathSuffix: "spool.sqlite")]))
        var entered = 0
        while log.notes.isEmpty, entered < 20_000 {
            try store.commit(StoreSample("https://media.example/\(entered)").commit(store.makeGeneration()))
            entered += 1
        }
        guard case .logKept? = log.notes.first else {
            Issue.record("\(log.notes)")
            return
        }
        #expect(try store.count() == entered)
        #expect(try store.remove(StoreSample("https://media.example/0").key))
        disk.setFaults(.none)
        #expect(try store.count() == entered - 1)
        try store.close()
    }

    @Test func `a file without counted blocks occupies at least its stored bytes`() throws {
        let directory = try TemporaryDirectory()
        let files = DiskStore(directory)
        let store = try files.open()
        let generation = store.makeGeneration()
        let file = try film.store([0..<200_000], of: generation, in: store)
        // Some file systems count blocks only when they reach the disk; until then, all of them are
        // holes.
        let path = try #require(try files.dataFiles().first)
        let handle = try POSIXFileSystem().open(path, .readWrite)
        try handle.truncate(to: 0)
        try handle.truncate(to: 200_000)
        #expect(try handle.status().allocatedBytes == 0)
        try store.commit(film.commit(generation))
        #expect(try store.totalSizeBytes() >= 200_000)
        withExtendedLifetime(file) {}
        try store.close()
    }

    // MARK: Rows without bytes

    private func enter(_ keys: some Sequence<Int>, of store: SQLiteStore) throws {
        for number in keys {
            var sample = StoreSample("https://media.example/\(number)")
            sample.time = Timestamp(seconds: 1_700_000_000 + Int64(number))
            try store.commit(sample.commit(store.makeGeneration()))
        }
    }

    @Test func `only candidates that occupy room are listed for eviction`() throws {
        let store = try SQLiteStore.simulated(on: disk)
        try enter(0..<600, of: store)
        var late = film
        late.time = Timestamp(seconds: 1_800_000_000)
        let file = try late.store([0..<70_000], of: store.makeGeneration(), in: store)
        let found = try store.evictionCandidates(after: nil, largerThan: 0, limit: 10)
        #expect(found.map(\.key) == [film.key])
        let size = try #require(found.first).allocatedBytes
        #expect(try store.evictionCandidates(after: nil, largerThan: size, limit: 10) == [])
        #expect(try store.evictionCandidates(after: nil, largerThan: -1, limit: 1000).count == 601)
        withExtendedLifetime(file) {}
        try store.close()
    }
}
