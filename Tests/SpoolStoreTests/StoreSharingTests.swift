import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Tests several openers of one directory in place of processes: each store has its own descriptors
/// and locks.
@Suite struct StoreSharingTests {
    private let directory: TemporaryDirectory
    private let disk: DiskStore
    private let film = StoreSample("film"), song = StoreSample("song")

    init() throws {
        directory = try TemporaryDirectory()
        disk = DiskStore(directory)
    }

    // MARK: Files with several holders or names

    @Test func `a file reopened before its bytes are synced can be punched`() throws {
        let store = try disk.open()
        let generation = store.makeGeneration()
        // The holder releases the file; the entry that waits for the next durable point stays.
        try film.store([0..<200_000], of: generation, in: store)
        let file = try store.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
        #expect(try store.evict(.of(0..<131_072), of: generation, in: file))
        #expect(try file.bytes(at: 0, count: 100) == [UInt8](repeating: 0, count: 100))
        try store.close()
    }

    @Test func `a file with another name outside the store is never punched`() throws {
        let store = try disk.open()
        let generation = store.makeGeneration()
        let file = try film.store([0..<200_000], of: generation, in: store)
        let found = try #require(try store.lookup(film.key))
        let (inside, outside) = (try #require(store.filePath(of: found)), directory.path + "/mine.mp4")
        #expect(link(inside, outside) == 0)
        #expect(try !store.evict(.of(0..<131_072), of: generation, in: file))
        #expect(try store.lookup(film.key)?.spans == .of(131_072..<200_000), "the bytes leave the index anyway")
        #expect(try file.bytes(at: 0, count: 200_000) == film.pattern(generation.rawValue, at: 0, count: 200_000))
        try store.close()
    }

    // MARK: Becoming the writer

    @Test func `a reader becomes the writer after the writer has closed`() throws {
        let writer = try disk.open()
        try film.store([0..<1000], of: writer.makeGeneration(), in: writer)
        let reader = try disk.open()
        #expect(try !reader.becomeWriter())
        try writer.close()
        #expect(try reader.becomeWriter())
        #expect(reader.isWritable)
        try song.store([0..<10], of: reader.makeGeneration(), in: reader)
        let found = try #require(try reader.lookup(film.key))
        try film.store([1000..<2000], of: found.generation, in: reader)
        #expect(try reader.lookup(film.key)?.spans == .of(0..<2000))
        try reader.close()
        let next = try disk.open()
        #expect(try next.count() == 2)
        try next.close()
    }

    /// A killed process leaves an index that is not closed, and no lock.
    @Test func `a reader becomes the writer after a kill and continues its store`() throws {
        var writer: SQLiteStore? = try disk.open()
        let generation = try #require(writer?.makeGeneration())
        var file: (any DataFile)? = try film.store([0..<1000], of: generation, in: try #require(writer))
        let reader = try disk.open()
        let open = try reader.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
        (writer, file) = (nil, nil)
        #expect(try reader.becomeWriter())
        // The reader's file is open for reading only; writing gets another handle.
        try film.store([1000..<2000], of: generation, in: reader)
        #expect(try reader.lookup(film.key)?.spans == .of(0..<2000))
        #expect(try open.bytes(at: 0, count: 2000) == film.pattern(generation.rawValue, at: 0, count: 2000))
        try reader.makeDurable()
        try reader.close()
        _ = file
    }

    @Test func `a read-only process never uses the number of a stored version`() throws {
        let writer = try disk.open()
        let reader = try disk.open()
        let passing = reader.makeGeneration()
        try writer.close()
        #expect(try reader.becomeWriter())
        #expect(throws: StoreError.readOnly) { try reader.dataFile(of: passing, key: film.key, fileExtension: "") }
        #expect(reader.makeGeneration() < passing)
        try reader.close()
    }

    @Test func `a store opened read-only never becomes the writer`() throws {
        try disk.open().close()
        var options = SQLiteStore.Options()
        options.isReadOnly = true
        let reader = try SQLiteStore(
            directory: disk.root, fileSystem: POSIXFileSystem(), random: SeededRandom(seed: 1), options: options)
        #expect(try !reader.becomeWriter())
        try reader.close()
    }

    // MARK: Eviction beside a reader

    @Test func `a file stays until the other process that reads it closes it`() throws {
        let writer = try disk.open()
        let generation = writer.makeGeneration()
        var file: (any DataFile)? = try film.store([0..<200_000], of: generation, in: writer)
        let reader = try disk.open()
        var open: (any DataFile)? = try reader.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
        #expect(try file?.punch(ByteRange(lower: 0, upper: 65_536)) == false)
        #expect(try writer.remove(film.key))
        file = nil
        #expect(try disk.dataFiles().count == 1)
        #expect(try open?.bytes(at: 0, count: 200_000) == film.pattern(generation.rawValue, at: 0, count: 200_000))
        #expect(try reader.lookup(film.key) == nil)
        open = nil
        try song.store([0..<10], of: writer.makeGeneration(), in: writer)
        try writer.makeDurable()
        #expect(try disk.dataFiles().map { $0.contains("/\(generation.rawValue).") } == [false])
        try reader.close()
        try writer.close()
    }

    @Test func `a file left behind on closing is removed by the next search`() throws {
        let writer = try disk.open()
        let generation = writer.makeGeneration()
        try film.store([0..<10], of: generation, in: writer)
        let reader = try disk.open()
        var open: (any DataFile)? = try reader.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
        #expect(try writer.remove(film.key))
        try writer.close()
        #expect(try open?.bytes(at: 0, count: 10).count == 10)
        open = nil
        try reader.close()
        let next = try disk.open()
        #expect(next.owesSweep)
        while try !next.sweepOrphans(limit: 4) {}
        #expect(try disk.dataFiles() == [])
        #expect(!next.owesSweep)
        try next.close()
        let last = try disk.open()
        #expect(!last.owesSweep)
        try last.close()
    }

    // MARK: Orphans

    @Test func `the orphan search removes only unnamed files, in bounded steps`() throws {
        var store: SQLiteStore? = try disk.open()
        let samples = (0..<30).map { StoreSample("film-\($0)") }
        for sample in samples {
            let store = try #require(store)
            try sample.store([0..<10], of: store.makeGeneration(), in: store)
        }
        // The process is killed: the store is not marked as closed.
        store = nil
        let system = POSIXFileSystem()
        let named = try disk.dataFiles()
        let strange = String(repeating: "aa", count: 32)
        try system.createDirectory("\(disk.root)/data/aa/\(strange)")
        for name in ["7.mp4", "8", "not ours"] { _ = try system.open("\(disk.root)/data/aa/\(strange)/\(name)", .create) }
        // The number of another resource's file, in the wrong place.
        let stray = try #require(parentDirectory(of: named[0])) + "/99.mp4"
        _ = try system.open(stray, .create)

        let next = try disk.open()
        #expect(next.owesSweep)
        var steps = 0
        let young = next.makeGeneration()
        let file = try StoreSample("new").store([0..<5], of: young, in: next)
        while try !next.sweepOrphans(limit: 8) { steps += 1 }
        #expect(steps >= 60 / 8, "steps are bounded")
        let left = try disk.dataFiles()
        #expect(left.count == named.count + 2)
        #expect(Set(left).isSuperset(of: named))
        #expect(left.contains { $0.hasSuffix("/not ours") })
        #expect(try next.count() == 31)
        withExtendedLifetime(file) {}
        try next.close()
    }

    @Test func `the search counts bytes that a kill left outside the index`() throws {
        var store: SQLiteStore? = try disk.open()
        let generation = try #require(store?.makeGeneration())
        if let store {
            #expect(!store.hasUncountedFiles, "a new store has no uncounted files")
            let file = try film.store([0..<65_536], of: generation, in: store)
            // These bytes were written before a kill prevented their commit. The other file has no
            // committed bytes at all.
            _ = try file.write([UInt8](repeating: 1, count: 300_000), at: 65_536)
            let other = try store.dataFile(of: store.makeGeneration(), key: song.key, fileExtension: "mp3")
            _ = try other.write([UInt8](repeating: 2, count: 500_000), at: 0)
            #expect(try store.totalSizeBytes() < 100_000)
        }
        store = nil
        let next = try disk.open()
        #expect(next.hasUncountedFiles)
        #expect(try next.totalSizeBytes() < 100_000)
        while next.hasUncountedFiles { _ = try next.sweepOrphans(limit: 1) }
        #expect(next.owesSweep, "the search still has rows to check")
        let occupied = try disk.dataFiles().reduce(0) { try $0 + (POSIXFileSystem().status($1)?.allocatedBytes ?? 0) }
        #expect(try disk.dataFiles().count == 1)
        #expect(occupied >= 365_536)
        #expect(try next.totalSizeBytes() == occupied)
        // A later commit is not counted twice.
        let file = try film.store([400_000..<410_000], of: generation, in: next)
        withExtendedLifetime(file) {}
        let grown = try disk.dataFiles().reduce(0) { try $0 + (POSIXFileSystem().status($1)?.allocatedBytes ?? 0) }
        #expect(try next.totalSizeBytes() == grown)
        while try !next.sweepOrphans(limit: 1) {}
        try next.close()
        let last = try disk.open()
        #expect(!last.hasUncountedFiles)
        #expect(try last.totalSizeBytes() == grown)
        try last.close()
    }

    // MARK: Suspension

    @Test func `a suspended store holds no lock, and continues after resuming`() throws {
        let store = try disk.open()
        let generation = store.makeGeneration()
        let file = try film.store([0..<1000], of: generation, in: store)
        try store.suspend()
        #expect(throws: StoreError.suspended) { try store.lookup(film.key) }
        #expect(throws: StoreError.suspended) { try file.bytes(at: 0, count: 10) }
        #expect(throws: StoreError.suspended) { try file.write([1], at: 5000) }
        #expect(file.descriptor == nil)
        for path in try disk.dataFiles() + ["\(disk.root)/lock"] {
            #expect(try POSIXFileSystem().open(path, .readWrite).lock(.exclusive), "\(path) is locked")
        }
        #expect(try POSIXFileSystem().status("\(disk.root)/spool.sqlite-wal") == nil, "the index is closed")
        #expect(try store.resume())
        try film.store([1000..<2000], of: generation, in: store)
        #expect(try store.lookup(film.key)?.spans == .of(0..<2000))
        try store.close()
    }

    @Test func `another process may write during a suspension, which invalidates cached state`() throws {
        let store = try disk.open()
        let generation = store.makeGeneration()
        let file = try film.store([0..<1000], of: generation, in: store)
        try store.suspend()
        let other = try disk.open()
        #expect(other.isWritable)
        try song.store([0..<10], of: other.makeGeneration(), in: other)
        #expect(try !store.resume())
        #expect(!store.isWritable)
        #expect(try store.lookup(song.key)?.spans == .of(0..<10))
        try other.close()
        #expect(try store.becomeWriter())

        try store.suspend()
        try disk.open().close()
        #expect(try !store.resume())
        #expect(store.isWritable)
        withExtendedLifetime(file) {}
        try store.close()
    }

    @Test func `a file that another process may have changed is never read again`() throws {
        let store = try disk.open()
        let generation = store.makeGeneration()
        let file = try film.store([0..<200_000], of: generation, in: store)
        try store.suspend()
        let other = try disk.open()
        var same: (any DataFile)? = try other.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
        #expect(try other.evict(.of(0..<131_072), of: generation, in: #require(same)))
        same = nil
        try other.close()
        #expect(try !store.resume())
        #expect(file.descriptor == nil, "its holder has spans that are zeros now")
        #expect(throws: StoreError.suspended) { try file.bytes(at: 0, count: 10) }
        #expect(throws: StoreError.suspended) { try file.write([1], at: 0) }
        // A new lookup finds the stored bytes.
        let found = try #require(try store.lookup(film.key))
        let anew = try store.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
        try store.admitAll(of: generation, into: anew)
        #expect(found.spans == .of(131_072..<200_000))
        #expect(try anew.bytes(at: 131_072, count: 100) == film.pattern(generation.rawValue, at: 131_072, count: 100))
        try film.store([0..<65_536], of: generation, in: store)
        #expect(try store.evict(.of(0..<65_536), of: generation, in: anew), "the old handle does not prevent the eviction")
        withExtendedLifetime(file) {}
        try store.close()
    }

    @Test func `a store that can't be resumed is not readable`() throws {
        let store = try disk.open()
        let generation = store.makeGeneration()
        let file = try film.store([0..<1000], of: generation, in: store)
        try store.suspend()
        // A newer program has changed the store.
        try disk.overwrite("spool.sqlite", at: 60, with: [0, 0, 0, 99])
        #expect(throws: StoreError.formatTooNew(found: 99, supported: 9)) { try store.resume() }
        #expect(file.descriptor == nil)
        #expect(throws: StoreError.suspended) { try file.bytes(at: 0, count: 10) }
        for path in try disk.dataFiles() {
            #expect(try POSIXFileSystem().open(path, .readWrite).lock(.exclusive), "\(path) is locked")
        }
        try disk.overwrite("spool.sqlite", at: 60, with: [0, 0, 0, 9])
        #expect(try store.resume())
        #expect(try file.bytes(at: 0, count: 10) == film.pattern(generation.rawValue, at: 0, count: 10))
        try store.close()
    }

    @Test func `a suspension never repeats generation numbers, for a writer or a reader`() throws {
        let writer = try disk.open()
        let reader = try disk.open()
        var given: Set<GenerationID> = []
        for store in [writer, reader] {
            for _ in 0..<3 { #expect(given.insert(store.makeGeneration()).inserted) }
        }
        try reader.suspend()
        #expect(try !reader.resume())
        #expect(given.insert(reader.makeGeneration()).inserted)
        // The reader becomes a writer here, and later a reader again.
        try writer.close()
        #expect(try reader.becomeWriter())
        let stored = reader.makeGeneration()
        #expect(given.insert(stored).inserted)
        try film.store([0..<10], of: stored, in: reader)
        try reader.suspend()
        let other = try disk.open()
        #expect(try !reader.resume())
        #expect(given.insert(reader.makeGeneration()).inserted)
        try reader.close()
        try other.close()
    }

    @Test func `a suspended store can be closed`() throws {
        let store = try disk.open()
        try film.store([0..<1000], of: store.makeGeneration(), in: store)
        try store.suspend()
        try store.close()
        #expect(throws: StoreError.closed) { try store.lookup(film.key) }
        let next = try disk.open()
        #expect(try next.lookup(film.key)?.spans == .of(0..<1000))
        try next.close()
    }

    // MARK: Other programs

    @Test func `a file truncated while open takes no more bytes, so no zeros are stored`() throws {
        let store = try disk.open()
        let generation = store.makeGeneration()
        let file = try film.store([0..<100_000], of: generation, in: store)
        for path in try disk.dataFiles() { try POSIXFileSystem().open(path, .readWrite).truncate(to: 50_000) }
        #expect(throws: StoreError.self) { try file.write(film.pattern(generation.rawValue, at: 100_000, count: 10), at: 100_000) }
        #expect(try file.bytes(at: 40_000, count: 60_000).count == 10_000)
        #expect(try store.lookup(film.key)?.spans.upperBound ?? 0 <= 50_000)
        try store.close()
    }
}
