import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Several commits in one transaction are as good as one by one.
@Suite struct CommitTogetherTests {
    private let samples = (0..<4).map { StoreSample("https://media.example/\($0)") }

    /// Writes bytes of new generations and answers with their commits.
    private func written(_ samples: [StoreSample], in store: SQLiteStore) throws -> (commits: [StoreCommit], files: [any DataFile]) {
        var commits: [StoreCommit] = [], files: [any DataFile] = []
        for sample in samples {
            let generation = store.makeGeneration()
            let file = try store.dataFile(of: generation, key: sample.key, fileExtension: sample.fileExtension)
            var commit = sample.commit(generation)
            commit.pieces = try file.write(sample.pattern(generation.rawValue, at: 0, count: 1000), at: 0)
            commits.append(commit)
            files.append(file)
        }
        return (commits, files)
    }

    private func store(keyHash: (@Sendable (String) -> [UInt8])? = nil) throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.usesFileSystemForIndex = true
        options.bootID = "boot"
        if let keyHash { options.keyHash = keyHash }
        return try SQLiteStore(directory: "/cache", fileSystem: MemoryDisk(), random: SeededRandom(seed: 3), options: options)
    }

    @Test func `all of them come back`() throws {
        let store = try store()
        let (commits, files) = try written(samples, in: store)
        #expect(store.commit(commits) == [nil, nil, nil, nil])
        for commit in commits { #expect(try store.lookup(commit.key)?.generation == commit.generation) }
        for sample in samples { #expect(try store.lookup(sample.key)?.spans == .of(0..<1000)) }
        withExtendedLifetime(files) {}
        try store.close()
    }

    @Test func `the later generation of a key replaces the earlier one in the same call`() throws {
        let store = try store()
        let (commits, files) = try written([samples[0], samples[1], samples[0]], in: store)
        #expect(store.commit(commits) == [nil, nil, nil])
        #expect(try store.lookup(samples[0].key)?.generation == commits[2].generation)
        // The one that was replaced stays out, also when more of it comes.
        #expect(store.commit([commits[0], commits[1]]) == [nil, nil])
        #expect(try store.lookup(samples[0].key)?.generation == commits[2].generation)
        #expect(try store.count() == 2)
        withExtendedLifetime(files) {}
        try store.close()
    }

    @Test func `one that can't be entered keeps no other out`() throws {
        // The second key meets the first in its hash.
        let store = try store { key in [UInt8](repeating: key.hasSuffix("0") || key.hasSuffix("1") ? 1 : UInt8(key.count), count: 32) }
        let (commits, files) = try written(Array(samples[0...2]), in: store)
        let failures = store.commit(commits)
        #expect(failures[0] == nil && failures[1] != nil && failures[2] == nil)
        #expect(try store.lookup(samples[0].key)?.spans == .of(0..<1000))
        #expect(try store.lookup(samples[1].key) == nil)
        #expect(try store.lookup(samples[2].key)?.spans == .of(0..<1000))
        withExtendedLifetime(files) {}
        try store.close()
    }
}
