import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// A provider that has no key now.
private struct LockedProvider: KeyProvider {
    struct Locked: Error, CustomStringConvertible { var description: String { "the token is not plugged in" } }
    func masterKey(_ parameters: KeyParameters) throws -> EncryptionKey { throw Locked() }
}

@Suite struct EncryptedStoreTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    // MARK: The contract

    @Test(arguments: CipherAlgorithm.allCases)
    func `an encrypted store on a disk satisfies the contract`(algorithm: CipherAlgorithm) throws {
        let options = EncryptionOptions.testing(algorithm: algorithm)
        let contract = StoreContract(isPersistent: true) { (storage) throws(StoreError) in
            try open("\(storage)", options)
        }
        #expect(contract.violations() == [])
    }

    @Test func `an encrypted store on a simulated disk satisfies the contract`() {
        let disk = MemoryDisk()
        let contract = StoreContract(isPersistent: true) { (storage) throws(StoreError) in
            try SQLiteStore.simulated(on: disk, directory: "/\(storage)", encryption: .testing())
        }
        #expect(contract.violations() == [])
    }

    // MARK: Keys

    @Test func `a wrong key is rejected and changes nothing`() throws {
        let sample = StoreSample()
        let store = try open()
        try sample.store([0..<100_000], of: store.makeGeneration(), in: store)
        try store.close()
        let before = try contents()
        #expect(throws: StoreError.key(.wrong)) { try open("cache", .testing(keyByte: 2)) }
        #expect(throws: StoreError.key(.wrong)) { try open("cache", .testing(keyByte: 2), isReadOnly: true) }
        #expect(try contents() == before)
        #expect(try open().lookup(sample.key)?.spans == .of(0..<100_000))
    }

    @Test func `an encrypted store needs its key, and a plain store rejects one`() throws {
        let store = try open()
        try store.commit(StoreSample().commit(store.makeGeneration()))
        try store.close()
        #expect(throws: StoreError.key(.missing)) { try open("cache", nil) }
        #expect(throws: StoreError.key(.missing)) { try open("cache", nil, isReadOnly: true) }

        let plain = try open("plain", nil)
        try plain.commit(StoreSample().commit(plain.makeGeneration()))
        try plain.close()
        let before = try contents()
        #expect(throws: StoreError.key(.notEncrypted)) { try open("plain", .testing()) }
        #expect(throws: StoreError.key(.notEncrypted)) { try open("plain", .testing(), isReadOnly: true) }
        #expect(try contents() == before)
    }

    @Test func `a plain store without resources becomes an encrypted one and shows none of the removed ones`() throws {
        let film = StoreSample("https://user.example/a-very-private-film-with-a-long-name.mp4")
        let plain = try open("cache", nil)
        // From here on, SQLite leaves removed rows in free pages, which is not its default everywhere.
        try plain.removeAll()
        // Many rows, so that the new ones do not take the room of all removed ones.
        let others = (0..<200).map { StoreSample("\(film.key)?\($0)") }
        for other in others { try plain.commit(other.commit(plain.makeGeneration())) }
        for other in others { _ = try plain.remove(other.key) }
        let number = plain.makeGeneration()
        try film.store([0..<100_000], of: number, in: plain)
        // Another process had the file open when it was removed.
        let left = try #require(try files().first { $0.hasSuffix(".mp4") })
        let bytes = try fileBytes(left)
        #expect(try plain.remove(film.key))
        try plain.close()
        try POSIXFileSystem().createDirectory(try #require(parentDirectory(of: left)))
        try write(bytes, toFile: left)
        let store = try open()
        #expect(store.makeGeneration() > number)
        while try !store.sweepOrphans(limit: 16) {}
        #expect(try POSIXFileSystem().status(left) == nil)
        try store.commit(StoreSample().commit(store.makeGeneration()))
        #expect(try leaks(of: [Array(film.url.utf8)]) == [])
        try store.close()
        #expect(try leaks(of: [Array(film.url.utf8)]) == [])
        #expect(throws: StoreError.key(.missing)) { try open("cache", nil) }
    }

    @Test(arguments: [0, 1, 2])
    func `a plain store that has only a pin or a download rejects a key`(entry: Int) throws {
        let film = StoreSample()
        let plain = try open("plain", nil)
        switch entry {
        case 0: _ = try plain.setPinned(film.key, true, time: film.time)
        case 1: try plain.setDownload(film.key, StoredDownload(key: film.key, members: ["url": film.url]))
        default: try plain.setDownloadPart(film.key, of: StoreSample("https://media.example/list").key, true)
        }
        try plain.close()
        let before = try contents()
        #expect(throws: StoreError.key(.notEncrypted)) { try open("plain", .testing()) }
        #expect(try contents() == before)
    }

    @Test func `files of a purged index are removed, even if the first opening after the purge had no key`() throws {
        let store = try open()
        let number = store.makeGeneration()
        try StoreSample().store([0..<100_000], of: number, in: store)
        try store.close()
        for path in try files() where path.contains("spool.sqlite") { try POSIXFileSystem().unlink(path) }
        #expect(throws: StoreError.key(.unavailable("the token is not plugged in"))) {
            try open("cache", EncryptionOptions(keyProvider: LockedProvider()))
        }
        let next = try open()
        #expect(next.owesSweep && next.hasUncountedFiles)
        #expect(next.makeGeneration() > number)
        while try !next.sweepOrphans(limit: 16) {}
        #expect(try files().allSatisfy { !$0.contains("/data/") })
        try next.close()
    }

    @Test func `a store keeps the cipher it was created with`() throws {
        let store = try open("cache", .testing(algorithm: .aes256GCM))
        try StoreSample().store([0..<100], of: store.makeGeneration(), in: store)
        try store.close()
        let again = try open("cache", .testing(algorithm: .chaCha20Poly1305))
        let found = try #require(try again.lookup(StoreSample().key))
        try StoreSample().expectBytes(of: found, in: again, "opened with another configuration")
    }

    @Test func `a passphrase opens its own store, and another passphrase does not`() throws {
        func options(_ passphrase: String) -> EncryptionOptions {
            var options = EncryptionOptions(keyProvider: .passphrase(passphrase))
            options.iterations = 10
            return options
        }
        try open("cache", options("correct horse")).close()
        try open("cache", options("correct horse")).close()
        #expect(throws: StoreError.key(.wrong)) { try open("cache", options("battery staple")) }
        // A program with another default reads the count from the store.
        try open("cache", EncryptionOptions(keyProvider: .passphrase("correct horse"))).close()
    }

    @Test func `a provider's reason for a missing key is reported`() throws {
        #expect(throws: StoreError.key(.unavailable("the token is not plugged in"))) {
            try open("cache", EncryptionOptions(keyProvider: LockedProvider()))
        }
    }

    @Test func `printing the options never shows the key`() throws {
        for options in [EncryptionOptions.testing(keyByte: 0xAB), EncryptionOptions(keyProvider: .passphrase("0xABABAB"))] {
            var dumped = ""
            dump(options, to: &dumped)
            for text in ["\(options)", String(reflecting: options), dumped] {
                #expect(!text.contains("171") && !text.contains("ABAB"))
            }
        }
    }

    // MARK: Bytes on the disk

    @Test func `the disk shows no part of a URL, key or header, nor the media type`() throws {
        var sample = StoreSample("https://user.example/a-very-private-film-with-a-long-name.mp4")
        sample.representation.validator = .strong(entityTag: "\"an-entity-tag-of-some-length\"")
        let store = try open()
        try sample.store([0..<300_000], of: store.makeGeneration(), in: store)
        try store.makeDurable()
        let secrets = [sample.key.string, sample.url, "\"an-entity-tag-of-some-length\"", "X-Note: über: ä, b", "Content-Type: video/mp4"]
        // The search also runs while the store is in use, because it has to cover the log that is
        // not yet in the index.
        #expect(try leaks(of: secrets.map { Array($0.utf8) }) == [])
        let plain = try open("plain", nil)
        try sample.store([0..<10], of: plain.makeGeneration(), in: plain)
        let plainNames = Set(try files().filter { $0.contains("/plain/data") }.compactMap { $0.split(separator: "/").dropLast().last })
        #expect(plainNames.count == 1)
        for path in try files() where path.contains("/cache/") {
            #expect(!plainNames.contains { path.contains($0) } && !path.hasSuffix("mp4"))
        }
        try store.close()
        #expect(try leaks(of: secrets.map { Array($0.utf8) }) == [])
    }

    @Test func `a row that was moved, changed or taken from another store is rejected`() throws {
        let store = try open()
        let a = StoreSample("https://a.example/"), b = StoreSample("https://b.example/")
        for sample in [a, b] { try sample.store([0..<100], of: store.makeGeneration(), in: store) }
        try store.close()
        for change in [
            "UPDATE resources SET url = (SELECT url FROM resources ORDER BY resource DESC LIMIT 1)",
            "UPDATE representations SET header_block = (SELECT header_block FROM representations ORDER BY generation DESC LIMIT 1)",
            "UPDATE representations SET validator = (SELECT validator FROM representations ORDER BY generation DESC LIMIT 1)",
            "UPDATE representations SET length = length - 1 WHERE generation = (SELECT min(generation) FROM representations)",
            "UPDATE representations SET validator_kind = 2 WHERE generation = (SELECT min(generation) FROM representations)",
            "UPDATE resources SET url = zeroblob(5)",
            "UPDATE resources SET key = x'' WHERE resource = (SELECT min(resource) FROM resources)",
        ] {
            let copy = try TemporaryDirectory()
            try write(fileBytes("\(directory.path)/cache/spool.sqlite"), toFile: "\(copy.path)/spool.sqlite")
            try execute(change, onIndex: "\(copy.path)/spool.sqlite")
            let log = RecoveryLog()
            let changed = try SQLiteStore(
                directory: copy.path, fileSystem: POSIXFileSystem(), random: SystemRandom(), options: .testing(.testing(), log))
            #expect(try changed.lookup(a.key) == nil, "\(change)")
            #expect(log.notes.contains(.rowUnreadable), "\(change)")
            // An unreadable row does not prevent storing the resource anew.
            try changed.commit(a.commit(changed.makeGeneration()))
            #expect(try changed.resources(after: nil, limit: 10).contains { $0.key == a.key }, "\(change)")
        }
    }

    // MARK: Support

    private func open(
        _ name: String = "cache", _ encryption: EncryptionOptions? = .testing(), isReadOnly: Bool = false
    ) throws(StoreError) -> SQLiteStore {
        var options = SQLiteStore.Options.testing(encryption, RecoveryLog())
        options.isReadOnly = isReadOnly
        return try SQLiteStore(
            directory: "\(directory.path)/\(name)", fileSystem: POSIXFileSystem(), random: SystemRandom(), options: options)
    }

    private func files() throws -> [String] { try allFiles(below: directory.path) }

    /// Returns every file with its bytes, except the lock and SQLite's shared memory.
    private func contents() throws -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        for path in try files() where !path.hasSuffix("/lock") && !path.hasSuffix("-shm") && !path.hasSuffix("-wal") {
            contents[path] = try fileBytes(path)
        }
        return contents
    }

    private func leaks(of secrets: [[UInt8]]) throws -> [String] {
        try files().filter { $0.contains("/cache/") }.flatMap { path in
            try windows(of: secrets, in: fileBytes(path)).map { "\(path): \($0)" }
        }
    }
}
