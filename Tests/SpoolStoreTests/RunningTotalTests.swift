import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// The sums that the index keeps by differences, and the place from which it searches candidates.
@Suite struct RunningTotalTests {
    /// The values that a store derives from its rows.
    private struct Totals: Equatable {
        var bytes: Int64
        var downloadBytes: Int64
        var count: Int
        var candidates: [EvictionCandidate]

        init(of store: SQLiteStore) throws {
            bytes = try store.totalSizeBytes()
            downloadBytes = try store.downloadBytes()
            count = try store.count()
            candidates = try store.evictionCandidates(after: nil, largerThan: 0, limit: 3)
        }
    }

    private let samples = (0..<12).map { StoreSample("https://media.example/\($0)", length: 1 << 20) }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `the sums of a store are those that a new opening counts`(seed: UInt64) throws {
        let disk = MemoryDisk()
        let random = SeededRandom(seed: seed)
        var store = try SQLiteStore.simulated(on: disk)
        var largest: Int64 = 0
        for step in 0..<400 {
            let sample = samples[Int(random.next(below: 12))], other = samples[Int(random.next(below: 12))]
            try change(store, sample, other, step, random)
            let totals = try Totals(of: store)
            largest = max(largest, totals.downloadBytes)
            guard step % 8 == 0 else { continue }
            try store.close()
            store = try SQLiteStore.simulated(on: disk)
            #expect(try Totals(of: store) == totals, "seed \(seed), step \(step)")
        }
        #expect(largest > 0)
        try store.close()
    }

    @Test func `a resource counts with its stored bytes on a file system that counts blocks late`() throws {
        let disk = MemoryDisk()
        disk.stopCountingBlocks()
        let store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        let file = try samples[0].store([0..<(4 << 16)], of: generation, in: store)
        #expect(try store.totalSizeBytes() == 4 << 16)
        #expect(try store.evict(.of((3 << 16)..<(4 << 16)), of: generation, in: file))
        #expect(try store.totalSizeBytes() == 3 << 16)
        let next = try SQLiteStore.simulated(on: disk.crash())
        while try !next.sweepOrphans(limit: 16) {}
        #expect(try next.totalSizeBytes() == 3 << 16)
        try store.close()
    }

    private func change(
        _ store: SQLiteStore, _ sample: StoreSample, _ other: StoreSample, _ step: Int, _ random: SeededRandom
    ) throws {
        var sample = sample
        sample.time = Timestamp(seconds: 1_700_000_000 + Int64(random.next(below: 1000)))
        switch random.next(below: 12) {
        case 0: try store.commit(sample.commit(store.makeGeneration()))
        case 1...3:
            let start = Int64(random.next(below: 8)) << 16
            try sample.store([start..<start + 1 << 16], of: store.makeGeneration(), in: store)
        case 4:
            guard let found = try store.lookup(sample.key) else { return }
            let file = try store.dataFile(of: found.generation, key: sample.key, fileExtension: found.fileExtension)
            _ = try store.evict(found.spans, of: found.generation, in: file)
        case 5: _ = try store.remove(sample.key)
        case 6: try store.setDownload(sample.key, StoredDownload(key: sample.key, members: ["url": sample.url]))
        case 7: try store.setDownload(sample.key, nil)
        case 8: try store.setDownloadPart(other.key, of: sample.key, random.next(below: 2) == 0)
        case 9: _ = try store.setPinned(sample.key, random.next(below: 2) == 0, time: sample.time)
        case 10: try store.touch([sample.key: sample.time])
        default: if random.next(below: 20) == 0 { try store.removeAll() }
        }
    }
}
