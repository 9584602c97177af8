import SpoolCore
import SpoolSystem

// The sizes of data files, and their removal.

extension StoreFiles {
    /// Returns the status of a commit's data file, if there is one.
    func status(of commit: StoreCommit) throws(StoreError) -> FileStatus? {
        let isOpen = open.file(of: commit.generation) != nil
        // The hash of the key is needed only when the file is not open.
        let path =
            isOpen
            ? ""
            : path(of: commit.generation, hash: hash(of: commit.key, commit.generation), fileExtension: commit.fileExtension)
        return try status(path, of: commit.generation)
    }

    /// Returns the commit without the pieces beyond the end of its file. Another program has
    /// truncated the file, so their bytes are lost.
    func clipped(_ commit: StoreCommit, to size: Int64) -> StoreCommit {
        guard commit.pieces.contains(where: { $0.range.upperBound > size }) else { return commit }
        var commit = commit
        commit.pieces.removeAll { $0.range.upperBound > size }
        options.onRecovery(.dataFileTruncated(commit.key, size: size))
        return commit
    }

    /// Returns the status of a generation's file: of the open file, even if its name is gone,
    /// otherwise of the file with its name.
    func status(_ path: String, of generation: GenerationID) throws(StoreError) -> FileStatus? {
        do throws(SystemError) {
            if let file = open.file(of: generation) {
                do throws(SystemError) { return try file.status() } catch {
                    if error.meansMissing { return nil }
                    throw error
                }
            }
            return try fileSystem.statusOfName(path).flatMap { $0.isRegular ? $0 : nil }
        } catch { throw StoreError(error) }
    }

    // MARK: Unlinking

    /// Retires a generation and unlinks its file. Removes its directory if that is empty.
    func drop(_ generation: GenerationID, key: ResourceKey, fileExtension: String) {
        open.retire(generation)
        let hash = hash(of: key, generation)
        let path = path(of: generation, hash: hash, fileExtension: fileExtension)
        do throws(SystemError) {
            try open.file(of: generation)?.keepOpen()
            try fileSystem.unlink(path)
        } catch {
            options.noteLeftBehind(path, error)
        }
        removeDirectory(layout.directory(hash: hash))
    }

    /// Unlinks the file of a generation that has left the index. Open handles can still read it.
    func retire(_ retired: DataFileID) {
        open.retire(retired.generation)
        unlink(path(of: retired), of: retired.generation)
    }

    /// Unlinks every data file with a number below `next`. Later files belong to fetches that began
    /// meanwhile.
    func unlinkDataFiles(below next: Int64) {
        for directory in listing.directories {
            for file in listing.dataFiles(in: directory) where file.generation.rawValue < next { unlink(file.path, of: file.generation) }
            removeDirectory(directory)
        }
    }

    /// Removes a directory if it is empty. A generation that was not committed yet may have a file
    /// in it.
    func removeDirectory(_ path: String) {
        do throws(SystemError) { try fileSystem.removeDirectory(path) } catch {
            if !error.meansNotEmpty { options.noteLeftBehind(path, error) }
        }
    }

    var listing: StoreListing { StoreListing(layout: layout, fileSystem: fileSystem, options: options) }

    /// Whether another process has the file of a generation that has left the index.
    ///
    /// The method tries to lock the file exclusively. If that fails, this process's handle loses
    /// its shared lock and takes it again. Only the one writer ever asks for an exclusive lock, so
    /// taking the shared lock again never waits.
    private func isInUseElsewhere(_ path: String, _ generation: GenerationID) throws(SystemError) -> Bool {
        if let file = open.file(of: generation) { return try !file.holdsAlone() }
        guard try fileSystem.status(path) != nil else { return false }
        return try !open.opening { () throws(SystemError) in try fileSystem.open(path, .readWrite) }.lock(.exclusive)
    }

    /// Unlinks a file that has left the index, unless another process reads it. Such a file stays
    /// until that process releases it.
    ///
    /// The index is correct even if the file stays, so a failure is reported and not thrown.
    func unlink(_ path: String, of generation: GenerationID) {
        do throws(SystemError) {
            guard try !isInUseElsewhere(path, generation) else { return leaveBehind(path, generation) }
            try open.file(of: generation)?.keepOpen()
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
        let waiting = leftBehind.use { exchange(&$0, with: []) }
        for (path, generation) in waiting { unlink(path, of: generation) }
    }

    /// Whether files wait to be unlinked.
    var hasLeftBehind: Bool { leftBehind.use { !$0.isEmpty } }
}
