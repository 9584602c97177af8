import SpoolSystem

/// Received bytes in memory. A fetch fills a buffer from the front, a lane writes it to the store
/// once, and readers that are faster than the disk read it.
///
/// Bytes below `count` never change, and `count` only grows, except for one cut at the hand-over.
/// So a reader may use these bytes outside the lock of the session, as `OwnedBytes` that the buffer
/// owns.
final class ReceiveBuffer: @unchecked Sendable {
    // Safe to share: `count` and `isHandedOver` are used only under the lock of the session. Bytes
    // below `count` are immutable, and so is `isBeginning` once the buffer belongs to a fetch.
    let start: Int64
    private let storage: UnsafeMutableRawBufferPointer
    private let pooled: PoolBuffer?
    private(set) var count = 0
    /// Whether a lane has the buffer. It grows no more then.
    var isHandedOver = false
    /// Whether its fetch had nothing in memory when the buffer began. Set before the buffer is
    /// shared.
    var isBeginning = false

    /// Creates one in a buffer of the bounded pool, of at most `capacity` bytes.
    init(start: Int64, pooled: PoolBuffer, capacity: Int) {
        self.start = start
        self.pooled = pooled
        storage = UnsafeMutableRawBufferPointer(rebasing: pooled.bytes.prefix(capacity))
    }

    /// Creates a small one outside the pool: the beginning or the tail of a fetch, at most one
    /// block.
    init(start: Int64, capacity: Int) {
        self.start = start
        pooled = nil
        storage = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        guard pooled == nil else { return }
        storage.poison()
        storage.deallocate()
    }

    var isPooled: Bool { pooled != nil }
    var end: Int64 { start + Int64(count) }
    var capacity: Int { storage.count }
    var room: Int { capacity - count }

    /// Appends as many of `bytes` as there is room for.
    ///
    /// - Returns: The number of bytes appended.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let taken = min(bytes.count, room)
        guard taken > 0, let source = bytes.baseAddress else { return 0 }
        storage.baseAddress?.advanced(by: count).copyMemory(from: source, byteCount: taken)
        count += taken
        return taken
    }

    /// Drops the bytes from `newCount` on, which were copied elsewhere. Readers that use them may
    /// go on.
    func cut(to newCount: Int) {
        count = min(count, newCount)
    }

    /// Returns the bytes from `offset` on, at most `limit`.
    func bytes(from offset: Int64, limit: Int) -> OwnedBytes {
        let lower = Int(offset - start)
        return OwnedBytes(UnsafeRawBufferPointer(rebasing: storage[lower..<min(count, lower + limit)]), ownedBy: self)
    }

    var allBytes: OwnedBytes { OwnedBytes(UnsafeRawBufferPointer(rebasing: storage[0..<count]), ownedBy: self) }
}
