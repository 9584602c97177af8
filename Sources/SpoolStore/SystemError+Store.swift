import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

extension SystemError {
    /// Whether the disk, or this user's share of it, has no room.
    var meansFull: Bool { code == ENOSPC || code == EDQUOT }
    /// Whether the process, or the system, has no descriptor left.
    var meansNoDescriptor: Bool { code == EMFILE || code == ENFILE }
    /// Whether nothing is there.
    var meansMissing: Bool { code == ENOENT || code == ENOTDIR }
    /// Whether a directory could not be removed because something is in it.
    var meansNotEmpty: Bool { code == ENOTEMPTY || code == EEXIST }
    /// Whether the file system knows no holes.
    var meansNoHoles: Bool { code == ENOTSUP || code == EOPNOTSUPP }
    /// Whether the file system holds no file of that size.
    var meansTooLarge: Bool { code == EFBIG }
    /// Whether the disk takes no changes from us.
    var meansReadOnly: Bool { code == EROFS || code == EACCES || code == EPERM }
}

extension SystemError {
    /// Whether bytes that could not be read for this reason are lost: the disk can't read them, or their file is another one, or gone.
    var losesBytes: Bool { meansBrokenDisk || code == ESTALE || meansMissing }
}

extension StoreError {
    /// What a failure of the file system means to the store's caller.
    init(_ error: SystemError) {
        self = error.meansFull ? .full : error.meansTooLarge ? .tooLarge : .io(error)
    }
}
