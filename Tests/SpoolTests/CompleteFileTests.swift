import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct `The file of a complete resource` {
    private static let length: Int64 = 300_000
    private let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 3, length: length)

    private func store(in directory: ScratchDirectory, encryption: EncryptionOptions? = nil) throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.encryption = encryption
        return try SQLiteStore(directory: directory.path, fileSystem: POSIXFileSystem(), random: SystemRandom(), options: options)
    }

    @Test func `the file of a complete resource is the one in the store, with every byte`() async throws {
        let directory = try ScratchDirectory()
        let world = try EngineWorld([song], store: store(in: directory))
        let key = try world.key(song)
        #expect(try await world.cache.completeFile(for: key) == nil)
        _ = try await world.cache.reader(for: song.url).read(at: 0, count: 100_000)
        #expect(try await world.cache.reader(for: song.url).bytes().count == Int(Self.length))
        _ = try await world.status(of: song) { $0.isComplete }
        let file = try #require(try await world.cache.completeFile(for: key))
        #expect(file.path.hasPrefix(directory.path + "/data/") && file.path.hasSuffix(".mp3"))
        #expect(try directory.bytes(of: file.path) == world.expected(song, 0..<Self.length))
        #expect(file.representation.length == Self.length)
        await world.cache.close()
    }

    @Test func `the file of a complete resource is not returned when one of its bytes has decayed`() async throws {
        let directory = try ScratchDirectory()
        let first = try EngineWorld([song], store: store(in: directory))
        _ = try await first.cache.reader(for: song.url).bytes()
        _ = try await first.status(of: song) { $0.isComplete }
        let key = try first.key(song)
        let path = try #require(try await first.cache.completeFile(for: key)?.path)
        await first.cache.close()
        try directory.change(byte: 150_000, of: path)
        let second = try EngineWorld([song], store: store(in: directory))
        #expect(try await second.cache.completeFile(for: key) == nil)
        #expect(try await second.cache.reader(for: song.url).bytes() == second.expected(song, 0..<Self.length))
        _ = try await second.status(of: song) { $0.isComplete }
        #expect(try await second.cache.completeFile(for: key) != nil)
        await second.cache.close()
    }

    @Test func `an encrypted store returns no file for a complete resource`() async throws {
        let directory = try ScratchDirectory()
        let encryption = EncryptionOptions(keyProvider: .key(try #require(EncryptionKey(bytes: [UInt8](1...32)))))
        let sealed = try EngineWorld([song], store: store(in: directory, encryption: encryption))
        _ = try await sealed.cache.reader(for: song.url).bytes()
        _ = try await sealed.status(of: song) { $0.isComplete }
        #expect(try await sealed.cache.completeFile(for: sealed.key(song)) == nil)
        await sealed.cache.close()
    }
}
