/// Bytes in memory, together with the object that owns the memory.
///
/// The pointer exists inside ``withBytes(_:)`` only, and the owner outlives that call. A pair of a
/// pointer and its owner does not ensure that: where a pattern bound the owner to `_`, the
/// optimiser released it before the bytes were copied, and another fetch filled the memory.
///
/// The bytes stay unchanged until their source is asked for more. A value consists of a pointer, a
/// count and one reference, so that it needs no allocation for a chunk. It belongs to one thread at
/// a time.
@usableFromInline package struct OwnedBytes {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    @usableFromInline let owner: AnyObject

    /// Creates a value of bytes that are valid for as long as `owner` lives.
    @inlinable package init(_ bytes: UnsafeRawBufferPointer, ownedBy owner: AnyObject) {
        self.bytes = bytes
        self.owner = owner
    }

    /// Creates a value of `count` bytes in memory of its own, which `fill` initializes.
    package init(count: Int, filledBy fill: (UnsafeMutableRawBufferPointer) -> Void) {
        let block = HeapBlock(count: count)
        fill(block.bytes)
        self.init(UnsafeRawBufferPointer(block.bytes), ownedBy: block)
    }

    /// Creates a copy of `bytes` in memory of its own.
    package init(copying bytes: [UInt8]) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    /// The number of bytes.
    @inlinable package var count: Int { bytes.count }

    /// Whether the value is empty.
    @inlinable package var isEmpty: Bool { bytes.isEmpty }

    /// Returns the first bytes, at most `maxCount`, with the same owner.
    @inlinable package func prefix(_ maxCount: Int) -> OwnedBytes {
        OwnedBytes(UnsafeRawBufferPointer(rebasing: bytes.prefix(maxCount)), ownedBy: owner)
    }

    /// Returns the bytes behind the first `count`, with the same owner.
    @inlinable package func dropFirst(_ count: Int) -> OwnedBytes {
        OwnedBytes(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count)), ownedBy: owner)
    }

    /// Calls `body` with the bytes. The owner lives at least until `body` returns.
    ///
    /// `body` must not keep the pointer. On an event loop it must not wait.
    @inlinable package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(owner) {} }
        return try body(bytes)
    }

    /// Returns a copy of the bytes.
    package func copy() -> [UInt8] { withBytes { [UInt8]($0) } }
}

/// Memory of the heap that belongs to one object.
package final class HeapBlock: @unchecked Sendable {
    // Safe to share: the address never changes, and the holders agree on access to the bytes.
    package let bytes: UnsafeMutableRawBufferPointer

    /// Allocates the memory.
    package init(count: Int, alignment: Int = 16) { bytes = .allocate(byteCount: count, alignment: alignment) }

    deinit {
        bytes.poison()
        bytes.deallocate()
    }
}

extension UnsafeMutableRawBufferPointer {
    /// The value of each byte of poisoned memory.
    package static var poisonByte: UInt8 { 0xDB }

    /// Overwrites memory that its owner takes back. Compiled for tests only.
    ///
    /// A use of the memory after that gives wrong bytes in each test, and not only where the
    /// allocator or another thread happens to reuse it.
    package func poison() {
        #if DEBUG || SPOOL_TESTS
        initializeMemory(as: UInt8.self, repeating: Self.poisonByte)
        #endif
    }
}
