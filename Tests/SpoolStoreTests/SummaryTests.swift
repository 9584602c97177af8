import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Tests the short form in which a store lists its resources.
@Suite struct SummaryTests {
    private func store(_ disk: MemoryDisk, isSealed: Bool) throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        options.bootID = "boot"
        if isSealed { options.encryption = .testing() }
        return try SQLiteStore(directory: "/cache", fileSystem: disk, random: SeededRandom(seed: 3), options: options)
    }

    @Test(arguments: [false, true]) func `summaries in parts are those of all resources, each once`(isSealed: Bool) throws {
        let store = try store(MemoryDisk(), isSealed: isSealed)
        for number in 0..<23 { try store.commit(StoreSample("https://media.example/\(number)").commit(store.makeGeneration())) }
        for limit in [1, 4, 23, 50] {
            var found: [StoredSummary] = []
            while true {
                let part = try store.summaries(after: found.last?.key, limit: limit)
                found += part
                if part.count < limit { break }
            }
            let stored = try store.resources(after: nil, limit: 50)
            #expect(found.map(\.key).sorted() == stored.map(\.key))
            for summary in found {
                let entry = try #require(stored.first { $0.key == summary.key })
                #expect(summary.url == entry.url && summary.length == entry.representation.length && summary.lastAccess == entry.lastAccess)
            }
        }
        #expect(try store.summaries(after: nil, limit: 0).isEmpty)
        try store.close()
    }
}
