/// Keeps account of the room that a store has left: what its files occupy, what was promised to writes, and who waits for room.
///
/// Room is promised before a byte is written, so what is there and what is promised never exceed the limits together. What a promise came
/// to is known when the index has entered its bytes; until then it counts in full.
package struct RoomLedger: Sendable {
    /// The most that the files may occupy, in bytes; nil for no limit.
    private var quotaBytes: Int64?
    /// What is left to others on the disk, in bytes; nil for no limit.
    private let minimumFreeBytes: Int64?
    /// What may still be promised; nil while nobody has looked.
    private var roomBytes: Int64?
    /// Promised, and not yet in what the store says that its files occupy.
    private var unsettledBytes: Int64 = 0
    /// Promised, and not yet in what the disk says that it has left.
    private var unwrittenBytes: Int64 = 0
    private var nextRequest: UInt64 = 1
    /// Who waits, in the order in which they came. Bounded by the segments that the buffer pool and the tails of fetches make.
    package private(set) var waiting: [Request] = []

    /// A write that waits for room.
    package struct Request: Hashable, Sendable {
        package let id: UInt64
        package let bytes: Int64
    }

    package init(quotaBytes: Int64?, minimumFreeBytes: Int64?) {
        self.quotaBytes = quotaBytes
        self.minimumFreeBytes = minimumFreeBytes
    }

    /// Whether there is anything to keep account of.
    package var isLimited: Bool { quotaBytes != nil || minimumFreeBytes != nil }

    /// Another quota holds from now on.
    package mutating func setQuota(_ bytes: Int64?) { quotaBytes = bytes }

    // MARK: Promises

    /// Asks for room. Nil when it was promised; else the request waits, after those that wait already.
    package mutating func ask(_ bytes: Int64) -> Request? {
        if waiting.isEmpty, let roomBytes, bytes <= roomBytes {
            promise(bytes)
            return nil
        }
        let request = Request(id: nextRequest, bytes: bytes)
        nextRequest += 1
        waiting.append(request)
        return request
    }

    /// Whether it is the disk that has too little left, and not the quota.
    package private(set) var isDiskShort = false

    /// How much is missing for the first that waits; 0 or less when there is room for it.
    package var shortageBytes: Int64 {
        guard let first = waiting.first else { return 0 }
        return first.bytes - (roomBytes ?? 0)
    }

    /// Takes the first that waits off the list, with its promise or without.
    package mutating func answerFirst(isGranted: Bool) {
        guard !waiting.isEmpty else { return }
        let request = waiting.removeFirst()
        if isGranted { promise(request.bytes) }
    }

    private mutating func promise(_ bytes: Int64) {
        unsettledBytes += bytes
        unwrittenBytes += bytes
        roomBytes = roomBytes.map { $0 - bytes }
    }

    // MARK: What became of them

    /// The bytes of a promise are written, or their write has failed.
    package mutating func written(_ bytes: Int64) { unwrittenBytes -= bytes }

    /// What the store says that its files occupy has the bytes of a promise from now on, or they are gone.
    package mutating func settled(_ bytes: Int64) { unsettledBytes -= bytes }

    /// Somebody looked at what the files occupy, and what the disk has left; nil where that can't be told.
    package mutating func looked(occupiedBytes: Int64, freeBytes: Int64?) {
        let quotaRoom = quotaBytes.map { $0 - occupiedBytes - unsettledBytes }
        let diskRoom = minimumFreeBytes.flatMap { minimum in freeBytes.map { $0 - minimum - unwrittenBytes } }
        roomBytes = min(quotaRoom ?? .max, diskRoom ?? .max)
        isDiskShort = (diskRoom ?? .max) < (quotaRoom ?? .max)
    }

    /// What was seen no longer holds: nothing more is promised before somebody has looked again.
    package mutating func forget() { roomBytes = nil }

    /// What is promised and not settled; for tests.
    package var promisedBytes: Int64 { unsettledBytes }
}
