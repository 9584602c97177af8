import Spool
import SpoolCore
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// A store in memory that refuses what a test chooses. When it is armed, it fails once to return its
/// size, after it was asked for eviction candidates.
private final class StubbornStore: ResourceStore {
    private let base = MemoryStore()
    private let isArmed = Locked(false)
    /// The number of failures.
    let failures = Locked(0)
    /// Whether the store refuses changes of the list of downloads.
    let refusesDownloads = Locked(false)
    /// How often whole entries of the list of downloads were read.
    let readsOfDownloads = Locked(0)

    func arm() { isArmed.withLock { $0 = true } }

    func totalSizeBytes() throws(StoreError) -> Int64 {
        let mustFail = failures.withLock { failures in
            guard failures == -1 else { return false }
            failures = 1
            return true
        }
        if mustFail { throw .index(code: 10, message: "disk I/O error") }
        return try base.totalSizeBytes()
    }

    func evictionCandidates(
        after last: EvictionCandidate?, largerThan bytes: Int64, limit: Int
    ) throws(StoreError) -> [EvictionCandidate] {
        // The eviction of a candidate follows, and begins with a look at the size.
        if isArmed.withLock({ $0 }) { failures.withLock { if $0 == 0 { $0 = -1 } } }
        return try base.evictionCandidates(after: last, largerThan: bytes, limit: limit)
    }

    var isWritable: Bool { base.isWritable }
    var allocationBytes: Int64 { base.allocationBytes }
    func makeGeneration() -> GenerationID { base.makeGeneration() }
    func dataFile(of generation: GenerationID, key: ResourceKey, fileExtension: String) throws(StoreError) -> any DataFile {
        try base.dataFile(of: generation, key: key, fileExtension: fileExtension)
    }
    func lookup(_ key: ResourceKey) throws(StoreError) -> StoredResource? { try base.lookup(key) }
    func commit(_ commit: StoreCommit) throws(StoreError) { try base.commit(commit) }
    func pieces(of generation: GenerationID, in range: ByteRange) throws(StoreError) -> [Piece] {
        try base.pieces(of: generation, in: range)
    }
    func discard(_ ranges: ByteRangeSet, of generation: GenerationID) throws(StoreError) { try base.discard(ranges, of: generation) }
    func beginDurablePoint() throws(StoreError) -> DurablePoint? { try base.beginDurablePoint() }
    func finish(_ point: DurablePoint) -> DurablePointOutcome { base.finish(point) }
    func touch(_ accesses: [ResourceKey: Timestamp]) throws(StoreError) { try base.touch(accesses) }
    func downloads() throws(StoreError) -> [StoredDownload] {
        readsOfDownloads.withLock { $0 += 1 }
        return try base.downloads()
    }
    func downloadKeys() throws(StoreError) -> [ResourceKey: [ResourceKey]] { try base.downloadKeys() }
    func setDownload(_ key: ResourceKey, _ entry: StoredDownload?) throws(StoreError) {
        if refusesDownloads.withLock({ $0 }) { throw .full }
        try base.setDownload(key, entry)
    }
    func downloadBytes() throws(StoreError) -> Int64 { try base.downloadBytes() }
    func history() throws(StoreError) -> String? { try base.history() }
    func setHistory(_ text: String) throws(StoreError) { try base.setHistory(text) }
    func setPinned(_ key: ResourceKey, _ isPinned: Bool, time: Timestamp) throws(StoreError) -> Bool {
        try base.setPinned(key, isPinned, time: time)
    }
    func remove(_ key: ResourceKey) throws(StoreError) -> Bool { try base.remove(key) }
    func removeAll() throws(StoreError) { try base.removeAll() }
    func resources(after key: ResourceKey?, limit: Int) throws(StoreError) -> [StoredResource] {
        try base.resources(after: key, limit: limit)
    }
    func evict(_ blocks: ByteRangeSet, of generation: GenerationID, in file: any DataFile) throws(StoreError) -> Bool {
        try base.evict(blocks, of: generation, in: file)
    }
    func count() throws(StoreError) -> Int { try base.count() }
    func close() throws(StoreError) { try base.close() }
}

@Suite(.timeLimit(.minutes(20))) struct `A store that fails` {
    @Test func `a failed eviction keeps no reader waiting for the blocks that it selected`() async throws {
        let songs = (0..<2).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: 3 << 20) }
        let store = StubbornStore()
        let world = try EngineWorld(songs, store: store) { $0.limits.quotaBytes = 5 << 20 }
        try await world.play(songs[0])
        let reader = try world.cache.reader(for: songs[0].url)
        #expect(try await reader.read(at: 0, count: 1000) == world.expected(songs[0], 0..<1000))
        // Only the song in use can make room.
        store.arm()
        #expect(try await world.cache.reader(for: songs[1].url).bytes() == world.expected(songs[1], 0..<songs[1].length))
        #expect(store.failures.withLock { $0 } == 1)
        #expect(try await reader.bytes() == world.expected(songs[0], 0..<songs[0].length))
        await world.cache.close()
    }

    @Test func `an opened cache spares its downloads, and reads their entries when the list is first used`() async throws {
        let song = VirtualResource(url: "http://origin.test/song.mp3", seed: 1, length: 40_000)
        let store = StubbornStore()
        let key = ResourceKey(normalized: song.url)
        try store.setDownload(key, StoredDownload(key: key, members: ["url": song.url, "state": "paused"]))
        let world = try EngineWorld([song], store: store)
        try await world.play(song)
        try await world.cache.clear()
        #expect(try await world.cache.isComplete(song.url), "a download stays")
        #expect(store.readsOfDownloads.withLock { $0 } == 0)
        #expect(try await world.cache.downloads.list().map(\.url) == [song.url])
        #expect(store.readsOfDownloads.withLock { $0 } == 1)
        await world.cache.close()
    }

    @Test func `an entry that the store refuses is an error and no entry, and the others stay`() async throws {
        let songs = (0..<2).map { VirtualResource(url: "http://origin.test/song\($0).mp3", seed: UInt64($0), length: 40_000) }
        let store = StubbornStore()
        let world = try EngineWorld(songs, store: store)
        try await world.cache.downloads.add(songs[0].url)
        store.refusesDownloads.withLock { $0 = true }
        let error = await #expect(throws: CacheError.self) { try await world.cache.downloads.add(songs[1].url) }
        #expect(error?.code == .store, "\(error?.message ?? "")")
        #expect(try await world.cache.downloads.list().map(\.url) == [songs[0].url])
        store.refusesDownloads.withLock { $0 = false }
        try await world.cache.downloads.add(songs[1].url)
        #expect(try await world.cache.downloads.list().map(\.url) == songs.map(\.url))
        await world.cache.close()
    }
}
