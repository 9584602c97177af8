import SpoolCore
import SpoolSystem

/// The rates of the links to origins, by host, for a cache that paces streams.
final class LinkRates: Sendable {
    private let rates = Locked<[String: LinkRate]>([:])
    /// The most hosts that are remembered. Beyond it all are forgotten, and measured again.
    private static let maxHosts = 256

    func measured(_ bytes: Int64, in duration: Nanoseconds, from host: String) {
        rates.withLock { rates in
            if rates[host] == nil, rates.count >= Self.maxHosts { rates.removeAll() }
            rates[host, default: LinkRate()].measured(bytes, in: duration)
        }
    }

    /// The rate of a host in bytes a second, or nil before the first measurement.
    func rate(of host: String) -> Int64? { rates.withLock { $0[host]?.bytesPerSecond } }
}

/// The pace of one reader, and the timer that wakes it.
final class ReaderPacing: Sendable {
    private struct State {
        var pace: StreamPace
        var isWaiting = false
        /// Whether the last step was stored bytes.
        var isStored = false
    }

    private let state: Locked<State>
    private let time: any TimeSource
    private let mailbox: any Mailbox

    init(_ pace: StreamPace, time: any TimeSource, mailbox: any Mailbox) {
        state = Locked(State(pace: pace))
        self.time = time
        self.mailbox = mailbox
    }

    /// Returns the part of stored bytes that may pass now, or nil when the reader has to wait.
    ///
    /// - Parameter wake: Called when the wait is over.
    func allowed(_ range: ByteRange, wake: @escaping @Sendable () -> Void) -> ByteRange? {
        let (part, delay) = state.withLock { state -> (ByteRange?, Nanoseconds?) in
            state.isStored = true
            switch state.pace.step(now: time.now) {
            case .pass(let count): return (ByteRange(range.lowerBound, min(range.upperBound, range.lowerBound + count)), nil)
            case .wait(let delay):
                defer { state.isWaiting = true }
                return (nil, state.isWaiting ? nil : delay)
            }
        }
        if let delay {
            _ = time.after(delay, on: mailbox) { [self] in
                state.withLock { $0.isWaiting = false }
                wake()
            }
        }
        return part
    }

    /// Notes that the last step was no stored bytes.
    func tookOthers() { state.withLock { $0.isStored = false } }

    /// Counts the bytes that the consumer took.
    func advanced(by count: Int) {
        state.withLock { state in if state.isStored { state.pace.pass(Int64(count), now: time.now) } }
    }
}
