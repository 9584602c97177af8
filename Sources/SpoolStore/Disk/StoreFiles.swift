import SpoolCore
import SpoolLibc
import SpoolSystem

/// The data files of a store: opens, creates, measures and unlinks them.
///
/// The methods that unlink are used inside index calls only. All others may be called on any
/// thread, but `file(of:)` for one generation one at a time.
final class StoreFiles: Sendable {
    let layout: StoreLayout
    let fileSystem: any FileSystem
    /// The table of the open files.
    let open: OpenDataFiles
    let options: SQLiteStore.Options
    let role: Locked<StoreRole>
    let numbers: GenerationNumbers
    let sealedParts: SealedFileParts
    /// Files that have left the index and could not be unlinked. Used inside index calls only.
    let leftBehind = Confined<[(path: String, generation: GenerationID)]>([], name: "index calls")

    init(
        _ layout: StoreLayout, on fileSystem: any FileSystem, _ options: SQLiteStore.Options, role: Locked<StoreRole>,
        numbers: GenerationNumbers, sealedParts: SealedFileParts
    ) {
        self.layout = layout
        self.fileSystem = fileSystem
        self.options = options
        self.role = role
        self.numbers = numbers
        self.sealedParts = sealedParts
        open = OpenDataFiles(limits: options.openFiles)
    }

    private var isWritable: Bool { role.withLock { $0.lock != nil } }
    private var keys: StoreKeys? { role.withLock { $0.keys } }

    /// Returns the open file of a generation, or opens it. Creates an empty file when it is missing
    /// and the store is writable.
    func file(
        of generation: GenerationID, key: ResourceKey, fileExtension: String
    ) throws(StoreError) -> StoreDataFile {
        guard !open.isClosed else { throw .closed }
        if role.withLock({ $0.isSuspended }) { throw .suspended }
        // A process that became the writer can't use a file that it opened for reading only.
        if let file = open.file(of: generation), file.isWritable || !isWritable {
            do throws(SystemError) { _ = try file.use() } catch { throw StoreError(error) }
            return file
        }
        // Read once: another thread may rotate the store's key meanwhile. Generations that already
        // exist keep their key.
        let keys = keys?.media(of: generation)
        let hash = keys?.hash(of: key) ?? options.keyHash(key.string)
        let path = path(of: generation, hash: hash, fileExtension: fileExtension)
        let kept = try keptHandle(of: generation, path)
        let handle = if let kept { kept } else { try openHandle(path, of: generation, in: layout.directory(hash: hash)) }
        let sealing = keys.map { keys in
            FileSealing(
                key: key, sealer: PieceSealer(keys: keys, keyHash: hash, generation: generation, random: sealedParts.random),
                shared: sealedParts)
        }
        let status: FileStatus
        do throws(SystemError) { status = try handle.status() } catch { throw StoreError(error) }
        let name = DataFileID(generation: generation, keyHash: hash, fileExtension: fileExtension)
        let file = StoreDataFile(
            named: name, path: path, handle: handle, status: status, table: open, fileSystem: fileSystem, isWritable: isWritable,
            sealing: sealing)
        open.opened(file, handle)
        return file
    }

    /// Returns a handle of the file that is still open, unless another program has removed or
    /// replaced the file's name.
    private func keptHandle(of generation: GenerationID, _ path: String) throws(StoreError) -> (any FileHandle)? {
        guard let kept = open.handle(of: generation, isWritable: isWritable) else { return nil }
        do throws(SystemError) {
            guard let named = try fileSystem.statusOfName(path), try named.identity == kept.status().identity else { return nil }
            return kept
        } catch { throw StoreError(error) }
    }

    private func openHandle(
        _ path: String, of generation: GenerationID, in directory: String
    ) throws(StoreError) -> any FileHandle {
        // After a crash, a number beyond the reserved ones could be handed out again, for another
        // resource.
        guard !isWritable || numbers.isReserved(generation) else { throw .readOnly }
        let handle: any FileHandle
        let isShared: Bool
        do throws(SystemError) {
            handle = try open.opening { () throws(SystemError) in
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
        let isStranger = generation.rawValue >= numbers.first && !open.wasOpened(generation) && status.size > 0
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
            open.entryCreated(in: directory)
        }
    }

    // MARK: Names

    /// Returns the hash that names the directory of a generation's file: a plain hash, or one that
    /// needs the key that seals the generation.
    func hash(of key: ResourceKey, _ generation: GenerationID) -> [UInt8] {
        keys?.media(of: generation)?.hash(of: key) ?? options.keyHash(key.string)
    }

    /// Returns the path of a generation's data file. The name of an encrypted file has no extension,
    /// so it does not reveal the type of the file.
    func path(of generation: GenerationID, hash: [UInt8], fileExtension: String) -> String {
        layout.dataFile(hash: hash, generation: generation, fileExtension: keys?.media(of: generation) == nil ? fileExtension : "")
    }

    func path(of file: DataFileID) -> String {
        path(of: file.generation, hash: file.keyHash, fileExtension: file.fileExtension)
    }
}
