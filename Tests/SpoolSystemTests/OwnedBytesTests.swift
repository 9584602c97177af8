import SpoolSystem
import Testing

@Suite struct OwnedBytesTests {
    /// An owner whose end the test sees.
    private final class Owner {
        let bytes: UnsafeMutableRawBufferPointer
        private let ended: Locked<Bool>

        init(_ content: [UInt8], ended: Locked<Bool>) {
            bytes = .allocate(byteCount: content.count, alignment: 1)
            bytes.copyBytes(from: content)
            self.ended = ended
        }

        deinit {
            bytes.poison()
            bytes.deallocate()
            ended.withLock { $0 = true }
        }
    }

    private func owned(_ content: [UInt8], _ ended: Locked<Bool> = Locked(false)) -> OwnedBytes {
        let owner = Owner(content, ended: ended)
        return OwnedBytes(UnsafeRawBufferPointer(owner.bytes), ownedBy: owner)
    }

    @Test func `the owner lives until the closure returns, and no longer than the value`() {
        let ended = Locked(false)
        var bytes: OwnedBytes? = owned([1, 2, 3], ended)
        let content = bytes?.withBytes { memory -> [UInt8] in
            bytes = nil
            #expect(!ended.withLock { $0 }, "only the call holds the owner")
            return [UInt8](memory)
        }
        #expect(content == [1, 2, 3])
        #expect(ended.withLock { $0 })
    }

    @Test func `a part keeps the owner of the whole`() {
        let ended = Locked(false)
        var part: OwnedBytes? = owned([1, 2, 3, 4, 5], ended).dropFirst(1).prefix(3)
        #expect(!ended.withLock { $0 })
        #expect(part?.copy() == [2, 3, 4])
        part = nil
        #expect(ended.withLock { $0 })
    }

    @Test func `parts are clamped to the bytes`() {
        let bytes = OwnedBytes(copying: [1, 2, 3])
        #expect(bytes.count == 3 && !bytes.isEmpty)
        #expect(bytes.prefix(9).copy() == [1, 2, 3])
        #expect(bytes.prefix(0).isEmpty)
        #expect(bytes.dropFirst(3).isEmpty)
        #expect(bytes.dropFirst(9).copy() == [])
        #expect(OwnedBytes(copying: []).copy() == [])
        #expect(OwnedBytes(count: 2) { $0.copyBytes(from: [7, 8]) }.copy() == [7, 8])
    }

    @Test func `the closure may throw`() {
        struct Failure: Error {}
        #expect(throws: Failure.self) { try owned([1]).withBytes { (_) throws(Failure) -> Void in throw Failure() } }
    }

    /// The pointer leaves the closure here on purpose: the pool keeps the memory mapped, so that the
    /// test reads what a use after the return would read.
    @Test func `memory that the pool takes back is overwritten`() throws {
        let pool = BufferPool(bufferBytes: 8192, capacity: 1)
        var buffer = pool.take()
        buffer?.bytes.initializeMemory(as: UInt8.self, repeating: 1)
        let memory = try UnsafeRawBufferPointer(#require(buffer?.bytes))
        #expect(withExtendedLifetime(buffer) { memory.allSatisfy { $0 == 1 } })
        buffer = nil
        #expect(memory.allSatisfy { $0 == UnsafeMutableRawBufferPointer.poisonByte })
    }
}
