package import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// What the store asks of a file system.
extension MemoryDisk: FileSystem {
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

    package func unlink(_ path: String) throws(SystemError) {
        try perform(.unlink, "unlink", path) { state throws(DiskErrno) in try Self.apply(.unlink(path), &state) }
    }

    package func removeDirectory(_ path: String) throws(SystemError) {
        try perform(.removeDirectory, "rmdir", path) { state throws(DiskErrno) in try Self.apply(.removeDirectory(path), &state) }
    }

    package func rename(_ from: String, to: String) throws(SystemError) {
        try perform(.rename, "rename", from) { state throws(DiskErrno) in try Self.apply(.rename(from, to: to), &state) }
    }

    package func synchronizeDirectory(_ path: String) throws(SystemError) {
        try perform(.synchronizeDirectory, "fsync", path) { state throws(DiskErrno) in
            try Self.apply(.synchronizeDirectory(path), &state)
        }
    }

    package func list(_ path: String) throws(SystemError) -> [String] {
        try perform(.list, "opendir", path) { state throws(DiskErrno) in
            try state.tree.directory(state.tree.lookup(path)).entries.keys.sorted()
        }
    }

    /// There are no symbolic links here.
    package func statusOfName(_ path: String) throws(SystemError) -> FileStatus? { try status(path) }

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

    package func freeBytes(_ path: String) throws(SystemError) -> Int64? {
        try perform(.status, "statvfs", path) { state throws(DiskErrno) in
            _ = try state.tree.lookup(path)
            return state.injector.plan.capacityBytes.map { max(0, $0 - state.tree.allocatedBytes) }
        }
    }
}
