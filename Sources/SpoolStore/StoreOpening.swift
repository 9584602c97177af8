import SpoolCore
import SpoolSystem

/// The steps from a directory to an open store: lock, index, recovery.
struct StoreOpening {
    let layout: StoreLayout
    let fileSystem: any FileSystem
    let random: any RandomSource
    let options: SQLiteStore.Options

    /// The result of an opening.
    struct Result {
        var index: StoreIndex
        /// Nil when the store is open for reading.
        var lock: StoreLock?
        /// The lock of a store that is open for reading and keeps all others out. See
        /// ``openAlone()``.
        var aloneLock: StoreLock?
        var firstGeneration: Int64
        /// Whether a process of the machine's current boot had the store and did not close it.
        var isAfterKill = false
        /// The generations that this process wrote and did not sync.
        var unsynced: [DataFileID] = []
        /// Whether there may be orphans for ``OrphanSweep``.
        var owesSweep = false
        /// The store's directory and its parents, if they may have entries that were never synced.
        var newDirectories: [String] = []
    }

    var listing: StoreListing { StoreListing(layout: layout, fileSystem: fileSystem, options: options) }

    /// The number of damaged indexes that are kept for inspection. A further one replaces the last.
    static let damagedIndexLimit = 8

    func open() throws(StoreError) -> Result {
        if options.isReadOnly { return try openOnlyForReading() }
        let newDirectories = try directoriesAboveWhatIsMissing()
        switch try acquireLock() {
        case .acquired(let lock):
            do throws(StoreError) { return try openForWriting(lock, newDirectories) } catch {
                // A store on a full disk can still serve its contents.
                guard error == .full, !options.mustBeWritable else { throw error }
                options.onRecovery(.diskFull)
                return try openWithoutSpace()
            }
        case .held(let process): return try openForReading(heldBy: process)
        }
    }

    /// Opens the store for writing, or returns nil when another process does so.
    func openForWritingIfFree() throws(StoreError) -> Result? {
        let newDirectories = try directoriesAboveWhatIsMissing()
        guard case .acquired(let lock) = try acquireLock() else { return nil }
        return try openForWriting(lock, newDirectories)
    }

    private func openForWriting(_ lock: StoreLock, _ newDirectories: [String]) throws(StoreError) -> Result {
        do throws(StoreError) {
            var result = try makingRoom { () throws(StoreError) in try openForWriting(lock) }
            // A killed process may have created the store without syncing the directories that lead
            // to it.
            result.newDirectories = result.isAfterKill ? layout.rootAndAbove : newDirectories
            return result
        } catch {
            do throws(SystemError) { try lock.release() } catch { throw StoreError(error) }
            throw error
        }
    }

    /// Returns the directories that get an entry when the store's directory is created. Their
    /// number is limited by the length of the path.
    private func directoriesAboveWhatIsMissing() throws(StoreError) -> [String] {
        var found: [String] = []
        var path = layout.root
        do throws(SystemError) {
            while try fileSystem.status(path) == nil, let parent = parentDirectory(of: path) {
                found.append(parent)
                path = parent
            }
        } catch { throw StoreError(error) }
        return found
    }

    func acquireLock() throws(StoreError) -> StoreLock.Outcome {
        do throws(SystemError) {
            try fileSystem.createDirectory(layout.data)
            return try StoreLock.acquire(path: layout.lock, fileSystem: fileSystem, processID: options.processID)
        } catch {
            // A read-only disk can still be read. Without an index there is nothing to read, and
            // the reason is the error itself.
            if error.meansReadOnly, !options.mustBeWritable, hasIndex { return .held(by: nil) }
            throw StoreError(error)
        }
    }

    /// Whether an index exists, as far as this user can see.
    private var hasIndex: Bool {
        do throws(SystemError) { return try fileSystem.status(layout.index) != nil } catch { return false }
    }

    // MARK: Reading

    func openForReading(heldBy process: Int32?) throws(StoreError) -> Result {
        // The injected layer has no shared memory, so it can't read beside a writer.
        guard !options.mustBeWritable, options.indexLayer == nil else { throw .locked(by: process) }
        return try read(openIndexForReading(heldBy: process), heldBy: process)
    }

    /// Checks an index that was opened for reading.
    func read(_ opened: (index: StoreIndex, format: Int?), heldBy process: Int32?) throws(StoreError) -> Result {
        let (index, format) = opened
        // Another process is creating the store at this moment.
        guard let format, format > 0 else { throw .locked(by: process) }
        if let refusal = Self.refusal(of: format) { throw refusal }
        if let problem = try StoreUnlocking(index: index, options: options, random: random).unlock() { throw .key(problem) }
        return Result(index: index, lock: nil, firstGeneration: StoreIndex.firstUnstoredGeneration)
    }

    /// Returns the error for a store of another format, which stays as it is.
    private static func refusal(of format: Int) -> StoreError? {
        let supported = IndexSchema.currentFormat
        if format == supported { return nil }
        return format > supported
            ? .formatTooNew(found: format, supported: supported) : .formatTooOld(found: format, supported: supported)
    }

    private func openIndexForReading(heldBy process: Int32?) throws(StoreError) -> (StoreIndex, Int?) {
        do throws(StoreError) {
            let index = try openDatabase(.readOnly)
            return (index, try index.readFormat())
        } catch {
            throw error.meansUnopenedIndex ? .locked(by: process) : error
        }
    }

    /// Opens the database of the index.
    ///
    /// - Parameter isAlone: Whether it works without shared memory.
    func openDatabase(_ access: SQLiteConnection.Access, isAlone: Bool = false) throws(StoreError) -> StoreIndex {
        let layer = try options.indexLayer?.make(fileSystem, random)
        let index = try StoreIndex.open(path: layout.index, access: access, layer: layer, isAlone: isAlone)
        index.database.onUnreadable = { [onRecovery = options.onRecovery] in onRecovery(.rowUnreadable) }
        return index
    }

    // MARK: Writing

    fileprivate enum Attempt {
        case opened(Result)
        case refused(StoreError)
        case damaged(reason: String)
    }

    private func openForWriting(_ lock: StoreLock) throws(StoreError) -> Result {
        let wasSetAside = try setAsideIfMarked()
        let first = try attempt(lock)
        if case .damaged(let reason) = first { try setAside(reason: reason) }
        // After an index was set aside, a new one is created, once.
        switch try first.isDamaged ? attempt(lock) : first {
        case .opened(var result):
            if wasSetAside || first.isDamaged { result.owesSweep = true }
            return result
        case .refused(let error): throw error
        case .damaged(let reason): throw .damagedIndex(reason)
        }
    }

    private func attempt(_ lock: StoreLock) throws(StoreError) -> Attempt {
        try createIndexFile()
        do throws(StoreError) {
            return try openIndex(lock)
        } catch {
            let isDamage = error.isCorruption || error.meansMissingTable
            guard try isDamage ? true : isReadOnlyByDamage(error) else { throw error }
            return .damaged(reason: error.description)
        }
    }

    /// Whether SQLite refuses to write only because of the file's header. A write version above 2
    /// makes a database read-only (SQLite file format §1.3.3), and SQLite itself writes none.
    private func isReadOnlyByDamage(_ error: StoreError) throws(StoreError) -> Bool {
        guard error.meansReadOnlyIndex else { return false }
        do throws(SystemError) {
            return try fileSystem.open(layout.index, .read).bytes(18, 1).first.map { $0 > 2 } == true
        } catch { throw StoreError(error) }
    }

    /// Creates an empty index file when there is none. It gets this process's mode, and SQLite uses
    /// the same mode for the files beside it. A file that SQLite creates itself would be readable
    /// by all users.
    private func createIndexFile() throws(StoreError) {
        do throws(SystemError) {
            if try fileSystem.status(layout.index) == nil { _ = try fileSystem.open(layout.index, .create) }
        } catch { throw StoreError(error) }
    }

    private func openIndex(_ lock: StoreLock) throws(StoreError) -> Attempt {
        let index = try openDatabase(.readWrite)
        index.onLogKept = { [onRecovery = options.onRecovery] in onRecovery(.logKept(reason: $0.description)) }
        guard let format = try index.readFormat() else { return .damaged(reason: "the database is not an index of Spool") }
        if format > 0, let refusal = Self.refusal(of: format) {
            // Earlier programs made the tables in several steps, and could end between two.
            guard case .formatTooOld = refusal, index.isEmpty else { return .refused(refusal) }
            return .damaged(reason: "an earlier program ended while it created the store")
        }
        // Checked before any change, so that a wrong key leaves the store unchanged.
        let unlocking = StoreUnlocking(index: index, options: options, random: random)
        if format > 0, let problem = try unlocking.unlock() { return .refused(.key(problem)) }
        try index.prepareForWriting(from: format)
        if !index.database.fields.isSealed, let problem = try unlocking.encrypt() { return .refused(.key(problem)) }
        var result = Result(index: index, lock: lock, firstGeneration: 0)
        try recover(&result)
        // An index that no opening has used has no entries of the files that an earlier one named.
        // An earlier opening may have made its tables and then failed.
        let lastOnDisk = try index.isUsed() ? nil : lastGenerationOnDisk()
        if lastOnDisk != nil { result.owesSweep = true }
        result.firstGeneration = try index.beginUse(bootID: options.bootID, behind: lastOnDisk ?? 0, makeStoreID: random.storeID)
        return .opened(result)
    }

    /// Removes pieces that the last power loss may have damaged, and finds the generations that a
    /// killed process left unsynced.
    private func recover(_ result: inout Result) throws(StoreError) {
        let index = result.index
        let lastOpening = try index.lastOpening()
        result.owesSweep = try index.meta.number(.owesSweep) ?? 0 != 0 || !lastOpening.wasClosedCleanly
        guard !lastOpening.wasClosedCleanly else { return }
        let unsynced = try index.unsynced.files()
        // During the same boot, the page cache still has everything that was written.
        if let bootID = options.bootID, bootID == lastOpening.bootID {
            index.unsynced.adopt(Set(unsynced.map(\.generation)))
            result.isAfterKill = true
            result.unsynced = unsynced
            return
        }
        var dropped = 0
        for generation in unsynced.map(\.generation) where try index.dropUnchecked(of: generation) { dropped += 1 }
        if dropped > 0 { options.onRecovery(.unsyncedDropped(generations: dropped)) }
        // The remaining pieces have checks, and their first reader verifies them. The first durable
        // point syncs them.
        index.unsynced.adopt(Set(unsynced.map(\.generation)))
        result.unsynced = unsynced
    }

    /// Returns the highest number of a data file, if there is one.
    ///
    /// 1. An index was set aside, or the system has purged it.
    /// 2. The new index begins with number 1 again.
    /// 3. The sweep for orphans would take the old files for files of this opening, which may not
    ///    be in the index yet, and would never remove them.
    private func lastGenerationOnDisk() -> Int64? {
        let listing = listing
        return listing.directories.lazy.flatMap { listing.dataFiles(in: $0) }.map(\.generation.rawValue).max()
    }

    // MARK: A damaged index

    private func setAsideIfMarked() throws(StoreError) -> Bool {
        do throws(SystemError) {
            guard try fileSystem.status(layout.damageMark) != nil else { return false }
        } catch { throw StoreError(error) }
        try setAside(reason: "an earlier run found it to contradict itself")
        do throws(SystemError) { try fileSystem.unlink(layout.damageMark) } catch { throw StoreError(error) }
        return true
    }

    /// Renames the index and its log, so that a new index can be created.
    private func setAside(reason: String) throws(StoreError) {
        do throws(SystemError) {
            let target = try freeDamagedIndex()
            // The log is renamed first. If only the log stayed, SQLite would use it as the log of
            // the new index.
            for suffix in StoreLayout.indexCompanionSuffixes {
                try moveIfPresent(layout.index + suffix, to: target + suffix)
            }
            try moveIfPresent(layout.index, to: target)
            options.onRecovery(.indexSetAside(path: target, reason: reason))
        } catch { throw StoreError(error) }
    }

    private func freeDamagedIndex() throws(SystemError) -> String {
        for number in 1..<Self.damagedIndexLimit {
            let path = layout.damagedIndex(number: number)
            if try fileSystem.status(path) == nil { return path }
        }
        return layout.damagedIndex(number: Self.damagedIndexLimit)
    }

    private func moveIfPresent(_ from: String, to target: String) throws(SystemError) {
        guard try fileSystem.status(from) != nil else { return }
        try fileSystem.rename(from, to: target)
    }
}

extension StoreOpening.Attempt {
    fileprivate var isDamaged: Bool {
        if case .damaged = self { true } else { false }
    }
}
