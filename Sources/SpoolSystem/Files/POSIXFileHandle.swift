import CSpoolSystem
import SpoolLibc

/// An open file of the system.
package final class POSIXFileHandle: FileHandle {
    private let file: FileDescriptor
    private let path: String

    /// Takes over an open descriptor. `path` is for error messages.
    package init(_ file: consuming FileDescriptor, path: String) {
        self.file = file
        self.path = path
    }

    /// The number of the descriptor.
    package var descriptor: Int32? { file.rawValue }

    /// Reads with `pread` until `buffer` is full or the file ends. Returns the number of bytes.
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

    /// The maximum size of one write, in bytes: a block of a data file. Each write ends at a
    /// multiple of it, or at the end of the bytes.
    ///
    /// Linux allocates blocks of page cache (folios) as large as the write, but at most as large as
    /// the alignment of its offset. They must not be larger than what ``punchHole(at:count:)``
    /// frees. Linux takes a whole folio out of the cache, and bytes of it that a socket still has
    /// to send stay as they are. Of a folio that is freed in part, it fills that part with zeros,
    /// also those that a socket still has to send.
    ///
    /// Large folios are also expensive in a guest that returns free memory to its host (free page
    /// reporting), because they are the blocks that it has returned. The additional calls cost
    /// almost nothing in comparison (Benchmarks/README.md, `fresh-pages`). Smaller writes would
    /// cost time with every later `sendfile`.
    private static let bytesPerWrite = 64 * 1024

    /// Writes all of `bytes` with `pwrite`.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let position = off_t(offset) + off_t(done)
            let beforeBoundary = Self.bytesPerWrite - Int(position % off_t(Self.bytesPerWrite))
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...].prefix(beforeBoundary))
            let count = try systemCall("pwrite", on: path) { pwrite(file.rawValue, rest.baseAddress, rest.count, position) }
            // A call that writes nothing and reports no error would make this loop endless.
            if count == 0 { throw SystemError(code: EIO, operation: "pwrite", subject: path) }
            done += count
        }
    }

    /// Sets the size of the file.
    package func truncate(to size: Int64) throws(SystemError) {
        _ = try systemCall("ftruncate", on: path) { ftruncate(file.rawValue, off_t(size)) }
    }

    /// Frees the whole blocks inside the range.
    package func punchHole(at offset: Int64, count: Int64) throws(SystemError) {
        guard count > 0 else { return }
        _ = try systemCall("punch hole", on: path) { spool_punch_hole(file.rawValue, offset, count) }
    }

    /// Asks the system to read only as much as each call needs.
    package func disableReadAhead() {
        _ = spool_advise_random(file.rawValue)
    }

    /// Asks the system to start writing to the disk.
    package func startWriteback() {
        _ = spool_start_writeback(file.rawValue)
    }

    /// Makes written data durable.
    package func synchronize(full: Bool) throws(SystemError) {
        _ = try systemCall("fdatasync", on: path) { spool_synchronize(file.rawValue, full ? 1 : 0) }
    }

    /// Returns the current status.
    package func status() throws(SystemError) -> FileStatus {
        var value = stat()
        _ = try systemCall("fstat", on: path) { fstat(file.rawValue, &value) }
        return FileStatus(value)
    }

    /// Takes or releases a lock without waiting. Returns false when another holder prevents it.
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
