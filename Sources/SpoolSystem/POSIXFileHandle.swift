import CSpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// An open file of the system.
package final class POSIXFileHandle: FileHandle {
    private let file: FileDescriptor
    private let path: String

    /// Takes over an open descriptor; `path` is for error messages.
    package init(_ file: consuming FileDescriptor, path: String) {
        self.file = file
        self.path = path
    }

    package var descriptor: Int32? { file.rawValue }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let position = off_t(offset) + off_t(done)
            let count = try systemCall("pread", on: path) { pread(file.rawValue, rest.baseAddress, rest.count, position) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// The most that one call writes, in bytes; each call ends at a multiple of it, the last one perhaps before.
    ///
    /// Linux takes a block of page cache as large as the write, and no larger than its place in the file is aligned. Large ones are dear in a
    /// guest that gives free memory back to its host (free page reporting): they are what it gave back. Calls cost next to nothing
    /// beside that (Benchmarks/README.md, `fresh-pages`). Small ones cost with every later `sendfile`.
    private static let bytesPerWrite = 128 * 1024

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let position = off_t(offset) + off_t(done)
            let beforeBoundary = Self.bytesPerWrite - Int(position % off_t(Self.bytesPerWrite))
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...].prefix(beforeBoundary))
            let count = try systemCall("pwrite", on: path) { pwrite(file.rawValue, rest.baseAddress, rest.count, position) }
            // A call that writes nothing and reports nothing would keep this loop for ever.
            if count == 0 { throw SystemError(code: EIO, operation: "pwrite", subject: path) }
            done += count
        }
    }

    package func truncate(to size: Int64) throws(SystemError) {
        _ = try systemCall("ftruncate", on: path) { ftruncate(file.rawValue, off_t(size)) }
    }

    package func punchHole(at offset: Int64, count: Int64) throws(SystemError) {
        guard count > 0 else { return }
        _ = try systemCall("punch hole", on: path) { spool_punch_hole(file.rawValue, offset, count) }
    }

    package func startWriteback() {
        _ = spool_start_writeback(file.rawValue)
    }

    package func synchronize(full: Bool) throws(SystemError) {
        _ = try systemCall("fdatasync", on: path) { spool_synchronize(file.rawValue, full ? 1 : 0) }
    }

    package func status() throws(SystemError) -> FileStatus {
        var value = stat()
        _ = try systemCall("fstat", on: path) { fstat(file.rawValue, &value) }
        return FileStatus(value)
    }

    package func lock(_ kind: FileLock) throws(SystemError) -> Bool {
        let kindCode: Int32 =
            switch kind {
            case .none: 0
            case .shared: 1
            case .exclusive: 2
            }
        switch attemptSystemCall({ spool_flock(file.rawValue, kindCode) }) {
        case .success: return true
        case .failure(EWOULDBLOCK): return false
        case .failure(let code): throw SystemError(code: code, operation: "flock", subject: path)
        }
    }
}
