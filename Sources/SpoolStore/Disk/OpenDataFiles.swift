import SpoolCore
import SpoolSystem

/// The table of a store's open data files, of the files with unsynced bytes, and of directories
/// with new entries.
///
/// One generation has one open file in a process, even after the file's name is unlinked. So the
/// bytes of a retired generation can't be confused with those of a file created later under the
/// same name.
final class OpenDataFiles: Sendable {
    fileprivate struct OpenFile {
        weak var file: StoreDataFile?
        /// The generation was permanently removed from the index. Holders of the file may still
        /// read it, but nothing of it is committed any more.
        var isRetired = false
        /// The error of a failed sync. Bytes written to the file may be lost, so nothing more of it
        /// is committed.
        var failure: SystemError?
    }

    /// A handle that may outlive its file, because a durable point holds it or will hold it.
    fileprivate struct OpenHandle {
        weak var handle: (any FileHandle)?
        var isWritable: Bool
    }

    fileprivate struct State {
        var files: [GenerationID: OpenFile] = [:]
        var handles: [GenerationID: OpenHandle] = [:]
        var sweepsAt = OpenDataFiles.sweepThreshold
        var unsynced: [GenerationID: (file: DataFileID, handle: any FileHandle)] = [:]
        /// The files of the durable point under way.
        var syncing: [GenerationID: (file: DataFileID, handle: any FileHandle)] = [:]
        /// Files with unsynced bytes whose handles are not kept. The durable point opens them again
        /// to sync them.
        var unsyncedByName: [GenerationID: DataFileID] = [:]
        var newDirectories: Set<String> = []
        /// Generations whose file was opened since the store was opened.
        var opened = ByteRangeSet()
        var isClosed = false
        /// The number of resumptions after which another process may have changed the files.
        var era = 0
        /// The files that may be closed while they are unused, longest unused first.
        var closable = ClosableFiles()
    }

    private let state = Locked(State())
    /// The era whose files may be read and written, or -1 during a suspension. It is changed under the
    /// lock, and read without it.
    private let usableEra = SharedNumber(0)
    let limits: OpenFileLimits
    /// Memory for comparing stored bytes with their checks: 1 MiB for each of two lanes, allocated
    /// at the first comparison.
    let checkBuffers = BufferPool(capacity: 2)

    init(limits: OpenFileLimits = OpenFileLimits()) {
        self.limits = limits
    }

    // MARK: Opening

    /// Returns the open file of a generation, or nil. A file of an earlier era is not returned,
    /// because its bytes may have changed.
    func file(of generation: GenerationID) -> StoreDataFile? {
        let (found, era) = state.withLock { ($0.files[generation]?.file, $0.era) }
        // Compared and released outside the lock: the deinit of a file takes the lock.
        return found?.era == era ? found : nil
    }

    /// Returns a generation's handle that is still open, or nil when none has the requested access.
    ///
    /// A second handle would have a lock of its own, and the two would prevent each other from
    /// locking exclusively. Nothing could then be punched until the next durable point releases the
    /// first handle.
    func handle(of generation: GenerationID, isWritable: Bool) -> (any FileHandle)? {
        state.withLock { state in
            guard let open = state.handles[generation], open.isWritable == isWritable else { return nil }
            return open.handle
        }
    }

    /// The number of handle entries that starts a sweep of released ones. After a sweep the limit
    /// is at least twice the number of entries in use.
    fileprivate static let sweepThreshold = 256

    /// Enters a file that was just opened.
    func opened(_ file: StoreDataFile, _ handle: any FileHandle) {
        state.withLock { state in
            state.enter(handle, of: file)
            state.files[file.generation] = OpenFile(file: file)
            state.opened.insert(file.generation.asRange)
        }
        if file.isWritable { closeBeyondLimit(after: file) }
    }

    /// Enters the handle of a file that was closed and is open again.
    func reopened(_ file: StoreDataFile, _ handle: any FileHandle) {
        state.withLock { $0.enter(handle, of: file) }
        closeBeyondLimit(after: file)
    }

    // MARK: Closing unused files

    /// Counts a file that was opened, and closes the longest unused files beyond the limit.
    private func closeBeyondLimit(after file: StoreDataFile) {
        var next = state.withLock { state in
            state.closable.append(file)
            return state.closable.count > limits.keptFiles ? state.closable.popFirst() : nil
        }
        // The loop asks each file at most twice: the second time it closes the file even if it was
        // used.
        var asked = 0
        while let candidate = next {
            asked += 1
            let isForced = asked > limits.keptFiles
            let closing = isForced ? candidate.close() : candidate.closeIfUnused()
            let following = state.withLock { state -> StoreDataFile? in
                switch closing {
                case .used: state.closable.putBack(candidate)
                case .closed(let wasCounted): if wasCounted { state.closable.remove(ObjectIdentifier(candidate)) }
                }
                return state.closable.count > limits.keptFiles ? state.closable.popFirst() : nil
            }
            // Released outside the lock: the deinit of a file takes the lock.
            withExtendedLifetime(candidate) { next = following }
        }
    }

    /// Stops counting a file that was closed or must stay open.
    func uncount(_ file: StoreDataFile) { state.withLock { $0.closable.remove(ObjectIdentifier(file)) } }

    /// Runs `open`. When the process or the system is out of descriptors, closes every counted file
    /// and runs `open` once more.
    func opening(_ open: () throws(SystemError) -> any FileHandle) throws(SystemError) -> any FileHandle {
        do throws(SystemError) { return try open() } catch {
            guard error.meansNoDescriptor else { throw error }
            closeAll()
            return try open()
        }
    }

    private func closeAll() {
        while let file = state.withLock({ $0.closable.popFirst() }) {
            if case .closed(wasCounted: true) = file.close() { uncount(file) }
        }
        // A durable point opens the files that wait for it again when it syncs them.
        let handles = state.withLock { state in
            defer { state.unsynced = [:] }
            for (generation, unsynced) in state.unsynced { state.unsyncedByName[generation] = unsynced.file }
            return state.unsynced
        }
        withExtendedLifetime(handles) {}
    }

    /// Whether the generation's file was opened before, since the store was opened.
    func wasOpened(_ generation: GenerationID) -> Bool {
        state.withLock { $0.opened.contains(generation.rawValue) }
    }

    /// Removes the entry of a file whose last reference is released.
    func closed(_ generation: GenerationID, counted: ObjectIdentifier?) {
        let survivor = state.withLock { state -> StoreDataFile? in
            if let counted { state.closable.remove(counted) }
            // Another thread may have opened the file again after the last release.
            let file = state.files[generation]?.file
            if file == nil { state.files[generation] = nil }
            return file
        }
        // Released outside the lock: if this is the last reference, the file's deinit takes the
        // lock.
        withExtendedLifetime(survivor) {}
    }

    // MARK: Retiring

    /// Marks a generation as retired if it is open. Its bytes need no sync any more, neither by the
    /// next durable point nor by the one under way.
    ///
    /// The handle of a durable point would keep the file and its room until the point ends. Nothing
    /// counts that room, so the store would exceed its quota.
    func retire(_ generation: GenerationID) {
        let handles = state.withLock { state in
            state.files[generation]?.isRetired = true
            state.unsyncedByName[generation] = nil
            return (state.unsynced.removeValue(forKey: generation), state.syncing.removeValue(forKey: generation))
        }
        // Released outside the lock. This may also release the lock on the file.
        withExtendedLifetime(handles) {}
    }

    /// Marks every open generation as retired, including those that were not committed yet.
    func retireAll() {
        let handles = state.withLock { state in
            for generation in state.files.keys { state.files[generation]?.isRetired = true }
            defer {
                state.unsynced = [:]
                state.syncing = [:]
                state.unsyncedByName = [:]
            }
            return (state.unsynced, state.syncing)
        }
        withExtendedLifetime(handles) {}
    }

    func isRetired(_ generation: GenerationID) -> Bool {
        state.withLock { $0.files[generation]?.isRetired == true }
    }

    /// Whether a file of a generation up to `last` is open and may still be committed.
    func mayBring(upTo last: GenerationID) -> Bool {
        let open = state.withLock { state in
            state.files.filter { $0.key <= last && !$0.value.isRetired }.compactMap(\.value.file)
        }
        // Released outside the lock: the deinit of a file takes the lock.
        return withExtendedLifetime(open) { !open.isEmpty }
    }

    // MARK: Failing

    /// Records that the bytes of an open generation could not be synced.
    func fail(_ generation: GenerationID, _ error: SystemError) {
        state.withLock { $0.files[generation]?.failure = error }
    }

    func failure(of generation: GenerationID) -> SystemError? {
        state.withLock { $0.files[generation]?.failure }
    }

    // MARK: Unsynced bytes

    /// Records that bytes were written to a file.
    ///
    /// Beyond ``OpenFileLimits/unsyncedHandles`` the table keeps the file's name instead of its
    /// handle. A failed write-back of the system is then less certain to be noticed: Linux reports
    /// it to the next handle that is opened for the file, unless the kernel has dropped its state
    /// of the file. In that case the checks detect the missing bytes when they are read.
    func wrote(_ file: DataFileID, _ handle: any FileHandle) {
        let generation = file.generation
        state.withLock { state in
            guard state.unsynced[generation] == nil, state.files[generation]?.isRetired != true else { return }
            if state.unsynced.count < limits.unsyncedHandles {
                state.unsynced[generation] = (file, handle)
            } else {
                state.unsyncedByName[generation] = file
            }
        }
    }

    /// Records that a directory has a new entry.
    func entryCreated(in directory: String) {
        state.withLock { _ = $0.newDirectories.insert(directory) }
    }

    /// Returns the files and directories that a durable point has to sync, and counts them as
    /// synced. ``handleToSync(_:)`` has the handles of `files`.
    func takeUnsynced() -> (files: [GenerationID], named: [DataFileID], directories: [String]) {
        state.withLock { state in
            defer {
                state.syncing = state.unsynced
                state.unsynced = [:]
                state.unsyncedByName = [:]
                state.newDirectories = []
            }
            return (
                state.unsynced.keys.sorted(), state.unsyncedByName.values.sorted { $0.generation < $1.generation },
                state.newDirectories.sorted()
            )
        }
    }

    /// Returns the handle that the durable point under way syncs, or nil for a retired file.
    func handleToSync(_ generation: GenerationID) -> (any FileHandle)? { state.withLock { $0.syncing[generation]?.handle } }

    /// Releases the handles of a durable point that ends.
    func releaseSynced() {
        let handles = state.withLock { exchange(&$0.syncing, with: [:]) }
        withExtendedLifetime(handles) {}
    }

    /// Enters the files and directories again that a durable point could not sync.
    func putBack(_ directories: [String]) {
        state.withLock { state in
            state.unsynced.merge(state.syncing) { $1 }
            state.syncing = [:]
            state.newDirectories.formUnion(directories)
        }
    }

    // MARK: Suspension

    /// Releases the locks on all open files. Reads and writes fail until `resume`. A lock that
    /// can't be released stays; its only effect is that the system may object to the suspended
    /// process.
    func unlock() {
        let open = state.withLock { state in
            usableEra.value = -1
            return state.files.values.compactMap(\.file)
        }
        for file in open { do throws(SystemError) { try file.unlock() } catch { fail(file.generation, error) } }
    }

    /// Locks all open files again. Reads still fail until `resume`.
    ///
    /// - Returns: false when at least one lock could not be taken.
    func takeBack() -> Bool {
        var isComplete = true
        for file in state.withLock({ $0.files.values.compactMap(\.file) }) {
            do throws(SystemError) { if try !file.takeBack() { isComplete = false } } catch { isComplete = false }
        }
        return isComplete
    }

    /// Ends the suspension. Files that were open before stay usable only when no other process can
    /// have changed them.
    ///
    /// 1. The store is suspended and releases its locks.
    /// 2. Another process writes, and punches what it evicts.
    /// 3. This process is resumed. A session still has its old spans, and a hit would send the
    ///    holes as zeros. Those files are therefore never read again.
    func resume(isUntouched: Bool) {
        let outdated = state.withLock { state in
            if !isUntouched { state.era += 1 }
            usableEra.value = Int64(state.era)
            guard !isUntouched else { return [StoreDataFile]() }
            state.handles = [:]
            defer { state.files = [:] }
            return state.files.values.compactMap(\.file)
        }
        // A lock that stays would only prevent the file from being punched.
        for file in outdated { do throws(SystemError) { try file.unlock() } catch { continue } }
    }

    /// The era of files that are opened now.
    var era: Int { state.withLock { $0.era } }

    /// Whether files of an era may be read and written now.
    func isUsable(_ era: Int) -> Bool { usableEra.value == era }

    // MARK: Closing

    /// Refuses all writes from now on. Open files can still be read.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.unsynced = [:]
            state.syncing = [:]
            state.unsyncedByName = [:]
        }
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }
}

extension OpenDataFiles.State {
    fileprivate mutating func enter(_ handle: any FileHandle, of file: StoreDataFile) {
        if handles.count >= sweepsAt {
            handles = handles.filter { $0.value.handle != nil }
            // If most handles are in use, the next sweep comes after the table has doubled.
            sweepsAt = max(OpenDataFiles.sweepThreshold, 2 * handles.count)
        }
        handles[file.generation] = OpenDataFiles.OpenHandle(handle: handle, isWritable: file.isWritable)
    }
}

extension GenerationID {
    fileprivate var asRange: ByteRange { ByteRange(lower: rawValue, upper: rawValue + 1) }
}
