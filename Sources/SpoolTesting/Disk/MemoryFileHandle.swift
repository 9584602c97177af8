import SpoolLibc
import SpoolSystem

/// An open file of a ``MemoryDisk``. It keeps the file alive after an unlink.
final class MemoryFileHandle: FileHandle {
    private typealias State = MemoryDisk.State

    private let disk: MemoryDisk
    private let file: DiskTree.ID
    private let handle: Int
    private let path: String
    private let isWritable: Bool

    init(disk: MemoryDisk, file: DiskTree.ID, handle: Int, path: String, isWritable: Bool) {
        self.disk = disk
        self.file = file
        self.handle = handle
        self.path = path
        self.isWritable = isWritable
    }

    deinit {
        disk.state.withLock { state in
            state.tree.nodes[file]?.handles.remove(handle)
            unlock(&state)
            state.tree.collect(file)
        }
    }

    var descriptor: Int32? { nil }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try disk.perform(.read, "pread", path) { state throws(DiskErrno) in
            guard offset >= 0 else { throw DiskErrno(EINVAL) }
            let pages = try state.tree.pages(file)
            let available = Int(max(0, min(Int64(buffer.count), pages.size - offset)))
            let count = pages.read(into: .init(rebasing: buffer[..<state.injector.readableCount(available)]), at: offset)
            state.readBytes[path, default: 0] += Int64(count)
            return count
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try checkWritable("pwrite", code: EBADF)
        try disk.perform(nil, "pwrite", path) { state throws(DiskErrno) in
            try checkPlace(offset, count: Int64(bytes.count))
            var count = bytes.count
            var failure: Int32?
            if let code = state.injector.code(for: .write, path: path, operations: state.operationCount) {
                failure = code
                count = Self.isDead(state) ? 0 : state.injector.writtenPrefix(bytes.count)
            }
            let room = Self.roomForWrite(try state.tree.pages(file), count, at: offset, state)
            if room < count { (count, failure) = (room, failure ?? ENOSPC) }
            try writePrefix(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset, &state)
            if let failure { throw DiskErrno(failure) }
        }
    }

    private func writePrefix(_ bytes: UnsafeRawBufferPointer, at offset: Int64, _ state: inout State) throws(DiskErrno) {
        guard !bytes.isEmpty else { return }
        try state.tree.changePages(file) { $0.write(bytes, at: offset) }
        MemoryDisk.note(&state, .write(file, offset: offset, bytes: Array(bytes)))
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

    func truncate(to size: Int64) throws(SystemError) {
        try checkWritable("ftruncate", code: EINVAL)
        try disk.perform(.truncate, "ftruncate", path) { state throws(DiskErrno) in
            try checkPlace(size, count: 0)
            try MemoryDisk.apply(.truncate(file, size: size), &state)
        }
    }

    func punchHole(at offset: Int64, count: Int64) throws(SystemError) {
        try checkWritable("punch hole", code: EBADF)
        try disk.perform(.punchHole, "punch hole", path) { state throws(DiskErrno) in
            try checkPlace(offset, count: count)
            if count > 0 { try MemoryDisk.apply(.punchHole(file, offset: offset, count: count), &state) }
        }
    }

    /// Does nothing: there is no page cache.
    func disableReadAhead() {}

    /// Does nothing: bytes whose write-back has begun may be lost like all others.
    func startWriteback() {}

    func synchronize(full: Bool) throws(SystemError) {
        try disk.perform(nil, "fdatasync", path) { state throws(DiskErrno) in
            if let code = state.injector.code(for: .synchronize, path: path, operations: state.operationCount) {
                if !Self.isDead(state) { try MemoryDisk.apply(.failSynchronize(file), &state) }
                throw DiskErrno(code)
            }
            try MemoryDisk.apply(.synchronize(file), &state)
        }
    }

    func status() throws(SystemError) -> FileStatus {
        try disk.perform(.status, "fstat", path) { state throws(DiskErrno) in try MemoryDisk.status(of: file, state) }
    }

    /// Locks the file. As on Linux, a handle that asks for another kind of lock gives up its current
    /// one, even if it does not get the new one.
    func lock(_ kind: FileLock) throws(SystemError) -> Bool {
        try disk.perform(.lock, "flock", path) { state throws(DiskErrno) in
            unlock(&state)
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

    private func unlock(_ state: inout State) {
        state.tree.nodes[file]?.sharedLocks.remove(handle)
        if state.tree.nodes[file]?.exclusiveLock == handle { state.tree.nodes[file]?.exclusiveLock = nil }
    }

    private func checkWritable(_ operation: String, code: Int32) throws(SystemError) {
        if !isWritable { throw SystemError(code: code, operation: operation, subject: path) }
    }

    /// Throws for a place that no file can have.
    private func checkPlace(_ offset: Int64, count: Int64) throws(DiskErrno) {
        guard offset >= 0 else { throw DiskErrno(EINVAL) }
        guard offset <= DiskTree.maximumFileSize - count else { throw DiskErrno(EFBIG) }
    }
}
