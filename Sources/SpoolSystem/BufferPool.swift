#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// A bounded set of equal, page-aligned buffers: the memory through which media flows.
///
/// Buffers are made when they are first needed and used again. When none is out, all but ``keptWhenIdle`` give their memory back to the system.
/// All calls may come from any thread.
package final class BufferPool: Sendable {
    /// The number of buffers that keep their memory while none is in use.
    package static let keptWhenIdle = 4

    /// The size of each buffer in bytes.
    package let bufferBytes: Int
    /// The most buffers that can be out at once.
    package let capacity: Int
    private let state: Locked<State>

    private struct State: Sendable {
        var free: [Memory] = []
        var inUse = 0
        var peak = 0
        var waiting: [@Sendable () -> Void] = []
    }

    /// - Parameters:
    ///   - bufferBytes: 1 MiB by default: where writing to disk and socket stops getting cheaper.
    ///   - capacity: 16 by default, so that media in flight takes at most 16 MiB.
    package init(bufferBytes: Int = 1 << 20, capacity: Int = 16) {
        precondition(bufferBytes > 0 && capacity > 0, "a pool has at least one buffer of at least one byte")
        self.bufferBytes = bufferBytes
        self.capacity = capacity
        state = Locked(State())
    }

    deinit {
        // Every buffer holds the pool, so all of them are here.
        for memory in state.withLock({ $0.free }) { memory.unmap() }
    }

    /// A buffer, or nil when all are out; its bytes are whatever was in it before.
    package func take() -> PoolBuffer? {
        let taken = state.withLock { state -> (Bool, Memory?) in
            guard state.inUse < capacity else { return (false, nil) }
            state.inUse += 1
            state.peak = max(state.peak, state.inUse)
            return (true, state.free.popLast())
        }
        guard taken.0 else { return nil }
        return PoolBuffer(memory: taken.1 ?? Memory(bytes: bufferBytes), pool: self)
    }

    /// Whether `take` would give a buffer now; another thread may be faster.
    package var hasFree: Bool { state.withLock { $0.inUse < capacity } }

    /// Calls `wake` once as soon as a buffer is free: at once, or from the thread that returns one.
    ///
    /// All who wait are called, in the order of their asking; who then finds the pool empty again asks again.
    /// (Were only the first called, one that no longer wants a buffer would swallow the call, and the others would wait for ever.)
    /// `wake` should do no more than post to a mailbox; it runs under no lock of the pool.
    package func whenAvailable(_ wake: @escaping @Sendable () -> Void) {
        let isAvailable = state.withLock { state -> Bool in
            if state.inUse < capacity { return true }
            state.waiting.append(wake)
            return false
        }
        if isAvailable { wake() }
    }

    /// What the pool holds now.
    package var statistics: Statistics {
        state.withLock {
            Statistics(inUse: $0.inUse, peak: $0.peak, allocated: $0.inUse + $0.free.count, waiting: $0.waiting.count)
        }
    }

    package struct Statistics: Hashable, Sendable {
        /// Buffers that are out.
        package var inUse: Int
        /// The most that were ever out at once.
        package var peak: Int
        /// Buffers that have memory, out or not.
        package var allocated: Int
        /// Closures that wait for a buffer.
        package var waiting: Int

        package init(inUse: Int, peak: Int, allocated: Int, waiting: Int) {
            self.inUse = inUse
            self.peak = peak
            self.allocated = allocated
            self.waiting = waiting
        }
    }

    fileprivate func giveBack(_ memory: Memory) {
        let (unneeded, wakes) = state.withLock { state -> ([Memory], [@Sendable () -> Void]) in
            state.inUse -= 1
            state.free.append(memory)
            var unneeded: [Memory] = []
            if state.inUse == 0, state.free.count > Self.keptWhenIdle {
                unneeded = Array(state.free[Self.keptWhenIdle...])
                state.free.removeLast(unneeded.count)
            }
            defer { state.waiting = [] }
            return (unneeded, state.waiting)
        }
        for memory in unneeded { memory.unmap() }
        for wake in wakes { wake() }
    }
}

/// One buffer of a pool; it goes back when the last reference goes.
package final class PoolBuffer: @unchecked Sendable {
    // Safe to share: the two constants never change. Who writes to the bytes and who reads them is agreed between the
    // holders: filled on one thread, then handed on through a mailbox and only read.

    /// The memory, page-aligned; valid as long as this object lives.
    package let bytes: UnsafeMutableRawBufferPointer
    private let pool: BufferPool

    fileprivate init(memory: Memory, pool: BufferPool) {
        bytes = UnsafeMutableRawBufferPointer(start: memory.start, count: memory.count)
        self.pool = pool
    }

    deinit {
        guard let start = bytes.baseAddress else { return }
        pool.giveBack(Memory(start: start, count: bytes.count))
    }
}

/// Pages of memory from the system, which get them back one buffer at a time: an allocator may keep what it was given.
private struct Memory: @unchecked Sendable {
    // Safe to share: an address and a number; the pool or one buffer owns what is there.
    let start: UnsafeMutableRawPointer
    let count: Int

    init(start: UnsafeMutableRawPointer, count: Int) {
        self.start = start
        self.count = count
    }

    init(bytes: Int) {
        let address = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
        // As for every allocation in Swift: without memory there is no way on.
        guard let address, address != MAP_FAILED else { fatalError("no memory for a buffer of \(bytes) bytes") }
        self.init(start: address, count: bytes)
    }

    func unmap() {
        munmap(start, count)
    }
}
