import SpoolCore
import SpoolSystem

// Sharing a store between processes: one process writes, others read. A process can become the
// writer, and releases all locks before it is suspended.

extension SQLiteStore {
    /// Whether this process writes, with the lock and keys that it has. Changes only between two
    /// index calls.
    struct Role {
        /// Nil for a process that reads.
        var lock: StoreLock?
        /// The lock of a process that reads, and keeps others out because the disk has no space for
        /// the memory that they would share.
        var aloneLock: StoreLock?
        /// The keys of an encrypted store.
        var keys: StoreKeys?
        /// Generations up to this one are sealed with a key that the store no longer has. Nothing
        /// more of them may be committed.
        var lastOutdated: GenerationID?
        /// Whether everything is released until `resume`.
        var isSuspended = false
    }

    /// Opens the store for writing if this process reads and no other process writes. Returns
    /// whether it did.
    package func becomeWriter() throws(StoreError) -> Bool {
        guard !isWritable else { return false }
        try read { (_) throws(StoreError) in }
        guard !options.isReadOnly else { return false }
        if let lock = role.withLock({ $0.aloneLock }) { return try becomeWriter(afterReadingAlone: lock) }
        guard let opened = try opening.openForWritingIfFree() else { return false }
        adopt(opened)
        return true
    }

    /// Opens the store again if the disk has space now.
    ///
    /// The index has to be closed first, because it accepts no second connection. If it can't be
    /// opened at all any more, the store stays closed.
    private func becomeWriter(afterReadingAlone lock: StoreLock) throws(StoreError) -> Bool {
        do throws(SystemError) {
            guard try fileSystem.freeBytes(layout.root) ?? .max >= Int64(StoreReserve.bytes) else { return false }
            index.use { $0 = nil }
            role.withLock { $0.aloneLock = nil }
            try lock.release()
        } catch { throw StoreError(error) }
        adopt(try opening.open())
        return isWritable
    }

    /// Takes over the result of an opening.
    private func adopt(_ opened: StoreOpening.Result) {
        opened.index.database.fields.plainHash = options.keyHash
        role.withLock { $0 = Role(lock: opened.lock, aloneLock: opened.aloneLock, keys: opened.index.database.fields.keys) }
        numbers.restart(first: opened.firstGeneration, reserved: opened.index.reservedGeneration)
        durability.use { $0 = Durability(inherited: opened.unsynced) }
        sweep.use { $0 = opened.owesSweep ? OrphanSweep() : nil }
        index.use { $0 = opened.index }
        for directory in opened.newDirectories { files.entryCreated(in: directory) }
        for file in opened.unsynced { noteNewEntries(in: layout.directory(hash: file.keyHash)) }
    }

    // MARK: Suspension

    /// Makes everything durable, closes the index and releases all locks.
    package func suspend() throws(StoreError) {
        knownKeys.withLock { $0 = nil }
        let openings = try read { (index) throws(StoreError) in index.openings }
        let failure = try settle()
        files.letGo()
        // The last connection writes its log into the database when it closes. The store's lock is
        // still held here.
        index.use { $0 = nil }
        suspendedOpenings.withLock { $0 = openings }
        let lock = role.withLock { role in
            defer { role = Role(lock: nil, keys: role.keys, isSuspended: true) }
            return role.lock ?? role.aloneLock
        }
        do throws(SystemError) { try lock?.release() } catch { throw failure ?? StoreError(error) }
        if let failure { throw failure }
    }

    /// Opens the index again and takes the locks. Returns false when another process may have
    /// written meanwhile.
    package func resume() throws(StoreError) -> Bool {
        guard role.withLock({ $0.isSuspended }) else { return true }
        // The files are locked before the index is read, in the same order as when a file is
        // opened.
        let hasFiles = files.takeBack()
        let opened: StoreOpening.Result
        do throws(StoreError) { opened = try opening.open() } catch {
            files.letGo()
            throw error
        }
        let isUntouched = hasFiles && opened.lock != nil && opened.index.openings == suspendedOpenings.withLock({ $0 }) + 1
        files.resume(isUntouched: isUntouched)
        adopt(opened)
        return isUntouched
    }

    // MARK: Unlinking

    /// Whether another process has the file of a generation that is no longer in the index.
    ///
    /// The method tries to lock the file exclusively. If that fails, this process's handle loses
    /// its shared lock and takes it again. Only the one writer ever asks for an exclusive lock, so
    /// taking the shared lock again never waits.
    private func isInUseElsewhere(_ path: String, _ generation: GenerationID) throws(SystemError) -> Bool {
        if let open = files.file(of: generation) { return try !open.holdsAlone() }
        guard try fileSystem.status(path) != nil else { return false }
        return try !files.opening { () throws(SystemError) in try fileSystem.open(path, .readWrite) }.lock(.exclusive)
    }

    /// Unlinks a file that is no longer in the index, unless another process reads it. Such a file
    /// stays until that process releases it.
    ///
    /// The index is correct even if the file stays, so a failure is reported and not thrown.
    func unlink(_ path: String, of generation: GenerationID) {
        do throws(SystemError) {
            guard try !isInUseElsewhere(path, generation) else { return leaveBehind(path, generation) }
            try files.file(of: generation)?.keepOpen()
            try fileSystem.unlink(path)
        } catch {
            if error.meansMissing { return }
            leaveBehind(path, generation)
            options.onRecovery(.fileLeftBehind(path: path, error))
        }
    }

    /// The maximum number of files that are tried again. The next opening's sweep finds any others.
    static let leftBehindLimit = 1024

    private func leaveBehind(_ path: String, _ generation: GenerationID) {
        leftBehind.use { files in
            if files.count < Self.leftBehindLimit { files.append((path, generation)) }
        }
    }

    /// Tries again to unlink files that another process had open. Called with each durable point.
    func unlinkLeftBehind() {
        let waiting = leftBehind.use { files in
            defer { files = [] }
            return files
        }
        for (path, generation) in waiting { unlink(path, of: generation) }
    }
}
