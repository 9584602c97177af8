import SpoolLibc
package import SpoolSystem

/// The calls of a file system that the store makes.
extension MemoryDisk: FileSystem {
    /// Opens a file, and creates it if the mode is `.create`.
    package func open(_ path: String, _ mode: FileOpenMode) throws(SystemError) -> any FileHandle {
        let (id, handle) = try perform(.open, "open", path) { state throws(DiskErrno) in
            let id = try Self.find(path, mode, &state)
            if state.tree.isDirectory(id) { throw DiskErrno(EISDIR) }
            let handle = state.nextHandle
            state.nextHandle += 1
            state.tree.nodes[id]?.handles.insert(handle)
            return (id, handle)
        }
        return MemoryFileHandle(disk: self, file: id, handle: handle, path: path, isWritable: mode != .read)
    }

    private static func find(_ path: String, _ mode: FileOpenMode, _ state: inout State) throws(DiskErrno) -> DiskTree.ID {
        do throws(DiskErrno) {
            return try state.tree.lookup(path)
        } catch {
            guard mode == .create, error.code == ENOENT else { throw error }
            try apply(.createFile(path), &state)
            return try state.tree.lookup(path)
        }
    }

    /// Creates a directory and those above it.
    package func createDirectory(_ path: String) throws(SystemError) {
        try perform(.createDirectory, "mkdir", path) { state throws(DiskErrno) in
            let names = try DiskTree.components(path)
            var prefix = ""
            for (index, name) in names.enumerated() {
                prefix += "/\(name)"
                do throws(DiskErrno) {
                    try Self.apply(.createDirectory(prefix), &state)
                } catch {
                    guard error.code == EEXIST else { throw error }
                    if try !state.tree.isDirectory(state.tree.lookup(prefix)) {
                        throw DiskErrno(index == names.count - 1 ? EEXIST : ENOTDIR)
                    }
                }
            }
        }
    }

    /// Removes the name of a file. Open handles keep the file.
    package func unlink(_ path: String) throws(SystemError) {
        try perform(.unlink, "unlink", path) { state throws(DiskErrno) in try Self.apply(.unlink(path), &state) }
    }

    /// Removes an empty directory.
    package func removeDirectory(_ path: String) throws(SystemError) {
        try perform(.removeDirectory, "rmdir", path) { state throws(DiskErrno) in try Self.apply(.removeDirectory(path), &state) }
    }

    /// Renames a file or directory, and replaces a file of the new name.
    package func rename(_ from: String, to: String) throws(SystemError) {
        try perform(.rename, "rename", from) { state throws(DiskErrno) in try Self.apply(.rename(from, to: to), &state) }
    }

    /// Makes the names in a directory durable.
    package func synchronizeDirectory(_ path: String) throws(SystemError) {
        try perform(.synchronizeDirectory, "fsync", path) { state throws(DiskErrno) in
            try Self.apply(.synchronizeDirectory(path), &state)
        }
    }

    /// Returns the names in a directory, sorted.
    package func list(_ path: String) throws(SystemError) -> [String] {
        try perform(.list, "opendir", path) { state throws(DiskErrno) in
            try state.tree.directory(state.tree.lookup(path)).entries.keys.sorted()
        }
    }

    /// Returns the status of a name. There are no symbolic links here.
    package func statusOfName(_ path: String) throws(SystemError) -> FileStatus? { try status(path) }

    /// Returns the status of a file or directory, if there is one.
    package func status(_ path: String) throws(SystemError) -> FileStatus? {
        try perform(.status, "stat", path) { state throws(DiskErrno) in
            do throws(DiskErrno) {
                return try Self.status(of: state.tree.lookup(path), state)
            } catch {
                if error.code == ENOENT || error.code == ENOTDIR { return nil }
                throw error
            }
        }
    }

    /// Returns the free bytes by the capacity of the plan, if it has one.
    package func freeBytes(_ path: String) throws(SystemError) -> Int64? {
        try perform(.status, "statvfs", path) { state throws(DiskErrno) in
            _ = try state.tree.lookup(path)
            return state.injector.plan.capacityBytes.map { max(0, $0 - state.tree.allocatedBytes) }
        }
    }
}
