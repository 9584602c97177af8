package import SpoolCore

/// The part of a file system that the store uses; blocking calls, to be made on a lane.
///
/// Implemented by `POSIXFileSystem` and, for simulation, by `SpoolTesting`'s faulty in-memory disk.
/// Paths are absolute and use `/`.
package protocol FileSystem: AnyObject, Sendable {
    /// Opens or creates a regular file.
    func open(_ path: String, _ mode: FileOpenMode) throws(SystemError) -> any FileHandle
    /// Creates a directory and those above it that are missing, with mode 0700.
    func createDirectory(_ path: String) throws(SystemError)
    /// Removes a file. `ENOENT` when it does not exist.
    func unlink(_ path: String) throws(SystemError)
    /// Removes an empty directory.
    func removeDirectory(_ path: String) throws(SystemError)
    /// Renames, replacing what is there.
    func rename(_ from: String, to: String) throws(SystemError)
    /// Makes a directory's entries durable.
    func synchronizeDirectory(_ path: String) throws(SystemError)
    /// The names in a directory without `.` and `..`, sorted.
    func list(_ path: String) throws(SystemError) -> [String]
    /// Size, allocation and kind, or nil when nothing is there.
    func status(_ path: String) throws(SystemError) -> FileStatus?
    /// The same of the name itself: of a symbolic link, and not of the file that it leads to.
    func statusOfName(_ path: String) throws(SystemError) -> FileStatus?
    /// Bytes that the file system has left for us, or nil when it can't tell.
    func freeBytes(_ path: String) throws(SystemError) -> Int64?
}

package enum FileOpenMode: Sendable {
    /// An existing file, for reading.
    case read
    /// An existing file, for reading and writing.
    case readWrite
    /// A file that is created when it is missing (mode 0600), for reading and writing.
    case create
}

package struct FileStatus: Hashable, Sendable {
    /// The apparent size in bytes.
    package var size: Int64
    /// What the file occupies on disk, in bytes (`st_blocks` × 512).
    package var allocatedBytes: Int64
    package var isDirectory: Bool
    /// Neither a directory nor a pipe, a device, a socket.
    package var isRegular: Bool
    /// How many names the file has.
    package var linkCount: Int
    /// When the bytes were changed last, as the file system tells; 0 where it does not.
    package var modified: Timestamp
    /// What tells the file from all others of this machine while it exists; nil where nothing does.
    package var identity: FileIdentity?

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

/// A file by the number of its file system and its own in there.
package struct FileIdentity: Hashable, Sendable {
    package var device: UInt64
    package var number: UInt64
}

/// An open file. Closed when the last reference goes.
///
/// Safe to use from several threads: no call has a position of its own.
package protocol FileHandle: AnyObject, Sendable {
    /// The descriptor, for `sendfile`; nil where there is none (a fake).
    var descriptor: Int32? { get }
    /// Fills as much of `buffer` as there is; returns the number of bytes, 0 at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int
    /// Writes all of `bytes`.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError)
    /// Sets the apparent size; growing makes a hole.
    func truncate(to size: Int64) throws(SystemError)
    /// Gives the whole file-system blocks inside the range back to the file system; they read as zeros.
    /// `ENOTSUP` where holes do not exist.
    func punchHole(at offset: Int64, count: Int64) throws(SystemError)
    /// Asks the system to start writing to the disk what a later ``synchronize(full:)`` waits for. A wish: it promises nothing and reports nothing.
    func startWriteback()
    /// Makes written data durable (`fdatasync`; F_BARRIERFSYNC on Apple, or F_FULLFSYNC when `full`).
    func synchronize(full: Bool) throws(SystemError)
    /// Size and allocation now.
    func status() throws(SystemError) -> FileStatus
    /// Takes an advisory lock on the whole file (`flock`), without waiting; false when another holder prevents it.
    ///
    /// A handle that asks for another kind than it has gives up the one it has first, and is left with none when this answers false
    /// (Linux; elsewhere it may keep it): who tried in vain for an exclusive lock takes the shared one again.
    func lock(_ kind: FileLock) throws(SystemError) -> Bool
}

package enum FileLock: Sendable {
    case shared, exclusive, none
}
