import SpoolCore
import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The open data file of one generation; `LOCK_SH` on it tells other processes that it is in use.
final class StoreDataFile: DataFile {
    let generation: GenerationID
    let handle: any FileHandle
    /// What it is opened anew by.
    private let name: StoreIndex.Retired
    private let table: OpenDataFiles
    /// Since which suspension of the store it is open; a file of an earlier one is neither read nor written.
    let era: Int
    let isWritable: Bool
    /// What the file has at least, unless somebody else cut it.
    private let size: Locked<Int64>
    /// Nil for a plain file.
    private let sealing: FileSealing?

    init(
        named name: StoreIndex.Retired, handle: any FileHandle, size: Int64, table: OpenDataFiles, isWritable: Bool,
        sealing: FileSealing? = nil
    ) {
        self.size = Locked(size)
        generation = name.generation
        self.name = name
        self.handle = handle
        self.sealing = sealing
        self.table = table
        era = table.era
        self.isWritable = isWritable
    }

    deinit { table.closed(generation) }

    /// Nothing may be sent as it lies on the disk when it is sealed, nor while the store is suspended: another process may punch it then.
    var descriptor: Int32? { sealing == nil && isUsable ? handle.descriptor : nil }

    private var isUsable: Bool { table.isUsable(era) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) -> [Piece] {
        guard isWritable else { throw .readOnly }
        guard !table.isClosed else { throw .closed }
        guard isUsable else { throw .suspended }
        guard let range = ByteRange(offset, offset + Int64(bytes.count)) else { return [] }
        // Checked or sealed before they are written: what the disk makes of them is what the check is for.
        let checks: PieceChecks
        if let sealing {
            checks = try seal(bytes, at: offset, sealing, write: writeToDisk)
        } else {
            checks = CRC32CBytes.checks(of: bytes, at: offset)
            try writeToDisk(bytes, at: offset)
        }
        // After the write and before the commit that claims its bytes. Noted before the write, the bytes would be lost to a
        // durable point that comes between the two: it syncs, strikes the file off, and the next one skips it.
        table.wrote(name, handle)
        return [Piece(range: range, checks: checks)]
    }

    private func writeToDisk(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StoreError) {
        do throws(SystemError) {
            try checkSize()
            try handle.write(bytes, at: offset)
        } catch { throw StoreError(error) }
        size.withLock { $0 = max($0, offset + Int64(bytes.count)) }
    }

    /// Refuses to write to a file that another program has cut: a write beyond its end would make stored bytes of what is missing, zeros.
    private func checkSize() throws(SystemError) {
        let now = try handle.status().size
        guard now >= size.withLock({ $0 }) else {
            throw SystemError(code: ESTALE, operation: "write", subject: "a data file that another program has cut to \(now) bytes")
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
        guard isUsable else { throw .suspended }
        if let sealing { return try readSealed(into: buffer, at: offset, sealing) }
        do throws(SystemError) { return try handle.read(into: buffer, at: offset) } catch { throw StoreError(error) }
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
        guard isWritable else { throw .readOnly }
        guard !table.isClosed else { throw .closed }
        guard isUsable else { throw .suspended }
        guard let whole = range.wholeBlocks else { return false }
        do throws(SystemError) {
            // The file has a name outside the store as well: what is punched here would be missing there.
            guard try handle.status().linkCount <= 1 else { return false }
            guard try handle.lock(.exclusive) else {
                // Another process reads it. Who asked in vain has lost the lock that it had.
                _ = try handle.lock(.shared)
                return false
            }
            let failure = punchWhole(whole)
            _ = try handle.lock(.shared)
            if let failure { throw failure }
            return true
        } catch {
            if error.meansNoHoles { return false }
            throw StoreError(error)
        }
    }

    private func punchWhole(_ range: ByteRange) -> SystemError? {
        do throws(SystemError) { try handle.punchHole(at: range.lowerBound, count: range.count) } catch { return error }
        return nil
    }

    func status() throws(SystemError) -> FileStatus { try handle.status() }

    // MARK: Other processes

    /// Whether no other process has the file open. Afterwards it is locked as it was.
    func holdsAlone() throws(SystemError) -> Bool {
        let isAlone = try handle.lock(.exclusive)
        _ = try handle.lock(.shared)
        return isAlone
    }

    /// Lets go of the lock, because the process will be suspended.
    func letGo() throws(SystemError) { _ = try handle.lock(.none) }

    /// Takes the lock again; false when another process is just changing the file.
    func takeBack() throws(SystemError) -> Bool { try handle.lock(.shared) }
}
