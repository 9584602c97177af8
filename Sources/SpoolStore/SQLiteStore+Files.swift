public import SpoolCore
import SpoolSystem

// What the store does with data files.

extension SQLiteStore {
    public func dataFile(
        of generation: GenerationID, key: ResourceKey, fileExtension: String
    ) throws(StoreError) -> any DataFile {
        guard !files.isClosed else { throw .closed }
        if role.withLock({ $0.isSuspended }) { throw .suspended }
        // A file that was opened for reading only, by a process that writes now, can't be written to.
        if let open = files.file(of: generation), open.isWritable || !isWritable {
            do throws(SystemError) { _ = try open.use() } catch { throw StoreError(error) }
            return open
        }
        // Asked once: the store may get another key meanwhile, but not for a generation that it gave out before.
        let keys = keys?.media(of: generation)
        let hash = keys?.hash(of: key) ?? options.keyHash(key.string)
        let path = path(of: generation, hash: hash, fileExtension: fileExtension)
        let kept = try keptHandle(of: generation, path)
        let handle = if let kept { kept } else { try open(path, of: generation, in: layout.directory(hash: hash)) }
        let sealing = keys.map { keys in
            FileSealing(
                key: key, sealer: PieceSealer(keys: keys, keyHash: hash, generation: generation, random: sealedParts.random),
                shared: sealedParts)
        }
        let status: FileStatus
        do throws(SystemError) { status = try handle.status() } catch { throw StoreError(error) }
        let name = StoreIndex.Retired(generation: generation, keyHash: hash, fileExtension: fileExtension)
        let file = StoreDataFile(
            named: name, path: path, handle: handle, status: status, table: files, fileSystem: fileSystem, isWritable: isWritable,
            sealing: sealing)
        files.opened(file, handle)
        return file
    }

    /// A handle of the file that is still open, unless another program has taken its name away meanwhile.
    private func keptHandle(of generation: GenerationID, _ path: String) throws(StoreError) -> (any FileHandle)? {
        guard let kept = files.handle(of: generation, isWritable: isWritable) else { return nil }
        do throws(SystemError) {
            guard let named = try fileSystem.status(path), try named.identity == kept.status().identity else { return nil }
            return kept
        } catch { throw StoreError(error) }
    }

    private func open(
        _ path: String, of generation: GenerationID, in directory: String
    ) throws(StoreError) -> any FileHandle {
        // A number beyond the reserved ones could be given out again after a crash, to another resource's bytes.
        guard !isWritable || numbers.isReserved(generation) else { throw .readOnly }
        let handle: any FileHandle
        let isShared: Bool
        do throws(SystemError) {
            handle = try files.opening { () throws(SystemError) in
                try isWritable ? create(path, of: generation, in: directory) : fileSystem.open(path, .read)
            }
            isShared = try handle.lock(.shared)
        } catch { throw StoreError(error) }
        // Only a process that is about to punch or unlink the file has it exclusively.
        guard isShared else { throw .locked(by: nil) }
        return handle
    }

    private func create(
        _ path: String, of generation: GenerationID, in directory: String
    ) throws(SystemError) -> any FileHandle {
        guard let status = try fileSystem.status(path) else { return try createNew(path, in: directory) }
        // A number of ours never had a file, unless its reservation was lost:
        // 1. A power loss took the transaction that reserved it, or the index was set aside; but not the file.
        // 2. The next opening gives the number out again.
        // 3. Bytes of the old file would stand in the holes of the new one, where nothing tells them apart.
        let isStranger = generation.rawValue >= numbers.first && !files.wasOpened(generation) && status.size > 0
        if isStranger, status.linkCount > 1 {
            // An exported file that is the same one keeps its bytes.
            try fileSystem.unlink(path)
            return try createNew(path, in: directory)
        }
        let handle = try fileSystem.open(path, .readWrite)
        if isStranger { try handle.truncate(to: 0) }
        return handle
    }

    private func createNew(_ path: String, in directory: String) throws(SystemError) -> any FileHandle {
        try fileSystem.createDirectory(directory)
        let handle: any FileHandle
        do throws(SystemError) { handle = try fileSystem.open(path, .create) } catch {
            // Another lane has taken the last file out of the directory, and then the directory: in this very moment, so not twice.
            guard error.meansMissing else { throw error }
            try fileSystem.createDirectory(directory)
            handle = try fileSystem.open(path, .create)
        }
        noteNewEntries(in: directory)
        return handle
    }

    /// Names are durable only when the next durable point has synced their directories, from the file's up to the store's.
    func noteNewEntries(in directory: String) {
        for directory in [directory, parentDirectory(of: directory) ?? layout.data, layout.data, layout.root] {
            files.entryCreated(in: directory)
        }
    }

    /// What names the directory of a generation's file: a hash that anyone can make, or one that only the key can by which it is sealed.
    func fileHash(of key: ResourceKey, _ generation: GenerationID) -> [UInt8] {
        keys?.media(of: generation).hash(of: key) ?? options.keyHash(key.string)
    }

    /// Where the data file of a generation lies. In an encrypted store the name does not say what kind of file it is.
    func path(of generation: GenerationID, hash: [UInt8], fileExtension: String) -> String {
        layout.dataFile(hash: hash, generation: generation, fileExtension: keys == nil ? fileExtension : "")
    }

    func path(of file: StoreIndex.Retired) -> String {
        path(of: file.generation, hash: file.keyHash, fileExtension: file.fileExtension)
    }

    // MARK: Checking

    /// A resource as it is served: with the bytes that its file can really have.
    func checked(_ entry: StoreIndex.Entry, _ index: StoreIndex) throws(StoreError) -> StoredResource {
        var resource = entry.resource
        guard let end = resource.spans.upperBound else { return resource }
        // Made again only where the key that finds the row may not be the one that named the file.
        let hash = keys?.previous == nil ? entry.keyHash : fileHash(of: resource.key, resource.generation)
        let path = path(of: resource.generation, hash: hash, fileExtension: resource.fileExtension)
        let status = try fileStatus(path, of: resource.generation)
        let size = status?.size ?? 0
        guard size < end else { return resource }
        if isWritable {
            // A check that covers lost bytes says nothing of the others, so a block may go as a whole.
            (resource.spans, resource.unverified) = try index.translating { (index) throws(SQLiteError) in
                try index.clip(resource.generation, to: size, allocatedBytes: status?.allocatedBytes ?? 0)
                return try index.spans(of: resource.generation)
            }
        } else if let lost = ByteRange(size, .max) {
            resource.spans.remove(lost)
            resource.unverified.remove(lost)
        }
        options.onRecovery(
            status == nil ? .dataFileMissing(resource.key) : .dataFileTruncated(resource.key, size: size))
        return resource
    }

    /// The state of the data file that a commit is about, nil when there is none.
    func dataFileStatus(of commit: StoreCommit) throws(StoreError) -> FileStatus? {
        let isOpen = files.file(of: commit.generation) != nil
        // Hashing the key is needed only for a file that nobody has open.
        let path =
            isOpen
            ? ""
            : path(of: commit.generation, hash: fileHash(of: commit.key, commit.generation), fileExtension: commit.fileExtension)
        return try fileStatus(path, of: commit.generation)
    }

    /// The commit without pieces that its file does not reach: another program shortened it, so their bytes are gone.
    func clipped(_ commit: StoreCommit, to size: Int64) -> StoreCommit {
        guard commit.pieces.contains(where: { $0.range.upperBound > size }) else { return commit }
        var commit = commit
        commit.pieces.removeAll { $0.range.upperBound > size }
        options.onRecovery(.dataFileTruncated(commit.key, size: size))
        return commit
    }

    /// The state of a generation's file: of the open one, whatever its name has become; else of what has its name.
    private func fileStatus(_ path: String, of generation: GenerationID) throws(StoreError) -> FileStatus? {
        do throws(SystemError) {
            if let open = files.file(of: generation) {
                do throws(SystemError) { return try open.status() } catch {
                    if error.meansMissing { return nil }
                    throw error
                }
            }
            return try fileSystem.status(path).flatMap { $0.isDirectory ? nil : $0 }
        } catch { throw StoreError(error) }
    }

    // MARK: Unlinking

    public func drop(_ generation: GenerationID, key: ResourceKey, fileExtension: String) {
        files.retire(generation)
        let hash = fileHash(of: key, generation)
        let path = path(of: generation, hash: hash, fileExtension: fileExtension)
        do throws(SystemError) {
            try files.file(of: generation)?.keepOpen()
            try fileSystem.unlink(path)
        } catch {
            if !error.meansMissing { options.onRecovery(.fileLeftBehind(path: path, error)) }
        }
        removeDirectory(layout.directory(hash: hash))
    }

    public func dropUncommitted(_ generation: GenerationID, key: ResourceKey, fileExtension: String) throws(StoreError) {
        let isNamed = try read { (index) throws(StoreError) in
            try index.translating { (index) throws(SQLiteError) in try index.file(of: generation) } != nil
        }
        if !isNamed { drop(generation, key: key, fileExtension: fileExtension) }
    }

    /// Unlinks the file of a generation that is out of the index. Its open handles go on reading it.
    func retire(_ retired: StoreIndex.Retired) {
        files.retire(retired.generation)
        unlink(path(of: retired), of: retired.generation)
    }

    /// Unlinks every data file with a number below `next`; younger ones are of fetches that began meanwhile.
    func unlinkDataFiles(below next: Int64) {
        for group in layout.groups(on: fileSystem, onTrouble: noteUnlistable) {
            for directory in layout.directories(ofGroup: group, on: fileSystem, onTrouble: noteUnlistable) {
                for file in layout.dataFiles(in: directory, on: fileSystem, onTrouble: noteUnlistable)
                where file.generation.rawValue < next {
                    unlink(file.path, of: file.generation)
                }
                removeDirectory(directory)
            }
        }
    }

    /// Removes a directory if it is empty; a generation that was not committed yet may have a file in it.
    func removeDirectory(_ path: String) {
        do throws(SystemError) { try fileSystem.removeDirectory(path) } catch {
            if !error.meansMissing && !error.meansNotEmpty { options.onRecovery(.fileLeftBehind(path: path, error)) }
        }
    }

    /// A directory that can't be listed keeps what is in it.
    func noteUnlistable(_ path: String, _ error: SystemError) {
        if !error.meansMissing { options.onRecovery(.fileLeftBehind(path: path, error)) }
    }

    // MARK: A damaged index

    /// Leaves a mark for the next opening when a call found the index to contradict itself.
    func noteDamage(_ error: StoreError) {
        guard isWritable, case .index(let code, let message) = error, SQLiteError.isCorruption(code) else { return }
        do throws(SystemError) {
            _ = try fileSystem.open(layout.damageMark, .create)
        } catch {
            options.onRecovery(.fileLeftBehind(path: layout.damageMark, error))
        }
        options.onRecovery(.indexDamaged(reason: message))
    }
}
