package import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A file system in memory that fails as real ones do: by a plan, from a seed.
///
/// Sparse files, files that stay open after they were unlinked, `flock` between handles, holes by the rules of Linux, and a
/// precise idea of what is durable: bytes by ``FileHandle/synchronize(full:)``, names by ``synchronizeDirectory(_:)``.
/// ``crash()`` and ``powerLoss(random:)`` give the disk that the next start would find.
///
/// Deterministic: the same calls and the same plan give the same results. May be used from several threads.
package final class MemoryDisk: Sendable {
    let state: Locked<State>

    struct State: Sendable {
        var tree: DiskTree
        var injector: FaultInjector
        var operationCount = 0
        var log: [DiskOperation]?
        /// Where the log begins.
        var start: DiskTree
        var nextHandle = 1
        /// Bytes that reads gave, by the path that the file was opened by.
        var readBytes: [String: Int64] = [:]
    }

    /// - Parameter isRecording: keeps every change with its bytes, for ``operations`` and ``crash(keeping:)``.
    package convenience init(faults: FaultPlan = .none, isRecording: Bool = false) {
        self.init(DiskTree(), faults: faults, isRecording: isRecording)
    }

    private init(_ tree: DiskTree, faults: FaultPlan, isRecording: Bool) {
        state = Locked(State(tree: tree, injector: FaultInjector(faults), log: isRecording ? [] : nil, start: tree))
    }

    // MARK: Faults

    /// Sets another plan; calls are counted anew.
    package func setFaults(_ plan: FaultPlan) {
        state.withLock { $0.injector = FaultInjector(plan) }
    }

    /// How many calls of a kind there were since the plan was set.
    package func callCount(of call: FaultPlan.Call) -> Int { state.withLock { $0.injector.count(of: call) } }

    /// Turns one byte of a file, by the bits of `mask`, into another one, on the disk as well: decay that no call reports.
    package func damage(_ path: String, at offset: Int64, by mask: UInt8 = 0x55) throws(SystemError) {
        try perform(nil, "damage", path) { state throws(DiskErrno) in
            let id = try state.tree.lookup(path)
            guard try 0..<state.tree.pages(id).size ~= offset else { throw DiskErrno(EINVAL) }
            try state.tree.changePages(id) { $0.damage(at: offset, by: mask) }
        }
    }

    // MARK: What happened

    /// The number of changes so far; a failed call is none, but what a failed write or sync left behind is one.
    package var operationCount: Int { state.withLock { $0.operationCount } }

    /// All changes so far, oldest first; empty when the disk does not record.
    package var operations: [DiskOperation] { state.withLock { $0.log ?? [] } }

    /// The bytes that reads of a file gave so far, by the path that it was opened by.
    package func readBytes(of path: String) -> Int64 { state.withLock { $0.readBytes[path, default: 0] } }

    /// What all files take from the disk; one that was unlinked counts as long as it is open.
    package var allocatedBytes: Int64 { state.withLock { $0.tree.allocatedBytes } }

    /// The handles that are open now.
    package var openHandleCount: Int { state.withLock { $0.tree.nodes.values.reduce(0) { $0 + $1.handles.count } } }

    /// What all files take, but for those of these names.
    package func allocatedBytes(except paths: [String]) -> Int64 {
        state.withLock { state in
            paths.reduce(state.tree.allocatedBytes) { sum, path in
                // One that is not there takes nothing.
                do { return sum - Int64(try state.tree.pages(state.tree.lookup(path)).allocatedPages * SparsePages.pageBytes) } catch {
                    return sum
                }
            }
        }
    }

    // MARK: The next start

    /// The disk after the process was killed: everything that was written is there, synced or not; handles and locks are gone.
    package func crash() -> MemoryDisk {
        MemoryDisk(state.withLock { $0.tree.afterCrash() }, faults: .none, isRecording: isRecording)
    }

    /// The disk after the process was killed behind change number `count`; only on a disk that records.
    package func crash(keeping count: Int) -> MemoryDisk {
        MemoryDisk(replay(count).afterCrash(), faults: .none, isRecording: isRecording)
    }

    /// The disk after the power went: of what was not synced, any part may be lost or torn.
    package func powerLoss(random: SeededRandom) -> MemoryDisk {
        MemoryDisk(state.withLock { $0.tree }.afterPowerLoss(random), faults: .none, isRecording: isRecording)
    }

    /// The disk after the power went behind change number `count`; only on a disk that records.
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
                // A file that was unlinked while open is not there in the replay; nor would a next start see it.
                precondition(error.code == EBADF, "a recorded change failed with errno \(error.code): \(operation)")
            }
        }
        return tree
    }

    // MARK: Calls

    /// Runs one call under the lock, unless the plan lets it fail.
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
        return FileStatus(
            size: pages.size, allocatedBytes: Int64(pages.allocatedPages * SparsePages.pageBytes), isDirectory: false)
    }
}
