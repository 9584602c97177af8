public import SpoolCore

/// A store of representations and their bytes: an index, and one data file for each generation.
///
/// There are two kinds of calls. Callers make *index calls* on one lane, one at a time; these calls
/// may block on the disk. Callers make *data calls* (on `DataFile`) on any thread, but the writes
/// of one generation one at a time. `makeGeneration` may be called on any thread and does not
/// block.
///
/// Every implementation passes `StoreContract` of `SpoolTesting`.
public protocol ResourceStore: AnyObject, Sendable {
    /// Whether the store can be written. False when another process has it open for writing, or the
    /// disk is read-only or full: commits then fail.
    var isWritable: Bool { get }

    /// A secret of this store, by which it keeps digests of credentials and never the credentials.
    /// It stays the same as long as the contents do.
    var secret: [UInt8] { get }

    /// Returns a generation number that was never returned before, in this process or an earlier
    /// one.
    func makeGeneration() -> GenerationID

    /// Whether the caller has to call `reserveGenerations`, because few reserved numbers are left.
    /// Returns true once for each reservation. May be called on any thread and does not block.
    func owesGenerations() -> Bool

    /// Reserves more generation numbers. Index call.
    func reserveGenerations() throws(StoreError)

    // MARK: Data

    /// Returns the data file of a generation, and creates it empty when it is missing and the store
    /// is writable.
    ///
    /// While a caller holds the file, all calls in this process return the same file for the
    /// generation, even after its name is unlinked. Calls for one generation are made one at a
    /// time.
    /// - Parameter fileExtension: the extension of the file's name, so that a player can open a
    ///   finished file. Letters and digits only; may be empty. It must be the same in all calls for
    ///   the generation.
    func dataFile(of generation: GenerationID, key: ResourceKey, fileExtension: String) throws(StoreError) -> any DataFile

    // MARK: Index

    /// Returns the stored parts of the current generation of a resource, or nil. Index call.
    func lookup(_ key: ResourceKey) throws(StoreError) -> StoredResource?

    /// Whether certainly nothing is stored of a key, so that a look-up would return nil. Returns
    /// false when that is not certain. May be called on any thread and does not block.
    func certainlyLacks(_ key: ResourceKey) -> Bool

    /// Records that a commit of the key will follow soon, so that `certainlyLacks` returns false
    /// for it. May be called on any thread.
    func expect(_ key: ResourceKey)

    /// Reads at most `limit` stored keys for `certainlyLacks`. Index call.
    ///
    /// - Returns: true when all keys are read.
    func readKeys(limit: Int) throws(StoreError) -> Bool

    /// Enters a resource, its representation and new pieces in one transaction.
    ///
    /// The generation becomes the current one of its key. The previous one is *retired*: it is
    /// removed from the index and its file is unlinked (open handles can still read it). The bytes
    /// of every piece were written before, and the caller holds the data file meanwhile.
    ///
    /// Generations only advance: a commit of a generation that was retired or removed, or that is
    /// older than the current one, changes nothing. The time of a resource's first commit is its
    /// access time until `touch` sets another.
    func commit(_ commit: StoreCommit) throws(StoreError)

    /// Deletes the data file of a generation that has no commit and will never have one. May be
    /// called on any thread, even when the store is closed; blocks on the disk.
    func drop(_ generation: GenerationID, key: ResourceKey, fileExtension: String)

    /// Deletes the data file of a generation that is no longer used, unless the generation is in
    /// the index. Index call.
    func dropUncommitted(_ generation: GenerationID, key: ResourceKey, fileExtension: String) throws(StoreError)

    /// Returns the bytes of a generation that are in the index. Index call.
    func namedBytes(of generation: GenerationID) throws(StoreError) -> ByteRangeSet

    /// Returns the pieces of a generation that have bytes in `range`, in order and not clipped.
    /// Returns an empty result when the generation is not in the index.
    func pieces(of generation: GenerationID, in range: ByteRange) throws(StoreError) -> [Piece]

    /// Removes ranges of a generation from the index, because their bytes are lost or damaged. Of
    /// pieces with checks, every block that a range touches is removed as a whole.
    func discard(_ ranges: ByteRangeSet, of generation: GenerationID) throws(StoreError)

    /// Begins a *durable point*, which covers everything that is committed now. Returns nil when
    /// nothing has to be done.
    ///
    /// The caller syncs the point on any lane, beside other calls, and then passes it to `finish`.
    /// There is one point at a time: a new point cancels an unfinished one and covers its contents
    /// as well.
    func beginDurablePoint() throws(StoreError) -> DurablePoint?

    /// Ends a durable point whose data was synced. Enters it in the index, so that its contents
    /// survive a power loss.
    func finish(_ point: DurablePoint) -> DurablePointOutcome

    // MARK: Sharing

    /// Tries to become the writing process after the previous one has ended. Returns whether it
    /// succeeded. Index call.
    func becomeWriter() throws(StoreError) -> Bool

    /// Makes everything durable and releases every lock, because the process will be suspended.
    /// Index call.
    ///
    /// Until `resume`, every other call fails with `.suspended`, including reads and writes of data
    /// files.
    func suspend() throws(StoreError)

    /// Takes the locks again. Index call.
    ///
    /// - Returns: false when another process may have written meanwhile. Earlier results of calls
    ///   are then invalid, and the store may be read-only.
    func resume() throws(StoreError) -> Bool

    /// Removes files that the index does not name and rows without a resource, and counts the space
    /// of the other files. Examines at most `limit` directories or generations. Index call.
    ///
    /// - Returns: true when everything has been examined.
    func sweepOrphans(limit: Int) throws(StoreError) -> Bool

    /// Whether there may be files or rows for `sweepOrphans` to remove. Read between index calls.
    var owesSweep: Bool { get }

    /// Whether files may occupy more than `totalSizeBytes` returns, because a killed process left
    /// bytes without an entry in the index. False after `sweepOrphans` has examined all files. Read
    /// between index calls.
    var hasUncountedFiles: Bool { get }

    // MARK: Use

    /// Sets the access times of many keys at once. Keys that are not stored are skipped.
    func touch(_ accesses: [ResourceKey: Timestamp]) throws(StoreError)

    /// Returns the newest access time of a resource, if there is one. Index call.
    func lastAccess() throws(StoreError) -> Timestamp?

    /// Returns the text that `setHistory` kept last, if there is one. Index call.
    func history() throws(StoreError) -> String?

    /// Keeps a text about the past of the cache with the index. Index call.
    ///
    /// `removeAll` removes it. An index that is set aside takes it with it.
    func setHistory(_ text: String) throws(StoreError)

    /// Returns the entries of the list of downloads, in any order, at most
    /// `StoredDownload.maximumCount`. Index call.
    func downloads() throws(StoreError) -> [StoredDownload]

    /// Enters, replaces or, with nil, removes the entry of a key in the list of downloads. Index
    /// call.
    ///
    /// Eviction skips the resources of entries. Like a pin, an entry belongs to a key and not to
    /// stored bytes, and survives `remove`. `removeAll` removes it. The removal of an entry removes
    /// its parts from the table of parts.
    func setDownload(_ key: ResourceKey, _ entry: StoredDownload?) throws(StoreError)

    /// Returns the keys of all entries of the list of downloads, each with the parts of its
    /// presentation, or none. There are at most `StoredDownload.maximumPartCount` parts in all. Index
    /// call.
    ///
    /// Each opening of a cache calls it, so it should not read the other members of the entries.
    func downloadKeys() throws(StoreError) -> [ResourceKey: [ResourceKey]]

    /// Enters or removes a part of an entry of the list of downloads: a segment, a playlist, a key.
    /// Index call.
    ///
    /// Eviction skips parts as it skips entries. A resource may be a part of several entries.
    func setDownloadPart(_ key: ResourceKey, of download: ResourceKey, _ isPart: Bool) throws(StoreError)

    /// Returns the number of stored bytes of an entry: those of its resource and of its parts.
    /// Index call.
    func storedBytes(ofDownload key: ResourceKey) throws(StoreError) -> Int64

    /// Returns the bytes of `totalSizeBytes` that belong to entries of the list of downloads and to
    /// their parts. Index call.
    func downloadBytes() throws(StoreError) -> Int64

    /// Returns the bytes of `totalSizeBytes` that belong to pinned resources which are no downloads.
    /// Index call.
    func pinnedBytes() throws(StoreError) -> Int64

    /// Pins or unpins a key. Eviction skips the resource of a pinned key. Returns false when
    /// nothing changed.
    ///
    /// A pin belongs to a key and not to stored bytes: it may be set before the first byte, and it
    /// survives `remove`.
    func setPinned(_ key: ResourceKey, _ isPinned: Bool, time: Timestamp) throws(StoreError) -> Bool

    /// Returns up to `limit` pinned keys after `key` of which nothing is stored, in a stable order.
    /// Index call.
    func pinsWithoutBytes(after key: ResourceKey?, limit: Int) throws(StoreError) -> [ResourceKey]

    /// Removes a resource from the index, then unlinks its file. Returns false when there was none.
    func remove(_ key: ResourceKey) throws(StoreError) -> Bool

    /// Removes every resource, pin and download, and the history, and retires the open generations
    /// that were not committed yet. Afterwards no file of the store contains a removed key, URL or
    /// title.
    func removeAll() throws(StoreError)

    /// Returns up to `limit` resources with keys after `key`, in the order of the keys' bytes
    /// (UTF-8). Does not access their files.
    func resources(after key: ResourceKey?, limit: Int) throws(StoreError) -> [StoredResource]

    /// Returns up to `limit` unpinned resources that are no downloads and occupy more than `bytes`,
    /// longest unused first by the access times of `touch` and `commit`. Resources with the same
    /// access time have a stable order.
    ///
    /// - Parameters:
    ///   - last: the last candidate of the previous call, unchanged, or nil to start at the
    ///     beginning.
    ///   - bytes: -1 for all resources, those without bytes included.
    func evictionCandidates(
        after last: EvictionCandidate?, largerThan bytes: Int64, limit: Int
    ) throws(StoreError) -> [EvictionCandidate]

    /// Removes whole blocks of a generation from the index, then frees their disk space.
    ///
    /// The caller guarantees that no read or write of these blocks is running or about to start.
    /// - Returns: false when the space can't be freed, because the file system has no holes or
    ///   another process has the file open. The blocks are removed from the index in any case.
    func evict(_ blocks: ByteRangeSet, of generation: GenerationID, in file: any DataFile) throws(StoreError) -> Bool

    /// Returns the free disk space that this process can use, in bytes, or nil when it is not
    /// known.
    func freeBytes() throws(StoreError) -> Int64?

    /// The unit in which files occupy the disk, in bytes.
    var allocationBytes: Int64 { get }

    /// Returns the path of a file with the bytes of a resource as they were received, or nil when
    /// there is none (sealed, or in memory). Index call.
    ///
    /// The path is valid until the resource is removed or evicted.
    func filePath(of resource: StoredResource) -> String?

    /// Returns the bytes that the data files occupy on disk (allocated, not apparent), as far as
    /// they are counted (`hasUncountedFiles`).
    func totalSizeBytes() throws(StoreError) -> Int64

    /// Returns the number of resources.
    func count() throws(StoreError) -> Int

    /// Makes everything durable, marks the store as cleanly closed and releases its locks. Later
    /// calls fail with `.closed`.
    func close() throws(StoreError)
}

extension ResourceStore {
    /// Returns false. A store whose numbers end with the process has enough of them.
    public func owesGenerations() -> Bool { false }
    /// Does nothing.
    public func reserveGenerations() throws(StoreError) {}
    /// Returns false. A store of one process has no other process to take over from.
    public func becomeWriter() throws(StoreError) -> Bool { false }
    /// Does nothing. The store has no locks.
    public func suspend() throws(StoreError) {}
    /// Returns true. No other process can have written.
    public func resume() throws(StoreError) -> Bool { true }
    /// Returns nil. A store whose contents end with the process has no older times.
    public func lastAccess() throws(StoreError) -> Timestamp? { nil }
    /// Returns none.
    public func downloads() throws(StoreError) -> [StoredDownload] { [] }
    /// Fails. The store keeps no list of downloads.
    public func setDownload(_ key: ResourceKey, _ entry: StoredDownload?) throws(StoreError) {
        if entry != nil { throw .readOnly }
    }
    /// Returns the keys of `downloads()`, without parts.
    public func downloadKeys() throws(StoreError) -> [ResourceKey: [ResourceKey]] {
        Dictionary(try downloads().map { ($0.key, []) }, uniquingKeysWith: { first, _ in first })
    }
    /// Fails. The store keeps no list of downloads.
    public func setDownloadPart(_ key: ResourceKey, of download: ResourceKey, _ isPart: Bool) throws(StoreError) {
        if isPart { throw .readOnly }
    }
    /// Returns the stored bytes of the entry's own resource.
    public func storedBytes(ofDownload key: ResourceKey) throws(StoreError) -> Int64 { try lookup(key)?.spans.totalBytes ?? 0 }
    /// Returns 0.
    public func downloadBytes() throws(StoreError) -> Int64 { 0 }
    /// Returns 0.
    public func pinnedBytes() throws(StoreError) -> Int64 { 0 }
    /// Returns none.
    public func pinsWithoutBytes(after key: ResourceKey?, limit: Int) throws(StoreError) -> [ResourceKey] { [] }
    /// False.
    public var owesSweep: Bool { false }
    /// False.
    public var hasUncountedFiles: Bool { false }
    /// Empty. A store whose contents end with the process shows its digests to no reader.
    public var secret: [UInt8] { [] }
    /// Returns false: nothing is certain.
    public func certainlyLacks(_ key: ResourceKey) -> Bool { false }
    /// Does nothing.
    public func expect(_ key: ResourceKey) {}
    /// Returns true: there are no keys to read.
    public func readKeys(limit: Int) throws(StoreError) -> Bool { true }
    /// Does nothing. The file is freed with its last holder.
    public func drop(_ generation: GenerationID, key: ResourceKey, fileExtension: String) {}
    /// Does nothing. The file is freed with its last holder.
    public func dropUncommitted(_ generation: GenerationID, key: ResourceKey, fileExtension: String) throws(StoreError) {}
    /// Returns the ranges of all pieces of the generation.
    public func namedBytes(of generation: GenerationID) throws(StoreError) -> ByteRangeSet {
        guard let all = ByteRange(0, ByteRange.maximumOffset) else { return ByteRangeSet() }
        return ByteRangeSet(try pieces(of: generation, in: all).map(\.range))
    }
    /// 4096, the size of a page on most systems.
    public var allocationBytes: Int64 { 4096 }
    /// Returns nil.
    public func freeBytes() throws(StoreError) -> Int64? { nil }
    /// Returns nil.
    public func filePath(of resource: StoredResource) -> String? { nil }
    /// Returns true. A store without files has no orphans.
    public func sweepOrphans(limit: Int) throws(StoreError) -> Bool { true }
}

/// The entry of one resource in the index.
public struct StoredResource: Hashable, Sendable {
    /// The identity of the resource.
    public var key: ResourceKey
    /// The URL with which the resource was requested; never rebuilt from the key.
    public var url: String
    /// The number of the current version.
    public var generation: GenerationID
    /// The length, validator and header fields of the current version.
    public var representation: Representation
    /// The stored bytes.
    public var spans: ByteRangeSet
    /// The stored bytes that have to be compared with their checks before their first use
    /// (`pieces(of:in:)`, `DataFile.damage(in:)`).
    public var unverified = ByteRangeSet()
    /// The extension of the data file's name, without a dot; may be empty.
    public var fileExtension: String
    /// The time of the last use.
    public var lastAccess: Timestamp
    /// Whether the resource is protected from eviction.
    public var isPinned: Bool

    /// Creates an entry without bytes that must be verified.
    public init(
        key: ResourceKey, url: String, generation: GenerationID, representation: Representation, spans: ByteRangeSet,
        fileExtension: String, lastAccess: Timestamp, isPinned: Bool = false
    ) {
        self.key = key
        self.url = url
        self.generation = generation
        self.representation = representation
        self.spans = spans
        self.fileExtension = fileExtension
        self.lastAccess = lastAccess
        self.isPinned = isPinned
    }
}

/// New facts about one generation, entered in one transaction.
public struct StoreCommit: Sendable {
    /// The identity of the resource.
    public var key: ResourceKey
    /// The URL with which the resource was requested.
    public var url: String
    /// The number of the version.
    public var generation: GenerationID
    /// The length, validator and header fields of the version.
    public var representation: Representation
    /// The extension of the data file's name, without a dot; may be empty.
    public var fileExtension: String
    /// The pieces written since the last commit, as `DataFile.write` returned them.
    public var pieces: [Piece]
    /// The time of the commit.
    public var time: Timestamp

    /// Creates a commit.
    public init(
        key: ResourceKey, url: String, generation: GenerationID, representation: Representation, fileExtension: String,
        pieces: [Piece], time: Timestamp
    ) {
        self.key = key
        self.url = url
        self.generation = generation
        self.representation = representation
        self.fileExtension = fileExtension
        self.pieces = pieces
        self.time = time
    }
}

/// The bytes of one generation.
public protocol DataFile: StoredBytes {
    /// Writes all of `bytes`. Stored bytes are never overwritten, because the caller has leased the
    /// gap.
    ///
    /// - Returns: the written pieces in order, with the checks of this store, for the commit that
    ///   enters them. Together they cover exactly the range of `bytes`.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) -> [Piece]
    /// Reads the bytes of pieces and compares them with their checks. Returns the damaged blocks in
    /// order. Pieces without checks pass.
    ///
    /// Blocks on the disk. Callers run it on a lane, with about 1 MiB at a time.
    func damage(in pieces: [Piece]) -> [Damage]
    /// Makes pieces of an earlier opening readable before their first use. Returns the blocks that
    /// must not be used, in order.
    ///
    /// The method compares them like `damage(in:)`, unless every read verifies the bytes anyway: a
    /// read opens sealed bytes and needs only their seals beforehand.
    func admit(_ pieces: [Piece]) -> [Damage]
    /// Frees the disk space of the whole blocks inside the range. They read as zeros afterwards;
    /// other bytes stay.
    ///
    /// The caller has removed the bytes from the index, and guarantees that they are not about to
    /// be read.
    /// - Returns: false, without a change, when the file system has no holes, another process has
    ///   the file open, or the range has no whole block.
    @discardableResult
    func punch(_ range: ByteRange) throws(StoreError) -> Bool
}

extension DataFile {
    /// Compares the pieces with their checks.
    public func admit(_ pieces: [Piece]) -> [Damage] { damage(in: pieces) }
}

/// Stored bytes that differ from the written ones, or can't be read.
public struct Damage: Hashable, Sendable {
    /// The bytes of one block that one check covers.
    public var range: ByteRange
    /// The error of the read, or nil when the bytes could be read but don't match their check.
    public var cause: StoreError?

    /// Creates a description of damaged bytes.
    public init(range: ByteRange, cause: StoreError? = nil) {
        self.range = range
        self.cause = cause
    }
}
