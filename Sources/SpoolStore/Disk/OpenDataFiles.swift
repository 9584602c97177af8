import SpoolCore
import SpoolSystem

/// The data files that are open, those that hold unsynced bytes, and the directories whose entries are new.
///
/// One generation has one open file in a process, also after its name is gone: the bytes of a retired generation can't be
/// confused with those of a file that was made under its name later.
final class OpenDataFiles: Sendable {
    fileprivate struct OpenFile {
        weak var file: StoreDataFile?
        /// The generation is out of the index for good; who still holds the file may read, but nothing of it is committed.
        var isRetired = false
        /// Why its bytes could not be synced: what was written to it may be lost, so nothing more of it is committed.
        var failure: SystemError?
    }

    /// A handle that may outlive the file that it was opened for: a durable point has it, or will.
    fileprivate struct OpenHandle {
        weak var handle: (any FileHandle)?
        var isWritable: Bool
    }

    fileprivate struct State {
        var files: [GenerationID: OpenFile] = [:]
        var handles: [GenerationID: OpenHandle] = [:]
        var sweepsAt = OpenDataFiles.sweepThreshold
        var unsynced: [GenerationID: (file: StoreIndex.Retired, handle: any FileHandle)] = [:]
        /// Files with unsynced bytes whose handles are not kept: they are opened anew to be synced.
        var unsyncedByName: [GenerationID: StoreIndex.Retired] = [:]
        var newDirectories: Set<String> = []
        /// Generations whose file was opened since the store was opened.
        var opened = ByteRangeSet()
        var isClosed = false
        var isSuspended = false
        /// How often the store was resumed after another process may have changed the files.
        var era = 0
        /// The files that may be closed while nobody uses them, longest unused first.
        var closable = ClosableFiles()
    }

    private let state = Locked(State())
    let limits: OpenFileLimits
    /// Memory for stored bytes that are compared with their checks: a MiB for each of two lanes, and nothing before the first comparison.
    let checkBuffers = BufferPool(capacity: 2)

    init(limits: OpenFileLimits = OpenFileLimits()) {
        self.limits = limits
    }

    // MARK: Opening

    /// The open file of a generation, or nil. One of an earlier era is not told: its bytes may have changed.
    func file(of generation: GenerationID) -> StoreDataFile? {
        let (found, era) = state.withLock { ($0.files[generation]?.file, $0.era) }
        // Compared, and let go of, outside the lock: the end of a file takes it.
        return found?.era == era ? found : nil
    }

    /// A handle of a generation that is still open; nil when there is none that can do what is wanted.
    ///
    /// A second one beside it would have a lock of its own, and the two would keep each other from ever being exclusive: then nothing could
    /// be punched before the next durable point has let go of the first.
    func handle(of generation: GenerationID, isWritable: Bool) -> (any FileHandle)? {
        state.withLock { state in
            guard let open = state.handles[generation], open.isWritable == isWritable else { return nil }
            return open.handle
        }
    }

    /// Entries of handles that may be gone; beyond, they are swept out, at the latest when they are twice as many as were in use before.
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

    // MARK: Closing those that are not used

    /// Counts a file that was opened, and closes the longest unused of those beyond the limit.
    private func closeBeyondLimit(after file: StoreDataFile) {
        var next = state.withLock { state in
            state.closable.append(file)
            return state.closable.count > limits.keptFiles ? state.closable.popFirst() : nil
        }
        // Every file is asked twice at most: the second time it is closed in spite of its use.
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
            // Let go of outside the lock: the end of a file takes it.
            withExtendedLifetime(candidate) { next = following }
        }
    }

    /// A counted file was closed, or is no longer one that may be.
    func uncount(_ file: StoreDataFile) { state.withLock { $0.closable.remove(ObjectIdentifier(file)) } }

    /// Runs `open`; when the process or the system has no descriptor left, once more after every file was closed that nobody uses.
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
        // Files that wait for a durable point are opened again when it syncs them.
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

    /// Takes an entry out whose file is gone.
    func closed(_ generation: GenerationID, counted: ObjectIdentifier?) {
        let survivor = state.withLock { state -> StoreDataFile? in
            if let counted { state.closable.remove(counted) }
            // Someone may have opened it anew between the last release and now.
            let file = state.files[generation]?.file
            if file == nil { state.files[generation] = nil }
            return file
        }
        // Let go of outside the lock: if this was the last reference, its end takes the lock.
        withExtendedLifetime(survivor) {}
    }

    // MARK: Retiring

    /// Marks a generation as retired, if it is open. Nobody needs its bytes synced any more.
    func retire(_ generation: GenerationID) {
        let handle = state.withLock { state in
            state.files[generation]?.isRetired = true
            state.unsyncedByName[generation] = nil
            return state.unsynced.removeValue(forKey: generation)?.handle
        }
        // Let go of outside the lock, and with it perhaps of the lock on the file.
        withExtendedLifetime(handle) {}
    }

    /// Marks every open generation as retired, those that were not committed yet included.
    func retireAll() {
        let handles = state.withLock { state in
            for generation in state.files.keys { state.files[generation]?.isRetired = true }
            defer {
                state.unsynced = [:]
                state.unsyncedByName = [:]
            }
            return state.unsynced
        }
        withExtendedLifetime(handles) {}
    }

    func isRetired(_ generation: GenerationID) -> Bool {
        state.withLock { $0.files[generation]?.isRetired ?? false }
    }

    /// Whether somebody has a file of a generation up to this one that may still be committed.
    func mayBring(upTo last: GenerationID) -> Bool {
        let open = state.withLock { state in
            state.files.filter { $0.key <= last && !$0.value.isRetired }.compactMap(\.value.file)
        }
        // Let go of outside the lock: the end of a file takes it.
        return withExtendedLifetime(open) { !open.isEmpty }
    }

    // MARK: Failing

    /// Notes that the bytes of a generation could not be synced, as long as it is open.
    func fail(_ generation: GenerationID, _ error: SystemError) {
        state.withLock { $0.files[generation]?.failure = error }
    }

    func failure(of generation: GenerationID) -> SystemError? {
        state.withLock { $0.files[generation]?.failure }
    }

    // MARK: Unsynced bytes

    /// Notes that bytes of a file were written.
    ///
    /// Beyond ``OpenFileLimits/unsyncedHandles`` its name is kept instead of its handle: less is certain then about a write that the system could not do. Linux tells
    /// it to whoever opens the file next, unless it has forgotten the file; checks find the bytes that are missing when they are read.
    func wrote(_ file: StoreIndex.Retired, _ handle: any FileHandle) {
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

    /// Notes that a directory has a new entry.
    func entryCreated(in directory: String) {
        state.withLock { _ = $0.newDirectories.insert(directory) }
    }

    /// What a durable point has to sync; from now on it counts as synced.
    func takeUnsynced() -> (files: [(StoreIndex.Retired, any FileHandle)], named: [StoreIndex.Retired], directories: [String]) {
        state.withLock { state in
            defer {
                state.unsynced = [:]
                state.unsyncedByName = [:]
                state.newDirectories = []
            }
            return (
                state.unsynced.sorted { $0.key < $1.key }.map { ($0.value.file, $0.value.handle) },
                state.unsyncedByName.values.sorted { $0.generation < $1.generation }, state.newDirectories.sorted()
            )
        }
    }

    /// Takes back what a durable point could not sync.
    func putBack(_ files: [(StoreIndex.Retired, any FileHandle)], _ directories: [String]) {
        state.withLock { state in
            for (file, handle) in files { state.unsynced[file.generation] = (file, handle) }
            state.newDirectories.formUnion(directories)
        }
    }

    // MARK: Suspension

    /// Lets go of the locks on all open files; nothing is written or read until `takeBack`. A lock that can't be let go of stays, which
    /// harms nobody but the system's patience.
    func letGo() {
        let open = state.withLock { state in
            state.isSuspended = true
            return state.files.values.compactMap(\.file)
        }
        for file in open { do throws(SystemError) { try file.letGo() } catch { fail(file.generation, error) } }
    }

    /// Takes the locks on all open files again; false when one could not be had. Nothing is read yet.
    func takeBack() -> Bool {
        var isComplete = true
        for file in state.withLock({ $0.files.values.compactMap(\.file) }) {
            do throws(SystemError) { if try !file.takeBack() { isComplete = false } } catch { isComplete = false }
        }
        return isComplete
    }

    /// Ends the suspension. Files that were open before go on only when no other process can have changed them.
    ///
    /// 1. The store is suspended and lets go of its locks. 2. Another process writes, and punches what it evicts. 3. This process is
    /// resumed. A session still has the spans of before, and a hit would send the holes as zeros. So those files are never read again.
    func resume(isUntouched: Bool) {
        let outdated = state.withLock { state in
            state.isSuspended = false
            guard !isUntouched else { return [StoreDataFile]() }
            state.era += 1
            state.handles = [:]
            defer { state.files = [:] }
            return state.files.values.compactMap(\.file)
        }
        // A lock that stays would only keep the file from being punched.
        for file in outdated { do throws(SystemError) { try file.letGo() } catch { continue } }
    }

    /// The era of files that are opened now.
    var era: Int { state.withLock { $0.era } }

    var isSuspended: Bool { state.withLock { $0.isSuspended } }

    /// Whether files of an era may be read and written now.
    func isUsable(_ era: Int) -> Bool { state.withLock { !$0.isSuspended && $0.era == era } }

    // MARK: Closing

    /// Lets nobody write any more; open files can still be read.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.unsynced = [:]
            state.unsyncedByName = [:]
        }
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }
}

extension OpenDataFiles.State {
    fileprivate mutating func enter(_ handle: any FileHandle, of file: StoreDataFile) {
        if handles.count >= sweepsAt {
            handles = handles.filter { $0.value.handle != nil }
            // Where most are in use the next sweep is as far away as this one was long.
            sweepsAt = max(OpenDataFiles.sweepThreshold, 2 * handles.count)
        }
        handles[file.generation] = OpenDataFiles.OpenHandle(handle: handle, isWritable: file.isWritable)
    }
}

extension GenerationID {
    fileprivate var asRange: ByteRange { ByteRange(lower: rawValue, upper: rawValue + 1) }
}
