import CSpoolSystem
import SpoolCore
import SpoolLibc

/// A user's file that is written under a temporary name in its directory, and renamed when it is
/// complete.
///
/// An unfinished draft is deleted. The calls block, and callers make them one after the other.
package final class FileDraft: Sendable {
    /// The initial contents of a draft.
    package enum InitialContents {
        /// No bytes.
        case empty
        /// A clone of this open file. Fails when the file system does not support clones.
        case clone(of: Int32)
        /// A hard link to the file at `path`, if that file has this identity. Fails when it has
        /// another one, or when the two paths are on different file systems.
        case link(to: String, FileIdentity)
    }

    /// The final path of the file.
    package let path: String
    private let draftPath: String
    private let handle: POSIXFileHandle
    private let isFinished = Locked(false)

    /// The permissions of a new file, before the process's mask.
    private static let permissions: UInt32 = 0o666
    /// The permissions of a clone, to which no mask applies on Darwin: readable by all users, as
    /// with most masks.
    private static let clonePermissions: UInt32 = {
        #if canImport(Darwin)
        0o644
        #else
        permissions
        #endif
    }()

    /// Creates the draft of a file at `path`.
    ///
    /// - Parameter tag: a random number that distinguishes the drafts of one directory.
    package init(path: String, tag: UInt64, contents: InitialContents) throws(SystemError) {
        self.path = path
        let draftPath = "\(Self.directory(of: path))/.spool-\(String(tag, radix: 16)).part"
        self.draftPath = draftPath
        let number: Int32
        switch contents {
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
            // Another file may have taken the name a moment ago.
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

    /// Deletes the file unless it is finished. Further calls are ignored. The bytes can still be
    /// read and written.
    package func discard() {
        let mustUnlink = isFinished.withLock { !exchange(&$0, with: true) }
        if mustUnlink { Self.unlinkQuietly(draftPath) }
    }

    // A file that can't be deleted stays visible in its directory. There is no remedy here.
    private static func unlinkQuietly(_ path: String) { _ = attemptSystemCall { unlink(path) } }

    // MARK: Filling

    /// Writes `bytes` at `offset`.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) { try handle.write(bytes, at: offset) }

    /// Returns at most `count` bytes from `offset`, and fewer only at the end of the file.
    package func bytes(_ offset: Int64, _ count: Int) throws(SystemError) -> [UInt8] { try handle.bytes(offset, count) }

    /// Sets the size of the file.
    package func truncate(to size: Int64) throws(SystemError) { try handle.truncate(to: size) }

    /// Returns the status of the file.
    package func status() throws(SystemError) -> FileStatus { try handle.status() }

    /// Copies bytes of an open file to the same offset of this one inside the kernel.
    ///
    /// - Returns: false when the system can't do so. Some of the bytes may then have been copied.
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

    /// The errors which mean that the kernel can't copy between the two files, or has no such call.
    private static let meansNoCopy: Set<Int32> = [ENOSYS, ENOTSUP, EOPNOTSUPP, EXDEV, EINVAL, EBADF, EPERM]

    // MARK: Finishing

    /// Makes the bytes durable, then renames the file to its final name.
    ///
    /// - Throws: `EEXIST` when the name is taken and `isReplacing` is false.
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

/// Returns the status of an open file.
package func fileStatus(ofDescriptor descriptor: Int32) throws(SystemError) -> FileStatus {
    var value = stat()
    _ = try systemCall("fstat") { fstat(descriptor, &value) }
    return FileStatus(value)
}

extension SystemError {
    /// Returns the error for a name that is already taken.
    package static func exists(_ path: String) -> SystemError { SystemError(code: EEXIST, operation: "create", subject: path) }

    /// Returns the error for a name that belongs to a directory, a pipe or a device instead of a
    /// file.
    package static func isNoFile(_ path: String, _ status: FileStatus, _ operation: String) -> SystemError {
        SystemError(code: status.isDirectory ? EISDIR : EINVAL, operation: operation, subject: path)
    }

    /// Whether the name is already taken.
    package var meansExists: Bool { code == EEXIST }
    /// Whether the disk, or this user's share of it, is full.
    package var meansNoRoom: Bool { code == ENOSPC || code == EDQUOT }
}
