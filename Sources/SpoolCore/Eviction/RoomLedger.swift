/// Tracks the room that a store has left: the bytes that its files occupy, the bytes promised to
/// writes, and the writes that wait for room.
///
/// Room is promised before a byte is written, so stored and promised bytes together never exceed
/// the limits. The real size of a write is known only when the index has entered its bytes. Until
/// then the promise counts in full.
package struct RoomLedger<Writer: Sendable>: Sendable {
    /// The most bytes that the files may occupy; nil for no limit.
    private var quotaBytes: Int64?
    /// The bytes that the store leaves free on the disk; nil for no limit.
    private var minimumFreeBytes: Int64?
    /// The bytes that may still be promised; nil when the usage has not been measured.
    private var roomBytes: Int64?
    /// The same for writes to which the quota does not apply.
    private var diskRoomBytes: Int64?
    /// The promised bytes that the store's own count of its files does not include yet.
    private var unsettledBytes: Int64 = 0
    /// The promised bytes that the disk's count of free space does not include yet.
    private var unwrittenBytes: Int64 = 0
    /// The waiting requests, oldest first. The buffer pool and the tails of fetches bound their
    /// number.
    package private(set) var waiting: [Request] = []

    /// A write that waits for room.
    package struct Request: Sendable {
        /// The number of bytes that the write may add.
        package let bytes: Int64
        /// Whether the quota does not apply to the write, but only the room on the disk.
        package let ignoresQuota: Bool
        /// The write itself.
        package let writer: Writer
    }

    /// Creates a ledger with these limits; nil for none.
    package init(quotaBytes: Int64?, minimumFreeBytes: Int64?) {
        self.quotaBytes = quotaBytes
        self.minimumFreeBytes = minimumFreeBytes
    }

    /// Whether there is a limit at all.
    package var isLimited: Bool { quotaBytes != nil || minimumFreeBytes != nil }

    /// Sets the quota.
    package mutating func setQuota(_ bytes: Int64?) { quotaBytes = bytes }

    /// Sets both limits. The room is unknown until the next measurement.
    package mutating func setLimits(quotaBytes: Int64?, minimumFreeBytes: Int64?) {
        (self.quotaBytes, self.minimumFreeBytes) = (quotaBytes, minimumFreeBytes)
        forget()
    }

    // MARK: Promises

    /// Promises room for a write while there is no limit. A limit that is set before the write is
    /// over then counts it.
    package mutating func grantUnlimited(_ bytes: Int64) { promise(bytes) }

    /// Requests room for a write.
    ///
    /// - Parameter ignoresQuota: whether only the room on the disk limits the write.
    /// - Returns: whether the room was promised at once. If not, the request waits behind earlier
    ///   ones.
    package mutating func ask(_ bytes: Int64, ignoresQuota: Bool = false, for writer: Writer) -> Bool {
        if waiting.isEmpty, let room = roomBytes(ignoresQuota), bytes <= room {
            promise(bytes)
            return true
        }
        waiting.append(Request(bytes: bytes, ignoresQuota: ignoresQuota, writer: writer))
        return false
    }

    private func roomBytes(_ ignoresQuota: Bool) -> Int64? { ignoresQuota ? diskRoomBytes : roomBytes }

    /// Whether the disk limits the room more than the quota does.
    package private(set) var isDiskShort = false

    /// The bytes that are missing for the first waiting request; 0 or less when there is room for
    /// it.
    package var shortageBytes: Int64 {
        guard let first = waiting.first else { return 0 }
        return first.bytes - (roomBytes(first.ignoresQuota) ?? 0)
    }

    /// Removes and returns the first waiting request, with a promise of its room or without.
    package mutating func answerFirst(isGranted: Bool) -> Request? {
        guard !waiting.isEmpty else { return nil }
        let request = waiting.removeFirst()
        if isGranted { promise(request.bytes) }
        return request
    }

    private mutating func promise(_ bytes: Int64) {
        unsettledBytes += bytes
        unwrittenBytes += bytes
        roomBytes = roomBytes.map { $0 - bytes }
        // Without a limit this is the largest number, and the sum of promises is far below it.
        diskRoomBytes = diskRoomBytes.map { $0 - bytes }
    }

    // MARK: Settling promises

    /// Records that the bytes of a promise are written, or that their write has failed.
    package mutating func written(_ bytes: Int64) { unwrittenBytes -= bytes }

    /// Records that the store's count of its files includes the bytes of a promise from now on, or
    /// that the bytes are gone.
    package mutating func settled(_ bytes: Int64) { unsettledBytes -= bytes }

    /// Records a new measurement of the usage.
    /// - Parameter freeBytes: the free bytes of the disk; nil when they cannot be determined.
    package mutating func looked(occupiedBytes: Int64, freeBytes: Int64?) {
        let quotaRoom = quotaBytes.map { $0 - occupiedBytes - unsettledBytes }
        let diskRoom = minimumFreeBytes.flatMap { minimum in freeBytes.map { $0 - minimum - unwrittenBytes } }
        roomBytes = min(quotaRoom ?? .max, diskRoom ?? .max)
        diskRoomBytes = diskRoom ?? .max
        isDiskShort = (diskRoom ?? .max) < (quotaRoom ?? .max)
    }

    /// Invalidates the measurement: no room is promised until the next one.
    package mutating func forget() { (roomBytes, diskRoomBytes) = (nil, nil) }

    /// The bytes that may be promised without an eviction; nil without a limit, or when the usage
    /// has not been measured.
    package var spareBytes: Int64? { isLimited ? roomBytes.map { max(0, $0) } : nil }

    /// Whether a write that room was promised to is not over.
    package var hasWritesUnderWay: Bool { unwrittenBytes > 0 }

    /// The promised bytes that are not settled; for tests.
    package var promisedBytes: Int64 { unsettledBytes }
}
