public import SpoolCore

/// Where representations and their bytes are kept: an index and one data file for each generation.
///
/// Two kinds of calls. *Index calls* are made on one lane, one at a time; they may block on the disk.
/// *Data calls* (on `DataFile`) are made on any thread; the writes of one generation are made one at a time.
/// `makeGeneration` may be called anywhere and does not block.
///
/// Every implementation passes `StoreContract` of `SpoolTesting`.
public protocol ResourceStore: AnyObject, Sendable {
    /// False when another process has the store for writing, or the disk allows no writing: nothing can be committed then.
    var isWritable: Bool { get }

    /// A generation number that was never given out before, in this process or an earlier one.
    func makeGeneration() -> GenerationID

    /// Whether the numbers that may name a file run short, so that the caller has `reserveGenerations` called. True once each time; may
    /// be called anywhere and does not block.
    func owesGenerations() -> Bool

    /// Reserves more generation numbers. Index call.
    func reserveGenerations() throws(StoreError)

    // MARK: Data

    /// The data file of a generation, created empty when there is none and the store is writable.
    ///
    /// While somebody holds the file, it is the file of that generation for everyone in this process, also after its name is gone.
    /// Calls for one generation are made one at a time.
    /// - Parameter fileExtension: kept in the file's name, so that a finished file plays by itself; letters and digits only, may be empty.
    ///   The same whenever the generation is named.
    func dataFile(of generation: GenerationID, key: ResourceKey, fileExtension: String) throws(StoreError) -> any DataFile

    // MARK: Index

    /// What is stored of the current generation of a resource, or nil.
    func lookup(_ key: ResourceKey) throws(StoreError) -> StoredResource?

    /// Whether certainly nothing is stored of a key: then a look-up would answer nil. May be called anywhere and does not block; false
    /// where it can't be told.
    func certainlyLacks(_ key: ResourceKey) -> Bool

    /// Something of the key will be committed soon: from now on it is not certainly lacking. May be called anywhere.
    func expect(_ key: ResourceKey)

    /// Reads which keys are stored, at most `limit` of them in one call, so that it can be told which certainly are not. True when nothing
    /// is left to read. Index call.
    func readKeys(limit: Int) throws(StoreError) -> Bool

    /// Enters a resource, its representation and new pieces in one transaction.
    ///
    /// The generation becomes the current one of its key; the one that was current is *retired*:
    /// it is out of the index and its file is unlinked (open handles go on reading it).
    /// The bytes of every piece were written before, and the caller holds the data file meanwhile.
    ///
    /// Generations go one way: a commit of one that was retired or removed, or that is older than the current one, changes nothing.
    /// The time of a resource's first commit is its access time until `touch` sets another.
    func commit(_ commit: StoreCommit) throws(StoreError)

    /// Takes away the data file of a generation that nothing was committed of, and never will be. May be called anywhere, also when the
    /// store is closed; blocks on the disk.
    func drop(_ generation: GenerationID, key: ResourceKey, fileExtension: String)

    /// Takes away the data file of a generation that is over, unless the index has it. Index call.
    func dropUncommitted(_ generation: GenerationID, key: ResourceKey, fileExtension: String) throws(StoreError)

    /// The bytes of a generation that the index names. Index call.
    func namedBytes(of generation: GenerationID) throws(StoreError) -> ByteRangeSet

    /// Gives back the room of what the file has beside `kept` and the bytes that the index names, in whole blocks. Index call.
    ///
    /// Nobody reads other bytes of the file, and nobody writes to it any more.
    func release(allBut kept: ByteRangeSet, of generation: GenerationID, in file: any DataFile) throws(StoreError)

    /// The pieces of a generation that have bytes in `range`, in order and not cut; none when the generation is not in the index.
    func pieces(of generation: GenerationID, in range: ByteRange) throws(StoreError) -> [Piece]

    /// Takes ranges of a generation out of the index, because their bytes are gone or damaged. Where pieces have checks, every block
    /// that a range touches goes as a whole.
    func discard(_ ranges: ByteRangeSet, of generation: GenerationID) throws(StoreError)

    /// Begins a *durable point*: settles what it covers, which is everything that was committed up to now. Nil when nothing has to be done.
    ///
    /// The point is synced on any lane, beside other calls, and then given to `finish`. One at a time: a point that is still under way is
    /// given up, and what it covers belongs to the new one.
    func beginDurablePoint() throws(StoreError) -> DurablePoint?

    /// Ends a durable point whose data was synced: enters it in the index, so that it survives the end of the machine.
    func finish(_ point: DurablePoint) -> DurablePointOutcome

    // MARK: Sharing

    /// Tries to become the process that writes, after the one that did has gone; true when it did. Index call.
    func becomeWriter() throws(StoreError) -> Bool

    /// Makes everything durable and lets go of every lock, because the process will be suspended. Index call.
    ///
    /// Until `resume` every other call, reads and writes of data files included, fails with `.suspended`.
    func suspend() throws(StoreError)

    /// Takes the locks again. False when another process may have written meanwhile: then nothing that was known of what is stored holds,
    /// and the store may be open for reading only. Index call.
    func resume() throws(StoreError) -> Bool

    /// Looks for files and rows that nothing names and takes them away, and at what the other files occupy; at most `limit` directories or
    /// generations in one call. True when nothing is left to look at. Index call.
    func sweepOrphans(limit: Int) throws(StoreError) -> Bool

    /// Whether there may be files or rows that nothing names. Asked between index calls.
    var owesSweep: Bool { get }

    /// Whether files may occupy more than `totalSizeBytes` says, because of what a killed process left beside the index: until
    /// `sweepOrphans` has looked at all of them. Asked between index calls.
    var hasUncountedFiles: Bool { get }

    // MARK: Use

    /// Sets access times, many at once; keys that are not stored are passed over.
    func touch(_ accesses: [ResourceKey: Timestamp]) throws(StoreError)

    /// Pins a key, or takes its pin: what is stored of a pinned one is no candidate for eviction. False when it was so already.
    ///
    /// A pin is of a key, not of what is stored: it may come before the first byte, and outlives `remove`.
    func setPinned(_ key: ResourceKey, _ isPinned: Bool, time: Timestamp) throws(StoreError) -> Bool

    /// Up to `limit` pinned keys of which nothing is stored, in an order that stays the same, after `key`. Index call.
    func pinsWithoutBytes(after key: ResourceKey?, limit: Int) throws(StoreError) -> [ResourceKey]

    /// Takes a resource out of the index, then unlinks its file. False when there was none.
    func remove(_ key: ResourceKey) throws(StoreError) -> Bool

    /// Takes every resource and every pin out, and retires the generations that are open but were not committed yet.
    func removeAll() throws(StoreError)

    /// Up to `limit` resources with keys after `key`, in the order of the keys' bytes (UTF-8). Their files are not looked at.
    func resources(after key: ResourceKey?, limit: Int) throws(StoreError) -> [StoredResource]

    /// Up to `limit` resources that are not pinned, longest unused first by the access times that `touch` and `commit` set; those unused
    /// equally long in an order that stays the same. After the one that `last` is, as it was when it was answered; from the beginning
    /// when that is nil.
    func evictionCandidates(after last: EvictionCandidate?, limit: Int) throws(StoreError) -> [EvictionCandidate]

    /// The same, but only those that occupy more than `bytes`.
    func evictionCandidates(
        after last: EvictionCandidate?, largerThan bytes: Int64, limit: Int
    ) throws(StoreError) -> [EvictionCandidate]

    /// Up to `limit` resources that are not pinned and of which no byte is stored, longest unused first, as far as there are more than
    /// `kept` of them. An empty representation is stored as a whole and not among them.
    ///
    /// The version of a resource is entered before its first byte, and stays when its file is lost.
    func emptyResources(beyond kept: Int, limit: Int) throws(StoreError) -> [ResourceKey]

    /// Takes whole blocks of a generation out of the index, then gives what they occupy back to the disk. False when that is not possible,
    /// because files have no holes or another process has this one open: then they are out of the index all the same.
    ///
    /// Nobody is about to read or write a byte of them.
    func evict(_ blocks: ByteRangeSet, of generation: GenerationID, in file: any DataFile) throws(StoreError) -> Bool

    /// What the disk has left for us, in bytes; nil where that can't be told.
    func freeBytes() throws(StoreError) -> Int64?

    /// The unit in which files occupy the disk, in bytes.
    var allocationBytes: Int64 { get }

    /// Where the bytes of a resource lie on the disk as they were received; nil where they don't (sealed, or in memory). Index call.
    ///
    /// The path is good until the resource is removed or evicted.
    func filePath(of resource: StoredResource) -> String?

    /// Bytes that the data files occupy on disk (allocated, not apparent), as far as they are known (`hasUncountedFiles`).
    func totalSizeBytes() throws(StoreError) -> Int64

    /// The number of resources.
    func count() throws(StoreError) -> Int

    /// Makes everything durable, marks the store as cleanly closed and lets go of its locks. Calls after it fail with `.closed`.
    func close() throws(StoreError)
}

extension ResourceStore {
    /// A store that forgets its numbers has enough of them.
    public func owesGenerations() -> Bool { false }
    public func reserveGenerations() throws(StoreError) {}
    public func evictionCandidates(
        after last: EvictionCandidate?, largerThan bytes: Int64, limit: Int
    ) throws(StoreError) -> [EvictionCandidate] {
        var found: [EvictionCandidate] = []
        var last = last
        while found.count < limit {
            let page = try evictionCandidates(after: last, limit: limit)
            found += page.filter { $0.allocatedBytes > bytes }.prefix(limit - found.count)
            guard page.count == limit else { break }
            last = page.last
        }
        return found
    }
    /// A store that forgets everything at its end keeps what it has.
    public func emptyResources(beyond kept: Int, limit: Int) throws(StoreError) -> [ResourceKey] { [] }
    /// A store of one process has nothing to take over.
    public func becomeWriter() throws(StoreError) -> Bool { false }
    /// A store without locks has nothing to let go of.
    public func suspend() throws(StoreError) {}
    /// Nobody else can have written.
    public func resume() throws(StoreError) -> Bool { true }
    public func pinsWithoutBytes(after key: ResourceKey?, limit: Int) throws(StoreError) -> [ResourceKey] { [] }
    public var owesSweep: Bool { false }
    public var hasUncountedFiles: Bool { false }
    public func certainlyLacks(_ key: ResourceKey) -> Bool { false }
    public func expect(_ key: ResourceKey) {}
    public func readKeys(limit: Int) throws(StoreError) -> Bool { true }
    /// The file goes with its last holder.
    public func drop(_ generation: GenerationID, key: ResourceKey, fileExtension: String) {}
    public func dropUncommitted(_ generation: GenerationID, key: ResourceKey, fileExtension: String) throws(StoreError) {}
    public func namedBytes(of generation: GenerationID) throws(StoreError) -> ByteRangeSet {
        guard let all = ByteRange(0, ByteRange.maximumOffset) else { return ByteRangeSet() }
        return ByteRangeSet(try pieces(of: generation, in: all).map(\.range))
    }
    public func release(allBut kept: ByteRangeSet, of generation: GenerationID, in file: any DataFile) throws(StoreError) {
        try file.release(allBut: kept.union(namedBytes(of: generation)))
    }
    /// The page of most systems.
    public var allocationBytes: Int64 { 4096 }
    public func freeBytes() throws(StoreError) -> Int64? { nil }
    public func filePath(of resource: StoredResource) -> String? { nil }
    /// A store without files has no orphans.
    public func sweepOrphans(limit: Int) throws(StoreError) -> Bool { true }
}

/// What the index says of one resource.
public struct StoredResource: Hashable, Sendable {
    public var key: ResourceKey
    /// The URL that the resource was asked by; never rebuilt from the key.
    public var url: String
    public var generation: GenerationID
    public var representation: Representation
    /// The bytes that are stored.
    public var spans: ByteRangeSet
    /// Of these, the bytes that have to be compared with their checks before their first use (`pieces(of:in:)`, `DataFile.damage(in:)`).
    public var unverified: ByteRangeSet
    /// The extension of the data file's name, without a dot; may be empty.
    public var fileExtension: String
    public var lastAccess: Timestamp
    /// Whether it is kept from eviction.
    public var isPinned: Bool

    public init(
        key: ResourceKey, url: String, generation: GenerationID, representation: Representation, spans: ByteRangeSet,
        unverified: ByteRangeSet = ByteRangeSet(), fileExtension: String, lastAccess: Timestamp, isPinned: Bool = false
    ) {
        self.key = key
        self.url = url
        self.generation = generation
        self.representation = representation
        self.spans = spans
        self.unverified = unverified
        self.fileExtension = fileExtension
        self.lastAccess = lastAccess
        self.isPinned = isPinned
    }
}

/// New facts about one generation, entered together.
public struct StoreCommit: Sendable {
    public var key: ResourceKey
    public var url: String
    public var generation: GenerationID
    public var representation: Representation
    public var fileExtension: String
    /// What was written since the last commit, as `DataFile.write` answered it.
    public var pieces: [Piece]
    public var time: Timestamp

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
    /// Writes all of `bytes`. Stored bytes are never overwritten: the caller leased the gap.
    ///
    /// Returns the pieces that were written, with the checks that this store makes, for the commit that claims them: one after the
    /// other they are the range of the bytes.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) -> [Piece]
    /// Reads the bytes of pieces and compares them with their checks; what is damaged, in order. Pieces without checks pass.
    ///
    /// Blocks on the disk: on a lane, a MiB at a time or so.
    func damage(in pieces: [Piece]) -> [Damage]
    /// Makes pieces of an earlier opening readable, before their first use; those that must not be used, in order.
    ///
    /// Compares them, as `damage(in:)` does, unless every read does so by itself: sealed bytes are opened when they are read, and only
    /// their seals are needed before.
    func admit(_ pieces: [Piece]) -> [Damage]
    /// Gives the disk back what the whole blocks inside the range occupy; they read as zeros, the other bytes stay.
    ///
    /// False, and nothing happens, where files have no holes, another process has this one open, or the range has no whole block.
    /// The bytes are out of the index, and nobody is about to read them.
    @discardableResult
    func punch(_ range: ByteRange) throws(StoreError) -> Bool
    /// Gives the disk back what the file has in the blocks without a byte of `kept`, and ends the file behind the last that has one.
    ///
    /// Nothing happens where `punch` answers false. Nobody reads other bytes, and nobody writes to the file any more.
    func release(allBut kept: ByteRangeSet) throws(StoreError)
}

extension DataFile {
    public func admit(_ pieces: [Piece]) -> [Damage] { damage(in: pieces) }
}

/// Stored bytes that are not what was written.
public struct Damage: Hashable, Sendable {
    /// The bytes of one block that one check covers.
    public var range: ByteRange
    /// Why they could not be read; nil when they were, and don't match their check.
    public var cause: StoreError?

    public init(range: ByteRange, cause: StoreError? = nil) {
        self.range = range
        self.cause = cause
    }
}
