import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Tests which keys a store can rule out without its index: only those that it certainly lacks.
@Suite struct KnownKeysTests {
    private let disk = MemoryDisk()

    private func store() throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        options.bootID = "boot"
        return try SQLiteStore(directory: "/cache", fileSystem: disk, random: SeededRandom(seed: 3), options: options)
    }

    private func sample(_ number: Int) -> StoreSample { StoreSample("https://media.example/\(number)") }

    @Test func `a key is certainly absent only after the keys were read`() throws {
        let store = try store()
        #expect(!store.certainlyLacks(sample(0).key))
        #expect(try store.readKeys(limit: 10))
        #expect(store.certainlyLacks(sample(0).key))
        try store.commit(sample(0).commit(store.makeGeneration()))
        #expect(!store.certainlyLacks(sample(0).key), "a committed key may be there")
        #expect(store.certainlyLacks(sample(1).key))
        store.expect(sample(1).key)
        #expect(!store.certainlyLacks(sample(1).key), "an expected key may be there")
        try store.close()
        #expect(!store.certainlyLacks(sample(2).key), "a closed store rules out no key")
    }

    @Test func `reading keys in parts misses none of an earlier opening`() throws {
        let first = try store()
        for number in 0..<100 { try first.commit(sample(number).commit(first.makeGeneration())) }
        try first.close()

        let store = try store()
        var calls = 1
        while try !store.readKeys(limit: 7) {
            #expect(!store.certainlyLacks(sample(1000).key), "some keys were not read yet")
            // A key is committed meanwhile, before or after the part that was read.
            try store.commit(sample(100 + calls).commit(store.makeGeneration()))
            calls += 1
        }
        #expect(calls > 10)
        for number in 0..<100 + calls { #expect(!store.certainlyLacks(sample(number).key) || number == 100, "\(number)") }
        #expect((1000..<2000).count { store.certainlyLacks(sample($0).key) } > 990)
        try store.close()
    }

    @Test func `a read-only store rules out no key, because another process writes`() throws {
        let directory = try TemporaryDirectory()
        let disk = DiskStore(directory)
        let writer = try disk.open(), reader = try disk.open()
        #expect(!reader.isWritable)
        #expect(try reader.readKeys(limit: 10))
        #expect(!reader.certainlyLacks(sample(0).key))
        try reader.close()
        try writer.close()
    }

    @Test func `a suspended and resumed store rules out no key`() throws {
        let store = try store()
        #expect(try store.readKeys(limit: 10))
        try store.suspend()
        #expect(!store.certainlyLacks(sample(0).key))
        #expect(try store.resume())
        #expect(!store.certainlyLacks(sample(0).key))
        try store.close()
    }
}
