public import SpoolCore
package import SpoolSystem

/// The store on a disk: an index in SQLite, and one sparse data file for each generation.
///
/// One process writes; another that opens the same directory reads (`isWritable`). Opening reads no rows, so it takes the same
/// time however much is stored. docs/disk-format.md is the contract of what lies on the disk.
///
/// Index calls block and are made one at a time, on one lane; two at once trap. `makeGeneration` and `dataFile(of:)` may be
/// called on any thread, `dataFile(of:)` for one generation one at a time.
public final class SQLiteStore: ResourceStore {
    /// How a store is opened.
    public struct Options: Sendable {
        /// Whether opening fails with `.locked` when another process has the store; else it opens for reading.
        public var mustBeWritable = false
        /// Whether the store is opened for reading whoever has it: takes no lock, so that a process that wants to write still can.
        public var isReadOnly = false
        /// How the store is encrypted; nil for a plain one.
        public var encryption: EncryptionOptions?
        /// Whose files may be unlinked where the disk has no room for the index to be opened for writing: the caller is about to remove them.
        package var expendable: Expendable?
        /// Hears of each file that went so: of which resource, where that is known, and what it occupied.
        package var onExpended: @Sendable (ResourceKey?, Int64) -> Void = { _, _ in }
        /// How many descriptors data files take.
        package var openFiles = OpenFileLimits()
        /// Hears of damage that was found and repaired. Called on the thread of the call that found it.
        public var onRecovery: @Sendable (RecoveryNote) -> Void = { _ in }
        /// Whether the store keeps room for its index. A simulated one does not, unless that is what is tested.
        package var keepsReserve: Bool?
        /// Whether the index's own I/O goes through the injected file system: for simulation.
        package var usesFileSystemForIndex = false
        /// Which start of the machine this is; nil when that can't be known, which counts as a new one.
        package var bootID: String? = ProcessIdentity.bootID()
        /// What the lock file tells other processes.
        package var processID: Int32 = ProcessIdentity.processID
        /// The hash of a key in a plain store; tests make two keys meet.
        package var keyHash: @Sendable (String) -> [UInt8] = { SHA256Digest.of($0) }

        public init() {}
    }

    /// The resources that a caller is about to remove.
    package enum Expendable: Sendable {
        /// Found by the hash of the key, and so in a plain store only.
        case resources([ResourceKey])
        case everything
    }

    /// Changes when this process becomes the writer, or is suspended.
    public var isWritable: Bool { role.withLock { $0.lock != nil } }
    let layout: StoreLayout
    let fileSystem: any FileSystem
    let files: OpenDataFiles
    let options: Options
    /// How the store is encrypted, with the key that it has now.
    let encryption: Locked<EncryptionOptions?>
    /// The way to open it once more.
    var opening: StoreOpening {
        var options = options
        options.encryption = encryption.withLock { $0 }
        return StoreOpening(layout: layout, fileSystem: fileSystem, random: sealedParts.random, options: options)
    }
    let role: Locked<Role>
    let numbers: GenerationNumbers
    /// The keys of an encrypted store.
    var keys: StoreKeys? { role.withLock { $0.keys } }
    let sealedParts: SealedFileParts
    /// What index calls use; nil while the store is suspended, and once it is closed.
    let index: Confined<StoreIndex?>
    /// Used inside index calls only.
    let durability: Confined<Durability>
    /// Used inside index calls only; nil when no orphans are to be looked for.
    let sweep: Confined<OrphanSweep?>
    /// Room for the index on a full disk.
    let reserve: StoreReserve
    /// Files out of the index that could not be unlinked. Used inside index calls only.
    let leftBehind = Confined<[(path: String, generation: GenerationID)]>([], name: "index calls")
    /// Which keys may be stored; nil where other processes may write, after another opening, and in an encrypted store.
    let knownKeys = Locked<KnownKeys?>(nil)
    /// The number of the opening that was suspended.
    let suspendedOpenings = Locked<Int64>(0)

    /// Opens the store in `directory`, making it when it is missing.
    ///
    /// - Throws: `.locked` when another process writes and `options` demand writing, `.formatTooNew`, `.key`, `.full`, `.io`, `.index`.
    package init(
        directory: String, fileSystem: any FileSystem, random: any RandomSource, options: Options = Options()
    ) throws(StoreError) {
        let opening = StoreOpening(
            layout: StoreLayout(root: directory), fileSystem: fileSystem, random: random, options: options)
        let opened = try opening.open()
        layout = opening.layout
        self.fileSystem = fileSystem
        self.options = options
        files = OpenDataFiles(limits: options.openFiles)
        reserve = StoreReserve(opening.layout, fileSystem: fileSystem)
        encryption = Locked(options.encryption)
        role = Locked(Role(lock: opened.lock, keys: opened.index.fields.keys))
        opened.index.fields.plainHash = options.keyHash
        if opened.lock != nil, !opened.index.fields.isSealed { opened.index.knownKeys = KnownKeys() }
        sealedParts = SealedFileParts(random: random)
        numbers = GenerationNumbers(first: opened.firstGeneration, reserved: opened.index.reservedGeneration)
        durability = Confined(Durability(inherited: opened.unsynced), name: "index calls")
        sweep = Confined(opened.owesSweep ? OrphanSweep() : nil, name: "index calls")
        let known = opened.index.knownKeys
        knownKeys.withLock { $0 = known }
        index = Confined(opened.index, name: "index calls")
        for directory in opened.newDirectories { files.entryCreated(in: directory) }
        for file in opened.unsynced { noteNewEntries(in: layout.directory(hash: file.keyHash)) }
        fillReserve()
    }

    public func makeGeneration() -> GenerationID { numbers.make() }

    public func owesGenerations() -> Bool { isWritable && numbers.beginReservation() }

    // MARK: Index calls

    public func reserveGenerations() throws(StoreError) {
        defer { numbers.endReservation() }
        try write { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.reserveGenerations(behind: numbers.next - 1) }
            numbers.reserve(upTo: index.reservedGeneration)
        }
    }

    public func lookup(_ key: ResourceKey) throws(StoreError) -> StoredResource? {
        try read { (index) throws(StoreError) in
            guard let entry = try index.translating({ (index) throws(SQLiteError) in try index.lookup(key) }) else { return nil }
            return try checked(entry, index)
        }
    }

    public func commit(_ commit: StoreCommit) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in
            // Who still holds a retired generation goes on reading and writing it; nothing of it enters the index again.
            guard !files.isRetired(commit.generation), !isOutdated(commit.generation) else { return }
            if let failure = files.failure(of: commit.generation), !commit.pieces.isEmpty { throw StoreError(failure) }
            let status = try dataFileStatus(of: commit)
            if status == nil, !commit.pieces.isEmpty { return }
            let commit = clipped(commit, to: status?.size ?? 0)
            let outcome = try index.translating { (index) throws(SQLiteError) in
                try index.commit(commit, file: status, lastGeneration: numbers.next - 1)
            }
            numbers.reserve(upTo: index.reservedGeneration)
            if case .entered(let replaced) = outcome { for retired in replaced { retire(retired) } }
        }
    }

    public func pieces(of generation: GenerationID, in range: ByteRange) throws(StoreError) -> [Piece] {
        try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.pieces(of: generation, in: range) }
        }
    }

    public func discard(_ ranges: ByteRangeSet, of generation: GenerationID) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.discard(ranges, of: generation) }
        }
    }

    public func touch(_ accesses: [ResourceKey: Timestamp]) throws(StoreError) {
        try write { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.touch(accesses) }
        }
    }

    public func remove(_ key: ResourceKey) throws(StoreError) -> Bool {
        do throws(StoreError) { return try removeByIndex(key) } catch {
            guard error == .full, try freeWithoutIndex(key) else { throw error }
            return try removeByIndex(key)
        }
    }

    private func removeByIndex(_ key: ResourceKey) throws(StoreError) -> Bool {
        try writeWithReserve { (index) throws(StoreError) in
            guard let retired = try index.translating({ (index) throws(SQLiteError) in try index.remove(key) }) else { return false }
            for generation in retired { retire(generation) }
            for hash in Set(retired.map(\.keyHash)) { removeDirectory(layout.directory(hash: hash)) }
            return true
        }
    }

    public func removeAll() throws(StoreError) {
        let next = numbers.next
        do throws(StoreError) { try removeAll(below: next) } catch {
            guard error == .full else { throw error }
            // The index may name files that are gone: those bytes are gaps.
            try write { (_) throws(StoreError) in unlinkDataFiles(below: next) }
            try removeAll(below: next)
        }
    }

    private func removeAll(below next: Int64) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.removeAll() }
            files.retireAll()
            unlinkDataFiles(below: next)
        }
    }

    public func resources(after key: ResourceKey?, limit: Int) throws(StoreError) -> [StoredResource] {
        try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.entries(after: key, limit: limit) }.map(\.resource)
        }
    }

    public func totalSizeBytes() throws(StoreError) -> Int64 {
        try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.allocatedBytes(isSoleWriter: isWritable) }
        }
    }

    public func count() throws(StoreError) -> Int {
        try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.count() }
        }
    }

    public func close() throws(StoreError) {
        let wasSuspended = role.withLock { role in
            defer { role.isSuspended = false }
            return role.isSuspended
        }
        knownKeys.withLock { $0 = nil }
        let failure = wasSuspended ? nil : try settle()
        files.close()
        // The last connection writes its log into the database when it goes: still under our lock.
        index.use { $0 = nil }
        let lock = role.withLock { role in
            defer { role = Role(lock: nil, keys: role.keys) }
            return role.lock
        }
        do throws(SystemError) { try lock?.release() } catch { throw failure ?? StoreError(error) }
        if let failure { throw failure }
    }

    /// Makes the last durable point; what went wrong does not keep the store open.
    func settle() throws(StoreError) -> StoreError? {
        guard isWritable else {
            try read { (_) throws(StoreError) in }
            return nil
        }
        do throws(StoreError) {
            try makeDurable()
            unlinkLeftBehind()
            fillReserve()
            let owesSweep = sweep.use { $0 != nil } || leftBehind.use { !$0.isEmpty }
            try write { (index) throws(StoreError) in
                try index.translating { (index) throws(SQLiteError) in
                    try index.noteSweep(isOwed: owesSweep)
                    try index.markClosed()
                }
            }
            return nil
        } catch {
            if error == .closed { throw error }
            return error
        }
    }

    // MARK: Calling the index

    func read<R>(_ body: (StoreIndex) throws(StoreError) -> R) throws(StoreError) -> R {
        try index.use { (open) throws(StoreError) in
            guard let index = open else { throw role.withLock { $0.isSuspended } ? .suspended : .closed }
            do throws(StoreError) { return try body(index) } catch {
                noteDamage(error)
                throw error
            }
        }
    }

    /// Runs a change of the index; when the disk has no room for it, once more with the room that is kept for the index.
    func writeWithReserve<R>(_ body: (StoreIndex) throws(StoreError) -> R) throws(StoreError) -> R {
        do throws(StoreError) { return try write(body) } catch {
            guard error == .full, releaseReserve() else { throw error }
            return try write(body)
        }
    }

    func write<R>(_ body: (StoreIndex) throws(StoreError) -> R) throws(StoreError) -> R {
        try read { (index) throws(StoreError) in
            guard isWritable else { throw .readOnly }
            return try body(index)
        }
    }
}

extension StoreIndex {
    /// Runs `body` with SQLite's errors as the store's.
    func translating<R>(_ body: (StoreIndex) throws(SQLiteError) -> R) throws(StoreError) -> R {
        do throws(SQLiteError) { return try body(self) } catch { throw StoreError(error) }
    }
}
