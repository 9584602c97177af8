import SpoolCore
import SpoolLibc
import SpoolSystem

/// The data file of one generation. `LOCK_SH` on its open handle shows other processes that the
/// file is in use.
///
/// `OpenDataFiles` closes the handles of files that were not used lately, so that a store needs few
/// descriptors. The next call that needs a handle opens the file again. Only the writing process
/// does so, because no other process changes its files meanwhile.
final class StoreDataFile: DataFile {
    let generation: GenerationID
    /// The name that opens the file again.
    private let name: DataFileID
    private let path: String
    private let fileSystem: any FileSystem
    private let table: OpenDataFiles
    /// The era in which the file was opened. A file of an earlier era is neither read nor written.
    let era: Int
    let isWritable: Bool
    /// Distinguishes the file from another one that took its name.
    private let identity: FileIdentity?
    /// A lower limit of the file's size, unless another program truncated the file.
    private let size: Locked<Int64>
    private let slot: Locked<Slot>
    /// Nil for a plain file.
    let sealing: FileSealing?

    /// Keeps a handle open, for the file and for answers. `OpenDataFiles` has a weak reference to the
    /// handle, and so each strong one costs as much as a lock. To this object there are strong ones
    /// only.
    private final class OpenHandle: Sendable {
        let handle: any FileHandle
        let descriptor: Int32?

        init(_ handle: any FileHandle) {
            self.handle = handle
            descriptor = handle.descriptor
        }
    }

    private struct Slot {
        /// Nil while the file is closed.
        var open: OpenHandle?
        /// Whether the file was used since `OpenDataFiles` last asked it to close.
        var wasUsed = true
        /// Whether `OpenDataFiles` counts the file among those that it may close.
        var isCounted: Bool
    }

    init(
        named name: DataFileID, path: String, handle: any FileHandle, status: FileStatus, table: OpenDataFiles,
        fileSystem: any FileSystem, isWritable: Bool, sealing: FileSealing? = nil
    ) {
        size = Locked(status.size)
        identity = status.identity
        generation = name.generation
        self.name = name
        self.path = path
        self.fileSystem = fileSystem
        slot = Locked(Slot(open: OpenHandle(handle), isCounted: isWritable))
        self.sealing = sealing
        self.table = table
        era = table.era
        self.isWritable = isWritable
        if sealing == nil { handle.disableReadAhead() }
    }

    deinit { table.closed(generation, counted: slot.withLock { $0.isCounted } ? ObjectIdentifier(self) : nil) }

    /// Nil for a sealed file, because its bytes must be opened first. Nil as well while the store
    /// is suspended, because another process may then punch the file.
    var descriptor: OpenDescriptor? {
        guard sealing == nil, isUsable, let open, let number = open.descriptor else { return nil }
        return OpenDescriptor(number, owner: open)
    }

    private var isUsable: Bool { table.isUsable(era) }

    // MARK: The handle

    /// The handle if the file is open. Never blocks.
    var openHandle: (any FileHandle)? { open?.handle }

    private var open: OpenHandle? {
        slot.withLock { slot in
            slot.wasUsed = true
            return slot.open
        }
    }

    /// Returns the handle, and opens the file again when it was closed. May block on the disk.
    func use() throws(SystemError) -> any FileHandle {
        if let handle = openHandle { return handle }
        let opened = if let kept = table.handle(of: generation, isWritable: isWritable) { kept } else { try reopen() }
        let (handle, mustCount) = slot.withLock { slot -> (any FileHandle, Bool) in
            // Another thread may have opened the file meanwhile.
            if let handle = slot.open?.handle { return (handle, false) }
            slot.open = OpenHandle(opened)
            slot.isCounted = isWritable
            return (opened, isWritable)
        }
        if mustCount { table.reopened(self, handle) }
        // The store may have been suspended meanwhile. Then either the walk over the open files
        // found this handle, or this check releases its lock.
        if !isUsable { _ = try handle.lock(.none) }
        return handle
    }

    private func reopen() throws(SystemError) -> any FileHandle {
        let handle = try table.opening { () throws(SystemError) in try fileSystem.open(path, isWritable ? .readWrite : .read) }
        guard try handle.status().identity == identity else {
            throw SystemError(code: ESTALE, operation: "open", subject: "\(path), which another program has replaced")
        }
        guard try handle.lock(.shared) else {
            throw SystemError(code: EWOULDBLOCK, operation: "flock", subject: path)
        }
        // The bytes of a sealed file never go to `sendfile`.
        if sealing == nil { handle.disableReadAhead() }
        return handle
    }

    /// The answer of a file that `OpenDataFiles` asks to close.
    enum Closing {
        /// The file is closed, now or since an earlier call.
        case closed(wasCounted: Bool)
        /// The file was used since the last request.
        case used
    }

    /// Closes the file unless it was used since the last call. A response that is being sent from
    /// the file keeps the handle until it ends.
    func closeIfUnused() -> Closing { close { $0.wasUsed } }

    /// Closes the file, even if it was used.
    func close() -> Closing { close { _ in false } }

    private func close(unless mayStay: (Slot) -> Bool) -> Closing {
        let (closing, open) = slot.withLock { slot -> (Closing, OpenHandle?) in
            guard slot.isCounted else { return (.closed(wasCounted: false), nil) }
            defer { slot.wasUsed = false }
            guard !mayStay(slot) else { return (.used, nil) }
            defer {
                slot.open = nil
                slot.isCounted = false
            }
            return (.closed(wasCounted: true), slot.open)
        }
        // Closed outside the lock.
        withExtendedLifetime(open) {}
        return closing
    }

    /// Keeps the handle open from now on, because the file's name is about to be unlinked.
    /// Afterwards only the handle gives access to the bytes.
    func keepOpen() throws(SystemError) {
        let handle = try use()
        let wasCounted = slot.withLock { slot in
            defer { slot.isCounted = false }
            slot.open = OpenHandle(handle)
            return slot.isCounted
        }
        if wasCounted { table.uncount(self) }
    }

    // MARK: Bytes

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) -> [Piece] {
        try write(bytes, at: offset, isSyncedByPoint: true)
    }

    /// Writes all of `bytes`.
    ///
    /// - Parameter isSyncedByPoint: whether the next durable point syncs the file. Otherwise the
    ///   caller syncs it before it enters the bytes.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64, isSyncedByPoint: Bool) throws(StoreError) -> [Piece] {
        guard isWritable else { throw .readOnly }
        guard !table.isClosed else { throw .closed }
        guard isUsable else { throw .suspended }
        guard let range = ByteRange(offset, offset + Int64(bytes.count)) else { return [] }
        // The check or seal is computed before the write, because it has to detect any change that
        // the disk makes to the bytes.
        let handle: any FileHandle
        do throws(SystemError) { handle = try use() } catch { throw StoreError(error) }
        let checks: PieceChecks
        if let sealing {
            checks = try seal(bytes, at: offset, sealing) { (bytes, offset) throws(StoreError) in
                try write(bytes, at: offset, to: handle)
            }
        } else {
            checks = CRC32CBytes.checks(of: bytes, at: offset)
            try write(bytes, at: offset, to: handle)
        }
        // This call comes after the write and before the commit of the bytes. If it came before the
        // write, a durable point between the two would lose the bytes. That point syncs the file
        // and removes it from the list, so the next point skips it.
        if isSyncedByPoint { table.wrote(name, handle) }
        return [Piece(range: range, checks: checks)]
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64, to handle: any FileHandle) throws(StoreError) {
        do throws(SystemError) {
            try checkSize(of: handle)
            try handle.write(bytes, at: offset)
        } catch { throw StoreError(error) }
        size.withLock { $0 = max($0, offset + Int64(bytes.count)) }
    }

    /// Refuses to write to a file that another program has truncated. A write beyond its end would
    /// turn the missing stored bytes into zeros.
    private func checkSize(of handle: any FileHandle) throws(SystemError) {
        let now = try handle.status().size
        guard now >= size.withLock({ $0 }) else {
            throw SystemError(code: ESTALE, operation: "write", subject: "a data file that another program has cut to \(now) bytes")
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
        guard isUsable else { throw .suspended }
        if let sealing { return try readSealed(into: buffer, at: offset, sealing) }
        do throws(SystemError) { return try use().read(into: buffer, at: offset) } catch { throw StoreError(error) }
    }

    func readResident(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        guard isUsable else { return 0 }
        if let sealing { return readResidentSealed(into: buffer, at: offset, sealing) }
        guard let descriptor else { return 0 }
        defer { withExtendedLifetime(descriptor) {} }
        return SpoolSystem.readResident(descriptor: descriptor.number, into: buffer, offset: offset)
    }

    func admit(_ pieces: [Piece]) -> [Damage] {
        if let sealing { return admitSealed(pieces, sealing) }
        return damage(in: pieces)
    }

    func damage(in pieces: [Piece]) -> [Damage] {
        if let sealing { return damageOfSealed(in: pieces, sealing) }
        return damageOfPlain(in: pieces, with: table.checkBuffers)
    }

    func punch(_ range: ByteRange) throws(StoreError) -> Bool {
        guard let whole = range.wholeBlocks else { return false }
        return try freeing { (handle) throws(SystemError) in try handle.punchHole(at: whole.lowerBound, count: whole.count) }
    }

    /// Runs a change that frees disk space of the file.
    ///
    /// - Returns: false when another process reads the file, when it has a name outside the store,
    ///   when another program has cut it, or when the file system has no holes.
    @discardableResult
    private func freeing(_ change: (any FileHandle) throws(SystemError) -> Void) throws(StoreError) -> Bool {
        guard isWritable else { throw .readOnly }
        guard !table.isClosed else { throw .closed }
        guard isUsable else { throw .suspended }
        do throws(SystemError) {
            let handle = try use()
            let status = try handle.status()
            // A second name outside the store must keep all bytes of the file.
            guard status.linkCount <= 1 else { return false }
            // A file that another program has cut ends inside a folio of the page cache. Freeing
            // the last block would fill that folio with zeros under clients that still have to get
            // its bytes.
            guard status.size >= size.withLock({ $0 }) else { return false }
            guard try handle.lock(.exclusive) else {
                // Another process reads the file. A failed request for the exclusive lock releases
                // the shared one, so take that again.
                _ = try handle.lock(.shared)
                return false
            }
            var failure: SystemError?
            do throws(SystemError) { try change(handle) } catch { failure = error }
            _ = try handle.lock(.shared)
            if let failure { throw failure }
            return true
        } catch {
            if error.meansNoHoles { return false }
            throw StoreError(error)
        }
    }

    /// Returns the status of the file, open or closed.
    ///
    /// - Throws: `ENOENT` when the file is closed and its name is gone, or belongs to another
    ///   program's file.
    func status() throws(SystemError) -> FileStatus {
        if let handle = openHandle { return try handle.status() }
        if let named = try fileSystem.statusOfName(path), named.isRegular, named.identity == identity { return named }
        throw SystemError(code: ENOENT, operation: "stat", subject: path)
    }

    // MARK: Other processes

    /// Whether no other process has the file open. The shared lock is held again afterwards.
    func holdsAlone() throws(SystemError) -> Bool {
        let handle = try use()
        let isAlone = try handle.lock(.exclusive)
        _ = try handle.lock(.shared)
        return isAlone
    }

    /// Releases the lock, because the process will be suspended.
    func unlock() throws(SystemError) { _ = try openHandle?.lock(.none) }

    /// Takes the lock again. A closed file takes it when it is next opened.
    ///
    /// - Returns: false when another process is changing the file.
    func takeBack() throws(SystemError) -> Bool { try openHandle?.lock(.shared) != false }
}
