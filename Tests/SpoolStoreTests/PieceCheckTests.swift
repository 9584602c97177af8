import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Checksums in the index fit the bytes in the file after every sequence of operations, and detect
/// each changed byte.
@Suite struct PieceCheckTests {
    private static let block = Piece.blockBytes
    private let film = StoreSample(length: 3 << 20)

    /// Random writes, discards, durable points and openings on a small resource; then some bytes
    /// are damaged.
    @Test(arguments: Seeds.list(count: 12))
    func `every checksum fits its bytes, and every changed byte is detected`(seed: UInt64) throws {
        let random = SeededRandom(seed: seed)
        let disk = MemoryDisk()
        var store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        var file = try film.store([0..<1], of: generation, in: store)
        var model = ByteRangeSet.of(0..<1)
        for _ in 0..<80 {
            switch random.next(below: 10) {
            case 0:
                let range = Self.range(random)
                try store.discard(ByteRangeSet([range]), of: generation)
                model = try #require(try store.lookup(film.key)).spans
                #expect(model.intersection(range).isEmpty, "seed \(seed)")
            case 1: try store.makeDurable()
            case 2 where random.next(below: 3) == 0:
                try store.close()
                store = try SQLiteStore.simulated(on: disk)
                file = try store.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
            default:
                let range = Self.range(random)
                try film.store(model.gaps(in: range).map { $0.lowerBound..<$0.upperBound }, of: generation, in: store)
                model.insert(range)
            }
        }
        let found = try #require(try store.lookup(film.key))
        #expect(found.spans == model && found.unverified == model, "seed \(seed)")
        let pieces = try store.pieces(of: generation, in: ByteRange(lower: 0, upper: 3 << 20))
        #expect(ByteRangeSet(pieces.map(\.range)) == model, "seed \(seed)")
        #expect(pieces.allSatisfy { $0.checks?.kind == .crc32c }, "seed \(seed)")
        #expect(file.damage(in: pieces) == [], "seed \(seed)")
        try damageSome(disk, model, random) { changed in
            let damage = file.damage(in: pieces)
            let missed = changed.filter { offset in !damage.contains { $0.range.contains(offset) } }
            #expect(missed.isEmpty, "seed \(seed): changes at \(missed) are not detected")
            let idle = damage.filter { damage in !changed.contains { damage.range.contains($0) } }
            #expect(idle.isEmpty, "seed \(seed): nothing changed in \(idle)")
        }
        try store.close()
    }

    /// Changes up to five stored bytes.
    private func damageSome(_ disk: MemoryDisk, _ model: ByteRangeSet, _ random: SeededRandom, _ body: ([Int64]) -> Void) throws {
        let path = try #require(try disk.dataFiles().first)
        var changed: Set<Int64> = []
        for _ in 0..<5 {
            let runs = model.ranges
            let run = runs[Int(random.next(below: UInt64(runs.count)))]
            changed.insert(run.lowerBound + Int64(random.next(below: UInt64(run.count))))
        }
        for offset in changed.sorted() { try disk.damage(path, at: offset) }
        body(changed.sorted())
    }

    /// Returns a range near the borders of blocks, or a small one, or one of several blocks.
    private static func range(_ random: SeededRandom) -> ByteRange {
        let lower = random.next(below: 3) == 0 ? Int64(random.next(below: 40)) * block : Int64(random.next(below: 40 << 16))
        let lengths: [Int64] = [1, 100, block, 3 * block, Int64(random.next(below: 200_000)) + 1]
        return ByteRange(lower: lower, upper: lower + lengths[Int(random.next(below: 5))])
    }

    @Test func `touching pieces inside a block merge from their checksums alone`() throws {
        let store = try SQLiteStore.simulated(on: MemoryDisk())
        let generation = store.makeGeneration()
        let cuts: [Int64] = [0, 1, 100, 4_096, 50_000, 65_535, 65_536, 131_072, 140_000]
        let file = try film.store(zip(cuts, cuts.dropFirst()).map { $0..<$1 }, of: generation, in: store)
        let pieces = try store.pieces(of: generation, in: ByteRange(lower: 0, upper: 140_000))
        #expect(pieces.map(\.range) == [ByteRange(lower: 0, upper: 131_072), ByteRange(lower: 131_072, upper: 140_000)])
        #expect(file.damage(in: pieces) == [])
        try store.close()
    }

    @Test func `a failed read of several pieces loses only the unreadable ones`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        let file = try film.store([0..<(20 * Self.block)], of: generation, in: store)
        let pieces = try store.pieces(of: generation, in: ByteRange(lower: 0, upper: 20 * Self.block))
        // The first read covers the first MiB, the fourth its third block.
        disk.setFaults(FaultPlan(faults: [1, 4].map { .init(.read, .call($0), code: EIO, pathSuffix: ".mp4") }))
        let unreadable = file.damage(in: pieces)
        #expect(unreadable.map(\.range) == [ByteRange(lower: 2 * Self.block, upper: 3 * Self.block)])
        #expect(unreadable.first?.cause != nil)
        disk.setFaults(FaultPlan())
        try disk.open(try #require(try disk.dataFiles().first), .readWrite).truncate(to: 17 * Self.block + 100)
        #expect(file.damage(in: pieces).map { $0.range.lowerBound / Self.block } == [17, 18, 19])
        try store.close()
    }

    @Test func `the pieces of a range are those with bytes in it`() throws {
        let store = try SQLiteStore.simulated(on: MemoryDisk())
        let generation = store.makeGeneration()
        let group = PieceRow.groupBytes
        let file = try film.store([10..<20, 30..<40, (group - Self.block)..<(group + 5)], of: generation, in: store)
        func ranges(_ range: Range<Int64>) throws -> [ByteRange] {
            try store.pieces(of: generation, in: ByteRange(lower: range.lowerBound, upper: range.upperBound)).map(\.range)
        }
        #expect(try ranges(0..<10) == [])
        #expect(try ranges(19..<31) == [ByteRange(lower: 10, upper: 20), ByteRange(lower: 30, upper: 40)])
        #expect(try ranges(group..<(group + 1)) == [ByteRange(lower: group, upper: group + 5)])
        #expect(try ranges((group - 1)..<(group + 1)).count == 2)
        #expect(try store.pieces(of: GenerationID(rawValue: 99), in: ByteRange(lower: 0, upper: 1)) == [])
        try store.close()
        withExtendedLifetime(file) {}
    }

    @Test func `seals are returned as they were entered, cut and merged`() throws {
        let disk = MemoryDisk()
        var store = try SQLiteStore.simulated(on: disk)
        let generation = store.makeGeneration()
        let file = try store.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
        try file.write([1], at: 200 * Self.block)
        func seals(_ blocks: Range<Int>) -> PieceChecks {
            PieceChecks(
                .sealed, blocks.flatMap { block in (0..<PieceChecks.Kind.sealed.byteCount).map { UInt8(truncatingIfNeeded: block + $0) } })
        }
        var commit = film.commit(generation)
        commit.pieces = [
            Piece(range: ByteRange(lower: 100, upper: 70 * Self.block), checks: seals(0..<70)),
            Piece(range: ByteRange(lower: 70 * Self.block, upper: 100 * Self.block), checks: seals(70..<100)),
        ]
        try store.commit(commit)
        try store.discard(.of((80 * Self.block)..<(80 * Self.block + 1)), of: generation)
        try store.close()
        store = try SQLiteStore.simulated(on: disk)
        let found = try store.pieces(of: generation, in: ByteRange(lower: 0, upper: 100 * Self.block))
        let wanted: [Range<Int>] = [0..<1, 1..<64, 64..<80, 81..<100]
        #expect(found.map(\.checks) == wanted.map(seals))
        #expect(found.first?.range.lowerBound == 100)
        #expect(try store.lookup(film.key)?.unverified == .of(100..<(80 * Self.block), (81 * Self.block)..<(100 * Self.block)))
        try store.close()
    }

    @Test func `pieces of an old store without checksums count as verified and undamaged`() throws {
        let store = try SQLiteStore.simulated(on: MemoryDisk())
        let generation = store.makeGeneration()
        let file = try store.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
        try file.write(film.pattern(generation.rawValue, at: 0, count: 200_000), at: 0)
        try store.commit(film.commit(generation, [0..<100_000]))
        try film.store([100_000..<200_000], of: generation, in: store)
        let found = try #require(try store.lookup(film.key))
        #expect(found.spans == .of(0..<200_000))
        #expect(found.unverified == .of(100_000..<200_000))
        #expect(file.damage(in: try store.pieces(of: generation, in: ByteRange(lower: 0, upper: 200_000))) == [])
        try store.close()
    }

    @Test func `the index needs at most a thousandth of whole stored blocks`() throws {
        let disk = MemoryDisk()
        let store = try SQLiteStore.simulated(on: disk)
        let empty = try #require(try disk.status("/cache/spool.sqlite")).size
        let generation = store.makeGeneration()
        let file = try store.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
        // 1 GiB of claimed bytes; the file needs only the size.
        let length: Int64 = 1 << 30, step: Int64 = 1 << 20
        try file.write([1], at: length - 1)
        for offset in stride(from: 0, to: length, by: Int(step)) {
            let checks = PieceChecks(.crc32c, (0..<64).map { UInt8(truncatingIfNeeded: offset >> 20 &+ $0) })
            var commit = film.commit(generation)
            commit.pieces = [Piece(range: ByteRange(lower: offset, upper: offset + step), checks: checks)]
            try store.commit(commit)
            if offset % (16 << 20) == 0 { try store.makeDurable() }
        }
        try store.close()
        let size = try #require(try disk.status("/cache/spool.sqlite")).size
        #expect(size - empty <= length / 1000, "\(size - empty) bytes for \(length)")
        #expect(size <= length / 1000, "\(size) bytes for \(length), tables included")
    }
}

extension MemoryDisk {
    /// The paths of all data files of the simulated store.
    fileprivate func dataFiles() throws -> [String] {
        try list("/cache/data").flatMap { group in
            try list("/cache/data/\(group)").flatMap { hash in
                try list("/cache/data/\(group)/\(hash)").map { "/cache/data/\(group)/\(hash)/\($0)" }
            }
        }
    }
}
