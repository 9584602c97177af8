import SpoolCore
import SpoolSystem

// One process writes, others read; who writes may change, and a process that will be suspended lets go of everything.

extension SQLiteStore {
    /// Whether this process writes, and by what it does. Changes between two index calls only.
    struct Role {
        /// Nil for a process that reads.
        var lock: StoreLock?
        /// The keys of an encrypted store.
        var keys: StoreKeys?
        /// Generations up to this one are sealed by a key that the store has no more: nothing more of them enters the index.
        var lastOutdated: GenerationID?
        /// Everything was let go of, until `resume`.
        var isSuspended = false
    }

    public func becomeWriter() throws(StoreError) -> Bool {
        guard !isWritable else { return false }
        try read { (_) throws(StoreError) in }
        guard !options.isReadOnly, let opened = try opening.openForWritingIfFree() else { return false }
        adopt(opened)
        return true
    }

    /// Takes over what an opening found.
    private func adopt(_ opened: StoreOpening.Result) {
        opened.index.fields.plainHash = options.keyHash
        role.withLock { $0 = Role(lock: opened.lock, keys: opened.index.fields.keys) }
        numbers.restart(first: opened.firstGeneration, reserved: opened.index.reservedGeneration)
        durability.use { $0 = Durability(inherited: opened.unsynced) }
        sweep.use { $0 = opened.owesSweep ? OrphanSweep() : nil }
        index.use { $0 = opened.index }
        for directory in opened.newDirectories { files.entryCreated(in: directory) }
        for file in opened.unsynced { noteNewEntries(in: layout.directory(hash: file.keyHash)) }
    }

    // MARK: Suspension

    public func suspend() throws(StoreError) {
        knownKeys.withLock { $0 = nil }
        let openings = try read { (index) throws(StoreError) in index.openings }
        let failure = try settle()
        files.letGo()
        // The last connection writes its log into the database when it goes: still under our lock.
        index.use { $0 = nil }
        suspendedOpenings.withLock { $0 = openings }
        let lock = role.withLock { role in
            defer { role = Role(lock: nil, keys: role.keys, isSuspended: true) }
            return role.lock
        }
        do throws(SystemError) { try lock?.release() } catch { throw failure ?? StoreError(error) }
        if let failure { throw failure }
    }

    public func resume() throws(StoreError) -> Bool {
        guard role.withLock({ $0.isSuspended }) else { return true }
        // Before the index is read, as whenever a file is opened.
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

    /// Whether another process has the file of a generation that is out of the index.
    ///
    /// Tries for the file's lock, exclusively. Our own handle loses its shared lock when that is in vain, and takes it again: nobody but
    /// the one writer ever asks for an exclusive one, so it never waits for it.
    private func isInUseElsewhere(_ path: String, _ generation: GenerationID) throws(SystemError) -> Bool {
        if let open = files.file(of: generation) { return try !open.holdsAlone() }
        guard try fileSystem.status(path) != nil else { return false }
        return try !files.opening { () throws(SystemError) in try fileSystem.open(path, .readWrite) }.lock(.exclusive)
    }

    /// Unlinks a file that is out of the index, unless another process reads it: then it stays until that process lets go of it.
    ///
    /// The index is right whatever happens to the file, so a failure is noted and not thrown.
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

    /// The most files that are tried again; beyond, the next opening's sweep finds them.
    static let leftBehindLimit = 1024

    private func leaveBehind(_ path: String, _ generation: GenerationID) {
        leftBehind.use { files in
            if files.count < Self.leftBehindLimit { files.append((path, generation)) }
        }
    }

    /// Tries again to unlink what another process had open; with each durable point.
    func unlinkLeftBehind() {
        let waiting = leftBehind.use { files in
            defer { files = [] }
            return files
        }
        for (path, generation) in waiting { unlink(path, of: generation) }
    }
}
