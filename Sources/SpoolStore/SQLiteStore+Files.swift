package import SpoolCore
import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

// Opening, checking and unlinking data files.

extension SQLiteStore {
    /// Returns the open file of a generation, or opens it. Creates an empty file when it is missing
    /// and the store is writable.
    package func dataFile(
        of generation: GenerationID, key: ResourceKey, fileExtension: String
    ) throws(StoreError) -> any DataFile {
        guard !files.isClosed else { throw .closed }
        if role.withLock({ $0.isSuspended }) { throw .suspended }
        // A process that became the writer can't use a file that it opened for reading only.
        if let open = files.file(of: generation), open.isWritable || !isWritable {
            do throws(SystemError) { _ = try open.use() } catch { throw StoreError(error) }
            return open
        }
        // Read once: another thread may rotate the store's key meanwhile. Generations that already
        // exist keep their key.
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
        let name = DataFileID(generation: generation, keyHash: hash, fileExtension: fileExtension)
        let file = StoreDataFile(
            named: name, path: path, handle: handle, status: status, table: files, fileSystem: fileSystem, isWritable: isWritable,
            sealing: sealing)
        files.opened(file, handle)
        return file
    }

    /// Returns a handle of the file that is still open, unless another program has removed or
    /// replaced the file's name.
    private func keptHandle(of generation: GenerationID, _ path: String) throws(StoreError) -> (any FileHandle)? {
        guard let kept = files.handle(of: generation, isWritable: isWritable) else { return nil }
        do throws(SystemError) {
            guard let named = try fileSystem.statusOfName(path), try named.identity == kept.status().identity else { return nil }
            return kept
        } catch { throw StoreError(error) }
    }

    private func open(
        _ path: String, of generation: GenerationID, in directory: String
    ) throws(StoreError) -> any FileHandle {
        // After a crash, a number beyond the reserved ones could be handed out again, for another
        // resource.
        guard !isWritable || numbers.isReserved(generation) else { throw .readOnly }
        let handle: any FileHandle
        let isShared: Bool
        do throws(SystemError) {
            handle = try files.opening { () throws(SystemError) in
                try isWritable ? create(path, of: generation, in: directory) : fileSystem.open(path, .read)
            }
            isShared = try handle.lock(.shared)
        } catch { throw StoreError(error) }
        // Another process holds the file exclusively only when it is about to punch or unlink it.
        guard isShared else { throw .locked(by: nil) }
        return handle
    }

    private func create(
        _ path: String, of generation: GenerationID, in directory: String
    ) throws(SystemError) -> any FileHandle {
        try refuseLink(directory)
        guard let status = try fileSystem.statusOfName(path) else { return try createNew(path, in: directory) }
        // Another program has put a link here. Bytes that are written through it would go into a
        // file outside the store.
        guard status.isRegular || status.isDirectory else {
            try fileSystem.unlink(path)
            return try createNew(path, in: directory)
        }
        // A new number normally has no file. It has one when its reservation was lost:
        //
        // 1. A power loss took the transaction that reserved the number, or the index was set
        //    aside. The file stayed.
        // 2. The next opening hands the number out again.
        // 3. Bytes of the old file would fill the holes of the new one, without a difference that a
        //    reader could detect.
        let isStranger = generation.rawValue >= numbers.first && !files.wasOpened(generation) && status.size > 0
        if isStranger, status.linkCount > 1 {
            // An exported hard link to this file keeps its bytes.
            try fileSystem.unlink(path)
            return try createNew(path, in: directory)
        }
        let handle = try fileSystem.open(path, .readWrite)
        if isStranger { try handle.truncate(to: 0) }
        return handle
    }

    /// Refuses a directory of the store that is a symbolic link, because its files would lie
    /// elsewhere. The directory `data` itself may be one.
    private func refuseLink(_ directory: String) throws(SystemError) {
        for path in [parentDirectory(of: directory) ?? layout.data, directory] {
            guard let status = try fileSystem.statusOfName(path), !status.isDirectory else { continue }
            throw SystemError(code: ELOOP, operation: "open", subject: "\(path), which is a link and no directory of the store")
        }
    }

    private func createNew(_ path: String, in directory: String) throws(SystemError) -> any FileHandle {
        try fileSystem.createDirectory(directory)
        let handle: any FileHandle
        do throws(SystemError) { handle = try fileSystem.open(path, .create) } catch {
            // Another lane has just unlinked the last file of the directory and then removed the
            // directory. This does not happen twice.
            guard error.meansMissing else { throw error }
            try fileSystem.createDirectory(directory)
            handle = try fileSystem.open(path, .create)
        }
        noteNewEntries(in: directory)
        return handle
    }

    /// Records new directory entries, from the file's directory up to the store's. The names become
    /// durable when the next durable point syncs these directories.
    func noteNewEntries(in directory: String) {
        for directory in [directory, parentDirectory(of: directory) ?? layout.data, layout.data, layout.root] {
            files.entryCreated(in: directory)
        }
    }

    /// Returns the hash that names the directory of a generation's file: a plain hash, or one that
    /// needs the key that seals the generation.
    func fileHash(of key: ResourceKey, _ generation: GenerationID) -> [UInt8] {
        keys?.media(of: generation).hash(of: key) ?? options.keyHash(key.string)
    }

    /// Returns the path of a generation's data file. In an encrypted store the name has no
    /// extension, so it does not reveal the type of the file.
    func path(of generation: GenerationID, hash: [UInt8], fileExtension: String) -> String {
        layout.dataFile(hash: hash, generation: generation, fileExtension: keys == nil ? fileExtension : "")
    }

    func path(of file: DataFileID) -> String {
        path(of: file.generation, hash: file.keyHash, fileExtension: file.fileExtension)
    }

    // MARK: Checking

    /// Returns an entry of the index, clipped to the bytes that its file really has.
    func checked(_ entry: EntryQuery.Entry, _ index: StoreIndex) throws(StoreError) -> StoredResource {
        var resource = entry.resource
        guard let end = resource.spans.upperBound else { return resource }
        // The hash is computed again only when the file may be named by another key than the row.
        let hash = keys?.previous == nil ? entry.keyHash : fileHash(of: resource.key, resource.generation)
        let path = path(of: resource.generation, hash: hash, fileExtension: resource.fileExtension)
        let status = try fileStatus(path, of: resource.generation)
        let size = status?.size ?? 0
        guard size < end else { return resource }
        if isWritable {
            // A check that covers lost bytes can't verify the other bytes of its block, so the
            // block is removed as a whole.
            try index.clip(resource.generation, to: size, allocatedBytes: status?.allocatedBytes ?? 0)
            (resource.spans, resource.unverified) = try index.pieces.spans(of: resource.generation)
        } else if let lost = ByteRange(size, .max) {
            resource.spans.remove(lost)
            resource.unverified.remove(lost)
        }
        options.onRecovery(
            status == nil ? .dataFileMissing(resource.key) : .dataFileTruncated(resource.key, size: size))
        return resource
    }

    /// Returns the status of a commit's data file, or nil when there is none.
    func dataFileStatus(of commit: StoreCommit) throws(StoreError) -> FileStatus? {
        let isOpen = files.file(of: commit.generation) != nil
        // The hash of the key is needed only when the file is not open.
        let path =
            isOpen
            ? ""
            : path(of: commit.generation, hash: fileHash(of: commit.key, commit.generation), fileExtension: commit.fileExtension)
        return try fileStatus(path, of: commit.generation)
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
    private func fileStatus(_ path: String, of generation: GenerationID) throws(StoreError) -> FileStatus? {
        do throws(SystemError) {
            if let open = files.file(of: generation) {
                do throws(SystemError) { return try open.status() } catch {
                    if error.meansMissing { return nil }
                    throw error
                }
            }
            return try fileSystem.statusOfName(path).flatMap { $0.isRegular ? $0 : nil }
        } catch { throw StoreError(error) }
    }

    // MARK: Unlinking

    /// Retires a generation and unlinks its file. Removes its directory if that is empty.
    package func drop(_ generation: GenerationID, key: ResourceKey, fileExtension: String) {
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

    /// Drops a generation unless the index has it.
    package func dropUncommitted(_ generation: GenerationID, key: ResourceKey, fileExtension: String) throws(StoreError) {
        let isNamed = try read { (index) throws(StoreError) in
            try index.representations.file(of: generation) != nil
        }
        if !isNamed { drop(generation, key: key, fileExtension: fileExtension) }
    }

    /// Unlinks the file of a generation that is no longer in the index. Open handles can still read
    /// it.
    func retire(_ retired: DataFileID) {
        files.retire(retired.generation)
        unlink(path(of: retired), of: retired.generation)
    }

    /// Unlinks every data file with a number below `next`. Later files belong to fetches that began
    /// meanwhile.
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

    /// Removes a directory if it is empty. A generation that was not committed yet may have a file
    /// in it.
    func removeDirectory(_ path: String) {
        do throws(SystemError) { try fileSystem.removeDirectory(path) } catch {
            if !error.meansMissing && !error.meansNotEmpty { options.onRecovery(.fileLeftBehind(path: path, error)) }
        }
    }

    /// Reports a directory that can't be listed. Its files stay.
    func noteUnlistable(_ path: String, _ error: SystemError) {
        if !error.meansMissing { options.onRecovery(.fileLeftBehind(path: path, error)) }
    }

    // MARK: A damaged index

    /// Leaves a mark for the next opening when a call found a contradiction in the index.
    func noteDamage(_ error: StoreError) {
        guard isWritable, error.isCorruption, case .index(_, let message) = error else { return }
        do throws(SystemError) {
            _ = try fileSystem.open(layout.damageMark, .create)
        } catch {
            options.onRecovery(.fileLeftBehind(path: layout.damageMark, error))
        }
        options.onRecovery(.indexDamaged(reason: message))
    }
}
