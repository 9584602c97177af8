import SpoolLibc

/// A bounded set of equal, page-aligned buffers: the memory through which media flows.
///
/// Buffers are allocated at first use and reused. When none is in use, all but ``keptWhenIdle``
/// return their memory to the system. All calls may be made on any thread.
package final class BufferPool: Sendable {
    /// The number of buffers that keep their memory while none is in use. A fetch of a piece of a
    /// stream needs no more.
    package static let keptWhenIdle = 1

    /// The size of each buffer, in bytes.
    package let bufferBytes: Int
    /// The maximum number of buffers that are in use at once.
    package let capacity: Int
    private let state: Locked<State>

    private struct State: Sendable {
        var free: [Memory] = []
        var inUse = 0
        var peak = 0
        var waiting: [@Sendable () -> Void] = []
    }

    /// Creates an empty pool.
    ///
    /// - Parameters:
    ///   - bufferBytes: 1 MiB by default. Larger writes to disk and socket do not get cheaper.
    ///   - capacity: 16 by default, so that media in flight takes at most 16 MiB.
    package init(bufferBytes: Int = 1 << 20, capacity: Int = 16) {
        precondition(bufferBytes > 0 && capacity > 0, "a pool has at least one buffer of at least one byte")
        self.bufferBytes = bufferBytes
        self.capacity = capacity
        state = Locked(State())
    }

    deinit {
        // Every buffer holds the pool, so all of them are free here.
        for memory in state.withLock({ $0.free }) { memory.unmap() }
    }

    /// Returns a buffer with arbitrary contents, or nil when all are in use.
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

    /// Whether `take` would return a buffer now. Another thread may take it first.
    package var hasFree: Bool { state.withLock { $0.inUse < capacity } }

    /// Calls `wake` once as soon as a buffer is free: at once, or on the thread that returns a
    /// buffer.
    ///
    /// The pool calls all waiting closures, in the order of their requests. A caller that finds the
    /// pool empty again repeats its request. The pool can't call only the first one: a caller that
    /// no longer needs a buffer would consume the call, and the others would wait for ever. `wake`
    /// should only post to a mailbox. It runs outside the pool's lock.
    package func whenAvailable(_ wake: @escaping @Sendable () -> Void) {
        let isAvailable = state.withLock { state -> Bool in
            if state.inUse < capacity { return true }
            state.waiting.append(wake)
            return false
        }
        if isAvailable { wake() }
    }

    /// The current numbers of the pool.
    package var statistics: Statistics {
        state.withLock {
            Statistics(inUse: $0.inUse, peak: $0.peak, allocated: $0.inUse + $0.free.count, waiting: $0.waiting.count)
        }
    }

    /// The numbers of a pool at one moment.
    package struct Statistics: Hashable, Sendable {
        /// The number of buffers in use.
        package var inUse: Int
        /// The maximum number of buffers that were in use at once.
        package var peak: Int
        /// The number of buffers that have memory, in use or not.
        package var allocated: Int
        /// The number of closures that wait for a buffer.
        package var waiting: Int
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

/// One buffer of a pool. It returns to the pool when its last reference is released.
package final class PoolBuffer: @unchecked Sendable {
    // Safe to share: the two constants never change. The holders agree on access to the bytes: one
    // thread fills them, then a mailbox passes the buffer on, and from then on it is only read.

    /// The memory, page-aligned. It is valid as long as this object exists.
    package let bytes: UnsafeMutableRawBufferPointer
    private let pool: BufferPool

    fileprivate init(memory: Memory, pool: BufferPool) {
        bytes = UnsafeMutableRawBufferPointer(start: memory.start, count: memory.count)
        self.pool = pool
    }

    deinit {
        guard let start = bytes.baseAddress else { return }
        bytes.poison()
        pool.giveBack(Memory(start: start, count: bytes.count))
    }
}

/// Pages of memory from the system. Each buffer is returned to the system by itself, whereas an
/// allocator may keep freed memory.
private struct Memory: @unchecked Sendable {
    // Safe to share: an address and a number. The pool or one buffer owns the memory.
    let start: UnsafeMutableRawPointer
    let count: Int

    init(start: UnsafeMutableRawPointer, count: Int) {
        self.start = start
        self.count = count
    }

    init(bytes: Int) {
        let address = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
        // As with every allocation in Swift, there is no recovery from a lack of memory.
        guard let address, address != MAP_FAILED else { fatalError("no memory for a buffer of \(bytes) bytes") }
        self.init(start: address, count: bytes)
    }

    func unmap() {
        munmap(start, count)
    }
}
