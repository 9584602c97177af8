import Foundation
import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct `A resource that is exported` {
    /// More than two steps of an export, with an end inside a block.
    private static let length: Int64 = 9_000_001
    private let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 3, length: length)
    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }

    private func world(_ encryption: EncryptionOptions? = nil, _ change: (inout Configuration) -> Void = { _ in }) throws -> EngineWorld {
        try EngineWorld([song], store: directory.openStore(encryption), configuration: change)
    }

    private var path: String { directory.path + "/out.mp3" }
    private var all: [UInt8] { song.content.bytes(at: 0, count: Int(Self.length)) }
    private var encryption: EncryptionOptions {
        get throws { EncryptionOptions(keyProvider: .key(try #require(EncryptionKey(bytes: [UInt8](1...32))))) }
    }

    /// The names beside the store.
    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
    }

    private func change(byte offset: UInt64, of world: EngineWorld) async throws {
        try directory.change(byte: offset, of: try #require(try await world.cache.completeFile(for: world.key(song))?.path))
    }

    // MARK: Complete exports

    @Test func `an exported file has every byte, and the export reports its progress`() async throws {
        let world = try world()
        try await world.play(song)
        let progress = Locked<Int64>(0)
        let file = try await world.cache.export(world.key(song), to: path) { bytes in progress.withLock { $0 += bytes } }
        #expect(try directory.bytes(of: path) == all)
        #expect(file.bytes == Self.length && file.representation.length == Self.length)
        #expect(progress.withLock { $0 } == Self.length)
        #expect(try names == ["out.mp3", "store"])
        await world.cache.close()
    }

    @Test func `an export has the bytes that readers get, from an encrypted store and through a transform`() async throws {
        let sealed = try world(encryption)
        try await sealed.play(song)
        await sealed.cache.close()
        // Bytes of an earlier opening are exported as well. Their seals are in the index only.
        let again = try world(encryption)
        let file = try await again.cache.export(again.key(song), to: path)
        #expect(file.method == .copy)
        #expect(try directory.bytes(of: path) == all)
        await again.cache.close()

        let transform = CounterModeTransform(key: [UInt8](0..<16), nonce: [UInt8](0..<8))
        let memory = try EngineWorld([song], configuration: { $0.contentTransform = transform })
        let seen = try await memory.cache.reader(for: song.url).bytes()
        _ = try await memory.status(of: song) { $0.isComplete && $0.fetches == 0 }
        var options = ExportOptions()
        options.replacesExisting = true
        try await memory.cache.export(memory.key(song), to: path, options: options)
        #expect(seen != all)
        #expect(try directory.bytes(of: path) == seen)
        await memory.cache.close()
    }

    @Test func `exporting an empty resource writes an empty file`() async throws {
        let nothing = VirtualResource(url: "http://origin.test/nothing.mp3", seed: 1, length: 0)
        let world = try EngineWorld([nothing], store: directory.openStore())
        _ = try await world.cache.reader(for: nothing.url).bytes()
        _ = try await world.status(of: nothing) { $0.representation.length == 0 }
        try await world.cache.export(world.key(nothing), to: path)
        #expect(try directory.bytes(of: path) == [])
        await world.cache.close()
    }

    @Test func `an export has the bytes that the store repaired while it ran`() async throws {
        let first = try world()
        try await first.play(song)
        await first.cache.close()
        let world = try world()
        let key = try world.key(song)
        // The last block is damaged when the export begins, and right before the export comes to it.
        let data = try #require(
            FileManager.default.enumerator(atPath: directory.path + "/store/data")?.compactMap { $0 as? String }
                .first { $0.split(separator: "/").count == 3 })
        let stored = directory.path + "/store/data/" + data
        try directory.change(byte: UInt64(Self.length - 1), of: stored)
        let repair = Locked<Result<Void, any Error>?>(nil)
        try await world.cache.export(key, to: path) { [directory] _ in
            repair.withLock { if $0 == nil { $0 = Result { try directory.change(byte: UInt64(Self.length - 1), of: stored) } } }
        }
        try repair.withLock { try #require($0).get() }
        #expect(try directory.bytes(of: path) == all)
        await world.cache.close()
    }

    // MARK: Failures

    @Test func `exporting an incomplete resource fails and leaves no file`() async throws {
        let world = try world()
        let key = try world.key(song)
        let unknown = await #expect(throws: CacheError.self) { try await world.cache.export(key, to: path) }
        #expect(unknown?.code == .notStored)
        _ = try await world.cache.reader(for: song.url).read(at: 1_000_000, count: 100)
        let partial = await #expect(throws: CacheError.self) { try await world.cache.export(key, to: path) }
        #expect(partial?.code == .notStored)
        #expect(partial?.message.contains("are not stored") == true, "\(String(describing: partial))")
        #expect(try names == ["store"])
        await world.cache.close()
    }

    @Test func `an export replaces an existing file only on request`() async throws {
        let world = try world()
        try await world.play(song)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        let error = await #expect(throws: CacheError.self) { try await world.cache.export(world.key(song), to: path) }
        #expect(error?.code == .exists)
        #expect(try directory.bytes(of: path) == Array("mine".utf8))
        var options = ExportOptions()
        options.replacesExisting = true
        try await world.cache.export(world.key(song), to: path, options: options)
        #expect(try directory.bytes(of: path) == all)
        // Anything that is not a regular file is never replaced.
        for name in [directory.path, "/dev/null"] {
            let refused = await #expect(throws: CacheError.self) {
                try await world.cache.export(world.key(song), to: name, options: options)
            }
            #expect(refused?.code == .file)
        }
        await world.cache.close()
    }

    @Test(arguments: [false, true])
    func `exporting a damaged resource leaves no file, and the byte is fetched again`(isSealed: Bool) async throws {
        let encryption = isSealed ? try encryption : nil
        let first = try world(encryption)
        try await first.play(song)
        await first.cache.close()
        let data = try #require(
            FileManager.default.enumerator(atPath: directory.path + "/store/data")?.compactMap { $0 as? String }
                .first { $0.split(separator: "/").count == 3 })
        try directory.change(byte: 5_000_000, of: directory.path + "/store/data/" + data)
        let world = try world(encryption)
        let error = await #expect(throws: CacheError.self) { try await world.cache.export(world.key(song), to: path) }
        #expect(error?.code == .store)
        #expect(error?.message.contains("damaged") == true)
        #expect(try names == ["store"], "the failed export leaves no file")
        #expect(try await world.cache.status(of: world.key(song))?.isComplete == false)
        try await world.play(song)
        try await world.cache.export(world.key(song), to: path)
        #expect(try directory.bytes(of: path) == all)
        await world.cache.close()
    }

    @Test func `a cancelled export leaves no file`() async throws {
        let world = try world()
        try await world.play(song)
        let key = try world.key(song), cancellation = TransferCancellation()
        // After the first step.
        let result = await withCheckedContinuation { continuation in
            world.cache.export(
                key, to: path, options: ExportOptions(), cancellation: cancellation, progress: { _ in cancellation.cancel() }
            ) { continuation.resume(returning: $0) }
        }
        let error = #expect(throws: CacheError.self) { try result.get() }
        #expect(error?.code == .cancelled)
        #expect(try names == ["store"])
        await world.cache.close()
    }

    @Test func `exporting from a closed cache fails as closed`() async throws {
        let world = try world()
        let key = try world.key(song)
        await world.cache.close()
        let error = await #expect(throws: CacheError.self) { try await world.cache.export(key, to: path) }
        #expect(error?.code == .closed)
    }

    // MARK: One file with two names

    @Test func `a linked export keeps its bytes when the store evicts its own`() async throws {
        let other = VirtualResource(url: "http://origin.test/other.mp3", seed: 4, length: Self.length)
        let world = try EngineWorld([song, other], store: directory.openStore()) { $0.limits.quotaBytes = Self.length + 3_000_000 }
        try await world.play(song)
        var options = ExportOptions()
        options.mayLink = true
        let file = try await world.cache.export(world.key(song), to: path, options: options)
        // A file system with clones makes one, which is independent of the store's file.
        #expect(file.method == .link || file.method == .clone)
        try await world.play(other)
        let left = try await world.cache.status(of: world.key(song))
        #expect(left?.isComplete != true, "eviction made room for the other resource")
        #expect(try directory.bytes(of: path) == all)
        await world.cache.close()
    }
}
