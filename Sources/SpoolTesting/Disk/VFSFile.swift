import SpoolSystem

#if os(Linux)
import CSQLite
#else
import SQLite3
#endif

/// The record that SQLite allocates for an open file: SQLite's header, then the reference to the
/// `VFSFile`.
struct VFSFileRecord {
    var header: sqlite3_file
    var file: Unmanaged<VFSFile>?
}

/// Extended result codes. They are C macros with a shift, which Swift does not import.
enum VFSCode {
    static let read = SQLITE_IOERR | 1 << 8
    static let shortRead = SQLITE_IOERR | 2 << 8
    static let write = SQLITE_IOERR | 3 << 8
    static let sync = SQLITE_IOERR | 4 << 8
    static let truncate = SQLITE_IOERR | 6 << 8
    static let status = SQLITE_IOERR | 7 << 8
    static let delete = SQLITE_IOERR | 10 << 8
    static let access = SQLITE_IOERR | 13 << 8
    static let close = SQLITE_IOERR | 16 << 8
    static let deleteNoEntry = SQLITE_IOERR | 23 << 8
}

/// A file that SQLite opened through `SimulatedVFS`.
final class VFSFile {
    private let handle: any FileHandle
    private let path: String
    private let fileSystem: any FileSystem
    /// Whether the file is new. Its directory must then be synced together with its first sync.
    private var mustSyncDirectory: Bool
    private let isDeletedOnClose: Bool

    /// The smallest unit of a sync. SQLite assumes that a write of less may be torn.
    private static let sectorBytes: Int32 = 4_096

    init(handle: any FileHandle, path: String, fileSystem: any FileSystem, mustSyncDirectory: Bool, isDeletedOnClose: Bool) {
        self.handle = handle
        self.path = path
        self.fileSystem = fileSystem
        self.mustSyncDirectory = mustSyncDirectory
        self.isDeletedOnClose = isDeletedOnClose
    }

    /// Returns the table of calls that SQLite makes on an open file. Version 1: no shared memory,
    /// no memory mapping.
    static func methods() -> sqlite3_io_methods {
        var table = sqlite3_io_methods()
        table.iVersion = 1
        table.xClose = { VFSFile.close($0) }
        table.xRead = { file, output, count, offset in VFSFile.of(file).read(output, count, offset) }
        table.xWrite = { file, input, count, offset in VFSFile.of(file).write(input, count, offset) }
        table.xTruncate = { file, size in VFSFile.of(file).truncate(size) }
        table.xSync = { file, flags in VFSFile.of(file).sync(flags) }
        table.xFileSize = { file, size in VFSFile.of(file).size(size) }
        // There is only one connection: see `SimulatedVFS`.
        table.xLock = { _, _ in SQLITE_OK }
        table.xUnlock = { _, _ in SQLITE_OK }
        table.xCheckReservedLock = { _, answer in
            answer?.pointee = 0
            return SQLITE_OK
        }
        table.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
        table.xSectorSize = { _ in VFSFile.sectorBytes }
        table.xDeviceCharacteristics = { _ in 0 }
        return table
    }

    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> VFSFile {
        guard let file else { preconditionFailure("SQLite named no file") }
        return file.withMemoryRebound(to: VFSFileRecord.self, capacity: 1) { record in
            guard let file = record.pointee.file else { preconditionFailure("SQLite used a closed file") }
            return file.takeUnretainedValue()
        }
    }

    private static func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
        guard let file else { return SQLITE_MISUSE }
        return file.withMemoryRebound(to: VFSFileRecord.self, capacity: 1) { record in
            defer { record.pointee.file = nil }
            return record.pointee.file?.takeRetainedValue().deleteIfTemporary() ?? SQLITE_OK
        }
    }

    private func deleteIfTemporary() -> Int32 {
        guard isDeletedOnClose else { return SQLITE_OK }
        return Self.code(VFSCode.close) { () throws(SystemError) in try fileSystem.unlink(path) }
    }

    // MARK: Calls

    private func read(_ output: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64) -> Int32 {
        let buffer = UnsafeMutableRawBufferPointer(start: output, count: Int(count))
        var filled = 0
        let code = Self.code(VFSCode.read) { () throws(SystemError) in
            while filled < buffer.count {
                let got = try handle.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), at: offset + Int64(filled))
                if got == 0 { break }
                filled += got
            }
        }
        guard code == SQLITE_OK else { return code }
        guard filled < buffer.count else { return SQLITE_OK }
        // "If xRead() returns SQLITE_IOERR_SHORT_READ it must also fill in the unread portions of
        // the buffer with zeros."
        UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).initializeMemory(as: UInt8.self, repeating: 0)
        return VFSCode.shortRead
    }

    private func write(_ input: UnsafeRawPointer?, _ count: Int32, _ offset: Int64) -> Int32 {
        Self.code(VFSCode.write) { () throws(SystemError) in
            try handle.write(UnsafeRawBufferPointer(start: input, count: Int(count)), at: offset)
        }
    }

    private func truncate(_ size: Int64) -> Int32 {
        Self.code(VFSCode.truncate) { () throws(SystemError) in try handle.truncate(to: size) }
    }

    private func sync(_ flags: Int32) -> Int32 {
        Self.code(VFSCode.sync) { () throws(SystemError) in
            try handle.synchronize(full: flags & 0x0F == SQLITE_SYNC_FULL)
            guard mustSyncDirectory else { return }
            try fileSystem.synchronizeDirectory(parentDirectory(of: path) ?? "/")
            mustSyncDirectory = false
        }
    }

    private func size(_ size: UnsafeMutablePointer<Int64>?) -> Int32 {
        Self.code(VFSCode.status) { () throws(SystemError) in size?.pointee = try handle.status().size }
    }

    /// Returns the result code of a call on the disk: `failure` for an error, but SQLITE_FULL for a
    /// full disk.
    private static func code(_ failure: Int32, _ body: () throws(SystemError) -> Void) -> Int32 {
        do throws(SystemError) {
            try body()
            return SQLITE_OK
        } catch {
            return error.meansNoRoom ? SQLITE_FULL : failure
        }
    }
}
