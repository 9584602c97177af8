import SpoolSystem
import Testing

@Suite struct BufferPoolTests {
    @Test func `a pool hands out at most its capacity`() {
        let pool = BufferPool(bufferBytes: 8192, capacity: 2)
        let first = pool.take()
        let second = pool.take()
        #expect(first != nil && second != nil)
        #expect(pool.take() == nil)
        withExtendedLifetime((first, second)) {
            #expect(pool.statistics.numbers == [2, 2, 2, 0])
        }
    }

    @Test func `a buffer returns to its pool with its last reference`() {
        let pool = BufferPool(bufferBytes: 8192, capacity: 1)
        var buffer = pool.take()
        let other = buffer
        buffer = nil
        #expect(withExtendedLifetime(other) { pool.statistics.inUse } == 1)
        do { _ = consume other }
        #expect(pool.statistics.numbers == [0, 1, 1, 0])
    }

    @Test func `buffers are page-aligned, writable and reused`() {
        let pool = BufferPool(bufferBytes: 1 << 16, capacity: 4)
        var addresses: Set<UInt> = []
        for round in 0..<8 {
            guard let buffer = pool.take() else {
                Issue.record("round \(round): the pool is empty")
                return
            }
            #expect(buffer.bytes.count == 1 << 16)
            buffer.bytes.initializeMemory(as: UInt8.self, repeating: UInt8(round))
            let address = UInt(bitPattern: buffer.bytes.baseAddress)
            #expect(address % 4096 == 0)
            addresses.insert(address)
        }
        #expect(addresses.count == 1)
    }

    @Test func `an idle pool frees the memory of all buffers but one`() {
        let pool = BufferPool(bufferBytes: 4096, capacity: 16)
        var buffers = (0..<16).compactMap { _ in pool.take() }
        #expect(pool.statistics.allocated == 16)
        buffers.removeLast(15)
        #expect(pool.statistics.allocated == 16)
        buffers.removeAll()
        #expect(pool.statistics.numbers == [0, 16, BufferPool.keptWhenIdle, 0])
    }

    @Test func `waiting callbacks run in the order of their requests, once each`() {
        let pool = BufferPool(bufferBytes: 4096, capacity: 2)
        var buffers = (0..<2).compactMap { _ in pool.take() }
        let woken = Locked<[Int]>([])
        for number in 0..<5 { pool.whenAvailable { woken.withLock { $0.append(number) } } }
        #expect(woken.withLock { $0 }.isEmpty)
        #expect(pool.statistics.waiting == 5)
        buffers.removeLast()
        #expect(woken.withLock { $0 } == [0, 1, 2, 3, 4])
        buffers.removeLast()
        #expect(woken.withLock { $0 } == [0, 1, 2, 3, 4])
        #expect(pool.statistics.waiting == 0)
    }

    @Test func `a callback that finds the pool empty again waits and keeps its order`() {
        let pool = BufferPool(bufferBytes: 4096, capacity: 1)
        let held = Locked<[PoolBuffer]>([])
        let served = Locked<[Int]>([])
        @Sendable func want(_ number: Int) {
            guard let buffer = pool.take() else {
                pool.whenAvailable { want(number) }
                return
            }
            served.withLock { $0.append(number) }
            held.withLock { $0.append(buffer) }
        }
        for number in 0..<4 { want(number) }
        for _ in 0..<3 {
            // The buffer leaves the lock before its release, which calls the waiting callbacks.
            var returned: [PoolBuffer] = held.withLock { held in
                defer { held = [] }
                return held
            }
            returned.removeAll()
        }
        #expect(served.withLock { $0 } == [0, 1, 2, 3])
    }

    @Test func `a callback runs at once while a buffer is free`() {
        let pool = BufferPool(bufferBytes: 4096, capacity: 1)
        let woken = Locked(0)
        pool.whenAvailable { woken.withLock { $0 += 1 } }
        #expect(woken.withLock { $0 } == 1)
    }

    @Test func `a buffer outlives the last reference to its pool`() {
        var pool: BufferPool? = BufferPool(bufferBytes: 4096, capacity: 1)
        let buffer = pool?.take()
        pool = nil
        buffer?.bytes.storeBytes(of: 7, toByteOffset: 4095, as: UInt8.self)
        #expect(buffer?.bytes.load(fromByteOffset: 4095, as: UInt8.self) == 7)
    }
}

extension BufferPool.Statistics {
    /// The buffers in use, the most at a time, the allocated ones, and the callers that wait.
    fileprivate var numbers: [Int] { [inUse, peak, allocated, waiting] }
}
