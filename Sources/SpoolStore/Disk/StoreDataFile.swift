import SpoolCore
import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The data file of one generation. `LOCK_SH` on its open handle tells other processes that it is in use.
///
/// `OpenDataFiles` closes the handles of files that were not used lately, so that a store takes few descriptors; the next call that needs
/// one opens it again. Only the process that writes does that: no other one changes its files meanwhile.
final class StoreDataFile: DataFile {
    let generation: GenerationID
    /// What it is opened anew by.
    private let name: StoreIndex.Retired
    private let path: String
    private let fileSystem: any FileSystem
    private let table: OpenDataFiles
    /// Since which suspension of the store it is open; a file of an earlier one is neither read nor written.
    let era: Int
    let isWritable: Bool
    /// Tells the file from another one that got its name.
    private let identity: FileIdentity?
    /// What the file has at least, unless somebody else cut it.
    private let size: Locked<Int64>
    private let slot: Locked<Slot>
    /// Nil for a plain file.
    private let sealing: FileSealing?

    private struct Slot {
        /// Nil while the file is closed.
        var handle: (any FileHandle)?
        /// Whether it was used since `OpenDataFiles` last asked.
        var wasUsed = true
        /// Whether `OpenDataFiles` counts it among those that it may close.
        var isCounted: Bool
    }

    init(
        named name: StoreIndex.Retired, path: String, handle: any FileHandle, status: FileStatus, table: OpenDataFiles,
        fileSystem: any FileSystem, isWritable: Bool, sealing: FileSealing? = nil
    ) {
        size = Locked(status.size)
        identity = status.identity
        generation = name.generation
        self.name = name
        self.path = path
        self.fileSystem = fileSystem
        slot = Locked(Slot(handle: handle, isCounted: isWritable))
        self.sealing = sealing
        self.table = table
        era = table.era
        self.isWritable = isWritable
    }

    deinit { table.closed(generation, counted: slot.withLock { $0.isCounted } ? ObjectIdentifier(self) : nil) }

    /// Nothing may be sent as it lies on the disk when it is sealed, nor while the store is suspended: another process may punch it then.
    var descriptor: OpenDescriptor? {
        guard sealing == nil, isUsable, let handle = openHandle, let number = handle.descriptor else { return nil }
        return OpenDescriptor(number, owner: handle)
    }

    private var isUsable: Bool { table.isUsable(era) }

    // MARK: The handle

    /// The handle if the file is open. Never blocks.
    var openHandle: (any FileHandle)? {
        slot.withLock { slot in
            slot.wasUsed = true
            return slot.handle
        }
    }

    /// The handle, of a file that is opened again when it was closed. May block on the disk.
    func use() throws(SystemError) -> any FileHandle {
        if let handle = openHandle { return handle }
        let opened = if let kept = table.handle(of: generation, isWritable: isWritable) { kept } else { try reopen() }
        let (handle, mustCount) = slot.withLock { slot -> (any FileHandle, Bool) in
            // Another thread may have opened it meanwhile.
            if let handle = slot.handle { return (handle, false) }
            slot.handle = opened
            slot.isCounted = isWritable
            return (opened, isWritable)
        }
        if mustCount { table.reopened(self, handle) }
        // The store was suspended meanwhile: either its walk over the open files has found this one, or this finds that out.
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
        return handle
    }

    /// The answer to `OpenDataFiles`, which asks a file to close.
    enum Closing {
        /// It was closed, now or before.
        case closed(wasCounted: Bool)
        /// It was used since it was asked last.
        case used
    }

    /// Closes the file unless it was used since the last call. Who sends from it at this moment holds the handle until that is over.
    func closeIfUnused() -> Closing { close { $0.wasUsed } }

    /// Closes the file, used or not.
    func close() -> Closing { close { _ in false } }

    private func close(unless mayStay: (Slot) -> Bool) -> Closing {
        let (closing, handle) = slot.withLock { slot -> (Closing, (any FileHandle)?) in
            guard slot.isCounted else { return (.closed(wasCounted: false), nil) }
            defer { slot.wasUsed = false }
            guard !mayStay(slot) else { return (.used, nil) }
            defer {
                slot.handle = nil
                slot.isCounted = false
            }
            return (.closed(wasCounted: true), slot.handle)
        }
        // Closed outside the lock.
        withExtendedLifetime(handle) {}
        return closing
    }

    /// The file's name goes: from now on its bytes can be had by the handle only.
    func keepOpen() throws(SystemError) {
        let handle = try use()
        let wasCounted = slot.withLock { slot in
            defer { slot.isCounted = false }
            slot.handle = handle
            return slot.isCounted
        }
        if wasCounted { table.uncount(self) }
    }

    // MARK: Bytes

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) -> [Piece] {
        guard isWritable else { throw .readOnly }
        guard !table.isClosed else { throw .closed }
        guard isUsable else { throw .suspended }
        guard let range = ByteRange(offset, offset + Int64(bytes.count)) else { return [] }
        // Checked or sealed before they are written: what the disk makes of them is what the check is for.
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
        // After the write and before the commit that claims its bytes. Noted before the write, the bytes would be lost to a
        // durable point that comes between the two: it syncs, strikes the file off, and the next one skips it.
        table.wrote(name, handle)
        return [Piece(range: range, checks: checks)]
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64, to handle: any FileHandle) throws(StoreError) {
        do throws(SystemError) {
            try checkSize(of: handle)
            try handle.write(bytes, at: offset)
        } catch { throw StoreError(error) }
        size.withLock { $0 = max($0, offset + Int64(bytes.count)) }
    }

    /// Refuses to write to a file that another program has cut: a write beyond its end would make stored bytes of what is missing, zeros.
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

    /// Of sealed bytes. Plain ones have a descriptor, whose user knows himself what is in the page cache.
    func readResident(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        guard let sealing, isUsable else { return 0 }
        return readResidentSealed(into: buffer, at: offset, sealing)
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

    func release(allBut kept: ByteRangeSet) throws(StoreError) {
        let blocks = kept.ranges.map(\.widenedToBlocks)
        let end = blocks.last?.upperBound ?? 0
        try freeing { (handle) throws(SystemError) in
            guard try handle.status().size > end else { return }
            // Behind its end a file has no zeros that a mistaken read could take for bytes.
            size.withLock { $0 = min($0, end) }
            try handle.truncate(to: end)
        }
        guard let whole = ByteRange(0, end) else { return }
        for gap in ByteRangeSet([whole]).subtracting(ByteRangeSet(blocks)).ranges { _ = try punch(gap) }
    }

    /// Runs a change that gives room of the file back; false where that may not be, or files have no holes.
    @discardableResult
    private func freeing(_ change: (any FileHandle) throws(SystemError) -> Void) throws(StoreError) -> Bool {
        guard isWritable else { throw .readOnly }
        guard !table.isClosed else { throw .closed }
        guard isUsable else { throw .suspended }
        do throws(SystemError) {
            let handle = try use()
            // The file has a name outside the store as well: what goes here would be missing there.
            guard try handle.status().linkCount <= 1 else { return false }
            guard try handle.lock(.exclusive) else {
                // Another process reads it. Who asked in vain has lost the lock that it had.
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

    /// The state of the file, open or not. `ENOENT` when it is closed and its name is gone, or another program's file has it.
    func status() throws(SystemError) -> FileStatus {
        if let handle = openHandle { return try handle.status() }
        if let named = try fileSystem.status(path), !named.isDirectory, named.identity == identity { return named }
        throw SystemError(code: ENOENT, operation: "stat", subject: path)
    }

    // MARK: Other processes

    /// Whether no other process has the file open. Afterwards it is locked as it was.
    func holdsAlone() throws(SystemError) -> Bool {
        let handle = try use()
        let isAlone = try handle.lock(.exclusive)
        _ = try handle.lock(.shared)
        return isAlone
    }

    /// Lets go of the lock, because the process will be suspended.
    func letGo() throws(SystemError) { _ = try openHandle?.lock(.none) }

    /// Takes the lock again; false when another process is just changing the file. A closed file takes it when it is opened again.
    func takeBack() throws(SystemError) -> Bool { try openHandle?.lock(.shared) ?? true }
}
