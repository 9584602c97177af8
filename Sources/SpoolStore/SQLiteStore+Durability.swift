import SpoolCore
import SpoolSystem

// Durable points: their contents, their sync beside other calls, and the handling of a failed sync.

extension SQLiteStore {
    /// The unfinished durable point, and work left by earlier ones. Index calls use it.
    struct Durability {
        var point: (token: DurablePoint, contents: PointContents)?
        /// Generations that an earlier process wrote and did not sync, and those of an abandoned
        /// point whose handles were not kept.
        var inherited: [DataFileID] = []
        /// Generations whose sync failed and whose pieces could not be removed yet. Until they are,
        /// no durable point may begin.
        var failed: [GenerationID: SystemError] = [:]
    }

    /// Begins a durable point over everything committed. An unfinished point is abandoned, and its
    /// contents join the new one.
    package func beginDurablePoint() throws(StoreError) -> DurablePoint? {
        try write { (index) throws(StoreError) in
            abandonPoint(index)
            _ = try dropFailed(index)
            let (written, named, directories) = files.open.takeUnsynced()
            let contents = durability.use { durability in
                PointContents(
                    files: written, open: files.open, named: (durability.inherited + named).map { ($0, files.path(of: $0)) },
                    directories: directories, root: layout.root, fileSystem: fileSystem)
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

    /// Ends a durable point. Ignored when another point has replaced it.
    package func finish(_ point: DurablePoint) -> DurablePointOutcome {
        var outcome = DurablePointOutcome()
        do throws(StoreError) {
            try write { (index) throws(StoreError) in
                let contents = durability.use { $0.point?.token === point ? $0.point?.contents : nil }
                // Another point has replaced this one and has its contents.
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
            try index.finishPoint()
            durability.use { $0.point = nil }
            // The handles hold locks on files that may have to be deleted.
            files.open.releaseSynced()
            files.unlinkLeftBehind()
            fillReserve()
        } catch {
            // Pieces that could not be removed from the index must not be used either.
            for generation in result.failed.keys where outcome.losses[generation] == nil { outcome.losses[generation] = ByteRangeSet() }
            abandonPoint(index)
            throw error
        }
    }

    /// Abandons the unfinished point. The next one covers its contents.
    private func abandonPoint(_ index: StoreIndex) {
        index.abandonPoint()
        let abandoned = durability.use { durability in
            defer { durability.point = nil }
            durability.inherited += durability.point?.contents.named.map(\.file) ?? []
            return durability.point?.contents
        }
        guard let abandoned else { return }
        files.open.putBack(abandoned.directories)
    }

    /// Removes the pieces whose bytes could not be synced. Returns the remaining spans of their
    /// generations.
    ///
    /// 1. A sync fails: the kernel could not write some pages, and reports that once.
    /// 2. From then on the kernel counts those pages as clean.
    /// 3. The next sync has nothing to write and succeeds, although the bytes are not on disk.
    ///
    /// So the method removes everything that was not durable before. Later commits of pieces from
    /// the generation's open file fail.
    private func dropFailed(_ index: StoreIndex) throws(StoreError) -> [GenerationID: ByteRangeSet] {
        var left: [GenerationID: ByteRangeSet] = [:]
        for (generation, error) in durability.use({ $0.failed.sorted { $0.key < $1.key } }) {
            files.open.fail(generation, error)
            try index.dropSuspects(of: generation)
            left[generation] = try index.pieces.spans(of: generation).all
            durability.use { $0.failed[generation] = nil }
        }
        return left
    }
}

/// The contents of a durable point, and the result of its sync.
struct PointContents: Sendable {
    let files: [GenerationID]
    /// Has the handles of `files` until the point ends or a file is retired.
    let open: OpenDataFiles
    /// Files of an earlier process, and files whose handles were beyond the limit. They are opened
    /// only for the sync.
    let named: [(file: DataFileID, path: String)]
    let directories: [String]
    let root: String
    let fileSystem: any FileSystem
    private let state = Locked(Result())

    struct Result {
        /// False until the sync has ended.
        var isSynced = false
        /// Generations that the system could not write.
        var failed: [GenerationID: SystemError] = [:]
        /// Another error of the sync. Everything has to be tried again.
        var trouble: SystemError?
    }

    var isEmpty: Bool { files.isEmpty && named.isEmpty && directories.isEmpty }

    var result: Result { state.withLock { $0 } }

    func synchronize() {
        var result = Result(isSynced: true)
        // Write-back starts for all files first. The disk then writes them in parallel, and the
        // first commit of the file system's journal covers the others.
        for generation in files { open.handleToSync(generation)?.startWriteback() }
        for generation in files {
            do throws(SystemError) { try open.handleToSync(generation)?.synchronize(full: false) } catch {
                result.failed[generation] = error
            }
        }
        do throws(SystemError) {
            for (file, path) in named {
                // A file that can't be opened is tried again later. A file that can't be written
                // has lost the bytes that were not on disk.
                guard let handle = try handle(at: path) else { continue }
                do throws(SystemError) { try handle.synchronize(full: false) } catch { result.failed[file.generation] = error }
            }
            for directory in directories { try synchronize(directory: directory) }
        } catch { result.trouble = error }
        state.withLock { $0 = result }
    }

    private func handle(at path: String) throws(SystemError) -> (any FileHandle)? {
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
            // The directory was removed between two calls, or is a parent of the store that this
            // process may not open. The store did not create such a parent.
            let isOurs = directory == root || directory.hasPrefix(root + "/")
            guard error.meansMissing || (error.meansReadOnly && !isOurs) else { throw error }
        }
    }
}
