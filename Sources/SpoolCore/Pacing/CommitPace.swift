/// Decides when enough bytes have been written for a commit, or committed for a durable point.
///
/// The cost of either grows with their number and hardly with their bytes. The bytes that a network
/// delivers in one `interval` are worth one of them. An origin that is faster than any network
/// would cause many, so its bytes wait for the end of the interval and are committed together. The
/// loss by a kill or a power cut is therefore bounded in time and in bytes. A timer handles the
/// case of few bytes that have waited long.
package struct CommitPace: Sendable {
    private let bytes: Int64
    private let interval: Nanoseconds
    private let limitBytes: Int64
    private var waitingBytes: Int64 = 0
    private var firstCame: MonotonicInstant?

    /// Creates a pace without waiting bytes.
    ///
    /// - Parameters:
    ///   - bytes: the number of bytes that is due once the first of them has waited for `interval`.
    ///   - interval: the time that the first of fewer than `limitBytes` has to wait.
    ///   - limitBytes: the number of bytes that is due at once.
    package init(bytes: Int64, interval: Nanoseconds, limitBytes: Int64) {
        self.bytes = bytes
        self.interval = interval
        self.limitBytes = limitBytes
    }

    /// Whether no bytes wait.
    package var isEmpty: Bool { waitingBytes == 0 }

    /// Adds `count` bytes to those that wait.
    package mutating func came(_ count: Int64, now: MonotonicInstant) {
        guard count > 0 else { return }
        if waitingBytes == 0 { firstCame = now }
        waitingBytes += count
    }

    /// Whether the waiting bytes are due now, even if more are about to come.
    package func isDue(now: MonotonicInstant) -> Bool {
        guard waitingBytes >= bytes, let firstCame else { return false }
        return waitingBytes >= limitBytes || now - firstCame >= interval
    }

    /// Clears the waiting bytes, because they were committed or are no longer needed.
    package mutating func taken() {
        waitingBytes = 0
        firstCame = nil
    }
}
