import SpoolLibc
package import SpoolSystem

/// A file system in memory that fails as real ones do: by a plan, from a seed.
///
/// It has sparse files, files that stay open after an unlink, `flock` between handles, and holes by
/// the rules of Linux. Its durability is exact: only bytes and names that the cache has synced
/// survive a power loss. ``crash()`` and ``powerLoss(seed:)`` return the disk that the next start would find.
///
/// The same calls and the same plan give the same results. Callable from several threads.
public final class MemoryDisk: Sendable {
    let state: Locked<State>

    struct State: Sendable {
        var tree: DiskTree
        var injector: FaultInjector
        var operationCount = 0
        var log: [DiskOperation]?
        /// The tree at the beginning of the log.
        var start: DiskTree
        var nextHandle = 1
        /// The number of bytes that reads returned, by the path with which the file was opened.
        var readBytes: [String: Int64] = [:]
        /// Whether the status of a file has its occupied bytes, and not 0.
        var countsBlocks = true
    }

    /// Creates an empty disk.
    ///
    /// - Parameter faults: The faults of its calls.
    public convenience init(faults: FaultPlan = .none) {
        self.init(faults: faults, isRecording: false)
    }

    /// Creates an empty disk.
    ///
    /// - Parameters:
    ///   - faults: The faults of its calls.
    ///   - isRecording: Whether it keeps every change with its bytes, for `operations` and
    ///     `crash(keeping:)`.
    package convenience init(faults: FaultPlan = .none, isRecording: Bool) {
        self.init(DiskTree(), faults: faults, isRecording: isRecording)
    }

    private init(_ tree: DiskTree, faults: FaultPlan, isRecording: Bool) {
        state = Locked(State(tree: tree, injector: FaultInjector(faults), log: isRecording ? [] : nil, start: tree))
    }

    // MARK: Faults

    /// Sets another plan. Calls are counted anew.
    public func setFaults(_ plan: FaultPlan) {
        state.withLock { $0.injector = FaultInjector(plan) }
    }

    /// Returns the number of calls of a kind since the plan was set.
    public func callCount(of call: FaultPlan.Call) -> Int { state.withLock { $0.injector.count(of: call) } }

    /// Changes one byte of a file by the bits of `mask`, on the disk as well: decay that no call
    /// reports.
    package func damage(_ path: String, at offset: Int64, by mask: UInt8 = 0x55) throws(SystemError) {
        try perform(nil, "damage", path) { state throws(DiskErrno) in
            let id = try state.tree.lookup(path)
            guard try 0..<state.tree.pages(id).size ~= offset else { throw DiskErrno(EINVAL) }
            try state.tree.changePages(id) { $0.damage(at: offset, by: mask) }
        }
    }

    /// Stops counting the blocks of files, as file systems do that count them only when they reach
    /// the disk.
    package func stopCountingBlocks() { state.withLock { $0.countsBlocks = false } }

    // MARK: What happened

    /// The number of changes so far. A failed call is no change, but the part that a failed write
    /// or sync left behind is one.
    public var operationCount: Int { state.withLock { $0.operationCount } }

    /// All changes so far, oldest first. Empty if the disk does not record.
    package var operations: [DiskOperation] { state.withLock { $0.log ?? [] } }

    /// Returns the number of bytes that reads of a file returned so far, by the path with which it
    /// was opened.
    public func readBytes(of path: String) -> Int64 { state.withLock { $0.readBytes[path, default: 0] } }

    /// The bytes that all files take on the disk. An unlinked file counts as long as it is open.
    public var allocatedBytes: Int64 { state.withLock { $0.tree.allocatedBytes } }

    /// The number of open handles.
    public var openHandleCount: Int { state.withLock { $0.tree.nodes.values.reduce(0) { $0 + $1.handles.count } } }

    /// The number of locks that handles hold.
    package var lockCount: Int {
        state.withLock { $0.tree.nodes.values.reduce(0) { $0 + $1.sharedLocks.count + ($1.exclusiveLock == nil ? 0 : 1) } }
    }

    /// Returns the bytes that all files take, except those at the given paths.
    public func allocatedBytes(except paths: [String]) -> Int64 {
        state.withLock { state in
            paths.reduce(state.tree.allocatedBytes) { sum, path in
                // A missing file takes nothing.
                do { return sum - Int64(try state.tree.pages(state.tree.lookup(path)).allocatedPages * SparsePages.pageBytes) } catch {
                    return sum
                }
            }
        }
    }

    // MARK: The next start

    /// Returns the disk after the process was killed: with everything that was written, synced or
    /// not, and without handles and locks.
    public func crash() -> MemoryDisk {
        MemoryDisk(state.withLock { $0.tree.afterCrash() }, faults: .none, isRecording: isRecording)
    }

    /// Returns the disk after the process was killed behind change number `count`. Only for a disk
    /// that records.
    package func crash(keeping count: Int) -> MemoryDisk {
        MemoryDisk(replay(count).afterCrash(), faults: .none, isRecording: isRecording)
    }

    /// Returns the disk after a power loss: any part of the bytes and names that were not synced
    /// may be lost or torn.
    package func powerLoss(random: SeededRandom) -> MemoryDisk {
        MemoryDisk(state.withLock { $0.tree }.afterPowerLoss(random), faults: .none, isRecording: isRecording)
    }

    /// Returns the disk after a power loss: any part of the bytes and names that were not synced
    /// may be lost or torn, as the seed chooses.
    public func powerLoss(seed: UInt64) -> MemoryDisk { powerLoss(random: SeededRandom(seed: seed)) }

    /// Returns the disk after a power loss behind change number `count`. Only for a disk that
    /// records.
    package func powerLoss(keeping count: Int, random: SeededRandom) -> MemoryDisk {
        MemoryDisk(replay(count).afterPowerLoss(random), faults: .none, isRecording: isRecording)
    }

    private var isRecording: Bool { state.withLock { $0.log != nil } }

    private func replay(_ count: Int) -> DiskTree {
        let (start, log) = state.withLock { ($0.start, $0.log) }
        guard let log, 0...log.count ~= count else {
            preconditionFailure("change \(count) was not recorded; make the disk with isRecording")
        }
        var tree = start
        for operation in log.prefix(count) {
            do {
                try tree.apply(operation)
            } catch {
                // A file that was unlinked while open is missing in the replay, and a next start
                // would not find it either.
                precondition(error.code == EBADF, "a recorded change failed with errno \(error.code): \(operation)")
            }
        }
        return tree
    }

    // MARK: Calls

    /// Runs one call under the lock, unless the plan makes it fail.
    func perform<Result>(
        _ call: FaultPlan.Call?, _ operation: String, _ path: String, _ body: (inout State) throws(DiskErrno) -> Result
    ) throws(SystemError) -> Result {
        do {
            return try state.withLock { state throws(DiskErrno) in
                if let call, let code = state.injector.code(for: call, path: path, operations: state.operationCount) {
                    throw DiskErrno(code)
                }
                return try body(&state)
            }
        } catch {
            throw SystemError(code: error.code, operation: operation, subject: path)
        }
    }

    static func apply(_ operation: DiskOperation, _ state: inout State) throws(DiskErrno) {
        try state.tree.apply(operation)
        note(&state, operation)
    }

    static func note(_ state: inout State, _ operation: @autoclosure () -> DiskOperation) {
        state.operationCount += 1
        if state.log != nil { state.log?.append(operation()) }
    }

    static func status(of id: DiskTree.ID, _ state: State) throws(DiskErrno) -> FileStatus {
        if state.tree.isDirectory(id) { return FileStatus(size: 0, allocatedBytes: 0, isDirectory: true) }
        let pages = try state.tree.pages(id)
        let allocatedPages = state.countsBlocks ? pages.allocatedPages : 0
        return FileStatus(size: pages.size, allocatedBytes: Int64(allocatedPages * SparsePages.pageBytes), isDirectory: false)
    }
}
