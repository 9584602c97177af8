import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests random pieces and discards against a set of bytes.
@Suite struct StorePieceModelTests {
    private static let block = Piece.blockBytes

    @Test(arguments: Seeds.list(count: 6))
    func `spans equal the bytes that were committed and not discarded`(seed: UInt64) throws {
        let random = SeededRandom(seed: seed)
        let disk = MemoryDisk()
        let film = StoreSample()
        var store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        // A long hole, because the range of a piece must lie inside the file.
        try store.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension).write([1], at: 20 << 20)
        var model = ByteRangeSet()
        for step in 0..<300 {
            let range = Self.range(random)
            switch random.next() % 12 {
            case 0, 1:
                try store.discard(ByteRangeSet([range]), of: generation)
                model.remove(range)
            case 2: try store.makeDurable()
            case 3 where random.next() % 4 == 0:
                try store.close()
                store = try SQLiteStore.simulated(on: disk)
            default:
                // Stored bytes are not written again, so a commit has gaps only.
                let gaps = model.gaps(in: range)
                try store.commit(film.commit(generation, gaps.map { $0.lowerBound..<$0.upperBound }))
                model.insert(range)
            }
            if random.next() % 5 == 0 {
                #expect(try store.lookup(film.key)?.spans ?? ByteRangeSet() == model, "seed \(seed), step \(step)")
            }
        }
        #expect(try store.lookup(film.key)?.spans ?? ByteRangeSet() == model, "seed \(seed)")
        try store.close()
    }

    @Test(arguments: Seeds.list(count: 6))
    func `pieces with checksums lose whole blocks, and no more than necessary`(seed: UInt64) throws {
        let random = SeededRandom(seed: seed)
        let film = StoreSample()
        let store = try SQLiteStore.simulated(on: MemoryDisk())
        let generation = store.makeGeneration()
        let file = try store.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
        try file.write([1], at: 20 << 20)
        var model = ByteRangeSet()
        for step in 0..<200 {
            let first = Int64(random.next() % 150), count = Int64(random.next() % 80) + 1
            let blocks = ByteRange(lower: first * Self.block, upper: (first + count) * Self.block)
            if random.next() % 4 == 0 {
                // A discarded byte discards its whole block.
                let inside = ByteRange(lower: blocks.lowerBound + 1, upper: blocks.upperBound - 1)
                try store.discard(ByteRangeSet([inside]), of: generation)
                model.remove(blocks)
            } else {
                var commit = film.commit(generation)
                commit.pieces = model.gaps(in: blocks).map {
                    let count = Int($0.count / Self.block) * PieceChecks.Kind.crc32c.byteCount
                    return Piece(range: $0, checks: PieceChecks(.crc32c, [UInt8](repeating: 9, count: count)))
                }
                try store.commit(commit)
                model.insert(blocks)
            }
            if step % 10 == 0 {
                #expect(try store.lookup(film.key)?.spans ?? ByteRangeSet() == model, "seed \(seed), step \(step)")
            }
        }
        try store.makeDurable()
        #expect(try store.lookup(film.key)?.spans ?? ByteRangeSet() == model, "seed \(seed)")
        try store.close()
        withExtendedLifetime(file) {}
    }

    /// Returns a range mostly near the borders of blocks and groups, where rows are cut and merged.
    private static func range(_ random: SeededRandom) -> ByteRange {
        let units: [Int64] = [block, PieceRow.groupBytes, 1000]
        func offset() -> Int64 {
            let unit = units[Int(random.next() % 3)]
            let jitter = Int64(random.next() % 5) - 2
            return max(0, min(Int64(random.next() % UInt64((16 << 20) / unit)) * unit + (random.next() % 2 == 0 ? 0 : jitter), 16 << 20))
        }
        while true {
            let (a, b) = (offset(), offset())
            if a != b { return ByteRange(lower: min(a, b), upper: max(a, b)) }
        }
    }
}
