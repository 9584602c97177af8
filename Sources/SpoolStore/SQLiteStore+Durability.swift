import SpoolCore
import SpoolSystem

// Durable points: what they cover, their sync beside other calls, and what a failed one leaves behind.

extension SQLiteStore {
    /// The durable point that is under way, and what earlier ones have left to do. Used by index calls.
    struct Durability {
        var point: (token: DurablePoint, contents: PointContents)?
        /// Generations that an earlier process wrote and did not sync, and those of a point that was given up whose handles were not kept.
        var inherited: [StoreIndex.Retired] = []
        /// Generations whose sync failed and whose pieces could not be taken out yet: until they are, no durable point may be set.
        var failed: [GenerationID: SystemError] = [:]
    }

    public func beginDurablePoint() throws(StoreError) -> DurablePoint? {
        try write { (index) throws(StoreError) in
            abandonPoint(index)
            _ = try dropFailed(index)
            let (written, named, directories) = files.takeUnsynced()
            let contents = durability.use { durability in
                PointContents(
                    files: written, named: (durability.inherited + named).map { ($0, path(of: $0)) }, directories: directories,
                    root: layout.root, fileSystem: fileSystem)
            }
            guard index.hasChanges || !contents.isEmpty else { return nil }
            index.beginPoint()
            let token = DurablePoint { contents.synchronize() }
            durability.use { durability in
                durability.inherited = []
                durability.point = (token, contents)
            }
            return token
        }
    }

    public func finish(_ point: DurablePoint) -> DurablePointOutcome {
        var outcome = DurablePointOutcome()
        do throws(StoreError) {
            try write { (index) throws(StoreError) in
                let contents = durability.use { $0.point?.token === point ? $0.point?.contents : nil }
                // Given up meanwhile: another point has its contents.
                guard let contents else { return }
                try finish(contents, index, &outcome)
            }
        } catch {
            outcome.failure = outcome.failure ?? error
        }
        return outcome
    }

    private func finish(
        _ contents: PointContents, _ index: StoreIndex, _ outcome: inout DurablePointOutcome
    ) throws(StoreError) {
        let result = contents.result
        durability.use { $0.failed.merge(result.failed) { first, _ in first } }
        do throws(StoreError) {
            outcome.failure = result.failed.values.first.map(StoreError.init)
            outcome.losses = try dropFailed(index)
            if let trouble = result.trouble { throw StoreError(trouble) }
            guard result.isSynced else { throw .closed }
            try index.translating { (index) throws(SQLiteError) in try index.finishPoint() }
            durability.use { $0.point = nil }
            // Its handles hold locks on files that may have to go.
            contents.release()
            unlinkLeftBehind()
            fillReserve()
        } catch {
            // What could not be taken out of the index is not to be believed either.
            for generation in result.failed.keys where outcome.losses[generation] == nil { outcome.losses[generation] = ByteRangeSet() }
            abandonPoint(index)
            throw error
        }
    }

    /// Gives up the point that is under way; the next one covers what it covered.
    private func abandonPoint(_ index: StoreIndex) {
        index.abandonPoint()
        let abandoned = durability.use { durability in
            defer { durability.point = nil }
            durability.inherited += durability.point?.contents.named.map(\.file) ?? []
            return durability.point?.contents
        }
        guard let abandoned else { return }
        files.putBack(abandoned.files, abandoned.directories)
    }

    /// Takes the pieces out whose bytes could not be synced; answers with what is left of their generations.
    ///
    /// 1. A sync fails: the kernel could not write some pages, and says so once. 2. It counts them as clean from then on.
    /// 3. The next sync has nothing to write and succeeds; the bytes are not on the disk all the same.
    /// So what was not durable before is no longer claimed, and what the generation's open file brings is refused.
    private func dropFailed(_ index: StoreIndex) throws(StoreError) -> [GenerationID: ByteRangeSet] {
        var left: [GenerationID: ByteRangeSet] = [:]
        for (generation, error) in durability.use({ $0.failed.sorted { $0.key < $1.key } }) {
            files.fail(generation, error)
            left[generation] = try index.translating { (index) throws(SQLiteError) in
                try index.dropSuspects(of: generation)
                return try index.spans(of: generation).all
            }
            durability.use { $0.failed[generation] = nil }
        }
        return left
    }
}

/// What a durable point has to sync, and what came of it.
final class PointContents: Sendable {
    /// None once they were let go of.
    var files: [(file: StoreIndex.Retired, handle: any FileHandle)] { state.withLock { $0.files } }
    /// Files of an earlier process, and those whose handles were too many to be kept: they are opened only to be synced.
    let named: [(file: StoreIndex.Retired, path: String)]
    let directories: [String]
    private let root: String
    private let fileSystem: any FileSystem
    private let state: Locked<State>

    private struct State {
        var files: [(file: StoreIndex.Retired, handle: any FileHandle)]
        var result = Result()
    }

    struct Result {
        /// False until the sync came to its end.
        var isSynced = false
        /// Generations that the system could not write.
        var failed: [GenerationID: SystemError] = [:]
        /// What else went wrong; everything is to be tried again.
        var trouble: SystemError?
    }

    init(
        files: [(StoreIndex.Retired, any FileHandle)], named: [(StoreIndex.Retired, String)], directories: [String], root: String,
        fileSystem: any FileSystem
    ) {
        state = Locked(State(files: files.map { (file: $0.0, handle: $0.1) }))
        self.named = named
        self.directories = directories
        self.root = root
        self.fileSystem = fileSystem
    }

    /// Lets go of the handles.
    func release() {
        let files = state.withLock { state in
            defer { state.files = [] }
            return state.files
        }
        withExtendedLifetime(files) {}
    }

    var isEmpty: Bool { files.isEmpty && named.isEmpty && directories.isEmpty }

    var result: Result { state.withLock { $0.result } }

    func synchronize() {
        var result = Result(isSynced: true)
        let files = files
        // All of them first: the disk then writes one beside the other, and the journal's first commit has what the others would wait for.
        for (_, handle) in files { handle.startWriteback() }
        for (file, handle) in files {
            do throws(SystemError) { try handle.synchronize(full: false) } catch { result.failed[file.generation] = error }
        }
        do throws(SystemError) {
            for (file, path) in named {
                // One that can't be opened is tried again; one that can't be written has lost what was not on the disk.
                guard let handle = try open(path) else { continue }
                do throws(SystemError) { try handle.synchronize(full: false) } catch { result.failed[file.generation] = error }
            }
            for directory in directories { try synchronize(directory: directory) }
        } catch { result.trouble = error }
        state.withLock { $0.result = result }
    }

    private func open(_ path: String) throws(SystemError) -> (any FileHandle)? {
        guard try fileSystem.status(path) != nil else { return nil }
        do throws(SystemError) { return try fileSystem.open(path, .readWrite) } catch {
            if error.meansMissing { return nil }
            throw error
        }
    }

    private func synchronize(directory: String) throws(SystemError) {
        do throws(SystemError) {
            guard try fileSystem.status(directory) != nil else { return }
            try fileSystem.synchronizeDirectory(directory)
        } catch {
            // Removed between two calls, or one above the store that we may not open: that one we did not make.
            let isOurs = directory == root || directory.hasPrefix(root + "/")
            guard error.meansMissing || (error.meansReadOnly && !isOurs) else { throw error }
        }
    }
}
