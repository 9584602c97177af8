/// The bounds of one session's decisions.
package struct SessionLimits: Hashable, Sendable {
    /// How far a fetch runs ahead of the furthest reader under `.whilePlaying`, in bytes.
    package var readAheadBytes: Int64 = 4 << 20
    /// How many bytes behind a reader are spared by eviction, for a short step back.
    package var keptBehindBytes: Int64 = 1 << 20
    /// The smallest and the largest distance at which a reader joins a running fetch instead of
    /// starting one of its own, in bytes.
    package var joinBytes: ClosedRange<Int64> = 65_536...(2 << 20)
    /// How long a fetch that no reader needs stays paused before it is closed, unless a play left
    /// it and a reader waits elsewhere.
    package var linger: Nanoseconds = .seconds(1)
    /// The most bytes that one request asks for at the beginning of a play; nil where a pause
    /// really stops the origin (`Transport.windowBytes`).
    package var requestBytes: Int64?
    /// The same for a reader that goes on, in bytes. 32 MiB are 130 requests for a film of 4 GB.
    package var longestRequestBytes: Int64 = 32 << 20
    /// The bytes that the first request for a reader asks for, once the version is known
    /// (`RequestWindow`): a second of a film. Most readers that leave early take less.
    package var firstWindowBytes: Int64 = 1 << 20
    /// The bytes that a reader has to take in a row before its next request is open-ended: the
    /// first window, and a second one. The second is what a player costs that leaves after the
    /// first.
    package var provenBytes: Int64 = (1 << 20) + (48 << 10)
    /// The bytes that a reader takes in a row in the middle of a play, and not when it looks for
    /// the index of a file. If it leaves then, it does not come back to the same place.
    package var playBytes: Int64 = 4 << 20
    /// The longest time from a request to its answer for which a reader waits between two windows.
    /// The shortest answer so far counts, so one over an open connection.
    package var longestWait: Nanoseconds = .milliseconds(100)
    /// The smallest and the largest number of bytes that count as lost by a cancel. A fetch without
    /// a reader receives the rest of its response if that is less.
    package var lostBytes: ClosedRange<Int64> = (256 << 10)...(1 << 20)
    /// How long a reader that finds only a part of its range waits for the origin to confirm the
    /// version: one round trip to a distant origin. 0 turns the question off.
    package var gapPatience: Nanoseconds = .milliseconds(150)
    /// The memory of a relay for the readers at its front, in bytes.
    package var relayBytes: Int64 = 256 << 10
    /// The most bytes that are stored of a body without length and without a strong validator. Only
    /// a clean end completes it, and a live stream has none.
    package var openEndedBytes: Int64 = 2 << 30
    /// The failures in a row, without a byte between them, after which waiting readers fail.
    package var failures = 5
    /// The responses in a row that end early without a new byte, after which a reader fails if its
    /// client can repeat the request by itself.
    package var emptyAnswers = 2
    /// How long a reader waits at a relay that another reader holds back, before it gets a request
    /// of its own.
    package var relayPatience: Nanoseconds = .seconds(1)
    /// The pause before the first retry of a fetch. It doubles with each failure in a row.
    package var retryDelay: Nanoseconds = .milliseconds(200)
    /// The longest pause between two attempts.
    package var longestRetryDelay: Nanoseconds = .seconds(5)
    /// The longest pause that an origin may ask for (`Retry-After`) while readers wait. They fail
    /// if it asks for more.
    package var longestAskedDelay: Nanoseconds = .seconds(30)
    /// The seed for spreading the retries of many sessions, so that they don't all come at once; 0
    /// turns that off.
    package var jitterSeed: UInt64 = 0
    /// The most bytes that may be skipped at the beginning of a body that starts before the
    /// requested offset.
    package var skipBytes: Int64 = 1 << 20
    /// The most stored bytes that are compared with their checksums while a reader waits: as many
    /// as one turn of the event loop sends, 0.1 ms of work.
    package var verifyBytes: Int64 = 1 << 20
    /// The most stored bytes that are compared ahead of a moving reader: as many as one row of the
    /// index has checksums for.
    package var verifyAheadBytes: Int64 = 4 << 20
    /// The number of unverified runs beyond which each comparison covers more bytes. This bounds
    /// their list to 16 KiB.
    package var verifyIslands = 1_024

    /// The unit of integrity, in bytes; `Piece.blockBytes` of the store.
    package var blockBytes: Int64 = 65_536
    /// The number of stored runs in one block, each with a checksum of its own, beyond which the
    /// whole block is fetched again. This bounds the rows of the index.
    package var runsPerBlock = 16
    /// The number of stored runs of one version beyond which the shortest are deleted. They take 1
    /// MiB of memory and as many rows of the index.
    package var storedRuns = 65_536

    /// Creates the limits with their defaults.
    package init() {}

    /// Lowers limits to their shares of a quota. A radio has no end, and could fill the store for
    /// hours.
    package mutating func fit(quotaBytes: Int64) {
        keptBehindBytes = min(keptBehindBytes, quotaBytes / 8)
        openEndedBytes = min(openEndedBytes, quotaBytes / 10)
    }
}
