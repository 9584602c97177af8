import SpoolCore
import SpoolOrigin
import SpoolSystem

/// Measures the rate at which a server before the origin sends a body, and finds when the origin is
/// better asked for the rest. The callbacks of one transfer use it, one at a time.
struct TierPace {
    /// The time of one measurement.
    static let window: Nanoseconds = .seconds(2)
    /// The least bytes that a server sends in `window`: 64 KiB a second, less than most films need.
    static let minimumBytes = 128 << 10
    /// The reason to leave a server, in words.
    static let reason = "it sends less than 64 KiB a second"

    private let time: any TimeSource
    private var start: MonotonicInstant?
    private var bytes = 0

    init(time: any TimeSource) { self.time = time }

    /// Begins anew. A body that nobody takes has no rate.
    mutating func paused() { start = nil }

    /// Counts bytes that were taken.
    /// - Returns: Whether a window has passed with too few bytes.
    mutating func isSlow(after count: Int) -> Bool {
        let now = time.now
        guard let start, now - start < Self.window else {
            let isSlow = start != nil && bytes < Self.minimumBytes
            (start, bytes) = (now, count)
            return isSlow
        }
        bytes = min(bytes + count, Self.minimumBytes)
        return false
    }
}

/// Passes the body of a parent on while it comes at a sufficient rate. A slower one ends as if the
/// parent had broken off, if another request can bring the rest.
final class PacedReceiver: TransferReceiver, @unchecked Sendable {
    // Safe to share: only the callbacks use the state, and they come one at a time.
    private let receiver: any TransferReceiver
    private var pace: TierPace
    private var isLeft = false

    init(_ receiver: any TransferReceiver, time: any TimeSource) {
        self.receiver = receiver
        pace = TierPace(time: time)
    }

    func interimReceived(_ head: ResponseHead) { receiver.interimReceived(head) }
    func answerIsLate() { receiver.answerIsLate() }
    func headReceived(_ head: ResponseHead) { receiver.headReceived(head) }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        let answer = receiver.bodyReceived(bytes)
        switch answer {
        case .taken: isLeft = pace.isSlow(after: bytes.count) && receiver.bodyIsQuiet(for: .nanoseconds(TierPace.window))
        case .pause: pace.paused()
        case .enough: break
        }
        return isLeft ? .enough : answer
    }

    func bodyIsQuiet(for time: Duration) -> Bool { receiver.bodyIsQuiet(for: time) }
    func batchEnded() { receiver.batchEnded() }
    func measured(_ timings: TransferTimings) { receiver.measured(timings) }

    func finished(_ end: TransferEnd) {
        receiver.finished(isLeft && end == .cancelled ? .failed(.timeout(TierPace.reason)) : end)
    }
}
