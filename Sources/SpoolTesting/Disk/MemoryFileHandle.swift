import SpoolLibc
import SpoolSystem

/// An open file of a ``MemoryDisk``. It keeps the file alive after an unlink.
final class MemoryFileHandle: FileHandle {
    private let disk: MemoryDisk
    private let file: DiskTree.ID
    private let handle: Int
    private let path: String
    private let isWritable: Bool

    init(disk: MemoryDisk, file: DiskTree.ID, handle: Int, path: String, isWritable: Bool) {
        self.disk = disk
        self.file = file
        self.handle = handle
        self.path = path
        self.isWritable = isWritable
    }

    deinit {
        disk.close(file, handle: handle)
    }

    var descriptor: Int32? { nil }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try disk.read(file, path, into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try checkWritable("pwrite", code: EBADF)
        try disk.write(file, path, bytes, at: offset)
    }

    func truncate(to size: Int64) throws(SystemError) {
        try checkWritable("ftruncate", code: EINVAL)
        try disk.truncate(file, path, to: size)
    }

    func punchHole(at offset: Int64, count: Int64) throws(SystemError) {
        try checkWritable("punch hole", code: EBADF)
        try disk.punchHole(file, path, at: offset, count: count)
    }

    /// Does nothing: there is no page cache.
    func disableReadAhead() {}

    /// Does nothing: bytes whose write-back has begun may be lost like all others.
    func startWriteback() {}

    func synchronize(full: Bool) throws(SystemError) {
        try disk.synchronize(file, path)
    }

    func status() throws(SystemError) -> FileStatus {
        try disk.status(file, path)
    }

    func lock(_ kind: FileLock) throws(SystemError) -> Bool {
        try disk.lock(file, path, handle: handle, kind)
    }

    private func checkWritable(_ operation: String, code: Int32) throws(SystemError) {
        if !isWritable { throw SystemError(code: code, operation: operation, subject: path) }
    }
}
