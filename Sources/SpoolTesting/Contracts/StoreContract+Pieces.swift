import SpoolCore
import SpoolStore

// Rules on bytes: pieces, spans, files.

extension StoreContract {
    private static let block = Piece.blockBytes

    static let pieceCases: [Rule] = [
        Rule(storing: "pieces that touch are one span") { (trial, store, sample, generation) throws(StoreError) in
            try sample.store([100..<200, 300..<400], of: generation, in: store)
            trial.expectEqual(try store.lookup(sample.key)?.spans, .of(100..<200, 300..<400), "spans")
            try sample.store([200..<300], of: generation, in: store)
            trial.expectEqual(try store.lookup(sample.key)?.spans, .of(100..<400), "spans with the gap filled")
            try sample.store([0..<100, 400..<block, block..<(3 * block), (3 * block)..<(3 * block + 7)], of: generation, in: store)
            trial.expectEqual(try store.lookup(sample.key)?.spans, .of(0..<(3 * block + 7)), "spans over blocks")
        },
        Rule(storing: "a resource filled in any order is one span") { (trial, store, sample, generation) throws(StoreError) in
            let file = try store.dataFile(of: generation, key: sample.key, fileExtension: sample.fileExtension)
            // The run has a ragged end, is longer than a group of blocks, and comes in eleven
            // parts, visited in steps of seven.
            let length = 70 * block + 1_234
            try file.write([1], at: length - 1)
            let part = length / 11 + 1
            for step in 0..<Int64(11) {
                let lower = step * 7 % 11 * part
                try store.commit(sample.commit(generation, [lower..<min(length, lower + part)]))
            }
            trial.expectEqual(try store.lookup(sample.key)?.spans, .of(0..<length), "spans")
        },
        Rule(storing: "discarded bytes are not stored") { (trial, store, sample, generation) throws(StoreError) in
            try sample.store([0..<(4 * block)], of: generation, in: store)
            let lost = ByteRangeSet.of(10..<20, (block - 1)..<(2 * block), (4 * block)..<(9 * block))
            try store.discard(lost, of: generation)
            let spans = try store.lookup(sample.key)?.spans ?? ByteRangeSet()
            trial.expectEqual(spans.intersection(lost), ByteRangeSet(), "discarded spans")
            // In a store with checks, whole blocks go.
            trial.expect(spans.contains(ByteRange(lower: 2 * block, upper: 4 * block)), "blocks went that were not touched: \(spans)")
            let gaps = spans.gaps(in: ByteRange(lower: 0, upper: 4 * block))
            try sample.store(gaps.map { $0.lowerBound..<$0.upperBound }, of: generation, in: store)
            trial.expectEqual(try store.lookup(sample.key)?.spans, .of(0..<(4 * block)), "spans after filling again")
            try store.discard(.of(0..<(5 * block)), of: generation)
            trial.expectEqual(try store.lookup(sample.key)?.spans, ByteRangeSet(), "spans after discarding all")
            try store.discard(.of(0..<1), of: GenerationID(rawValue: generation.rawValue + 999))
        },
        Rule(storing: "a write answers pieces that are its bytes, and the index has them") {
            (trial, store, sample, generation) throws(StoreError) in
            let file = try store.dataFile(of: generation, key: sample.key, fileExtension: sample.fileExtension)
            let lower: Int64 = 1000, upper = 5 * block + 7
            let bytes = sample.pattern(generation.rawValue, at: lower, count: Int(upper - lower))
            var commit = sample.commit(generation)
            commit.pieces = try file.write(bytes, at: lower)
            trial.expectEqual(ByteRangeSet(commit.pieces.map(\.range)), .of(lower..<upper), "pieces of a write")
            trial.expectEqual(try file.write([], at: 9 * block), [], "pieces of no bytes")
            try store.commit(commit)
            let pieces = try store.pieces(of: generation, in: ByteRange(lower: 0, upper: 9 * block))
            trial.expectEqual(ByteRangeSet(pieces.map(\.range)), .of(lower..<upper), "pieces of the index")
            trial.expectEqual(file.damage(in: pieces), [], "damage in what was just written")
            let found = try store.lookup(sample.key)
            let unknown = found?.unverified.subtracting(found?.spans ?? ByteRangeSet())
            trial.expectEqual(unknown, ByteRangeSet(), "bytes to verify that are not stored")
            let part = ByteRange(lower: block + 1, upper: block + 2)
            trial.expect(
                try store.pieces(of: generation, in: part).allSatisfy { $0.range.overlaps(part) }, "pieces without bytes in the range")
        },
        Rule(storing: "a punch gives whole blocks back and leaves the others") { (trial, store, sample, generation) throws(StoreError) in
            let file = try sample.store([0..<(6 * block)], of: generation, in: store)
            trial.expect(try !file.punch(ByteRange(lower: 1, upper: block)), "part of a block was punched")
            let range = ByteRange(lower: block + 1, upper: 4 * block + 1)
            try store.discard(ByteRangeSet([range]), of: generation)
            guard try file.punch(range) else { return }
            try trial.expectHole(file, in: 2 * block, count: Int(2 * block))
            try trial.expectPattern(file, sample, generation.rawValue, in: 0, count: Int(block))
            try trial.expectPattern(file, sample, generation.rawValue, in: 5 * block, count: Int(block))
            try sample.store([(2 * block)..<(4 * block)], of: generation, in: store)
            try trial.expectPattern(file, sample, generation.rawValue, in: 2 * block, count: Int(2 * block))
        },
        Rule(storing: "what was written is read, holes and all") { (trial, store, sample, generation) throws(StoreError) in
            let file = try sample.store([10..<20, (block - 3)..<(block + 3)], of: generation, in: store)
            try trial.expectPattern(file, sample, generation.rawValue, in: 10, count: 10)
            try trial.expectPattern(file, sample, generation.rawValue, in: block - 3, count: 6)
            try trial.expectHole(file, in: 0, count: 10)
            trial.expectEqual(try file.bytes(at: block + 1, count: 100).count, 2, "bytes before the end of the file")
            trial.expectEqual(try file.bytes(at: block + 3, count: 100), [], "bytes at the end of the file")
        },
        Rule("offsets beyond four gigabytes work") { (trial, store) throws(StoreError) in
            let sample = StoreSample(length: 1 << 43)
            let generation = store.makeGeneration()
            let far: Int64 = 5 << 30, farther: Int64 = (1 << 42) + 1
            let file = try sample.store([far..<(far + 10), farther..<(farther + 10)], of: generation, in: store)
            trial.expectEqual(
                try store.lookup(sample.key)?.spans, .of(far..<(far + 10), farther..<(farther + 10)), "spans")
            try trial.expectPattern(file, sample, generation.rawValue, in: far, count: 10)
            try trial.expectPattern(file, sample, generation.rawValue, in: farther, count: 10)
        },
        Rule(storing: "one generation has one open file") { (trial, store, sample, generation) throws(StoreError) in
            let file = try sample.store([0..<10], of: generation, in: store)
            let again = try store.dataFile(of: generation, key: sample.key, fileExtension: sample.fileExtension)
            trial.expect(file === again, "another object")
        },
        Rule("sizes count what the files occupy") { (trial, store) throws(StoreError) in
            trial.expectEqual(try store.totalSizeBytes(), 0, "size of an empty store")
            let films = [StoreSample("a"), StoreSample("b")]
            var files: [any DataFile] = []
            for film in films {
                files.append(try film.store([0..<(2 * block), (64 * block)..<(65 * block)], of: store.makeGeneration(), in: store))
            }
            let total = try store.totalSizeBytes()
            // The size counts allocated bytes, so the hole between the spans takes nothing. The
            // rest belongs to the file system.
            trial.expect(total >= 6 * block && total < 12 * block, "\(total) bytes for \(6 * block)")
            _ = try store.remove(films[0].key)
            let rest = try store.totalSizeBytes()
            trial.expect(rest >= 3 * block && rest < 6 * block, "\(rest) bytes for \(3 * block)")
            try store.removeAll()
            trial.expectEqual(try store.totalSizeBytes(), 0, "size after removing all")
            withExtendedLifetime(files) {}
        },
    ]
}
