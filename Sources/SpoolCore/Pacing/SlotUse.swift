/// The rate of a running request, from looks at its bytes while other requests wait for a slot.
///
/// A slot is one of the requests that may run at once. A slow request loses its slot and goes on:
/// another request may start beside it. Only an idle client can lose more than the slot, see
/// `FetchScheduler.plan`. Nothing is measured while no request waits.
package struct SlotUse: Hashable, Sendable {
    /// The time between two looks: 2 s. So long the first request waits if all others just became
    /// slow. A shorter time would take a lossy link for a slow one.
    package static let lookInterval = Nanoseconds.seconds(2)
    /// A request below this rate is slow: 4 KiB/s, less than any music needs. 64 of them leave most
    /// of a link of 2 Mbit/s to others.
    package static let slowBytesPerSecond = 4096
    /// A request that moves less than `quietBytes` in this time is quiet: 60 s.
    package static let quietTime = Nanoseconds.seconds(60)
    /// The bytes that a request moves at least in `quietTime`, unless it is quiet: 1 KiB. An upload
    /// over GPRS moves a hundred times as many.
    package static let quietBytes: Int64 = 1024

    private struct Mark: Hashable {
        var bytes: Int64
        var time: MonotonicInstant
    }

    private var last: Mark
    private var lastMoved: Mark
    /// Whether the request moved too little between the last two looks to keep its slot.
    package private(set) var isSlow = false

    /// Creates the use of a slot by a request that started at `start`.
    package init(since start: MonotonicInstant) {
        last = Mark(bytes: 0, time: start)
        lastMoved = last
    }

    /// Takes the number of bytes that the request has moved since its start. A look that follows
    /// the last one in less than `lookInterval` changes nothing.
    package mutating func looked(_ bytes: Int64, now: MonotonicInstant) {
        let elapsed = now - last.time
        guard elapsed >= Self.lookInterval else { return }
        isSlow = Double(bytes - last.bytes) * 1e9 < Double(Self.slowBytesPerSecond) * Double(elapsed)
        last = Mark(bytes: bytes, time: now)
        if bytes - lastMoved.bytes >= Self.quietBytes { lastMoved = last }
    }

    /// The time before the last look in which the request moved fewer than `quietBytes`.
    package var quiet: Nanoseconds { last.time - lastMoved.time }

    /// Whether the request moved fewer than `quietBytes` in the last `quietTime`.
    package var isQuiet: Bool { quiet >= Self.quietTime }

    /// The look since which the request moved fewer than `quietBytes`.
    package var quietSince: MonotonicInstant { lastMoved.time }
}
