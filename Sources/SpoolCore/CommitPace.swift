/// Decides when written bytes are many enough for a commit, or committed ones for a durable point.
///
/// Either costs by its number and hardly by its bytes. As many as pass in a while at a network's speed are worth one; from an origin that is
/// faster than any network they wait until that while has passed, and go together. So what a kill or a power cut takes is bounded by the time
/// in which it came, and by a number of bytes. When few bytes have waited for long is a timer's matter.
package struct CommitPace: Sendable {
    private let bytes: Int64
    private let interval: Nanoseconds
    private let limitBytes: Int64
    private var waitingBytes: Int64 = 0
    private var firstCame: MonotonicInstant?

    /// - Parameters:
    ///   - bytes: so many are due once the first of them has waited for `interval` …
    ///   - limitBytes: … and so many at once.
    package init(bytes: Int64, interval: Nanoseconds, limitBytes: Int64) {
        self.bytes = bytes
        self.interval = interval
        self.limitBytes = limitBytes
    }

    /// Whether nothing waits.
    package var isEmpty: Bool { waitingBytes == 0 }

    /// Bytes have come, and wait.
    package mutating func came(_ count: Int64, now: MonotonicInstant) {
        guard count > 0 else { return }
        if waitingBytes == 0 { firstCame = now }
        waitingBytes += count
    }

    /// Whether what waits is due, however few more would come.
    package func isDue(now: MonotonicInstant) -> Bool {
        guard waitingBytes >= bytes, let firstCame else { return false }
        return waitingBytes >= limitBytes || now - firstCame >= interval
    }

    /// What waited is taken, or belongs to nobody any more.
    package mutating func taken() {
        waitingBytes = 0
        firstCame = nil
    }
}
