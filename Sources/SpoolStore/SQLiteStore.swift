package import SpoolCore
package import SpoolSystem

/// The store on a disk: an index in SQLite, and one sparse data file for each generation.
///
/// One process writes; another process that opens the same directory reads (`isWritable`). Opening
/// reads no rows, so its duration does not depend on the amount of stored data. docs/disk-format.md
/// is the contract for the files on disk.
///
/// Index calls block, and callers make them one at a time, on one lane; two at once trap.
/// `makeGeneration` and `dataFile(of:)` may be called on any thread, but `dataFile(of:)` for one
/// generation one at a time.
package final class SQLiteStore: ResourceStore {
    /// The settings with which a store is opened.
    package struct Options: Sendable {
        /// Whether opening fails with `.locked` when another process has the store. Otherwise the
        /// store opens for reading.
        package var mustBeWritable = false
        /// Whether the store always opens for reading. It then takes no lock, so another process
        /// can still open it for writing.
        package var isReadOnly = false
        /// The encryption of the store, or nil for a plain one.
        package var encryption: EncryptionOptions?
        /// The resources whose files may be unlinked when the disk is too full to open the index
        /// for writing. The caller is about to remove them.
        package var expendable: Expendable?
        /// Called for each file that was unlinked in this way, with its resource if known and the
        /// bytes that it occupied.
        package var onExpended: @Sendable (ResourceKey?, Int64) -> Void = { _, _ in }
        /// The limits on descriptors for data files.
        package var openFiles = OpenFileLimits()
        /// Called for each damage that was found and repaired, on the thread of the call that found
        /// it.
        package var onRecovery: @Sendable (RecoveryNote) -> Void = { _ in }
        /// Whether the store keeps a reserve for its index. Nil means yes, except with
        /// `indexLayer`.
        package var keepsReserve: Bool?
        /// Makes the layer through which SQLite does the index's own I/O on the injected file
        /// system, for simulation. Nil for SQLite's own layer.
        package var indexLayer: IndexLayerMaker?
        /// The identifier of the machine's current boot. Nil when it is unknown, which counts as a
        /// new boot.
        package var bootID: String? = ProcessIdentity.bootID()
        /// The process number that the lock file contains.
        package var processID: Int32 = ProcessIdentity.processID
        /// The hash of a key in a plain store. Tests replace it to make two keys collide.
        package var keyHash: @Sendable (String) -> [UInt8] = { SHA256Digest.of($0) }

        /// Creates the default settings: a plain store that may be opened for reading.
        package init() {}
    }

    /// The resources that a caller is about to remove.
    package enum Expendable: Sendable {
        /// Found by the hash of the key, and therefore only in a plain store.
        case resources([ResourceKey])
        /// All resources.
        case everything
    }

    /// Whether this process is the writer. Changes when it becomes the writer, or is suspended.
    package var isWritable: Bool { role.withLock { $0.lock != nil } }
    /// The identifier of the store, which is random.
    package let secret: [UInt8]
    let layout: StoreLayout
    let fileSystem: any FileSystem
    let files: StoreFiles
    let options: Options
    /// The encryption of the store, with its current key.
    let encryption: Locked<EncryptionOptions?>
    /// A new opening with the store's current settings.
    var opening: StoreOpening {
        var options = options
        options.encryption = encryption.withLock { $0 }
        return StoreOpening(layout: layout, fileSystem: fileSystem, random: sealedParts.random, options: options)
    }
    let role: Locked<StoreRole>
    let numbers: GenerationNumbers
    /// The keys of an encrypted store.
    var keys: StoreKeys? { role.withLock { $0.keys } }
    let sealedParts: SealedFileParts
    /// The index for index calls. Nil while the store is suspended, and after it is closed.
    let index: Confined<StoreIndex?>
    /// Used inside index calls only.
    let durability: Confined<Durability>
    /// Used inside index calls only; nil when there is no sweep for orphans.
    let sweep: Confined<OrphanSweep?>
    /// The reserve of space for the index on a full disk.
    let reserve: StoreReserve
    /// The filter of stored keys. Nil when other processes may write, after another opening, and in
    /// an encrypted store.
    let knownKeys = Locked<KnownKeys?>(nil)
    /// The number of the opening that was suspended.
    let suspendedOpenings = Locked<Int64>(0)

    /// Opens the store in `directory`, and creates it when it is missing.
    ///
    /// - Throws: `.locked` when another process writes and `options` require writing,
    ///   `.formatTooNew`, `.formatTooOld`, `.key`, `.full`, `.io`, `.index`.
    package init(
        directory: String, fileSystem: any FileSystem, random: any RandomSource, options: Options = Options()
    ) throws(StoreError) {
        let opening = StoreOpening(
            layout: StoreLayout(root: directory), fileSystem: fileSystem, random: random, options: options)
        let opened = try opening.open()
        secret = try opened.index.meta.bytes(.storeID) ?? []
        layout = opening.layout
        self.fileSystem = fileSystem
        self.options = options
        reserve = StoreReserve(opening.layout, fileSystem: fileSystem)
        encryption = Locked(options.encryption)
        role = Locked(StoreRole(lock: opened.lock, aloneLock: opened.aloneLock, keys: opened.index.database.fields.keys))
        opened.index.database.fields.plainHash = options.keyHash
        if opened.lock != nil, !opened.index.database.fields.isSealed { opened.index.resources.knownKeys = KnownKeys() }
        sealedParts = SealedFileParts(random: random)
        numbers = GenerationNumbers(first: opened.firstGeneration, reserved: opened.index.reservedGeneration)
        files = StoreFiles(layout, on: fileSystem, options, role: role, numbers: numbers, sealedParts: sealedParts)
        durability = Confined(Durability(inherited: opened.unsynced), name: "index calls")
        sweep = Confined(opened.owesSweep ? OrphanSweep() : nil, name: "index calls")
        let known = opened.index.resources.knownKeys
        knownKeys.withLock { $0 = known }
        index = Confined(opened.index, name: "index calls")
        for directory in opened.newDirectories { files.open.entryCreated(in: directory) }
        for file in opened.unsynced { files.noteNewEntries(in: layout.directory(hash: file.keyHash)) }
        fillReserve()
    }

    /// Returns the next unused generation number.
    package func makeGeneration() -> GenerationID { numbers.make() }

    /// Whether the writing process has to reserve more numbers. Returns true once for each
    /// reservation.
    package func owesGenerations() -> Bool { isWritable && numbers.beginReservation() }

    // MARK: Index calls

    /// Reserves a block of generation numbers after the last one handed out.
    package func reserveGenerations() throws(StoreError) {
        defer { numbers.endReservation() }
        try write { (index) throws(StoreError) in
            try index.reserveGenerations(behind: numbers.next - 1)
            numbers.reserve(upTo: index.reservedGeneration)
        }
    }

    /// Returns the stored resource of a key, clipped to the bytes that its file really has, or nil.
    package func lookup(_ key: ResourceKey) throws(StoreError) -> StoredResource? {
        try read { (index) throws(StoreError) in
            guard let entry = try index.entries.entry(of: key) else { return nil }
            return try checked(entry, index)
        }
    }

    /// Enters a commit, and unlinks the files of the generations that it replaces. Uses the reserve
    /// when the disk is full.
    package func commit(_ commit: StoreCommit) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in
            // A holder of a retired generation can still read and write its file, but nothing of it
            // enters the index again.
            guard !files.open.isRetired(commit.generation), !isOutdated(commit.generation) else { return }
            if let failure = files.open.failure(of: commit.generation), !commit.pieces.isEmpty { throw StoreError(failure) }
            let status = try files.status(of: commit)
            if status == nil, !commit.pieces.isEmpty { return }
            let commit = files.clipped(commit, to: status?.size ?? 0)
            let outcome = try index.commit(commit, file: status, lastGeneration: numbers.next - 1)
            numbers.reserve(upTo: index.reservedGeneration)
            if case .entered(let replaced) = outcome { for retired in replaced { files.retire(retired) } }
        }
    }

    /// Returns the pieces of a generation that have bytes in `range`.
    package func pieces(of generation: GenerationID, in range: ByteRange) throws(StoreError) -> [Piece] {
        try read { (index) throws(StoreError) in
            try index.pieces.pieces(of: generation, in: range)
        }
    }

    /// Removes ranges of a generation from the index. Uses the reserve when the disk is full.
    package func discard(_ ranges: ByteRangeSet, of generation: GenerationID) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in
            try index.discard(ranges, of: generation)
        }
    }

    /// Sets access times.
    package func touch(_ accesses: [ResourceKey: Timestamp]) throws(StoreError) {
        try write { (index) throws(StoreError) in
            try index.touch(accesses)
        }
    }

    package func history() throws(StoreError) -> String? {
        try read { (index) throws(StoreError) in try index.meta.text(.history) }
    }

    package func setHistory(_ text: String) throws(StoreError) {
        try write { (index) throws(StoreError) in
            try index.change { () throws(StoreError) in try index.meta.set(.history, text) }
        }
    }

    /// Removes a resource. On a full disk, unlinks its file first, so that the index has space to
    /// enter the removal.
    package func remove(_ key: ResourceKey) throws(StoreError) -> Bool {
        do throws(StoreError) { return try removeByIndex(key) } catch {
            guard error == .full, try freeWithoutIndex(key) else { throw error }
            return try removeByIndex(key)
        }
    }

    private func removeByIndex(_ key: ResourceKey) throws(StoreError) -> Bool {
        try writeWithReserve { (index) throws(StoreError) in
            guard let retired = try index.remove(key) else { return false }
            for generation in retired { files.retire(generation) }
            for hash in Set(retired.map(\.keyHash)) { files.removeDirectory(layout.directory(hash: hash)) }
            return true
        }
    }

    /// Removes everything, indexes that were set aside and the log of the index included. On a full
    /// disk, unlinks the files first, so that the index has space to enter the removal.
    package func removeAll() throws(StoreError) {
        let next = numbers.next
        do throws(StoreError) { try removeAll(below: next) } catch {
            guard error == .full else { throw error }
            // The index may name files that are gone. Their bytes are gaps.
            try write { (_) throws(StoreError) in files.unlinkDataFiles(below: next) }
            try removeAll(below: next)
        }
    }

    private func removeAll(below next: Int64) throws(StoreError) {
        try writeWithReserve { (index) throws(StoreError) in
            try index.removeAll()
            files.open.retireAll()
            files.unlinkDataFiles(below: next)
            removeDamagedIndexes()
            try IndexRotation(index: index).emptyLog()
        }
    }

    /// Returns up to `limit` resources after `key`, in the order of the keys' bytes.
    package func resources(after key: ResourceKey?, limit: Int) throws(StoreError) -> [StoredResource] {
        try read { (index) throws(StoreError) in
            try index.entries.list(after: key, limit: limit).map(\.resource)
        }
    }

    /// Returns the bytes that the data files occupy, as far as they are counted.
    package func totalSizeBytes() throws(StoreError) -> Int64 {
        try read { (index) throws(StoreError) in
            try index.sizes.sum(isSoleWriter: isWritable)
        }
    }

    /// Returns the number of resources.
    package func count() throws(StoreError) -> Int {
        try read { (index) throws(StoreError) in
            try index.resources.count(isSoleWriter: isWritable)
        }
    }

    /// Makes everything durable, closes the index and releases all locks. Releases them even when a
    /// durable point fails, and then throws.
    package func close() throws(StoreError) {
        let wasSuspended = role.withLock { exchange(&$0.isSuspended, with: false) }
        knownKeys.withLock { $0 = nil }
        let failure = wasSuspended ? nil : try settle()
        files.open.close()
        try releaseIndex(failure, isSuspended: false)
    }

    /// Closes the index and releases its lock.
    ///
    /// - Parameter failure: An earlier failure of the call, which is thrown in any case.
    func releaseIndex(_ failure: StoreError?, isSuspended: Bool) throws(StoreError) {
        // The last connection writes its log into the database when it closes. The store's lock is
        // still held here.
        index.use { $0 = nil }
        let lock = role.withLock { role in
            defer { role = StoreRole(lock: nil, keys: role.keys, isSuspended: isSuspended) }
            return role.lock ?? role.aloneLock
        }
        do throws(SystemError) { try lock?.release() } catch { throw failure ?? StoreError(error) }
        if let failure { throw failure }
    }

    /// Makes the last durable point and marks the store as closed. Returns a failure instead of
    /// throwing it, so that the caller can still close the store.
    func settle() throws(StoreError) -> StoreError? {
        guard isWritable else {
            try read { (_) throws(StoreError) in }
            return nil
        }
        do throws(StoreError) {
            try makeDurable()
            files.unlinkLeftBehind()
            fillReserve()
            let owesSweep = sweep.use { $0 != nil } || files.hasLeftBehind
            try write { (index) throws(StoreError) in
                try index.noteSweep(isOwed: owesSweep)
                try index.markClosed()
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

    /// Runs a change of the index. When the disk is too full for it, releases the reserve and runs
    /// the change once more.
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
