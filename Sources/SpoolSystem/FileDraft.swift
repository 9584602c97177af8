import CSpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A file of the user's that comes into being under a temporary name beside its own, and takes that when it is whole.
///
/// Nothing is left of one that is not finished. Blocking calls, made one after the other.
package final class FileDraft: Sendable {
    /// How a draft begins.
    package enum Beginning {
        /// With nothing in it.
        case empty
        /// As a clone of this open file. Fails where the file system knows no clones.
        case clone(of: Int32)
        /// As another name of the file at `path`, if it is the one that has this identity. Fails where it isn't, or the two places are
        /// on different file systems.
        case link(to: String, FileIdentity)
    }

    /// The name that it takes at the end.
    package let path: String
    private let draftPath: String
    private let handle: POSIXFileHandle
    private let isFinished = Locked(false)

    /// The rights of a file that is made, less what the process masks.
    private static let permissions: UInt32 = 0o666
    /// The rights of a clone, which has no mask: everyone may read it, as most masks have it.
    private static let clonePermissions: UInt32 = {
        #if canImport(Darwin)
        0o644
        #else
        permissions
        #endif
    }()

    /// Makes the draft of a file at `path`.
    ///
    /// - Parameter tag: tells the drafts of one directory apart; random.
    package init(path: String, tag: UInt64, beginning: Beginning) throws(SystemError) {
        self.path = path
        let draftPath = "\(Self.directory(of: path))/.spool-\(String(tag, radix: 16)).part"
        self.draftPath = draftPath
        let number: Int32
        switch beginning {
        case .empty:
            number = try systemCall("open", on: draftPath) { spool_open(draftPath, O_RDWR | O_CREAT | O_EXCL, Self.permissions) }
        case .clone(let source):
            number = try systemCall("clone", on: draftPath) { spool_clone(source, draftPath, Self.clonePermissions) }
        case .link(let source, let identity):
            _ = try systemCall("link", on: draftPath) { link(source, draftPath) }
            number = try Self.openLinked(draftPath, identity)
        }
        handle = POSIXFileHandle(FileDescriptor(owning: number), path: draftPath)
    }

    private static func openLinked(_ path: String, _ identity: FileIdentity) throws(SystemError) -> Int32 {
        do throws(SystemError) {
            // What had the name a moment ago may have made room for another file.
            guard try POSIXFileSystem().status(path)?.identity == identity else {
                throw SystemError(code: ESTALE, operation: "link", subject: path)
            }
            return try systemCall("open", on: path) { spool_open(path, O_RDWR, 0) }
        } catch {
            unlinkQuietly(path)
            throw error
        }
    }

    deinit { discard() }

    /// Takes the file away, unless it is finished; harmless when repeated. Its bytes can still be read and written.
    package func discard() {
        let mustUnlink = isFinished.withLock { isFinished in
            defer { isFinished = true }
            return !isFinished
        }
        if mustUnlink { Self.unlinkQuietly(draftPath) }
    }

    // What can't be taken away is seen by who looks into the directory; nobody could do anything about it here.
    private static func unlinkQuietly(_ path: String) { _ = attemptSystemCall { unlink(path) } }

    // MARK: Filling

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) { try handle.write(bytes, at: offset) }

    package func truncate(to size: Int64) throws(SystemError) { try handle.truncate(to: size) }

    package func status() throws(SystemError) -> FileStatus { try handle.status() }

    /// Copies bytes of an open file to the same place in this one without bringing them into the process; false, and nothing is promised
    /// of what is there, where the system can't.
    package func copy(from source: Int32, at offset: Int64, count: Int64) throws(SystemError) -> Bool {
        guard let target = handle.descriptor else { return false }
        var done: Int64 = 0
        while done < count {
            let part = Int(clamping: count - done)
            let position = offset + done
            switch attemptSystemCall({ spool_copy_range(source, target, position, part) }) {
            case .success(0): return false
            case .success(let copied): done += copied
            case .failure(let code) where Self.meansNoCopy.contains(code): return false
            case .failure(let code): throw SystemError(code: code, operation: "copy_file_range", subject: draftPath)
            }
        }
        return true
    }

    /// The two files can't be copied inside the kernel, or it has no such call.
    private static let meansNoCopy: Set<Int32> = [ENOSYS, ENOTSUP, EOPNOTSUPP, EXDEV, EINVAL, EBADF, EPERM]

    // MARK: Finishing

    /// Makes the bytes durable, then gives the file its name. `EEXIST` when that is taken and nothing is to be replaced.
    package func finish(isReplacing: Bool) throws(SystemError) {
        try handle.synchronize(full: false)
        if isReplacing {
            _ = try systemCall("rename", on: path) { rename(draftPath, path) }
        } else {
            _ = try systemCall("rename", on: path) { spool_rename_exclusive(draftPath, path) }
        }
        isFinished.withLock { $0 = true }
        try POSIXFileSystem().synchronizeDirectory(Self.directory(of: path))
    }

    private static func directory(of path: String) -> String { parentDirectory(of: path) ?? "." }
}

/// The state of an open file of the system.
package func fileStatus(ofDescriptor descriptor: Int32) throws(SystemError) -> FileStatus {
    var value = stat()
    _ = try systemCall("fstat") { fstat(descriptor, &value) }
    return FileStatus(value)
}

extension SystemError {
    /// There is a file of that name.
    package static func exists(_ path: String) -> SystemError { SystemError(code: EEXIST, operation: "create", subject: path) }

    /// What has that name is no file: a directory, a pipe, a device.
    package static func isNoFile(_ path: String, _ status: FileStatus, _ operation: String) -> SystemError {
        SystemError(code: status.isDirectory ? EISDIR : EINVAL, operation: operation, subject: path)
    }

    /// Whether there is a file of that name.
    package var meansExists: Bool { code == EEXIST }
    /// Whether the disk, or this user's share of it, has no room.
    package var meansNoRoom: Bool { code == ENOSPC || code == EDQUOT }
}
