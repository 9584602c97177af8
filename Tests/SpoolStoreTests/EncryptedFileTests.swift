import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

@Suite struct EncryptedFileTests {
    private let directory: TemporaryDirectory
    private let sample = StoreSample()
    private let block = Piece.blockBytes

    init() throws { directory = try TemporaryDirectory() }

    @Test func `an encrypted file offers no descriptor for sendfile`() throws {
        let store = try open()
        #expect(try sample.store([0..<10], of: store.makeGeneration(), in: store).descriptor == nil)
        let plain = try open("plain", encryption: nil)
        #expect(try sample.store([0..<10], of: plain.makeGeneration(), in: plain).descriptor != nil)
    }

    @Test(arguments: CipherAlgorithm.allCases)
    func `random ranges equal the source, before and after reopening`(algorithm: CipherAlgorithm) throws {
        let seed = Seeds.list(count: 1)[0]
        let random = SeededRandom(seed: seed)
        let length = 20 * block + 12_345
        var store = try open(encryption: .testing(algorithm: algorithm))
        let generation = store.makeGeneration()
        var file = try store.dataFile(of: generation, key: sample.key, fileExtension: "mp4")
        var pieces: [Piece] = []
        var lower: Int64 = 0
        while lower < length {
            // Some ranges are larger than the buffer that a block is sealed into.
            let count = min(length - lower, 1 + Int64(random.next(below: random.chance(1, in: 8) ? 1_500_000 : 100_000)))
            pieces += try write(lower..<lower + count, of: generation, to: file)
            lower += count
        }
        try store.commit(commit(generation, pieces, length))
        try expectRandomRanges(of: generation, file, length, seed)
        try store.close()
        store = try open(encryption: .testing(algorithm: algorithm))
        #expect(try store.lookup(sample.key)?.unverified == .of(0..<length))
        file = try store.dataFile(of: generation, key: sample.key, fileExtension: "mp4")
        #expect(try store.admitAll(of: generation, into: file) == [])
        try expectRandomRanges(of: generation, file, length, seed)
        #expect(file.damage(in: try store.pieces(of: generation, in: ByteRange(lower: 0, upper: length))) == [])
    }

    private func expectRandomRanges(of generation: GenerationID, _ file: any DataFile, _ length: Int64, _ seed: UInt64) throws {
        let random = SeededRandom(seed: seed)
        for _ in 0..<100 {
            let lower = Int64(random.next(below: UInt64(length)))
            let count = Int(min(length - lower, 1 + Int64(random.next(below: 300_000))))
            let found = try file.bytes(at: lower, count: count)
            // The expectation compares a Boolean value, because printing the difference of long
            // arrays takes minutes.
            let isEqual = found == sample.pattern(generation.rawValue, at: lower, count: count)
            #expect(isEqual, "seed \(seed): \(lower)..<\(lower + Int64(count))")
            let resident = file.residentBytes(at: lower, count: count)
            let isSame = found.starts(with: resident)
            #expect(isSame, "seed \(seed): \(lower)..<\(lower + Int64(count)), without waiting")
            // The bytes were just written, so the page cache has them where the system can report
            // that.
            if isPageCacheKnown { #expect(resident.count == count, "seed \(seed): \(lower)..<\(lower + Int64(count))") }
        }
    }

    @Test(arguments: [100, 70_000])
    func `a seal copied to another row opens nothing, even with its block cached`(length: Int64) throws {
        let other = StoreSample("other")
        var store = try open()
        let generations = [store.makeGeneration(), store.makeGeneration()]
        try sample.store([0..<length], of: generations[0], in: store)
        try other.store([0..<block], of: generations[1], in: store)
        try store.close()
        store = try open()
        let file = try store.dataFile(of: generations[0], key: sample.key, fileExtension: sample.fileExtension)
        try store.admitAll(of: generations[0], into: file)
        #expect(try file.bytes(at: 10, count: 5) == sample.pattern(generations[0].rawValue, at: 10, count: 5))
        // An attacker who can write the index copies this seal to the other row.
        let seal = try #require(try store.pieces(of: generations[0], in: ByteRange(lower: 0, upper: 1)).first?.checks)
        let forged = Piece(range: ByteRange(lower: 0, upper: block), checks: PieceChecks(.sealed, Array(seal[0])))
        let victim = try store.dataFile(of: generations[1], key: other.key, fileExtension: other.fileExtension)
        #expect(victim.admit([forged]) == [])
        #expect(throws: StoreError.corrupt(other.key, forged.range)) { try victim.bytes(at: 10, count: 5) }
        try store.close()
    }

    @Test(arguments: CipherAlgorithm.allCases)
    func `no 16 bytes of the media are on the disk`(algorithm: CipherAlgorithm) throws {
        let source = SeededRandom(seed: 5).bytes(200_000)
        let store = try open(encryption: .testing(algorithm: algorithm))
        let generation = store.makeGeneration()
        let file = try store.dataFile(of: generation, key: sample.key, fileExtension: "mp4")
        let pieces = try file.write(source, at: 70)
        try store.commit(commit(generation, pieces, 200_070))
        try store.makeDurable()
        for path in try allFiles(below: directory.path) {
            #expect(windows(of: [source], in: try fileBytes(path)) == [], "\(path)")
        }
        // The search finds the media in a store without encryption.
        let plain = try open("plain", encryption: nil)
        let plainFile = try plain.dataFile(of: generation, key: sample.key, fileExtension: "mp4")
        _ = try plainFile.write(source, at: 70)
        #expect(try allFiles(below: directory.path + "/plain").contains { windows(of: [source], in: try fileBytes($0)) != [] })
    }

    @Test func `two stores with one key, and two versions of a block, share no bytes`() throws {
        var ciphertexts: Set<[UInt8]> = []
        for name in ["a", "b"] {
            let store = try open(name)
            let generation = store.makeGeneration()
            let file = try sample.store([0..<block], of: generation, in: store)
            ciphertexts.insert(try fileBytes(dataFile(name)))
            try store.discard(.of(0..<block), of: generation)
            try sample.store([0..<block], of: generation, in: store)
            ciphertexts.insert(try fileBytes(dataFile(name)))
            #expect(try file.bytes(at: 0, count: 100) == sample.pattern(generation.rawValue, at: 0, count: 100))
        }
        #expect(ciphertexts.count == 4)
    }

    // MARK: Forgeries

    @Test func `swapped blocks are rejected, and no others`() throws {
        try expectRefusal(of: [0, 2]) { bytes in
            let first = bytes[..<65_536], third = bytes[131_072..<196_608]
            return Array(third + bytes[65_536..<131_072] + first + bytes[196_608...])
        }
    }

    @Test func `a block of another file is rejected`() throws {
        let other = StoreSample("https://media.example/other.mp4")
        let store = try open("other")
        try other.store([0..<block], of: store.makeGeneration(), in: store)
        let foreign = try fileBytes(dataFile("other"))
        try expectRefusal(of: [1]) { Array($0[..<65_536] + foreign + $0[131_072...]) }
    }

    @Test func `a truncated file is rejected where it ends`() throws {
        try expectRefusal(of: [2, 3], afterReopening: false) { Array($0[..<150_000]) }
    }

    @Test func `an earlier version of a block is rejected`() throws {
        let store = try open()
        let generation = store.makeGeneration()
        let file = try sample.store([0..<block], of: generation, in: store)
        let earlier = try fileBytes(dataFile("cache"))
        try store.discard(.of(0..<block), of: generation)
        try sample.store([0..<block], of: generation, in: store)
        try SpoolStoreTests.write(earlier, toFile: dataFile("cache"))
        #expect(throws: StoreError.corrupt(sample.key, ByteRange(lower: 0, upper: block))) { try file.bytes(at: 0, count: 10) }
    }

    @Test func `a changed bit anywhere in a block is rejected`() throws {
        for bit in [0, 7, 8 * 30_000 + 3, 8 * 65_535 + 7] {
            try expectRefusal(of: [0], name: "bit-\(bit)") { bytes in
                var bytes = bytes
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                return bytes
            }
        }
    }

    @Test func `bytes claimed without a seal are rejected`() throws {
        let store = try open()
        let generation = store.makeGeneration()
        try sample.store([0..<100], of: generation, in: store)
        try store.close()
        try execute("UPDATE pieces SET nonce = NULL, tag = NULL", onIndex: "\(directory.path)/cache/spool.sqlite")
        let again = try open()
        let file = try again.dataFile(of: generation, key: sample.key, fileExtension: "mp4")
        #expect(try again.admitAll(of: generation, into: file) == [Damage(range: ByteRange(lower: 0, upper: 100))])
        #expect(throws: StoreError.self) { try file.bytes(at: 0, count: 100) }
    }

    @Test func `many small reads of a block return its bytes`() throws {
        let store = try open()
        let generation = store.makeGeneration()
        let file = try sample.store([0..<3 * block], of: generation, in: store)
        for lower in stride(from: Int64(60_000), to: 140_000, by: 997) {
            #expect(try file.bytes(at: lower, count: 1500) == sample.pattern(generation.rawValue, at: lower, count: 1500))
        }
    }

    @Test func `suspended stores and missing bytes give no resident bytes, and plain files do`() throws {
        let store = try open()
        let generation = store.makeGeneration()
        let file = try sample.store([0..<block], of: generation, in: store)
        #expect(file.residentBytes(at: block, count: 10) == [])
        try store.suspend()
        #expect(file.residentBytes(at: 0, count: 10) == [])
        let plain = try open("plain", encryption: nil)
        let plainFile = try sample.store([0..<block], of: plain.makeGeneration(), in: plain)
        if isPageCacheKnown { #expect(plainFile.residentBytes(at: 0, count: 10) == (try plainFile.bytes(at: 0, count: 10))) }
        try plain.suspend()
        #expect(plainFile.residentBytes(at: 0, count: 10) == [])
    }

    // MARK: Support

    /// Whether the file system of the tests can report the content of the page cache.
    private var isPageCacheKnown: Bool {
        let path = directory.path + "/page-cache"
        do {
            try SpoolStoreTests.write([1], toFile: path)
            var byte: UInt8 = 0
            return try withUnsafeMutableBytes(of: &byte) { byte in
                try POSIXFileSystem().open(path, .read).descriptor.map { readResident(descriptor: $0, into: byte, offset: 0) } == 1
            }
        } catch { return false }
    }

    /// Stores four blocks, changes their file outside the store, and expects that exactly the
    /// blocks with these numbers are rejected.
    private func expectRefusal(
        of refused: [Int64], afterReopening: Bool = true, name: String = "cache", change: ([UInt8]) -> [UInt8]
    ) throws {
        var store = try open(name)
        let generation = store.makeGeneration()
        var file = try sample.store([0..<4 * block], of: generation, in: store)
        if afterReopening { try store.close() }
        try SpoolStoreTests.write(change(try fileBytes(dataFile(name))), toFile: dataFile(name))
        if afterReopening {
            store = try open(name)
            file = try store.dataFile(of: generation, key: sample.key, fileExtension: "mp4")
            #expect(try store.admitAll(of: generation, into: file) == [])
        }
        for number in 0..<Int64(4) {
            let range = ByteRange(lower: number * block, upper: (number + 1) * block)
            for (lower, count) in [(range.lowerBound, Int(block)), (range.lowerBound + 1000, 10)] {
                if refused.contains(number) {
                    #expect(throws: StoreError.corrupt(sample.key, range)) { try file.bytes(at: lower, count: count) }
                } else {
                    #expect(try file.bytes(at: lower, count: count) == sample.pattern(generation.rawValue, at: lower, count: count))
                }
            }
        }
        let resident = file.residentBytes(at: 0, count: Int(4 * block))
        #expect(resident.count <= (refused.min() ?? 4) * block)
        let isEqual = resident == sample.pattern(generation.rawValue, at: 0, count: resident.count)
        #expect(isEqual)
        for number in refused {
            #expect(file.residentBytes(at: number * block, count: Int(block)).isEmpty)
            #expect(file.residentBytes(at: number * block + 1000, count: 10).isEmpty)
        }
        let pieces = try store.pieces(of: generation, in: ByteRange(lower: 0, upper: 4 * block))
        #expect(file.damage(in: pieces).map { $0.range.lowerBound / block } == refused)
        try store.close()
    }

    private func open(_ name: String = "cache", encryption: EncryptionOptions? = .testing()) throws(StoreError) -> SQLiteStore {
        try SQLiteStore(
            directory: "\(directory.path)/\(name)", fileSystem: POSIXFileSystem(), random: SystemRandom(),
            options: .testing(encryption, RecoveryLog()))
    }

    private func dataFile(_ name: String) throws -> String {
        try #require(try allFiles(below: "\(directory.path)/\(name)/data").first)
    }

    private func write(_ range: Range<Int64>, of generation: GenerationID, to file: any DataFile) throws -> [Piece] {
        let bytes = sample.pattern(generation.rawValue, at: range.lowerBound, count: range.count)
        return try file.write(bytes, at: range.lowerBound)
    }

    private func commit(_ generation: GenerationID, _ pieces: [Piece], _ length: Int64) -> StoreCommit {
        var commit = sample.commit(generation)
        commit.representation.length = length
        commit.pieces = pieces
        return commit
    }
}

extension StoredBytes {
    /// Returns those of `count` bytes from `offset` that can be read without waiting.
    fileprivate func residentBytes(at offset: Int64, count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = readResident(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
    }
}
