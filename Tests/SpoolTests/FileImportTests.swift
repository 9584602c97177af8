import Foundation
import Spool
import SpoolCore
import SpoolLibc
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct `A file that is imported` {
    /// More than two steps of an import, with an end inside a block.
    private static let length: Int64 = 2_500_001
    private let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 3, length: length)
    private let directory: ScratchDirectory

    init() throws {
        directory = try ScratchDirectory()
        try Data(all).write(to: URL(fileURLWithPath: path))
    }

    private func world(_ encryption: EncryptionOptions? = nil, _ change: (inout Configuration) -> Void = { _ in }) throws -> EngineWorld {
        try EngineWorld([song], store: directory.openStore(encryption), configuration: change)
    }

    private var path: String { directory.path + "/mine.mp3" }
    private var all: [UInt8] { song.content.bytes(at: 0, count: Int(Self.length)) }

    private var dataFiles: [String] {
        FileManager.default.enumerator(atPath: directory.path + "/store/data")?.compactMap { $0 as? String }
            .filter { $0.split(separator: "/").count == 3 } ?? []
    }

    // MARK: Successful imports

    @Test(arguments: [false, true])
    func `an imported file is read without its origin, also after the next start`(isSealed: Bool) async throws {
        let encryption = isSealed ? EncryptionOptions(keyProvider: .key(try #require(EncryptionKey(bytes: [UInt8](1...32))))) : nil
        let first = try world(encryption)
        let progress = Locked<Int64>(0)
        let file = try await first.cache.importFile(path, for: song.url) { bytes in progress.withLock { $0 += bytes } }
        #expect(try file.key == first.key(song))
        #expect(file.bytes == Self.length && progress.withLock { $0 } == Self.length)
        #expect(file.representation.contentType == "audio/mpeg")
        #expect(try await first.cache.reader(for: song.url).bytes() == all)
        await first.cache.close()
        let second = try world(encryption)
        #expect(try await second.cache.isComplete(file.key))
        #expect(try await second.cache.reader(for: song.url).bytes() == all)
        #expect(try await second.cache.verify(file.key)?.soundBytes == Self.length)
        #expect(first.origin.log.entries.isEmpty && second.origin.log.entries.isEmpty)
        await second.cache.close()
    }

    @Test func `an import leaves the source unchanged and applies the given type and validator`() async throws {
        let world = try world()
        var options = ImportOptions()
        options.contentType = "audio/x-of-mine"
        options.validator = .strong(entityTag: "\"v1\"")
        let file = try await world.cache.importFile(path, for: song.url, options: options)
        #expect(file.representation.fields["Content-Type"] == "audio/x-of-mine")
        #expect(file.representation.fields["ETag"] == "\"v1\"")
        #expect(try directory.bytes(of: path) == all)
        options.validator = .strong(entityTag: "v1")
        options.replacesStored = true
        let error = await #expect(throws: CacheError.self) { try await world.cache.importFile(path, for: song.url, options: options) }
        #expect(error?.code == .configuration)
        await world.cache.close()
    }

    @Test func `an empty file can be imported`() async throws {
        let world = try world()
        let empty = directory.path + "/empty.mp3"
        try Data().write(to: URL(fileURLWithPath: empty))
        try await world.cache.importFile(empty, for: song.url)
        #expect(try await world.cache.reader(for: song.url).bytes() == [])
        #expect(world.origin.log.entries.isEmpty)
        await world.cache.close()
    }

    // MARK: Existing bytes

    @Test func `an import replaces stored bytes only on request`() async throws {
        let world = try world()
        _ = try await world.cache.reader(for: song.url).read(at: 0, count: 100)
        let mine = [UInt8](repeating: 7, count: 300_000)
        try Data(mine).write(to: URL(fileURLWithPath: path))
        let error = await #expect(throws: CacheError.self) { try await world.cache.importFile(path, for: song.url) }
        #expect(error?.code == .exists)
        var options = ImportOptions()
        options.replacesStored = true
        let reader = try world.cache.reader(for: song.url)
        _ = try await reader.read(at: 0, count: 100)
        try await world.cache.importFile(path, for: song.url, options: options)
        let changed = await #expect(throws: CacheError.self) { try await reader.read(at: 1_000_000, count: 100) }
        #expect(changed?.code == .removed, "a reader of the old version gets no byte of the new one")
        #expect(try await world.cache.reader(for: song.url).bytes() == mine)
        #expect(dataFiles.count == 1, "\(dataFiles)")
        await world.cache.close()
    }

    /// The import of a part of a presentation is entered in one transaction, and the access time of
    /// the part in another one.
    @Test func `an import over a part of a presentation on a full disk leaves the old bytes or the new ones`() async throws {
        let mine = [UInt8](repeating: 7, count: 100_000)
        try Data(mine).write(to: URL(fileURLWithPath: path))
        var options = ImportOptions()
        options.replacesStored = true
        // Each write during the import fails once.
        for number in 1... {
            let disk = MemoryDisk()
            var storeOptions = SQLiteStore.Options()
            storeOptions.usesFileSystemForIndex = true
            let store = try SQLiteStore(directory: "/cache", fileSystem: disk, random: SystemRandom(), options: storeOptions)
            let world = try EngineWorld([song], store: store)
            let list = ResourceKey(normalized: "http://origin.test/list.m3u8")
            world.cache.room.listed(PartKeys([try world.key(song)]), in: list, isLive: false)
            try await world.play(song)
            disk.setFaults(FaultPlan(faults: [.init(.write, .call(number), code: ENOSPC)]))
            var isImported = true
            do { try await world.cache.importFile(path, for: song.url, options: options) } catch { isImported = false }
            let writes = disk.callCount(of: .write)
            disk.setFaults(.none)
            let found = try await world.cache.reader(for: song.url, options: ReadOptions(mode: .onlyStored)).bytes()
            #expect(found == (isImported ? mine : all), "write \(number) of \(writes) failed")
            await world.cache.close()
            if writes < number { break }
        }
    }

    // MARK: Refusals and failures

    @Test func `an import makes room first, and never evicts a pinned resource`() async throws {
        let other = VirtualResource(url: "http://origin.test/other.mp3", seed: 4, length: 3_000_000)
        let world = try EngineWorld([song, other], store: directory.openStore()) { $0.limits.quotaBytes = 4_000_000 }
        try await world.play(other)
        try await world.cache.pin(world.key(other))
        let full = await #expect(throws: CacheError.self) { try await world.cache.importFile(path, for: song.url) }
        #expect(full?.code == .noRoom)
        #expect(dataFiles.count == 1, "a refused import leaves no file: \(dataFiles)")
        try await world.cache.unpin(world.key(other))
        try await world.cache.importFile(path, for: song.url)
        #expect(try await world.cache.reader(for: song.url).bytes() == all)
        #expect(directory.allocatedBytes(below: "store/data") <= 4_000_000)
        #expect(try await world.cache.status(of: world.key(other))?.isComplete != true)
        try Data(count: 5_000_000).write(to: URL(fileURLWithPath: path))
        let larger = await #expect(throws: CacheError.self) { try await world.cache.importFile(path, for: other.url) }
        #expect(larger?.code == .noRoom)
        #expect(larger?.message.contains("quota") == true)
        await world.cache.close()
    }

    @Test func `a cancelled import leaves nothing in the store`() async throws {
        let world = try world()
        let cancellation = TransferCancellation(), url = song.url
        let result = await withCheckedContinuation { continuation in
            FileImport.run(path, for: url, key: nil, ImportOptions(), in: world.cache, cancellation, { _ in cancellation.cancel() }) {
                continuation.resume(returning: $0)
            }
        }
        let error = #expect(throws: CacheError.self) { try result.get() }
        #expect(error?.code == .cancelled)
        #expect(dataFiles == [])
        #expect(try await world.cache.status(of: world.key(song)) == nil)
        // The room that was reserved is given back.
        try await world.cache.importFile(path, for: song.url)
        await world.cache.close()
    }

    @Test func `a file that changes during its import is not stored`() async throws {
        let world = try world()
        let path = path, url = song.url
        let error = await #expect(throws: CacheError.self) {
            try await world.cache.importFile(path, for: url) { _ in
                // After the first step, the file is cut to another length.
                guard truncate(path, 1_500_000) == 0 else { return }
            }
        }
        #expect(error?.code == .file)
        #expect(dataFiles == [])
        await world.cache.close()
    }

    @Test func `an import takes only a regular file and a URL that can be cached`() async throws {
        let world = try world()
        for name in [directory.path, directory.path + "/missing", "/dev/null"] {
            let error = await #expect(throws: CacheError.self) { try await world.cache.importFile(name, for: song.url) }
            #expect(error?.code == .file, "\(name)")
        }
        let error = await #expect(throws: CacheError.self) { try await world.cache.importFile(path, for: "file:///song.mp3") }
        #expect(error?.code == .unsupportedURL)
        await world.cache.close()
    }
}
