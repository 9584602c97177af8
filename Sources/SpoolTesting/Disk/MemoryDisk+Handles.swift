import SpoolLibc
import SpoolSystem

/// The calls of a ``MemoryFileHandle``.
extension MemoryDisk {
    func close(_ file: DiskTree.ID, handle: Int) {
        state.withLock { state in
            state.tree.nodes[file]?.handles.remove(handle)
            Self.unlock(file, handle, &state)
            state.tree.collect(file)
        }
    }

    func read(_ file: DiskTree.ID, _ path: String, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int
    {
        try perform(.read, "pread", path) { state throws(DiskErrno) in
            guard offset >= 0 else { throw DiskErrno(EINVAL) }
            let pages = try state.tree.pages(file)
            let available = Int(max(0, min(Int64(buffer.count), pages.size - offset)))
            let count = pages.read(into: .init(rebasing: buffer[..<state.injector.readableCount(available)]), at: offset)
            state.readBytes[path, default: 0] += Int64(count)
            return count
        }
    }

    func write(_ file: DiskTree.ID, _ path: String, _ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try perform(nil, "pwrite", path) { state throws(DiskErrno) in
            guard offset >= 0 else { throw DiskErrno(EINVAL) }
            guard offset <= DiskTree.maximumFileSize - Int64(bytes.count) else { throw DiskErrno(EFBIG) }
            var count = bytes.count
            var failure: Int32?
            if let code = state.injector.code(for: .write, path: path, operations: state.operationCount) {
                failure = code
                count = Self.isDead(state) ? 0 : state.injector.writtenPrefix(bytes.count)
            }
            let room = Self.roomForWrite(try state.tree.pages(file), count, at: offset, state)
            if room < count { (count, failure) = (room, failure ?? ENOSPC) }
            try Self.writePrefix(file, UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset, &state)
            if let failure { throw DiskErrno(failure) }
        }
    }

    private static func writePrefix(
        _ file: DiskTree.ID, _ bytes: UnsafeRawBufferPointer, at offset: Int64, _ state: inout State
    ) throws(DiskErrno) {
        guard !bytes.isEmpty else { return }
        try state.tree.changePages(file) { $0.write(bytes, at: offset) }
        note(&state, .write(file, offset: offset, bytes: Array(bytes)))
    }

    private static func isDead(_ state: State) -> Bool {
        state.operationCount >= state.injector.plan.diesAfterOperation ?? .max
    }

    /// Returns how many of the bytes fit on the disk, in whole pages.
    private static func roomForWrite(_ pages: SparsePages, _ count: Int, at offset: Int64, _ state: State) -> Int {
        guard let capacity = state.injector.plan.capacityBytes else { return count }
        let pageBytes = Int64(SparsePages.pageBytes)
        let freePages = max(0, (capacity - state.tree.allocatedBytes) / pageBytes)
        guard pages.newPages(writing: count, at: offset) > freePages else { return count }
        // The write ends at the first page for which there is no room.
        var fitting = 0
        var used: Int64 = 0
        while fitting < count {
            let position = offset + Int64(fitting)
            let part = Int(min(Int64(count - fitting), pageBytes - position % pageBytes))
            used += Int64(pages.newPages(writing: part, at: position))
            if used > freePages { break }
            fitting += part
        }
        return fitting
    }

    func truncate(_ file: DiskTree.ID, _ path: String, to size: Int64) throws(SystemError) {
        try perform(.truncate, "ftruncate", path) { state throws(DiskErrno) in
            guard size >= 0 else { throw DiskErrno(EINVAL) }
            guard size <= DiskTree.maximumFileSize else { throw DiskErrno(EFBIG) }
            try Self.apply(.truncate(file, size: size), &state)
        }
    }

    func punchHole(_ file: DiskTree.ID, _ path: String, at offset: Int64, count: Int64) throws(SystemError) {
        try perform(.punchHole, "punch hole", path) { state throws(DiskErrno) in
            guard offset >= 0 else { throw DiskErrno(EINVAL) }
            guard count > 0 else { return }
            guard offset <= DiskTree.maximumFileSize - count else { throw DiskErrno(EFBIG) }
            try Self.apply(.punchHole(file, offset: offset, count: count), &state)
        }
    }

    func synchronize(_ file: DiskTree.ID, _ path: String) throws(SystemError) {
        try perform(nil, "fdatasync", path) { state throws(DiskErrno) in
            if let code = state.injector.code(for: .synchronize, path: path, operations: state.operationCount) {
                if !Self.isDead(state) { try Self.apply(.failSynchronize(file), &state) }
                throw DiskErrno(code)
            }
            try Self.apply(.synchronize(file), &state)
        }
    }

    func status(_ file: DiskTree.ID, _ path: String) throws(SystemError) -> FileStatus {
        try perform(.status, "fstat", path) { state throws(DiskErrno) in try Self.status(of: file, state) }
    }

    /// Locks a file. As on Linux, a handle that asks for another kind of lock gives up its current
    /// one, even if it does not get the new one.
    func lock(_ file: DiskTree.ID, _ path: String, handle: Int, _ kind: FileLock) throws(SystemError) -> Bool {
        try perform(.lock, "flock", path) { state throws(DiskErrno) in
            Self.unlock(file, handle, &state)
            guard let node = state.tree.nodes[file] else { throw DiskErrno(EBADF) }
            switch kind {
            case .none: break
            case .shared:
                guard node.exclusiveLock == nil else { return false }
                state.tree.nodes[file]?.sharedLocks.insert(handle)
            case .exclusive:
                guard node.exclusiveLock == nil, node.sharedLocks.isEmpty else { return false }
                state.tree.nodes[file]?.exclusiveLock = handle
            }
            return true
        }
    }

    private static func unlock(_ file: DiskTree.ID, _ handle: Int, _ state: inout State) {
        state.tree.nodes[file]?.sharedLocks.remove(handle)
        if state.tree.nodes[file]?.exclusiveLock == handle { state.tree.nodes[file]?.exclusiveLock = nil }
    }
}
