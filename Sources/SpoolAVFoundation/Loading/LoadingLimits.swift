package import SpoolCore

/// The limits of the loading requests of one asset.
package struct LoadingLimits: Hashable, Sendable {
    /// The most bytes delivered in one call. 512 KiB keeps the number of calls low and lets a
    /// cancel take effect soon.
    package var pieceBytes = 512 << 10
    /// The smallest piece while delivery is slowed down, in bytes.
    package var slowPieceBytes = 64 << 10
    /// How far delivery to one request runs ahead of the floor rate, in bytes.
    ///
    /// AVFoundation has no back-pressure. Delivered bytes occupy memory in the app's process until
    /// the player uses them, and a player only signals that it has enough by cancelling. 32 MiB are
    /// minutes of music and half a minute of good video, more than a player buffers before it
    /// cancels.
    package var runAheadBytes: Int64 = 32 << 20
    /// The same limit for media of a high rate, of which 32 MiB are only a few seconds.
    package var longestRunAheadBytes: Int64 = 64 << 20
    /// The seconds of media that delivery may run ahead, within these limits.
    package var runAheadSeconds: Int64 = 20
    /// How far all deliveries of the process together may run ahead, in bytes.
    package var processBytes: Int64 = 128 << 20
    /// The same limit for an item that comes after the one that plays. 4 MiB are enough to start
    /// any item.
    package var upcomingRunAheadBytes: Int64 = 4 << 20
    /// The lowest rate of delivery in bytes a second, so that a request which plays and is never
    /// cancelled goes on. 2 MiB a second is 16 Mbit/s. When the item's own rate is known, the floor
    /// is at least twice that rate.
    package var floorBytesPerSecond: Int64 = 2 << 20
    /// The floor of a later item while the one that plays waits for bytes: enough to keep its
    /// request alive.
    package var yieldingBytesPerSecond: Int64 = 64 << 10
    /// The floor of an item that left its player: a small piece every minute, so that its requests
    /// do not end with an error.
    package var parkedBytesPerSecond: Int64 = 1 << 10
    /// The floor of `LoadingPace.full`, in bytes a second: faster than storage and decoders, and
    /// slow enough for the bound on memory.
    package static let fullBytesPerSecond: Int64 = 256 << 20
    /// How long a request may wait without a byte before it ends with an error. The player itself
    /// gives up after two minutes.
    package var patience: Nanoseconds = .seconds(100)
    /// The pause after a failed reader before another one is opened. It doubles with each failure
    /// in a row.
    package var retryDelay: Nanoseconds = .seconds(1)
    /// The longest pause between two readers.
    package var longestRetryDelay: Nanoseconds = .seconds(8)
    /// The largest number of discoveries in a row, while another try may succeed. A network that
    /// changes at the moment must not end an item before it begins. A user who is offline gets the
    /// error within a few seconds.
    package var discoveries = 3
    /// The largest number of open requests of one asset. Beyond it, the oldest ends with an error.
    /// Players have a handful.
    package var openRequests = 64

    /// Creates the default limits.
    package init() {}
}

/// The urgency of an asset's bytes.
package enum LoadingPriority: Hashable, Sendable {
    /// The item plays. This is the default.
    case playing
    /// The item comes later in a queue.
    case upcoming
    /// The item comes later, and the one that plays waits for bytes.
    case yielding
    /// The item left its player, and may come back.
    case parked
}
