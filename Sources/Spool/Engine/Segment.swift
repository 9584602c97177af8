import SpoolSystem

/// Received bytes in memory: filled from the front, written to the store once, read by whoever is faster than the disk.
///
/// `count` only grows, but for the one cut at hand-over, and bytes that were once below it never change, so a reader may use them outside the session's lock for as long
/// as it holds the segment.
final class Segment: @unchecked Sendable {
    // Safe to share: `count` and `isHandedOver` are touched under the session's lock only; bytes below `count` are immutable, and so is
    // `isBeginning` once the segment is one of a fetch.
    let start: Int64
    private let storage: UnsafeMutableRawBufferPointer
    private let pooled: PoolBuffer?
    private(set) var count = 0
    /// A lane has it; it grows no more.
    var isHandedOver = false
    /// It began when its fetch had nothing in memory. Set before anybody else has it.
    var isBeginning = false

    /// A segment of the bounded pool, of at most `capacity` bytes.
    init(start: Int64, pooled: PoolBuffer, capacity: Int) {
        self.start = start
        self.pooled = pooled
        storage = UnsafeMutableRawBufferPointer(rebasing: pooled.bytes.prefix(capacity))
    }

    /// A small one outside the pool: the tail of a fetch (at most one block each).
    init(start: Int64, capacity: Int) {
        self.start = start
        pooled = nil
        storage = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        if pooled == nil { storage.deallocate() }
    }

    var isPooled: Bool { pooled != nil }
    var end: Int64 { start + Int64(count) }
    var capacity: Int { storage.count }
    var room: Int { capacity - count }

    /// Takes as many of `bytes` as there is room for; returns how many.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let taken = min(bytes.count, room)
        guard taken > 0, let source = bytes.baseAddress else { return 0 }
        storage.baseAddress?.advanced(by: count).copyMemory(from: source, byteCount: taken)
        count += taken
        return taken
    }

    /// Gives up the bytes from `newCount` on, which were copied elsewhere; readers that use them still may.
    func cut(to newCount: Int) {
        count = min(count, newCount)
    }

    /// The bytes from `offset` on, at most `limit`.
    func bytes(from offset: Int64, limit: Int) -> UnsafeRawBufferPointer {
        let lower = Int(offset - start)
        return UnsafeRawBufferPointer(rebasing: storage[lower..<min(count, lower + limit)])
    }

    var allBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[0..<count]) }
}
