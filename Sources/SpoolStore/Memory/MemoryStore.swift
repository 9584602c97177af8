public import SpoolCore
import SpoolSystem

/// A store that keeps everything in memory, up to a capacity. It is for tests, and for apps that
/// store nothing on disk.
///
/// The contents end with the object. Every call may be made on any thread.
public final class MemoryStore: ResourceStore {
    private struct Entry {
        var resource: StoredResource
        var file: (any GenerationFile)?
    }

    private struct State {
        var entries: [ResourceKey: Entry] = [:]
        var pins: Set<ResourceKey> = []
        var downloads: [ResourceKey: StoredDownload] = [:]
        /// The parts of downloads, by the keys of the downloads.
        var parts: [ResourceKey: Set<ResourceKey>] = [:]
        var history: String?
        /// The files that are open or in `entries`.
        var files: [GenerationID: WeakFile] = [:]
        var lastGeneration: Int64 = 0
        /// The keys whose present state the backing does not have.
        var changed: Set<ResourceKey> = []
        /// The files that left the store since the backing was informed. Nil without a backing.
        var retired: [any GenerationFile]?
        var isClosed = false

        /// The keys of downloads and of their parts.
        var downloaded: Set<ResourceKey> { parts.values.reduce(into: Set(downloads.keys)) { $0.formUnion($1) } }

        /// Returns the stored resource of a key, with its pin.
        func resource(_ key: ResourceKey) -> StoredResource? {
            var found = entries[key]?.resource
            found?.isPinned = pins.contains(key)
            return found
        }

        mutating func retire(_ file: (any GenerationFile)?) {
            guard let file else { return }
            file.retire()
            retired?.append(file)
        }
    }

    private struct WeakFile {
        weak var file: (any GenerationFile)?
    }

    private let state: Locked<State>
    private let budget: MemoryBudget
    /// Keeps the contents longer than the process, or is nil.
    private let backing: (any StoreBacking)?

    /// The default capacity, in bytes.
    public static let defaultCapacityBytes: Int64 = 256 << 20
    /// The number of entries in `files` that starts a sweep of closed files.
    private static let sweepThreshold = 64

    /// Creates an empty store.
    ///
    /// - Parameter capacityBytes: the limit on the bytes of all resources together. A write beyond
    ///   it fails with `.full`.
    public convenience init(capacityBytes: Int64 = defaultCapacityBytes) { self.init(capacityBytes: capacityBytes, isWritable: true) }

    private init(capacityBytes: Int64, isWritable: Bool) {
        budget = MemoryBudget(capacityBytes: capacityBytes)
        self.isWritable = isWritable
        (backing, state) = (nil, Locked(State()))
    }

    /// Creates the store of a backing, with the contents that it kept.
    ///
    /// - Parameter lastGeneration: The greatest number that an earlier store of the backing used.
    package init(backing: any StoreBacking, contents: [KeptEntry], lastGeneration: GenerationID) {
        budget = MemoryBudget(capacityBytes: 0)
        isWritable = true
        self.backing = backing
        var state = State(lastGeneration: lastGeneration.rawValue, retired: [])
        for entry in contents {
            if entry.isPinned { state.pins.insert(entry.key) }
            guard let resource = entry.resource else { continue }
            state.entries[entry.key] = Entry(resource: resource, file: entry.file)
            state.files[resource.generation] = WeakFile(file: entry.file)
        }
        self.state = Locked(state)
    }

    /// Returns an empty store that takes nothing, for a cache whose own store cannot be opened.
    package static var readOnly: MemoryStore { MemoryStore(capacityBytes: 0, isWritable: false) }

    /// True, except for the store of a cache that has none.
    public let isWritable: Bool

    /// Returns the number after the last one of this store.
    public func makeGeneration() -> GenerationID {
        state.withLock { state in
            state.lastGeneration += 1
            return GenerationID(rawValue: state.lastGeneration)
        }
    }

    /// Returns the open file of a generation, or a new empty one.
    public func dataFile(
        of generation: GenerationID, key: ResourceKey, fileExtension: String
    ) throws(StoreError) -> any DataFile {
        try use { (state) throws(StoreError) in
            if let open = state.files[generation]?.file { return open }
            let file = backing?.makeFile(of: generation, key: key) ?? MemoryDataFile(budget: budget)
            if state.files.count >= Self.sweepThreshold { state.files = state.files.filter { $0.value.file != nil } }
            state.files[generation] = WeakFile(file: file)
            if state.entries[key]?.resource.generation == generation { state.entries[key]?.file = file }
            return file
        }
    }

    /// Returns the stored resource of a key, or nil.
    public func lookup(_ key: ResourceKey) throws(StoreError) -> StoredResource? {
        try use { $0.resource(key) }
    }

    /// Enters a commit. Skips pieces beyond the end of the file, and commits of retired or older
    /// generations.
    public func commit(_ commit: StoreCommit) throws(StoreError) {
        try use { (state) throws(StoreError) in
            let file = state.files[commit.generation]?.file
            if file?.isRetired == true || (file == nil && !commit.pieces.isEmpty) { return }
            var entry = Entry(
                resource: StoredResource(
                    key: commit.key, url: commit.url, generation: commit.generation, representation: commit.representation,
                    spans: ByteRangeSet(), fileExtension: commit.fileExtension, lastAccess: commit.time),
                file: file)
            if let before = state.entries[commit.key] {
                guard before.resource.generation <= commit.generation else { return }
                entry.resource.lastAccess = before.resource.lastAccess
                if before.resource.generation == commit.generation {
                    entry.resource.spans = before.resource.spans
                    entry.resource.fileExtension = before.resource.fileExtension
                } else {
                    state.retire(before.file)
                }
            }
            let size = file?.size ?? 0
            for piece in commit.pieces where piece.range.upperBound <= size { entry.resource.spans.insert(piece.range) }
            state.entries[commit.key] = entry
            state.changed.insert(commit.key)
        }
    }

    /// Returns the spans of a generation that have bytes in `range`, as pieces without checks.
    public func pieces(of generation: GenerationID, in range: ByteRange) throws(StoreError) -> [Piece] {
        try use { (state) throws(StoreError) in
            let spans = state.entries.values.first { $0.resource.generation == generation }?.resource.spans ?? ByteRangeSet()
            return spans.ranges.filter { $0.overlaps(range) }.map { Piece(range: $0) }
        }
    }

    /// Removes ranges of a generation, and frees their whole pages.
    public func discard(_ ranges: ByteRangeSet, of generation: GenerationID) throws(StoreError) {
        let file = try use { (state) -> (any GenerationFile)? in
            guard let key = state.entries.first(where: { $0.value.resource.generation == generation })?.key else { return nil }
            state.entries[key]?.resource.spans.subtract(ranges)
            state.changed.insert(key)
            return state.entries[key]?.file
        }
        for range in ranges.ranges { try file?.punch(range) }
    }

    /// Removes whole blocks of a generation. Always returns true.
    public func evict(_ blocks: ByteRangeSet, of generation: GenerationID, in file: any DataFile) throws(StoreError) -> Bool {
        try discard(ByteRangeSet(blocks.ranges.map(\.widenedToBlocks)), of: generation)
        return true
    }

    /// The size of a page.
    public var allocationBytes: Int64 { Int64(MemoryDataFile.pageBytes) }

    /// Returns nil, because memory is never durable, and a backing has everything then.
    public func beginDurablePoint() throws(StoreError) -> DurablePoint? {
        try keep()
        return nil
    }

    /// Returns an outcome without failures.
    public func finish(_ point: DurablePoint) -> DurablePointOutcome { DurablePointOutcome() }

    /// Sets access times.
    public func touch(_ accesses: [ResourceKey: Timestamp]) throws(StoreError) {
        try use { (state) throws(StoreError) in
            for (key, time) in accesses where state.entries[key] != nil {
                state.entries[key]?.resource.lastAccess = time
                state.changed.insert(key)
            }
        }
    }

    /// Returns the text that `setHistory` kept last, if there is one.
    public func history() throws(StoreError) -> String? { try use { $0.history } }

    /// Keeps a text about the past of the cache.
    public func setHistory(_ text: String) throws(StoreError) { try use { $0.history = text } }

    /// Returns the entries of the list of downloads.
    public func downloads() throws(StoreError) -> [StoredDownload] { try use { Array($0.downloads.values) } }

    /// Enters, replaces or removes an entry of the list of downloads.
    public func setDownload(_ key: ResourceKey, _ entry: StoredDownload?) throws(StoreError) {
        // The list would end with the process, and the downloads would be evicted in the next one.
        guard isWritable, backing == nil || entry == nil else { throw .readOnly }
        try use { (state) throws(StoreError) in
            state.downloads[key] = entry
            if entry == nil { state.parts[key] = nil }
        }
    }

    /// Returns the keys of the list of downloads, each with its parts.
    public func downloadKeys() throws(StoreError) -> [ResourceKey: [ResourceKey]] {
        try use { state in
            Dictionary(uniqueKeysWithValues: state.downloads.keys.map { ($0, (state.parts[$0] ?? []).sorted()) })
        }
    }

    /// Enters or removes a part of a download.
    public func setDownloadPart(_ key: ResourceKey, of download: ResourceKey, _ isPart: Bool) throws(StoreError) {
        try use { (state) throws(StoreError) in
            if isPart { state.parts[download, default: []].insert(key) } else { state.parts[download]?.remove(key) }
        }
    }

    /// Returns the number of stored bytes of a download and its parts.
    public func storedBytes(ofDownload key: ResourceKey) throws(StoreError) -> Int64 {
        try use { state in
            (state.parts[key] ?? []).union([key]).reduce(0) { $0 + (state.entries[$1]?.resource.spans.totalBytes ?? 0) }
        }
    }

    /// Returns the memory that downloads use, in bytes.
    public func downloadBytes() throws(StoreError) -> Int64 {
        try use { state in state.downloaded.reduce(0) { $0 + (state.entries[$1]?.file?.allocatedBytes ?? 0) } }
    }

    /// Returns the memory that pinned resources use which are no downloads, in bytes.
    public func pinnedBytes() throws(StoreError) -> Int64 {
        try use { state in state.pins.subtracting(state.downloaded).reduce(0) { $0 + (state.entries[$1]?.file?.allocatedBytes ?? 0) } }
    }

    /// Pins or unpins a key. Returns whether its state changed.
    public func setPinned(_ key: ResourceKey, _ isPinned: Bool, time: Timestamp) throws(StoreError) -> Bool {
        try use { state in
            state.changed.insert(key)
            return isPinned ? state.pins.insert(key).inserted : state.pins.remove(key) != nil
        }
    }

    /// Returns up to `limit` pinned keys after `key` without stored bytes, in the order of the
    /// keys.
    public func pinsWithoutBytes(after key: ResourceKey?, limit: Int) throws(StoreError) -> [ResourceKey] {
        try use { (state) throws(StoreError) in
            let later = state.pins.filter { pin in state.entries[pin] == nil && key.map { $0 < pin } != false }
            return Array(later.sorted().prefix(max(0, limit)))
        }
    }

    /// Removes a resource. Returns false when there was none.
    public func remove(_ key: ResourceKey) throws(StoreError) -> Bool {
        let isRemoved = try use { state in
            guard let entry = state.entries.removeValue(forKey: key) else { return false }
            state.retire(entry.file)
            state.changed.insert(key)
            return true
        }
        if isRemoved { try keep() }
        return isRemoved
    }

    /// Removes every resource, pin and download, and the history.
    public func removeAll() throws(StoreError) {
        try use { (state) throws(StoreError) in
            for file in state.files.values { state.retire(file.file) }
            state.changed.formUnion(state.entries.keys)
            state.changed.formUnion(state.pins)
            state.entries = [:]
            state.pins = []
            (state.downloads, state.parts, state.history) = ([:], [:], nil)
        }
        try keep()
    }

    /// Returns up to `limit` resources after `key`, in the order of the keys.
    public func resources(after key: ResourceKey?, limit: Int) throws(StoreError) -> [StoredResource] {
        try use { (state) throws(StoreError) in
            let later = state.entries.keys.filter { found in key.map { $0 < found } != false }
            return later.sorted().prefix(max(0, limit)).compactMap(state.resource)
        }
    }

    /// Returns up to `limit` unpinned resources after `last` that use more memory than `bytes`,
    /// longest unused first.
    public func evictionCandidates(
        after last: EvictionCandidate?, largerThan bytes: Int64, limit: Int
    ) throws(StoreError) -> [EvictionCandidate] {
        try use { (state) throws(StoreError) in
            let spared = state.pins.union(state.downloaded)
            let found = state.entries.values.filter { !spared.contains($0.resource.key) }.map { entry in
                EvictionCandidate(
                    key: entry.resource.key, allocatedBytes: entry.file?.allocatedBytes ?? 0, length: entry.resource.representation.length,
                    lastAccess: entry.resource.lastAccess)
            }
            let later = found.filter { candidate in
                candidate.allocatedBytes > bytes && last.map { ($0.lastAccess, $0.key) < (candidate.lastAccess, candidate.key) } != false
            }
            return Array(later.sorted { ($0.lastAccess, $0.key) < ($1.lastAccess, $1.key) }.prefix(max(0, limit)))
        }
    }

    /// Returns the memory that the pages of all resources use, in bytes.
    public func totalSizeBytes() throws(StoreError) -> Int64 {
        try use { $0.entries.values.reduce(0) { $0 + ($1.file?.allocatedBytes ?? 0) } }
    }

    /// Returns the number of resources.
    public func count() throws(StoreError) -> Int { try use { $0.entries.count } }

    /// Returns the room of the backing, or nil.
    public func freeBytes() throws(StoreError) -> Int64? { try backing?.freeBytes() }

    /// Passes everything to the backing.
    public func suspend() throws(StoreError) { try keep() }

    /// Removes the contents, or leaves them to the backing. Later calls fail with `.closed`.
    public func close() throws(StoreError) {
        let last = try use { GenerationID(rawValue: $0.lastGeneration) }
        defer {
            state.withLock { ($0.isClosed, $0.entries) = (true, [:]) }
            budget.close()
        }
        try keep()
        try backing?.close(lastGeneration: last)
    }

    /// Passes the changes to the backing, and releases the files that left the store afterwards.
    private func keep() throws(StoreError) {
        let (entries, retired) = try use { state in
            let keys = exchange(&state.changed, with: []).sorted()
            let entries = (backing == nil ? [] : keys).map { key in
                KeptEntry(
                    key: key, resource: state.resource(key), isPinned: state.pins.contains(key), file: state.entries[key]?.file)
            }
            return (entries, exchange(&state.retired, with: state.retired.map { _ in [] }))
        }
        do throws(StoreError) {
            if !entries.isEmpty { try backing?.keep(entries) }
        } catch {
            state.withLock { state in
                state.changed.formUnion(entries.map(\.key))
                state.retired?.append(contentsOf: retired ?? [])
            }
            throw error
        }
    }

    private func use<R>(_ body: (inout State) throws(StoreError) -> R) throws(StoreError) -> R {
        try state.withLock { (state) throws(StoreError) in
            guard !state.isClosed else { throw .closed }
            return try body(&state)
        }
    }
}
