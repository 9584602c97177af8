#if os(Linux)
import SpoolCore
import SpoolOrigin
import Testing

@Suite struct `The loop's watch for answers` {
    private static let soon = BusyPollPolicy.duration, late = BusyPollPolicy.duration + 1

    /// Returns how many of `requests` are watched when they are sent one after the other and each
    /// is answered after `delay`.
    private func watched(_ requests: Int, _ delay: Nanoseconds, _ watch: inout BusyPollPolicy) -> Int {
        (0..<requests).count { _ in
            let isWatched = watch.requestSent()
            if isWatched { watch.answered(after: delay) }
            return isWatched
        }
    }

    @Test func `the watch continues for every request to a near origin`() {
        var watch = BusyPollPolicy()
        #expect(watched(1000, Self.soon, &watch) == 1000)
    }

    @Test func `the watch stops for a far origin, except one request of sixteen`() {
        var watch = BusyPollPolicy()
        #expect(watched(BusyPollPolicy.lateLimit, Self.late, &watch) == BusyPollPolicy.lateLimit)
        #expect(watched(160 * BusyPollPolicy.probeInterval, Self.late, &watch) == 160)
    }

    @Test func `the watch resumes with one early answer and tolerates a few late ones`() {
        var watch = BusyPollPolicy()
        _ = watched(100, Self.late, &watch)
        #expect(watched(BusyPollPolicy.probeInterval, Self.soon, &watch) >= 1)
        #expect(watched(10, Self.soon, &watch) == 10)
        #expect(watched(BusyPollPolicy.lateLimit - 1, Self.late, &watch) == BusyPollPolicy.lateLimit - 1)
        #expect(watched(10, Self.soon, &watch) == 10)
    }

    @Test func `the watch stops for an origin that never answers`() {
        var watch = BusyPollPolicy()
        var watched = 0
        for _ in 0..<160 where watch.requestSent() { watched += 1 }
        #expect(watched == BusyPollPolicy.lateLimit + (160 - BusyPollPolicy.lateLimit) / BusyPollPolicy.probeInterval)
    }
}
#endif
