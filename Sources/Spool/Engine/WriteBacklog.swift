import SpoolSystem

/// How many bytes outside the buffer pool wait for the disk: those with which fetches begin, and their tails.
///
/// The pool bounds what large files have in memory. A small one is fetched without it and done before the disk has it, so that a disk which
/// stands still would let any number of them pile up. Beyond ``limitBytes`` a fetch waits for the disk with its first bytes, as it waits for a
/// buffer with those that follow. Any thread; wakes run outside the lock.
package final class WriteBacklog: Sendable {
    /// Two blocks for each of as many fetches as run at once. With half of that, fetches were paused on a disk that only was busy, and what
    /// libcurl keeps for a paused one cost more memory than the bound saved.
    package static let limitBytes = 8 << 20

    private struct State {
        var bytes = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())

    /// Whether a fetch may begin to keep what it gets; another thread may be faster.
    var hasRoom: Bool { state.withLock { $0.bytes < Self.limitBytes } }

    /// Memory of so many bytes waits for the disk from now on.
    func enter(_ bytes: Int) { state.withLock { $0.bytes += bytes } }

    /// The disk has it, or it failed.
    func leave(_ bytes: Int) {
        let wakes = state.withLock { state -> [@Sendable () -> Void] in
            state.bytes -= bytes
            guard state.bytes < Self.limitBytes else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for wake in wakes { wake() }
    }

    /// Calls `wake` once as soon as there is room: at once, or from the thread that makes it. Who finds none again asks again.
    func whenRoom(_ wake: @escaping @Sendable () -> Void) {
        let hasRoom = state.withLock { state -> Bool in
            if state.bytes < Self.limitBytes { return true }
            state.waiting.append(wake)
            return false
        }
        if hasRoom { wake() }
    }
}
