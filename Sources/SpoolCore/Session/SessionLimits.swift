/// The bounds that one session's decisions keep.
package struct SessionLimits: Hashable, Sendable {
    /// How far a fetch runs ahead of the furthest reader under `.whilePlaying`, in bytes.
    package var readAheadBytes: Int64 = 4 << 20
    /// What stays behind a reader when room is needed, in bytes: for a short step back.
    package var keptBehindBytes: Int64 = 1 << 20
    /// The smallest and the largest distance at which a reader joins a running fetch instead of starting one of its own, in bytes.
    package var joinBytes: ClosedRange<Int64> = 65_536...(2 << 20)
    /// How long a fetch that nobody wants stays paused before it is closed.
    package var linger: Nanoseconds = .seconds(1)
    /// The most bytes that one request asks for; nil where a pause really stops the origin (`Transport.windowBytes`).
    package var requestBytes: Int64?
    /// What a relay keeps in memory for the readers at its front, in bytes.
    package var relayBytes: Int64 = 256 << 10
    /// Failures in a row, without a byte between, after which waiting readers fail.
    package var failures = 5
    /// Answers in a row that end early without a new byte, after which a reader ends whose client can ask again by itself.
    package var emptyAnswers = 2
    /// How long a reader waits at a relay that another reader holds back, before it asks for its bytes by itself.
    package var relayPatience: Nanoseconds = .seconds(1)
    /// The first pause before a fetch is tried again; doubled for each failure in a row.
    package var retryDelay: Nanoseconds = .milliseconds(200)
    /// The longest pause between two tries.
    package var longestRetryDelay: Nanoseconds = .seconds(5)
    /// The longest pause that an origin may ask for (`Retry-After`) with readers waiting; they fail where it asks for more.
    package var longestAskedDelay: Nanoseconds = .seconds(30)
    /// What makes the pauses of many sessions differ, so that they don't all come back at once; 0 for none of that.
    package var jitterSeed: UInt64 = 0
    /// Bytes that may be skipped at the beginning of a body that starts before the wanted offset.
    package var skipBytes: Int64 = 1 << 20
    /// Stored bytes that are compared with their checks while a reader waits: as many as one turn sends, 0.1 ms of work.
    package var verifyBytes: Int64 = 1 << 20
    /// What is compared ahead of a reader that goes on: as much as one row of the index has checks for.
    package var verifyAheadBytes: Int64 = 4 << 20
    /// Runs of unverified bytes beyond which more is compared at a time, to keep their list short: 16 KiB of it.
    package var verifyIslands = 1_024

    /// The unit of integrity; `Piece.blockBytes` of the store.
    package var blockBytes: Int64 = 65_536
    /// Stored runs in one block, each with a check of its own, beyond which the block is fetched as a whole: bounds the rows of the index.
    package var runsPerBlock = 16
    /// Stored runs of one version; beyond, the shortest go. A MiB of them, and as many rows.
    package var storedRuns = 65_536

    package init() {}
}
