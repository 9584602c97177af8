package import SpoolCore

/// The bounds that the loading requests of one asset keep.
package struct LoadingLimits: Hashable, Sendable {
    /// The most bytes that are handed over in one call. 512 KiB: few calls, and a cancel is seen soon.
    package var pieceBytes = 512 << 10
    /// The smallest piece while delivery is slowed down.
    package var slowPieceBytes = 64 << 10
    /// How far delivery to one request runs ahead of the floor rate, in bytes.
    ///
    /// AVFoundation gives no back-pressure: what is handed over is memory in the app's process until the player uses it, and a player
    /// says that it has enough only by cancelling. 32 MiB are minutes of music and half a minute of good video, more than a player
    /// buffers before it cancels.
    package var runAheadBytes: Int64 = 32 << 20
    /// The same for an item that comes after the one that plays. 4 MiB start any item.
    package var upcomingRunAheadBytes: Int64 = 4 << 20
    /// Delivery never gets slower than this, so that a request which is really played, and never cancelled, goes on: 2 MiB a second is
    /// 16 Mbit/s. Where the item's own rate is known, twice that rate if it is more.
    package var floorBytesPerSecond: Int64 = 2 << 20
    /// The floor of an item that comes later while the one that plays waits for bytes: enough to show that it is alive.
    package var yieldingBytesPerSecond: Int64 = 64 << 10
    /// How long a request may wait without a byte before it ends with an error. The player gives up after two minutes.
    package var patience: Nanoseconds = .seconds(100)
    /// The pause before a reader is opened again after one that failed; doubled for each failure in a row.
    package var retryDelay: Nanoseconds = .seconds(1)
    /// The longest pause between two readers.
    package var longestRetryDelay: Nanoseconds = .seconds(8)
    /// How often it is asked what a resource is where the next answer may be another: a network that changes just now must not end an item
    /// before it began, and who is offline learns it within a few seconds.
    package var discoveries = 3
    /// Requests of one asset that are open at once; beyond, the oldest ends with an error. Players have a handful.
    package var openRequests = 64

    package init() {}
}

/// How urgent the bytes of an asset are.
package enum LoadingPriority: Hashable, Sendable {
    /// Its item plays, or nobody said otherwise.
    case playing
    /// Its item comes later in a queue.
    case upcoming
    /// Its item comes later, and the one that plays waits for bytes.
    case yielding
}
