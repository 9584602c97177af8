import Foundation
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

@Suite struct StoreOpeningTests {
    private let directory: TemporaryDirectory
    private var disk: DiskStore
    private let film = StoreSample()

    init() throws {
        directory = try TemporaryDirectory()
        disk = DiskStore(directory)
    }

    private func storeAndClose(_ ranges: [Range<Int64>] = [0..<100_000]) throws {
        let store = try disk.open()
        try film.store(ranges, of: store.makeGeneration(), in: store)
        try store.close()
    }

    // MARK: Two processes

    @Test func `a second opener reads and does not write`() throws {
        let writer = try disk.open()
        let generation = writer.makeGeneration()
        let file = try film.store([0..<1000], of: generation, in: writer)
        let reader = try disk.open()
        #expect(writer.isWritable && !reader.isWritable)
        #expect(try reader.lookup(film.key) == writer.lookup(film.key))
        let same = try reader.dataFile(of: generation, key: film.key, fileExtension: film.fileExtension)
        #expect(try same.bytes(at: 0, count: 1000) == film.pattern(generation.rawValue, at: 0, count: 1000))
        #expect(throws: StoreError.readOnly) { try reader.commit(film.commit(generation)) }
        #expect(throws: StoreError.readOnly) { try reader.remove(film.key) }
        #expect(throws: StoreError.readOnly) { try same.write([1], at: 5000) }
        // The next lookup sees a later commit of the writer.
        try film.store([1000..<2000], of: generation, in: writer)
        #expect(try reader.lookup(film.key)?.spans == .of(0..<2000))
        try reader.close()
        try writer.close()
        withExtendedLifetime(file) {}
    }

    @Test func `an opener that must write gets an error with the owner's process`() throws {
        let writer = try disk.open()
        var other = disk
        other.mustBeWritable = true
        #expect(throws: StoreError.locked(by: 4021)) { try other.open() }
        try writer.close()
        let next = try other.open()
        #expect(next.isWritable)
        try next.close()
    }

    @Test func `a reader fails to open a store that is not created yet`() throws {
        let lock = POSIXFileSystem()
        try lock.createDirectory(disk.root)
        let handle = try lock.open(disk.root + "/lock", .create)
        #expect(try handle.lock(.exclusive))
        #expect(throws: StoreError.locked(by: nil)) { try disk.open() }
    }

    // MARK: Formats

    @Test func `a newer format is rejected and left unchanged`() throws {
        try storeAndClose()
        // The user version is at offset 60 of the header, big-endian (SQLite's file format, §1.3).
        try disk.overwrite("spool.sqlite", at: 60, with: [0, 0, 0, 99])
        #expect(throws: StoreError.formatTooNew(found: 99, supported: 9)) { try disk.open() }
        try disk.overwrite("spool.sqlite", at: 60, with: [0, 0, 0, 9])
        let store = try disk.open()
        #expect(try store.lookup(film.key)?.spans == .of(0..<100_000))
        #expect(disk.log.notes == [])
        try store.close()
    }

    @Test(arguments: [8, 5, 1] as [UInt8])
    func `an older format is rejected and left unchanged, for a writer and for a reader`(format: UInt8) throws {
        try storeAndClose()
        try disk.overwrite("spool.sqlite", at: 60, with: [0, 0, 0, format])
        let error = StoreError.formatTooOld(found: Int(format), supported: 9)
        #expect(throws: error) { try disk.open() }
        let lock = try POSIXFileSystem().open(disk.root + "/lock", .create)
        #expect(try lock.lock(.exclusive))
        #expect(throws: error, "as a reader beside the process that writes") { try disk.open() }
        withExtendedLifetime(lock) {}
        #expect(disk.log.notes == [])
    }

    /// Programs before format 9 made the tables in several steps. One that was killed between two
    /// of them left a store that holds nothing, and that no program can use.
    @Test(arguments: [8, 1])
    func `a store whose creation an older program did not end is begun anew`(format: Int) throws {
        try disk.open().close()
        try execute("DELETE FROM meta; PRAGMA user_version=\(format)", onIndex: disk.root + "/spool.sqlite")
        try storeAndClose()
        let store = try disk.open()
        #expect(try store.lookup(film.key)?.spans == .of(0..<100_000))
        try store.close()
        #expect(disk.log.notes.count == 1)
    }

    // MARK: Damage

    /// The header alone, the header's magic, and the whole file: each way in which SQLite detects a
    /// foreign database. Then the write version of the header, which makes it a read-only one.
    @Test(arguments: [0..<16, 0..<4096, 100..<4096, 18..<19] as [Range<Int>])
    func `a damaged index is set aside and the store begins empty`(damage: Range<Int>) throws {
        try storeAndClose()
        try disk.overwrite("spool.sqlite", at: Int64(damage.lowerBound), with: [UInt8](repeating: 0x5A, count: damage.count))
        let store = try disk.open()
        #expect(try store.count() == 0)
        #expect(try store.lookup(film.key) == nil)
        let generation = store.makeGeneration()
        let file = try film.store([5..<10], of: generation, in: store)
        // The numbers start anew, and with them the names of files. The bytes of the old file must
        // not reappear.
        #expect(try file.bytes(at: 0, count: 100) == [0, 0, 0, 0, 0] + film.pattern(generation.rawValue, at: 5, count: 5))
        try store.close()
        guard case .indexSetAside(let path, _)? = disk.log.notes.first else {
            Issue.record("\(disk.log.notes)")
            return
        }
        #expect(try POSIXFileSystem().status(path) != nil)
    }

    @Test(arguments: [true, false])
    func `the files of a lost index are removed`(isDamaged: Bool) throws {
        let store = try disk.open()
        for name in ["a", "b", "c"] { try StoreSample(name).store([0..<10], of: store.makeGeneration(), in: store) }
        try store.close()
        if isDamaged {
            try disk.overwrite("spool.sqlite", at: 0, with: [UInt8](repeating: 0x5A, count: 16))
        } else {
            // Apple's systems may purge any file of a cache.
            try POSIXFileSystem().unlink(disk.root + "/spool.sqlite")
        }
        let next = try disk.open()
        #expect(next.owesSweep && next.hasUncountedFiles)
        let file = try film.store([0..<10], of: next.makeGeneration(), in: next)
        while try !next.sweepOrphans(limit: 1) {}
        let left = try disk.dataFiles()
        let named = try #require(try next.lookup(film.key))
        #expect(left == [next.filePath(of: named)])
        withExtendedLifetime(file) {}
        try next.close()
    }

    @Test func `a database of another program is set aside`() throws {
        try storeAndClose()
        // The application id is at offset 68.
        try disk.overwrite("spool.sqlite", at: 68, with: [1, 2, 3, 4])
        let store = try disk.open()
        #expect(try store.count() == 0)
        #expect(disk.log.notes.count == 1)
        try store.close()
    }

    /// The first page is whole, so the opening succeeds; a lookup then finds invalid pages.
    @Test func `the next opening repairs damage found in use`() throws {
        try storeAndClose()
        // Pages 2 and 7, `meta` and `representations`, are read by the opening; pages 4 to 6 are
        // the indexes of `resources`.
        try disk.overwrite("spool.sqlite", at: 3 * 4096, with: [UInt8](repeating: 0x5A, count: 3 * 4096))
        let damaged = try disk.open()
        #expect(throws: StoreError.self) { try damaged.lookup(film.key) }
        #expect(disk.log.notes.count == 1)
        try damaged.close()
        let repaired = try disk.open()
        #expect(repaired.isWritable)
        #expect(try repaired.lookup(film.key) == nil)
        try film.store([0..<10], of: repaired.makeGeneration(), in: repaired)
        try repaired.close()
        let next = try disk.open()
        #expect(try next.lookup(film.key)?.spans == .of(0..<10))
        try next.close()
    }

    /// A flipped bit can put the rows of the index into another order than SQLite expects. A row that
    /// a query returns is then not found when it is deleted.
    @Test func `a call on rows in a wrong order ends with an error, and the next opening repairs them`() throws {
        try storeAndClose([0..<1000, 2000..<3000, 4000..<5000])
        try execute(
            """
            PRAGMA writable_schema = 1;
            UPDATE sqlite_master SET sql = replace(sql, '(generation, lower)', '(generation, lower DESC)') WHERE name = 'pieces';
            """, onIndex: disk.root + "/spool.sqlite")
        let damaged = try disk.open()
        let generation = try #require(try damaged.lookup(film.key)?.generation)
        #expect(throws: StoreError.self) { try film.store([500..<2500], of: generation, in: damaged) }
        #expect(disk.log.notes.count == 1)
        try damaged.close()
        let repaired = try disk.open()
        #expect(try repaired.lookup(film.key) == nil)
        try film.store([0..<10], of: repaired.makeGeneration(), in: repaired)
        #expect(try repaired.lookup(film.key)?.spans == .of(0..<10))
        try repaired.close()
    }

    /// Exchanges the two rows of a table in the page that has them.
    private func exchangeRows(of table: String) throws {
        let path = disk.root + "/spool.sqlite"
        let root = try #require(Int(try rows("SELECT rootpage FROM sqlite_master WHERE name = '\(table)'", ofIndex: path)[0]))
        let page = 4096 * (root - 1)
        let bytes = try fileBytes(path)
        // A leaf of a table with two cells, whose places follow the header of 8 bytes.
        #expect(bytes[page] == 13 && bytes[page + 4] == 2)
        let (first, second) = (bytes[(page + 8)..<(page + 10)], bytes[(page + 10)..<(page + 12)])
        try disk.overwrite("spool.sqlite", at: Int64(page + 8), with: [UInt8](second + first))
    }

    @Test func `the search for orphans ends with an error if the rows are in a wrong order`() throws {
        let store = try disk.open()
        for name in ["a", "b"] { try StoreSample(name).store([0..<10], of: store.makeGeneration(), in: store) }
        try store.close()
        try exchangeRows(of: "representations")
        try exchangeRows(of: "sizes")
        try execute("INSERT OR REPLACE INTO meta VALUES ('owes_sweep', 1)", onIndex: disk.root + "/spool.sqlite")
        let damaged = try disk.open()
        #expect(throws: StoreError.self) { for _ in 0..<100 where try damaged.sweepOrphans(limit: 1) { return } }
        try damaged.close()
    }

    @Test func `a file whose extension is damaged in the index is removed with its resource`() throws {
        try storeAndClose()
        try execute("UPDATE representations SET file_extension = 'mp5'", onIndex: disk.root + "/spool.sqlite")
        let store = try disk.open()
        #expect(try disk.dataFiles().count == 1)
        #expect(try store.lookup(film.key) == nil)
        #expect(try disk.dataFiles().isEmpty)
        try store.close()
    }

    @Test(arguments: ["-9223372036854775808", "9223372036854775807"])
    func `damaged sizes and spans in the index give sums that can be counted with`(number: String) throws {
        let store = try disk.open()
        for name in ["a", "b", "c"] { try StoreSample(name).store([0..<1000], of: store.makeGeneration(), in: store) }
        let listed = StoreSample("b").key
        _ = try store.setPinned(StoreSample("a").key, true, time: film.time)
        try store.setDownload(listed, StoredDownload(key: listed, members: [:]))
        try store.close()
        let path = disk.root + "/spool.sqlite"
        try execute("UPDATE sizes SET allocated_bytes = \(number); UPDATE pieces SET upper = \(number)", onIndex: path)
        let damaged = try disk.open()
        let sums = [
            try damaged.totalSizeBytes(), try damaged.pinnedBytes(), try damaged.downloadBytes(),
            try damaged.storedBytes(ofDownload: listed),
            try damaged.evictionCandidates(after: nil, largerThan: 0, limit: 1).first?.allocatedBytes ?? 0,
        ]
        #expect(sums.allSatisfy { 0...(1 << 60) ~= $0 }, "\(sums)")
        try film.store([0..<1000], of: damaged.makeGeneration(), in: damaged)
        #expect(try damaged.lookup(film.key)?.spans == .of(0..<1000))
        #expect(try 0...(1 << 61) ~= damaged.totalSizeBytes())
        try damaged.close()
    }

    @Test func `the spans of a truncated data file are clipped to its length`() throws {
        try storeAndClose([0..<100_000, 150_000..<150_010])
        for path in try disk.dataFiles() { try POSIXFileSystem().open(path, .readWrite).truncate(to: 70_000) }
        let store = try disk.open()
        #expect(try store.lookup(film.key)?.spans == .of(0..<65_536))
        #expect(disk.log.notes == [.dataFileTruncated(film.key, size: 70_000)])
        // The index was corrected: growing the file does not bring the bytes back.
        for path in try disk.dataFiles() { try POSIXFileSystem().open(path, .readWrite).truncate(to: 200_000) }
        #expect(try store.lookup(film.key)?.spans == .of(0..<65_536))
        try store.close()
    }

    @Test func `a resource whose data file was purged is no longer stored`() throws {
        try storeAndClose()
        for path in try disk.dataFiles() { try POSIXFileSystem().unlink(path) }
        let store = try disk.open()
        #expect(try store.lookup(film.key) == nil)
        #expect(try store.totalSizeBytes() == 0)
        #expect(try store.count() == 0)
        #expect(disk.log.notes == [.dataFileMissing(film.key)])
        // The resource begins anew.
        let file = try film.store([10..<20], of: store.makeGeneration(), in: store)
        #expect(try store.lookup(film.key)?.spans == .of(10..<20))
        try store.close()
        withExtendedLifetime(file) {}
    }

    @Test func `a store whose directory was removed reports it and does not crash`() throws {
        let store = try disk.open()
        let generation = store.makeGeneration()
        let file = try film.store([0..<100], of: generation, in: store)
        for path in try disk.dataFiles() { try POSIXFileSystem().unlink(path) }
        // A holder of the open file can still read it.
        #expect(try store.lookup(film.key)?.spans == .of(0..<100))
        #expect(try file.bytes(at: 0, count: 100).count == 100)
        #expect(try store.remove(film.key))
        try store.close()
    }

    // MARK: Files

    /// The content of a cache is private to its owner.
    @Test func `only the owner can read a store's files`() throws {
        let store = try disk.open()
        try film.store([0..<10], of: store.makeGeneration(), in: store)
        let modes = try (["spool.sqlite", "spool.sqlite-wal", "lock"].map { "\(disk.root)/\($0)" } + disk.dataFiles()).map { path in
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(modes == [0o600, 0o600, 0o600, 0o600])
        try store.close()
    }

    @Test func `opening a large store reads as little as opening a small one`() throws {
        let disk = MemoryDisk(), index = "/cache/spool.sqlite"
        var written = 0
        /// Returns how many bytes of the index an opening reads after this many more resources are
        /// stored.
        func openingBytes(after resources: Int) throws -> Int64 {
            let store = try SQLiteStore.simulated(on: disk)
            for number in written..<written + resources {
                try StoreSample("https://media.example/\(number)").store([0..<10], of: store.makeGeneration(), in: store)
            }
            written += resources
            try store.close()
            let before = disk.readBytes(of: index)
            let next = try SQLiteStore.simulated(on: disk)
            defer { try? next.close() }
            return disk.readBytes(of: index) - before
        }
        let few = try openingBytes(after: 100)
        #expect(try openingBytes(after: 1000) <= few + 2 * 4096, "one more page for each higher tree")
    }

    @Test func `removing and replacing leave no files behind`() throws {
        let store = try disk.open()
        let other = StoreSample("other")
        try film.store([0..<10], of: store.makeGeneration(), in: store)
        try other.store([0..<10], of: store.makeGeneration(), in: store)
        #expect(try disk.dataFiles().count == 2)
        try film.store([0..<10], of: store.makeGeneration(), in: store)
        #expect(try disk.dataFiles().count == 2)
        #expect(try store.remove(film.key))
        #expect(try disk.dataFiles().count == 1)
        try store.removeAll()
        #expect(try disk.dataFiles() == [])
        #expect(disk.log.notes == [])
        try store.close()
    }

    @Test func `a data file keeps its extension, so that players open it`() throws {
        try storeAndClose([0..<10])
        #expect(try disk.dataFiles().map { $0.hasSuffix(".mp4") } == [true])
    }
}

extension SpoolSystem.FileHandle {
    fileprivate func byte(at offset: Int64) throws(SystemError) -> UInt8 {
        var byte: UInt8 = 0
        var failure: SystemError?
        withUnsafeMutableBytes(of: &byte) { buffer in
            do throws(SystemError) { _ = try read(into: buffer, at: offset) } catch { failure = error }
        }
        if let failure { throw failure }
        return byte
    }
}
