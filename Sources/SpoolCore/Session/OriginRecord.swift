/// The experience of this session with the origin: its pace, and the forms of request that it
/// answers badly.
struct OriginRecord: Hashable, Sendable {
    /// The number of pages in a row, instead of media, after which an event informs the user.
    static let pagesBeforeNotice = 3

    /// Whether requests from offset 0 on name no range. Set when the origin's response to a range
    /// from 0 on was malformed, contradicted itself, or had no strong validator and was too short.
    var omitsRange = false
    /// Whether requests are open-ended, whatever `requestBytes` is. Set when a windowed response
    /// shows that the origin has no strong validator: the whole then has to come in one response.
    var omitsEnd = false
    /// The most contradictions that the readers of a version wait for.
    static let mostContradictions = 3
    /// The number of answers that contradicted the current version since a reader last took bytes.
    var contradictions = 0
    /// The number of pages in a row that came instead of media.
    var pagesInARow = 0
    /// The time from the request to the head of the last fetch.
    private var firstByte: Nanoseconds?
    /// The shortest of those times: that of a request over an open connection, if there was one.
    private var shortestAnswer: Nanoseconds?
    /// The rate of the last fetch that ran long enough for a measurement.
    private var bytesPerSecond: Int64?

    /// The bytes that one request may ask for; nil for no bound.
    func requestBytes(_ limits: SessionLimits) -> Int64? { omitsEnd ? nil : limits.requestBytes }

    /// Measures the time to the head of this fetch.
    mutating func headCame(_ fetch: FetchState, now: MonotonicInstant) {
        let time = now - fetch.startedAt
        firstByte = time
        shortestAnswer = min(shortestAnswer ?? time, time)
    }

    /// Measures the rate of this fetch, if it has run long enough.
    mutating func batchCame(_ fetch: FetchState, now: MonotonicInstant) {
        let elapsed = now - fetch.startedAt - (firstByte ?? 0)
        guard elapsed > .milliseconds(5), fetch.front - fetch.start > 65_536, !fetch.isPaused else { return }
        bytesPerSecond = Int64(saturating: Double(fetch.front - fetch.start) / (Double(elapsed) / 1e9))
    }

    /// The number of bytes that the origin would send while a new request waits for its first byte,
    /// within `bounds`.
    func joinDistance(within bounds: ClosedRange<Int64>) -> Int64 {
        guard let bytesPerAnswer else { return bounds.lowerBound }
        return max(bounds.lowerBound, min(Int64(saturating: bytesPerAnswer), bounds.upperBound))
    }

    /// The number of bytes before the end of a window at which the next may be requested beside it.
    ///
    /// A new connection takes a round trip or two to open, and some more to reach the rate of the
    /// old one.
    func leadBytes(_ limits: SessionLimits) -> Int64 {
        min(4 * joinDistance(within: limits.joinBytes), limits.joinBytes.upperBound)
    }

    /// Whether a reader should not wait for another answer in the middle of its bytes.
    func answersSlowly(_ limits: SessionLimits) -> Bool { shortestAnswer.map { $0 > limits.longestWait } ?? false }

    /// The time of a round trip, as far as it is known. A delay below `ReceiveWindow.harmlessDelay`
    /// costs no player anything.
    var roundTrip: Nanoseconds { max(shortestAnswer ?? 0, ReceiveWindow.harmlessDelay) }

    /// The number of bytes that a cancel loses: those in flight, and as many in buffers.
    func lostBytes(_ limits: SessionLimits) -> Int64 {
        min(max(2 * joinDistance(within: 0...limits.lostBytes.upperBound), limits.lostBytes.lowerBound), limits.lostBytes.upperBound)
    }

    /// The number of bytes that the origin sends between a request and its first byte; nil before a
    /// measurement.
    private var bytesPerAnswer: Double? {
        guard let firstByte, let bytesPerSecond else { return nil }
        return Double(bytesPerSecond) * (Double(firstByte) / 1e9)
    }
}
