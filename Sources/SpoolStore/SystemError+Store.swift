import SpoolLibc
import SpoolSystem

extension SystemError {
    /// Whether the process or the system is out of descriptors.
    var meansNoDescriptor: Bool { code == EMFILE || code == ENFILE }
    /// Whether the file or directory does not exist.
    var meansMissing: Bool { code == ENOENT || code == ENOTDIR }
    /// Whether a directory could not be removed because it is not empty.
    var meansNotEmpty: Bool { code == ENOTEMPTY || code == EEXIST }
    /// Whether the file system does not support holes.
    var meansNoHoles: Bool { code == ENOTSUP || code == EOPNOTSUPP }
    /// Whether the file system does not support a file of that size.
    var meansTooLarge: Bool { code == EFBIG }
    /// Whether this process may not change the disk.
    var meansReadOnly: Bool { code == EROFS || code == EACCES || code == EPERM }
}

extension SystemError {
    /// Whether bytes that could not be read with this error are lost: the disk can't read them, or
    /// their file is missing or was replaced, by a link or another file.
    var losesBytes: Bool { meansBrokenDisk || code == ESTALE || code == ELOOP || meansMissing }
}

extension StoreError {
    /// Converts a failure of the file system into the error that the store's caller gets.
    init(_ error: SystemError) {
        self = error.meansNoRoom ? .full : error.meansTooLarge ? .tooLarge : .io(error)
    }
}
