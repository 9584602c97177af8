import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Tests two keys with the same SHA-256. No such pair is known, but the hash only names
/// directories, so the store must not mix up their bytes.
@Suite struct KeyCollisionTests {
    private func store(on disk: MemoryDisk) throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        options.bootID = "boot"
        options.keyHash = { _ in [UInt8](repeating: 0xAB, count: 32) }
        return try SQLiteStore(directory: "/cache", fileSystem: disk, random: SeededRandom(seed: 3), options: options)
    }

    @Test func `a key with another key's hash gets no bytes and is not stored`() throws {
        let store = try store(on: MemoryDisk())
        let first = StoreSample("https://a.example/1.mp4"), second = StoreSample("https://b.example/2.mp4")
        let mine = store.makeGeneration(), other = store.makeGeneration()
        try first.store([0..<100_000], of: mine, in: store)

        #expect(try store.lookup(second.key) == nil)
        // The directory is the same, but the file has another name: its generation.
        let file = try store.dataFile(of: other, key: second.key, fileExtension: second.fileExtension)
        try file.write(second.pattern(other.rawValue, at: 0, count: 5000), at: 0)
        #expect(throws: StoreError.self) { try store.commit(second.commit(other, [0..<5000])) }

        #expect(try store.lookup(second.key) == nil)
        #expect(try store.remove(second.key) == false)
        #expect(try store.resources(after: nil, limit: 10).map(\.key) == [first.key])
        let found = try #require(try store.lookup(first.key))
        #expect(found.spans == .of(0..<100_000))
        try first.expectBytes(of: found, in: store, "after the other was refused")
        try store.close()
    }

    @Test(arguments: ["'https://media.example/other.mp4'", "x'00'"])
    func `a resource whose key is damaged in the index is stored anew and can be removed`(damaged: String) throws {
        let directory = try TemporaryDirectory()
        let disk = DiskStore(directory), film = StoreSample(), other = StoreSample("https://media.example/other.mp4")
        let store = try disk.open()
        try film.store([0..<1000], of: store.makeGeneration(), in: store)
        try store.close()
        try execute("UPDATE resources SET key = \(damaged)", onIndex: disk.root + "/spool.sqlite")
        let again = try disk.open()
        #expect(try again.lookup(film.key) == nil && again.lookup(other.key) == nil)
        #expect(try again.resources(after: nil, limit: 10).isEmpty)
        #expect(try again.evictionCandidates(after: nil, largerThan: 0, limit: 10).isEmpty)
        #expect(disk.log.notes.contains(.rowUnreadable))
        try film.store([0..<500], of: again.makeGeneration(), in: again)
        #expect(try again.lookup(film.key)?.spans == .of(0..<500))
        #expect(try again.resources(after: nil, limit: 10).map(\.key) == [film.key])
        #expect(try disk.dataFiles().count == 1)
        try again.close()
        try execute("UPDATE resources SET key = \(damaged)", onIndex: disk.root + "/spool.sqlite")
        let last = try disk.open()
        #expect(try last.remove(film.key))
        #expect(try last.count() == 0 && disk.dataFiles().isEmpty)
        try last.close()
    }
}
