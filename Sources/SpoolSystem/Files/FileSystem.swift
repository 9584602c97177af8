package import SpoolCore
import SpoolLibc

/// The part of a file system that the store uses. The calls block, and callers make them on a lane.
///
/// Implemented by `POSIXFileSystem` and, for simulation, by the faulty in-memory disk of
/// `SpoolTesting`. Paths are absolute and use `/`.
package protocol FileSystem: AnyObject, Sendable {
    /// Opens or creates a regular file.
    func open(_ path: String, _ mode: FileOpenMode) throws(SystemError) -> any FileHandle
    /// Creates a directory and its missing parents, with mode 0700.
    func createDirectory(_ path: String) throws(SystemError)
    /// Removes a file. Throws `ENOENT` when it does not exist.
    func unlink(_ path: String) throws(SystemError)
    /// Removes an empty directory.
    func removeDirectory(_ path: String) throws(SystemError)
    /// Renames a file and replaces an existing one.
    func rename(_ from: String, to: String) throws(SystemError)
    /// Makes the entries of a directory durable.
    func synchronizeDirectory(_ path: String) throws(SystemError)
    /// Returns the names in a directory without `.` and `..`, sorted.
    func list(_ path: String) throws(SystemError) -> [String]
    /// Returns size, allocation and kind of a file, or nil when it does not exist.
    func status(_ path: String) throws(SystemError) -> FileStatus?
    /// Returns the status of the name itself: of a symbolic link instead of its target.
    func statusOfName(_ path: String) throws(SystemError) -> FileStatus?
    /// Returns the free space that this process can use, in bytes, or nil when it is not known.
    func freeBytes(_ path: String) throws(SystemError) -> Int64?
}

/// The access with which a file is opened.
package enum FileOpenMode: Sendable {
    /// An existing file, for reading.
    case read
    /// An existing file, for reading and writing.
    case readWrite
    /// A file that is created when it is missing (mode 0600), for reading and writing.
    case create
}

/// The size, kind and identity of a file.
package struct FileStatus: Hashable, Sendable {
    /// The apparent size, in bytes.
    package var size: Int64
    /// The space that the file occupies on disk, in bytes (`st_blocks` × 512).
    package var allocatedBytes: Int64
    /// Whether it is a directory.
    package var isDirectory: Bool
    /// Whether it is a regular file, and not a directory, a pipe, a device or a socket.
    package var isRegular: Bool
    /// The number of names of the file.
    package var linkCount: Int
    /// The time of the last change of the bytes in the file system, or 0 when there is none.
    package var modified: Timestamp
    /// The identity of the file, unique on this machine while the file exists, if there is one.
    package var identity: FileIdentity?

    /// Creates a status. By default, everything that is not a directory is a regular file.
    package init(
        size: Int64, allocatedBytes: Int64, isDirectory: Bool, isRegular: Bool? = nil, linkCount: Int = 1,
        modified: Timestamp = Timestamp(nanoseconds: 0), identity: FileIdentity? = nil
    ) {
        self.size = size
        self.allocatedBytes = allocatedBytes
        self.isDirectory = isDirectory
        self.isRegular = isRegular ?? !isDirectory
        self.linkCount = linkCount
        self.modified = modified
        self.identity = identity
    }
}

/// The identity of a file: the number of its file system, and its number there.
package struct FileIdentity: Hashable, Sendable {
    /// The number of the file system.
    package var device: UInt64
    /// The number of the file in its file system.
    package var number: UInt64
}

/// An open file, closed when the last reference is released.
///
/// Safe to use from several threads: every call names its offset.
package protocol FileHandle: AnyObject, Sendable {
    /// The descriptor for `sendfile`, or nil when there is none (a fake).
    var descriptor: Int32? { get }
    /// Reads until `buffer` is full or the file ends. Returns the number of bytes, 0 at the end of
    /// the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int
    /// Writes all of `bytes`.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError)
    /// Sets the apparent size. Growing creates a hole.
    func truncate(to size: Int64) throws(SystemError)
    /// Frees the whole file-system blocks inside the range, which then read as zeros. Throws
    /// `ENOTSUP` when the file system has no holes.
    func punchHole(at offset: Int64, count: Int64) throws(SystemError)
    /// Asks the system to read only as much as each call needs. The call guarantees nothing and
    /// reports no error.
    ///
    /// With read-ahead, Linux makes folios of the page cache larger than a block of a data file.
    /// When a block is punched, such a folio is filled with zeros in part, and clients to which
    /// `sendfile` still has to send these bytes would get the zeros.
    func disableReadAhead()
    /// Asks the system to start writing to the disk, so that a later ``synchronize(full:)`` waits
    /// less. The call guarantees nothing and reports no error.
    func startWriteback()
    /// Makes written data durable (`fdatasync`; F_BARRIERFSYNC on Apple, or F_FULLFSYNC when
    /// `full`).
    func synchronize(full: Bool) throws(SystemError)
    /// Returns the current status.
    func status() throws(SystemError) -> FileStatus
    /// Takes an advisory lock on the whole file (`flock`), without waiting. Returns false when
    /// another holder prevents it.
    ///
    /// A handle that asks for another kind of lock releases its lock first, and has none when this
    /// returns false (Linux; other systems may keep it). After a failed request for an exclusive
    /// lock, the caller therefore takes the shared one again.
    func lock(_ kind: FileLock) throws(SystemError) -> Bool
}

extension FileHandle {
    /// Writes all of `bytes`.
    package func write(_ bytes: [UInt8], at offset: Int64) throws(SystemError) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(SystemError) -> Void in
            try write(UnsafeRawBufferPointer(buffer), at: offset)
        }
    }

    /// Returns at most `count` bytes from `offset`, and fewer only at the end of the file.
    package func bytes(_ offset: Int64, _ count: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withUnsafeMutableBufferPointer { (buffer) throws(SystemError) -> Int in
            try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
        bytes.removeLast(count - filled)
        return bytes
    }
}

extension FileSystem {
    /// Returns the bytes of a file, the first `limit` of them for a longer one.
    package func contents(of path: String, limit: Int) throws(SystemError) -> [UInt8] { try open(path, .read).bytes(0, limit) }

    /// Removes a file if there is one.
    package func unlinkIfPresent(_ path: String) throws(SystemError) {
        do throws(SystemError) { try unlink(path) } catch { if error.code != ENOENT { throw error } }
    }
}

/// The kinds of locks on a file.
package enum FileLock: Sendable {
    case shared, exclusive, none
}
