import SpoolSystem

// Sharing a store between processes: one process writes, others read. A process can become the
// writer, and releases all locks before it is suspended.

extension SQLiteStore {
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
        role.withLock { $0 = StoreRole(lock: opened.lock, aloneLock: opened.aloneLock, keys: opened.index.database.fields.keys) }
        numbers.restart(first: opened.firstGeneration, reserved: opened.index.reservedGeneration)
        durability.use { $0 = Durability(inherited: opened.unsynced) }
        sweep.use { $0 = opened.owesSweep ? OrphanSweep() : nil }
        index.use { $0 = opened.index }
        for directory in opened.newDirectories { files.open.entryCreated(in: directory) }
        for file in opened.unsynced { files.noteNewEntries(in: layout.directory(hash: file.keyHash)) }
    }

    // MARK: Suspension

    /// Makes everything durable, closes the index and releases all locks.
    package func suspend() throws(StoreError) {
        knownKeys.withLock { $0 = nil }
        let openings = try read { (index) throws(StoreError) in index.openings }
        let failure = try settle()
        files.open.unlock()
        suspendedOpenings.withLock { $0 = openings }
        try releaseIndex(failure, isSuspended: true)
    }

    /// Opens the index again and takes the locks. Returns false when another process may have
    /// written meanwhile.
    package func resume() throws(StoreError) -> Bool {
        guard role.withLock({ $0.isSuspended }) else { return true }
        // The files are locked before the index is read, in the same order as when a file is
        // opened.
        let hasFiles = files.open.takeBack()
        let opened: StoreOpening.Result
        do throws(StoreError) { opened = try opening.open() } catch {
            files.open.unlock()
            throw error
        }
        let isUntouched = hasFiles && opened.lock != nil && opened.index.openings == suspendedOpenings.withLock({ $0 }) + 1
        files.open.resume(isUntouched: isUntouched)
        adopt(opened)
        return isUntouched
    }
}
