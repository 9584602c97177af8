import CSpoolSystem
import SpoolCore
import SpoolLibc

/// The system's file system. Files get mode 0600 and directories 0700, so that other users can't
/// see which media were played.
package final class POSIXFileSystem: FileSystem {
    /// Creates an access to the file system; it is stateless.
    package init() {}

    /// Opens a regular file. Throws `EISDIR` for a directory, and `ELOOP` for a symbolic link that
    /// is to be opened for writing.
    package func open(_ path: String, _ mode: FileOpenMode) throws(SystemError) -> any FileHandle {
        let flags: Int32 =
            switch mode {
            case .read: O_RDONLY
            // Another user who can write to the directory could lead the bytes elsewhere.
            case .readWrite: O_RDWR | O_NOFOLLOW
            case .create: O_RDWR | O_CREAT | O_NOFOLLOW
            }
        let number = try systemCall("open", on: path) { spool_open(path, flags, 0o600) }
        let handle = POSIXFileHandle(FileDescriptor(owning: number), path: path)
        // A directory can be opened for reading, and fails only at the first read.
        if try handle.status().isDirectory { throw SystemError(code: EISDIR, operation: "open", subject: path) }
        return handle
    }

    /// Creates a file that only its owner can read, replaces any file of that name, and opens it
    /// for writing.
    ///
    /// If other users can write to the directory, they may have placed a file or a link under that
    /// name to receive the bytes. The method unlinks it, and never opens or follows it.
    package func createPrivate(_ path: String) throws(SystemError) -> any FileHandle {
        try unlinkIfPresent(path)
        let number = try systemCall("open", on: path) { spool_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600) }
        let file = FileDescriptor(owning: number)
        // In some shared directories, files get their mode from the directory (ACLs).
        _ = try systemCall("fchmod", on: path) { fchmod(number, 0o600) }
        return POSIXFileHandle(file, path: path)
    }

    /// Creates a directory and its missing parents with mode 0700. Succeeds when it already exists.
    package func createDirectory(_ path: String) throws(SystemError) {
        switch attemptSystemCall({ mkdir(path, 0o700) }) {
        case .success: return
        case .failure(EEXIST):
            if try status(path)?.isDirectory != true { throw SystemError(code: EEXIST, operation: "mkdir", subject: path) }
        case .failure(ENOENT):
            guard let parent = parentDirectory(of: path) else { throw SystemError(code: ENOENT, operation: "mkdir", subject: path) }
            try createDirectory(parent)
            // Another thread or process may have created it meanwhile.
            if case .failure(let code) = attemptSystemCall({ mkdir(path, 0o700) }), code != EEXIST {
                throw SystemError(code: code, operation: "mkdir", subject: path)
            }
        case .failure(let code): throw SystemError(code: code, operation: "mkdir", subject: path)
        }
    }

    /// Removes a file.
    package func unlink(_ path: String) throws(SystemError) {
        _ = try systemCall("unlink", on: path) { SpoolLibc.unlink(path) }
    }

    /// Removes an empty directory.
    package func removeDirectory(_ path: String) throws(SystemError) {
        _ = try systemCall("rmdir", on: path) { rmdir(path) }
    }

    /// Renames a file and replaces an existing one.
    package func rename(_ from: String, to: String) throws(SystemError) {
        _ = try systemCall("rename", on: from) { SpoolLibc.rename(from, to) }
    }

    /// Makes the entries of a directory durable.
    package func synchronizeDirectory(_ path: String) throws(SystemError) {
        let number = try systemCall("open", on: path) { spool_open(path, O_RDONLY | O_DIRECTORY, 0) }
        let directory = FileDescriptor(owning: number)
        _ = try systemCall("fsync", on: path) { fsync(directory.rawValue) }
    }

    /// Returns the names in a directory, sorted.
    package func list(_ path: String) throws(SystemError) -> [String] {
        let directory = try openDirectory(path)
        defer { spool_close_directory(directory) }
        return try withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(SPOOL_NAME_CAPACITY)) { buffer throws(SystemError) in
            var names: [String] = []
            while try systemCall("readdir", on: path, { spool_next_name(directory, buffer.baseAddress) }) == 1 {
                guard let start = buffer.baseAddress else { break }
                names.append(String(cString: start))
            }
            return names.sorted()
        }
    }

    /// Returns the status of a file, or nil when it does not exist.
    package func status(_ path: String) throws(SystemError) -> FileStatus? {
        try status(path, "stat") { stat(path, $0) }
    }

    /// Returns the status of a name without following a symbolic link, or nil when it does not
    /// exist.
    package func statusOfName(_ path: String) throws(SystemError) -> FileStatus? {
        try status(path, "lstat") { lstat(path, $0) }
    }

    private func status(
        _ path: String, _ operation: String, _ call: (UnsafeMutablePointer<stat>) -> Int32
    ) throws(SystemError) -> FileStatus? {
        var value = stat()
        switch attemptSystemCall({ call(&value) }) {
        case .success: return FileStatus(value)
        case .failure(ENOENT), .failure(ENOTDIR): return nil
        case .failure(let code): throw SystemError(code: code, operation: operation, subject: path)
        }
    }

    /// Returns the free space that an unprivileged user has, in bytes.
    package func freeBytes(_ path: String) throws(SystemError) -> Int64? {
        var value = statvfs()
        _ = try systemCall("statvfs", on: path) { statvfs(path, &value) }
        return Int64(clamping: value.f_bavail).multipliedSaturated(by: Int64(clamping: value.f_frsize))
    }
}

private func openDirectory(_ path: String) throws(SystemError) -> UnsafeMutableRawPointer {
    var directory: UnsafeMutableRawPointer?
    _ = try systemCall("opendir", on: path) { () -> Int32 in
        directory = spool_open_directory(path)
        return directory == nil ? -1 : 0
    }
    guard let directory else { throw SystemError(code: EIO, operation: "opendir", subject: path) }
    return directory
}

extension FileStatus {
    init(_ value: stat) {
        #if canImport(Darwin)
        let modified = value.st_mtimespec
        #else
        let modified = value.st_mtim
        #endif
        self.init(
            size: Int64(value.st_size), allocatedBytes: Int64(value.st_blocks) * 512, isDirectory: value.st_mode & S_IFMT == S_IFDIR,
            isRegular: value.st_mode & S_IFMT == S_IFREG, linkCount: Int(value.st_nlink),
            modified: Timestamp(
                nanoseconds: Int64(modified.tv_sec).multipliedSaturated(by: 1_000_000_000).addingSaturated(Int64(modified.tv_nsec))),
            identity: FileIdentity(device: UInt64(truncatingIfNeeded: value.st_dev), number: UInt64(value.st_ino)))
    }
}

/// Returns the parent directory of a path, or nil for the root and for names without a directory.
package func parentDirectory(of path: String) -> String? {
    guard let slash = path.lastIndex(of: "/") else { return nil }
    let parent = path[..<slash]
    if parent.isEmpty { return path == "/" ? nil : "/" }
    return String(parent)
}
