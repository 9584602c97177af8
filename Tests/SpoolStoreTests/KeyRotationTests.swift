import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Tests a change of a store's key, and the encryption of a plain store: the content afterwards, and
/// after a stop at every single change of the disk on the way.
@Suite struct KeyRotationTests {
    private static let block = Piece.blockBytes
    private static let films = ["a", "b", "c", "d"].map { StoreSample("https://media.example/\($0)") }
    /// The cases are: whole blocks in two groups with a ragged end, islands and parts of blocks, no
    /// bytes, and a few bytes.
    private static let ranges: [[Range<Int64>]] = [
        [0..<(3 * block), (63 * block)..<(66 * block + 1_000)], [500..<700, 700..<900, (block + 5)..<(2 * block + 70)], [], [0..<10],
    ]

    /// The stored bytes of a film, which may be in a new generation.
    private struct Stored: Hashable {
        var film: Int
        var generation: GenerationID
    }

    /// Stores all films in a store that was created with the first key.
    private static func fill(_ store: SQLiteStore) throws -> [Stored] {
        var stored: [Stored] = []
        for (film, ranges) in ranges.enumerated() {
            let generation = store.makeGeneration()
            // Each range has its own commit, so that touching parts of a block stay separate
            // pieces.
            if ranges.isEmpty { try store.commit(films[film].commit(generation)) }
            for range in ranges { try films[film].store([range], of: generation, in: store) }
            stored.append(Stored(film: film, generation: generation))
        }
        _ = try store.setPinned(films[1].key, true, time: Timestamp(seconds: 5))
        _ = try store.setPinned(pinnedOnly, true, time: Timestamp(seconds: 5))
        for download in downloads { try store.setDownload(download.key, download) }
        try store.setDownloadPart(films[1].key, of: films[0].key, true)
        try store.touch([films[0].key: Timestamp(seconds: 1_800_000_000)])
        try store.makeDurable()
        return stored
    }

    /// One download with stored bytes, and one without.
    private static let downloads = [films[0].key, pinnedOnly].map { StoredDownload(key: $0, members: ["url": $0.string]) }
    private static let pinnedOnly = ResourceKey(normalized: "https://media.example/not-stored-yet")

    /// Expects every byte and every attribute that `fill` stored.
    private static func expectEverything(_ stored: [Stored], in store: SQLiteStore, _ label: String) throws {
        #expect(try Set(store.downloads()) == Set(downloads), "\(label): the list of downloads")
        #expect(try store.downloadKeys() == [films[0].key: [films[1].key], pinnedOnly: []], "\(label): the parts of downloads")
        for one in stored {
            let film = films[one.film]
            guard let found = try store.lookup(film.key) else {
                Issue.record("\(label): \(film.key) is gone")
                continue
            }
            let wanted = ByteRangeSet(ranges[one.film].compactMap { ByteRange($0) })
            #expect(found.spans == wanted, "\(label): \(film.key)")
            #expect(found.url == film.url && found.representation == film.representation, "\(label)")
            #expect(found.fileExtension == film.fileExtension && found.isPinned == (one.film == 1), "\(label)")
            #expect(found.lastAccess == (one.film == 0 ? Timestamp(seconds: 1_800_000_000) : film.time), "\(label)")
            guard !found.spans.isEmpty else { continue }
            let file = try store.dataFile(of: found.generation, key: film.key, fileExtension: found.fileExtension)
            #expect(try store.damagedSpans(of: found, in: file).isEmpty, "\(label)")
            for span in found.spans.ranges {
                let isRight =
                    try file.bytes(at: span.lowerBound, count: Int(span.count))
                    == film.pattern(one.generation.rawValue, at: span.lowerBound, count: Int(span.count))
                #expect(isRight, "\(label): \(film.key) \(span)")
            }
        }
        // The resource was pinned already.
        #expect(try store.setPinned(pinnedOnly, true, time: Timestamp(seconds: 6)) == false, "\(label)")
    }

    /// The first keys of a store: one, or none in a plain store.
    private static let firstKeys: [UInt8?] = [1, nil]

    /// The problem of a key that does not fit.
    private static func problem(of keyByte: UInt8?, from first: UInt8?) -> KeyProblem {
        if keyByte == nil { .missing } else { first == nil ? .notEncrypted : .wrong }
    }

    private static func open(_ disk: MemoryDisk, keyByte: UInt8?, boot: String = "first boot") throws(StoreError) -> SQLiteStore {
        try SQLiteStore.simulated(on: disk, bootID: boot, encryption: keyByte.map { .testing(keyByte: $0) })
    }

    /// Opens the remaining disk with the one key that fits, and expects that the other key does
    /// not.
    private static func openByEither(
        _ disk: MemoryDisk, from first: UInt8?, boot: String, _ label: String
    ) throws -> (store: SQLiteStore, keyByte: UInt8?) {
        // Each key opens its own copy of the disk. A different test checks that a rejected key
        // changes nothing.
        let fits = [first, 2].filter { keyByte in
            do throws(StoreError) {
                _ = try open(disk.crash(), keyByte: keyByte, boot: boot)
                return true
            } catch {
                if error != .key(problem(of: keyByte, from: first)) { Issue.record("\(label): key \(keyByte ?? 0): \(error)") }
                return false
            }
        }
        #expect(fits.count == 1, "\(label): opens with the keys \(fits)")
        let keyByte = try #require(fits.first)
        return (try open(disk, keyByte: keyByte, boot: boot), keyByte)
    }

    // MARK: Complete rotations

    @Test(arguments: CipherAlgorithm.allCases, CipherAlgorithm.allCases)
    func `a rotation keeps every byte and attribute and rejects the old key`(
        before: CipherAlgorithm, after: CipherAlgorithm
    ) throws {
        let directory = try TemporaryDirectory()
        func open(_ keyByte: UInt8) throws(StoreError) -> SQLiteStore {
            try SQLiteStore(
                directory: directory.path, fileSystem: POSIXFileSystem(), random: SystemRandom(),
                options: .testing(.testing(algorithm: before, keyByte: keyByte), RecoveryLog()))
        }
        let store = try open(1)
        let stored = try Self.fill(store)
        let oldNames = Set(try allFiles(below: directory.path + "/data"))
        let oldBytes = try oldNames.map(fileBytes)
        #expect(try store.rotation.begin(to: .testing(keyByte: 2), algorithm: after) == .begun)
        #expect(try store.rotation.backlog().resources == 4)
        try Self.expectEverything(stored, in: store, "before the files follow")
        try store.resealEverything()
        #expect(try store.rotation.backlog().resources == 0)
        try Self.expectEverything(stored, in: store, "sealed anew")
        // The files have new names and new bytes, and the room of the old ones is free.
        let newNames = Set(try allFiles(below: directory.path + "/data"))
        #expect(newNames.count == 3 && newNames.isDisjoint(with: oldNames))
        for path in newNames { #expect(!oldBytes.contains(try fileBytes(path))) }
        let directories = Set((oldNames.union(newNames)).map { $0.split(separator: "/").dropLast().last ?? "" })
        #expect(directories.count == 6, "names of directories depend on the new key as well")
        #expect(try store.totalSizeBytes() == newNames.reduce(0) { try $0 + (POSIXFileSystem().status($1)?.allocatedBytes ?? 0) })
        try store.close()

        #expect(throws: StoreError.key(.wrong)) { try open(1) }
        let again = try open(2)
        try Self.expectEverything(stored, in: again, "opened anew")
        #expect(try again.rotation.begin(to: .testing(keyByte: 2)) == .isThisKey)
        // Bytes stored from now on are sealed by the new key, too.
        let film = StoreSample("https://media.example/e")
        try film.store([0..<100_000], of: again.makeGeneration(), in: again)
        try film.expectBytes(of: try #require(try again.lookup(film.key)), in: again, "stored afterwards")
        try again.close()
    }

    @Test func `a rotated passphrase gets a new salt, even if it stays the same`() throws {
        let disk = MemoryDisk()
        func options(_ passphrase: String) -> EncryptionOptions {
            var options = EncryptionOptions(keyProvider: .passphrase(passphrase))
            options.iterations = 10
            return options
        }
        let store = try SQLiteStore.simulated(on: disk, encryption: options("correct horse"))
        let stored = try Self.fill(store)
        #expect(try store.rotation.begin(to: options("battery staple")) == .begun)
        try store.resealEverything()
        try store.close()
        #expect(throws: StoreError.key(.wrong)) { try SQLiteStore.simulated(on: disk, encryption: options("correct horse")) }
        try Self.expectEverything(stored, in: SQLiteStore.simulated(on: disk, encryption: options("battery staple")), "by passphrase")
    }

    @Test func `encryption of a plain store keeps every byte and attribute and leaves no plain text`() throws {
        let directory = try TemporaryDirectory()
        func open(_ keyByte: UInt8?, _ log: RecoveryLog = RecoveryLog()) throws(StoreError) -> SQLiteStore {
            try SQLiteStore(
                directory: directory.path, fileSystem: POSIXFileSystem(), random: SystemRandom(),
                options: .testing(keyByte.map { .testing(keyByte: $0) }, log))
        }
        func leaks(of secrets: [[UInt8]]) throws -> [String] {
            try allFiles(below: directory.path).filter { path in
                let bytes = try fileBytes(path)
                return secrets.contains { Self.contains($0, in: bytes) }
            }
        }
        let store = try open(nil)
        let stored = try Self.fill(store)
        // Removed rows stay in free pages of the index.
        for number in 0..<500 {
            try store.commit(StoreSample("https://media.example/removed/\(number)").commit(store.makeGeneration()))
        }
        for number in 0..<500 { _ = try store.remove(StoreSample("https://media.example/removed/\(number)").key) }
        let urls = [Array("https://media.example".utf8)]
        let media = stored.map { Self.films[$0.film].pattern($0.generation.rawValue, at: 500, count: 16) }
        let plain = Set(try allFiles(below: directory.path + "/data"))
        #expect(try !leaks(of: urls).isEmpty && leaks(of: media).count >= 2)

        #expect(try store.rotation.begin(to: .testing(keyByte: 2), algorithm: .aes256GCM) == .begun)
        #expect(try leaks(of: urls) == [], "the index is sealed first")
        #expect(!store.certainlyLacks(Self.films[0].key))
        try Self.expectEverything(stored, in: store, "before the files follow")
        try store.resealEverything(resources: 1)
        let bytes = try store.rotation.backlog().bytes
        try store.close()
        #expect(throws: StoreError.key(.missing)) { try open(nil) }
        let log = RecoveryLog()
        let again = try open(2, log)
        #expect(bytes > 0 && log.notes == [.rotationUnfinished(plainBytes: bytes)])
        try Self.expectEverything(stored, in: again, "half way, opened anew")
        #expect(try again.rotation.begin(to: .testing(keyByte: 2), algorithm: .aes256GCM) == .isThisKey)
        try again.resealEverything()
        try Self.expectEverything(stored, in: again, "sealed")
        #expect(try leaks(of: urls + media) == [])
        #expect(try Set(allFiles(below: directory.path + "/data")).isDisjoint(with: plain))
        try again.close()
        #expect(try leaks(of: urls + media) == [])
        let end = RecoveryLog()
        try Self.expectEverything(stored, in: open(2, end), "opened anew")
        #expect(end.notes == [])
    }

    private static func contains(_ part: [UInt8], in bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var start = 0
            while let found = memchr(bytes.baseAddress! + start, Int32(part[0]), bytes.count - start) {
                start = UnsafeRawPointer(found) - bytes.baseAddress!
                guard bytes.count - start >= part.count else { return false }
                if memcmp(found, part, part.count) == 0 { return true }
                start += 1
            }
            return false
        }
    }

    @Test func `a plain block that differs from its check is reported and never sealed`() throws {
        let disk = MemoryDisk()
        let film = Self.films[0]
        let first = try Self.open(disk, keyByte: nil)
        try film.store([0..<(4 * Self.block)], of: first.makeGeneration(), in: first)
        try first.close()
        try disk.damage(try #require(try files(of: disk, below: "/cache/data").first), at: Self.block + 7)
        let store = try Self.open(disk, keyByte: nil)
        _ = try store.rotation.begin(to: .testing(keyByte: 2))
        #expect(try store.resealEverything() == .of(Self.block..<(2 * Self.block)))
        #expect(try store.lookup(film.key)?.spans == .of(0..<Self.block, (2 * Self.block)..<(4 * Self.block)))
    }

    @Test func `an eviction during the encryption of a plain store leaves no zeros`() throws {
        let random = InterruptedRandom()
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        let store = try SQLiteStore(directory: "/cache", fileSystem: MemoryDisk(), random: random, options: options)
        let film = Self.films[0], generation = store.makeGeneration()
        let (size, evicted) = (3 << 20 as Int64, ByteRangeSet.of((2 << 20)..<(2 << 20 + Self.block)))
        let file = try film.store([0..<size], of: generation, in: store)
        _ = try store.rotation.begin(to: .testing(keyByte: 2))
        let resource = try #require(try store.rotation.next(after: nil))
        var copy = try store.rotation.reseal(resource)
        let run = ByteRange(lower: 0, upper: size)
        let pieces = try store.pieces(of: generation, in: run)
        // The copy takes random numbers for the seals of the first MiB. Bytes behind it are evicted
        // at that moment.
        let eviction = Locked<Result<Bool, any Error>?>(nil)
        random.interrupt { eviction.withLock { $0 = Result { try store.evict(evicted, of: generation, in: file) } } }
        #expect(try copy.copy(run, pieces) == evicted)
        #expect(try eviction.withLock { try #require($0).get() })
        #expect(try copy.copy(run, store.pieces(of: generation, in: run)).isEmpty, "the second look finds no damage")
        try copy.synchronize()
        #expect(try store.rotation.enter(copy) == .replaced)
        let found = try #require(try store.lookup(film.key))
        #expect(found.spans == ByteRangeSet.of(0..<size).subtracting(evicted))
        let sealed = try store.dataFile(of: found.generation, key: film.key, fileExtension: found.fileExtension)
        for span in found.spans.ranges {
            #expect(
                try sealed.bytes(at: span.lowerBound, count: Int(span.count))
                    == film.pattern(generation.rawValue, at: span.lowerBound, count: Int(span.count)))
        }
        try store.close()
    }

    @Test func `a plain file without an entry in the index is gone when the encryption ends`() throws {
        let disk = MemoryDisk()
        let first = try Self.open(disk, keyByte: nil)
        let file = try first.dataFile(of: first.makeGeneration(), key: Self.films[0].key, fileExtension: "mp4")
        _ = try file.write(Self.films[0].pattern(1, at: 0, count: 1000), at: 0)
        let rest = disk.crash()
        let store = try Self.open(rest, keyByte: nil)
        _ = try store.rotation.begin(to: .testing(keyByte: 2))
        #expect(try store.rotation.finish() == false)
        while try !store.rotation.finish() {}
        #expect(try files(of: rest, below: "/cache/data") == [])
    }

    @Test func `a provider without a key changes nothing`() throws {
        struct Provider: KeyProvider {
            struct Locked: Error, CustomStringConvertible { var description: String { "the token is not plugged in" } }
            func masterKey(_ parameters: KeyParameters) throws -> EncryptionKey { throw Locked() }
        }
        for first in Self.firstKeys {
            let disk = MemoryDisk(isRecording: true)
            let store = try Self.open(disk, keyByte: first)
            let count = disk.operationCount
            #expect(throws: StoreError.key(.unavailable("the token is not plugged in"))) {
                try store.rotation.begin(to: EncryptionOptions(keyProvider: Provider()))
            }
            #expect(disk.operationCount == count)
        }
    }

    // MARK: Interrupted rotations

    /// A rotation on a recording disk: the stored films, and the disk changes from its beginning to
    /// its end.
    private static func rotation(
        from first: UInt8?
    ) throws -> (disk: MemoryDisk, stored: [Stored], changes: ClosedRange<Int>, indexIsSealed: Int) {
        let disk = MemoryDisk(isRecording: true)
        let store = try open(disk, keyByte: first)
        let stored = try fill(store)
        let start = disk.operationCount
        _ = try store.rotation.begin(to: .testing(keyByte: 2), algorithm: .aes256GCM)
        let indexIsSealed = disk.operationCount
        try store.resealEverything()
        return (disk, stored, start...disk.operationCount, indexIsSealed)
    }

    /// Expects that the store of an interrupted rotation is whole with one key, completes the
    /// rotation, and checks the store again.
    private static func goOn(_ rest: MemoryDisk, _ stored: [Stored], from first: UInt8?, boot: String, _ label: String) throws -> UInt8? {
        let (store, keyByte) = try openByEither(rest, from: first, boot: boot, label)
        try expectEverything(stored, in: store, label)
        #expect(
            try store.rotation.begin(to: .testing(keyByte: 2), algorithm: .aes256GCM) == (keyByte == 2 ? .isThisKey : .begun), "\(label)")
        if first == nil { try expectNoURL(in: rest, label) }
        try store.resealEverything()
        try expectEverything(stored, in: store, "\(label), then to the end")
        while try !store.sweepOrphans(limit: 16) {}
        let files = try files(of: rest, below: "/cache/data")
        #expect(files.count == 3, "\(label): \(files)")
        try store.close()
        #expect(throws: StoreError.key(problem(of: first, from: first)), "\(label)") { try open(rest, keyByte: first) }
        try expectEverything(stored, in: open(rest, keyByte: 2), "\(label), opened anew")
        return keyByte
    }

    /// Expects that the index and its log have no URL of a film.
    private static func expectNoURL(in disk: MemoryDisk, _ label: String) throws {
        for name in try disk.list("/cache") where name.hasPrefix("spool.sqlite") {
            let file = try disk.open("/cache/\(name)", .read)
            let bytes = try file.bytes(0, Int(file.status().size))
            #expect(!contains(Array("https://media.example".utf8), in: bytes), "\(label): \(name)")
        }
    }

    @Test func `a rotation removes damaged indexes at its end`() throws {
        let disk = MemoryDisk()
        let store = try Self.open(disk, keyByte: 1)
        _ = try Self.fill(store)
        let names = ["damaged-1", "damaged-1-wal", "damaged-8"].map { "/cache/spool.sqlite.\($0)" }
        for name in names { _ = try disk.open(name, .create) }
        #expect(try store.rotation.begin(to: .testing(keyByte: 2)) == .begun)
        #expect(try names.allSatisfy { try disk.status($0) != nil }, "the old indexes stay until the rotation ends")
        try store.resealEverything()
        #expect(try names.allSatisfy { try disk.status($0) == nil })
        try store.close()
    }

    @Test(arguments: firstKeys)
    func `a kill during a rotation leaves a store that opens with one key`(first: UInt8?) throws {
        let (disk, stored, changes, indexIsSealed) = try Self.rotation(from: first)
        var keys: [UInt8] = []
        for count in changes {
            let (rest, label) = (disk.crash(keeping: count), "killed behind change \(count)")
            if first == nil, count >= indexIsSealed { try Self.expectNoURL(in: rest, label) }
            keys.append(try Self.goOn(rest, stored, from: first, boot: "first boot", label) ?? 0)
        }
        // The first key opens the store up to some change, the second key from there on.
        #expect(keys == keys.sorted() && Set(keys) == [first ?? 0, 2])
    }

    @Test(arguments: Seeds.list(count: 1, nightly: 300), firstKeys)
    func `a power loss during a rotation loses nothing, and one key opens the store`(seed: UInt64, first: UInt8?) throws {
        let (disk, stored, changes, _) = try Self.rotation(from: first)
        for count in changes {
            let label = "seed \(seed), power lost behind change \(count)"
            let rest = disk.powerLoss(keeping: count, random: SeededRandom(seed: seed &+ UInt64(count)))
            _ = try Self.goOn(rest, stored, from: first, boot: "second boot", label)
        }
    }

    @Test func `a half-done rotation reads everything, and a third key follows the second`() throws {
        let disk = MemoryDisk()
        let store = try Self.open(disk, keyByte: 1)
        let stored = try Self.fill(store)
        _ = try store.rotation.begin(to: .testing(keyByte: 2))
        try store.resealEverything(resources: 1)
        #expect(try store.rotation.backlog().resources == 3)
        try Self.expectEverything(stored, in: store, "half way")
        try store.close()
        let log = RecoveryLog()
        let again = try SQLiteStore.simulated(on: disk, encryption: .testing(keyByte: 2)) { log.add($0) }
        #expect(log.notes == [.rotationUnfinished(plainBytes: 0)])
        try Self.expectEverything(stored, in: again, "half way, opened anew")
        #expect(try again.rotation.begin(to: .testing(keyByte: 3)) == .isUnfinished)
        #expect(try again.rotation.finish() == false)
        try again.resealEverything()
        #expect(try again.rotation.begin(to: .testing(keyByte: 3)) == .begun)
        try again.resealEverything()
        try again.close()
        for keyByte in [UInt8(1), 2] { #expect(throws: StoreError.key(.wrong)) { try Self.open(disk, keyByte: keyByte) } }
        try Self.expectEverything(stored, in: Self.open(disk, keyByte: 3), "the third key")
    }

    @Test func `a store suspended after a rotation resumes with its new key`() throws {
        let disk = MemoryDisk()
        let store = try Self.open(disk, keyByte: 1)
        let stored = try Self.fill(store)
        _ = try store.rotation.begin(to: .testing(keyByte: 2))
        try store.resealEverything(resources: 2)
        try store.suspend()
        _ = try store.resume()
        try store.resealEverything()
        try Self.expectEverything(stored, in: store, "resumed")
    }

    // MARK: Concurrent use

    @Test(arguments: firstKeys) func `bytes fetched or stored during a rotation are kept`(keyByte: UInt8?) throws {
        let disk = MemoryDisk()
        let store = try Self.open(disk, keyByte: keyByte)
        let film = Self.films[0], later = Self.films[1]
        // One generation has a file and no row, the other a row and a file that grows.
        let (first, second) = (store.makeGeneration(), store.makeGeneration())
        let early = try later.store([0..<1000], of: second, in: store)
        let file = try store.dataFile(of: first, key: film.key, fileExtension: film.fileExtension)
        _ = try store.rotation.begin(to: .testing(keyByte: 2))
        var commit = film.commit(first)
        commit.pieces = try file.write(film.pattern(first.rawValue, at: 0, count: 200_000), at: 0)
        // The file is not in the index, but uses the old key.
        #expect(try store.rotation.finish() == false)
        try store.commit(commit)

        let resource = try #require(try store.rotation.next(after: first))
        var copy = try store.rotation.reseal(resource)
        func fill(_ spans: ByteRangeSet) throws {
            var position: Int64 = 0
            while let run = spans.nextRun(at: position) {
                #expect(try copy.copy(run, store.pieces(of: resource.generation, in: run)).isEmpty)
                position = run.upperBound
            }
            try copy.synchronize()
        }
        try fill(resource.spans)
        try later.store([1000..<70_000], of: second, in: store)
        #expect(try store.rotation.enter(copy) == .grew(.of(1000..<70_000)))
        try fill(.of(1000..<70_000))
        #expect(try store.rotation.enter(copy) == .replaced)
        // A holder of the old file can still read it; none of its bytes enters the index.
        #expect(try early.bytes(at: 0, count: 70_000) == later.pattern(second.rawValue, at: 0, count: 70_000))
        try later.store([70_000..<70_100], of: second, in: store)
        #expect(try store.lookup(later.key)?.spans == .of(0..<70_000))
        try store.resealEverything()

        for (film, generation, end) in [(film, first, 200_000), (later, second, 70_000)] {
            let found = try #require(try store.lookup(film.key))
            #expect(found.spans == .of(0..<Int64(end)) && found.generation != generation)
            let file = try store.dataFile(of: found.generation, key: film.key, fileExtension: film.fileExtension)
            try store.admitAll(of: found.generation, into: file)
            #expect(try file.bytes(at: 0, count: end) == film.pattern(generation.rawValue, at: 0, count: end))
        }
        withExtendedLifetime((file, early)) {}
    }

    @Test func `resources removed or replaced during a rotation do not come back`() throws {
        let store = try Self.open(MemoryDisk(), keyByte: 1)
        _ = try Self.fill(store)
        _ = try store.rotation.begin(to: .testing(keyByte: 2))
        func copy(after generation: GenerationID?) throws -> ResealedCopy {
            let resource = try #require(try store.rotation.next(after: generation))
            var copy = try store.rotation.reseal(resource)
            var position: Int64 = 0
            while let run = resource.spans.nextRun(at: position) {
                _ = try copy.copy(run, store.pieces(of: resource.generation, in: run))
                position = run.upperBound
            }
            try copy.synchronize()
            return copy
        }
        let first = try copy(after: nil)
        _ = try store.remove(first.resource.key)
        #expect(try store.rotation.enter(first) == .isGone)
        store.drop(first.generation, key: first.resource.key, fileExtension: "")
        #expect(try store.lookup(first.resource.key) == nil)
        let second = try copy(after: first.resource.generation)
        let newer = store.makeGeneration()
        try Self.films[1].store([0..<5], of: newer, in: store)
        #expect(try store.rotation.enter(second) == .isGone)
        store.drop(second.generation, key: second.resource.key, fileExtension: "")
        #expect(try store.lookup(Self.films[1].key)?.generation == newer)
    }

    // MARK: Damage and faults

    @Test(arguments: [false, true], firstKeys)
    func `a copy that the system could not write does not replace the old file`(isPointFirst: Bool, keyByte: UInt8?) throws {
        let disk = MemoryDisk()
        let store = try Self.open(disk, keyByte: keyByte)
        let film = Self.films[0], generation = store.makeGeneration()
        try film.store([0..<(2 * Self.block)], of: generation, in: store)
        try store.makeDurable()
        _ = try store.rotation.begin(to: .testing(keyByte: 2))
        let resource = try #require(try store.rotation.next(after: nil))
        var copy = try store.rotation.reseal(resource)
        let run = ByteRange(lower: 0, upper: 2 * Self.block)
        _ = try copy.copy(run, store.pieces(of: generation, in: run))
        // A durable point comes meanwhile. Only the first sync of the copy's file reports the error.
        disk.setFaults(FaultPlan(faults: [.init(.synchronize, .from(1), code: EIO, pathSuffix: "/\(copy.generation.rawValue)")]))
        let point = try #require(try store.beginDurablePoint())
        point.synchronize()
        if disk.callCount(of: .synchronize) > 0 { disk.setFaults(.none) }
        if isPointFirst { _ = store.finish(point) }
        #expect(throws: StoreError.self) {
            try copy.synchronize()
            _ = try store.rotation.enter(copy)
        }
        if !isPointFirst { _ = store.finish(point) }
        let next = try Self.open(disk.powerLoss(seed: 5), keyByte: 2, boot: "second boot")
        let found = try #require(try next.lookup(film.key))
        #expect(try next.readableSpans(of: found) == .of(0..<(2 * Self.block)))
    }

    @Test func `a block that does not open is reported, and the others are resealed`() throws {
        let disk = MemoryDisk()
        let store = try Self.open(disk, keyByte: 1)
        let film = Self.films[0]
        let generation = store.makeGeneration()
        try film.store([0..<(4 * Self.block)], of: generation, in: store)
        let path = try #require(try files(of: disk, below: "/cache/data").first)
        try disk.damage(path, at: Self.block + 7)
        _ = try store.rotation.begin(to: .testing(keyByte: 2))
        #expect(try store.resealEverything() == .of(Self.block..<(2 * Self.block)))
        let found = try #require(try store.lookup(film.key))
        #expect(found.spans == .of(0..<Self.block, (2 * Self.block)..<(4 * Self.block)))
        let file = try store.dataFile(of: found.generation, key: film.key, fileExtension: film.fileExtension)
        try store.admitAll(of: found.generation, into: file)
        for span in found.spans.ranges {
            #expect(
                try file.bytes(at: span.lowerBound, count: Int(span.count))
                    == film.pattern(generation.rawValue, at: span.lowerBound, count: Int(span.count)))
        }
    }

    @Test(arguments: firstKeys) func `a rotation that one failed call interrupted can be resumed`(first: UInt8?) throws {
        for call in FaultPlan.Call.allCases {
            // The limit is at least the number of such calls in a rotation. Ordinary runs test
            // every ninth call.
            for number in stride(from: 1, to: 500, by: Seeds.isNightly ? 1 : 9) {
                let disk = MemoryDisk()
                let store = try Self.open(disk, keyByte: first)
                let stored = try Self.fill(store)
                disk.setFaults(FaultPlan(faults: [.init(call, .call(number), code: EIO)]))
                var failure: (any Error)?
                do {
                    if try store.rotation.begin(to: .testing(keyByte: 2)) == .begun { try store.resealEverything() }
                } catch { failure = error }
                let count = disk.callCount(of: call)
                disk.setFaults(.none)
                let label = "\(call) \(number): \(failure.map { "\($0)" } ?? "no error")"
                try Self.expectEverything(stored, in: store, label)
                _ = try store.rotation.begin(to: .testing(keyByte: 2))
                try store.resealEverything()
                try Self.expectEverything(stored, in: store, "\(label), then to the end")
                if count < number { break }
            }
        }
    }

    @Test(arguments: firstKeys) func `changed previous keys in the index count as damage, and the index is kept`(first: UInt8?) throws {
        for change in [
            "UPDATE meta SET value = x'00' WHERE name = 'previous_keys'",
            "UPDATE meta SET value = value + 1 WHERE name = 'previous_generation'",
            "UPDATE meta SET value = 3 - value WHERE name = 'previous_cipher'", "DELETE FROM meta WHERE name = 'previous_generation'",
        ] {
            let directory = try TemporaryDirectory()
            let log = RecoveryLog()
            func open(_ keyByte: UInt8?) throws(StoreError) -> SQLiteStore {
                try SQLiteStore(
                    directory: directory.path, fileSystem: POSIXFileSystem(), random: SystemRandom(),
                    options: .testing(keyByte.map { .testing(keyByte: $0) }, log))
            }
            let store = try open(first)
            _ = try Self.fill(store)
            _ = try store.rotation.begin(to: .testing(keyByte: 2))
            try store.resealEverything(resources: 1)
            try store.close()
            try execute(change, onIndex: directory.path + "/spool.sqlite")
            let again = try open(2)
            #expect(log.notes.contains { if case .indexSetAside = $0 { true } else { false } }, "\(change): \(log.notes)")
            #expect(try again.count() == 0)
        }
    }

    private func files(of disk: MemoryDisk, below directory: String) throws -> [String] { try Self.files(of: disk, below: directory) }

    private static func files(of disk: MemoryDisk, below directory: String) throws -> [String] {
        try disk.list(directory).flatMap { name -> [String] in
            let path = "\(directory)/\(name)"
            return try disk.status(path)?.isDirectory == true ? files(of: disk, below: path) : [path]
        }
    }
}

/// A source of random numbers that runs a closure before one of them.
private final class InterruptedRandom: RandomSource {
    private let source = SeededRandom(seed: 7)
    private let interruption = Locked<(@Sendable () -> Void)?>(nil)

    /// Runs `body` before the next number.
    func interrupt(_ body: @escaping @Sendable () -> Void) { interruption.withLock { $0 = body } }

    func next() -> UInt64 {
        interruption.withLock { $0.take() }?()
        return source.next()
    }
}

extension SQLiteStore {
    /// Completes a rotation as a cache does, but without its threads.
    ///
    /// - Parameter resources: The maximal number of resources to seal.
    /// - Returns: The spans that did not open.
    @discardableResult
    func resealEverything(resources: Int = .max) throws -> ByteRangeSet {
        var lost = ByteRangeSet()
        var last: GenerationID?
        var left = resources
        while let resource = try rotation.next(after: last) {
            guard left > 0 else { return lost }
            left -= 1
            last = resource.generation
            var copy = try rotation.reseal(resource)
            var position: Int64 = 0
            while let run = resource.spans.nextRun(at: position) {
                let damaged = try copy.copy(run, pieces(of: resource.generation, in: run))
                if !damaged.isEmpty { try discard(damaged, of: resource.generation) }
                lost.formUnion(damaged)
                position = run.upperBound
            }
            try copy.synchronize()
            #expect(try rotation.enter(copy) == .replaced)
        }
        // A plain store has to be searched for files without an entry first.
        if try !rotation.finish() {
            while try !sweepOrphans(limit: 64) {}
            #expect(try rotation.finish())
        }
        return lost
    }
}
