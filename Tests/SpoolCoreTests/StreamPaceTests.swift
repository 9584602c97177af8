import SpoolCore
import Testing

/// The pace of stored bytes, and the rate of a link.
struct StreamPaceTests {
    private static func at(_ milliseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: milliseconds * 1_000_000) }

    @Test func `bytes pass at the rate of the link`() {
        var pace = StreamPace(bytesPerSecond: 1_000_000, now: Self.at(0))
        #expect(pace.step(now: Self.at(100)) == .pass(100_000))
        pace.pass(100_000, now: Self.at(100))
        guard case .wait(let delay) = pace.step(now: Self.at(100)) else { return #expect(Bool(false)) }
        #expect((16_384_000...16_384_002).contains(delay))
        guard case .pass = pace.step(now: MonotonicInstant(nanoseconds: 100_000_000 + delay)) else {
            return #expect(Bool(false), "one wait suffices")
        }
    }

    @Test func `a link without any rate gives one step a second`() {
        var pace = StreamPace(bytesPerSecond: 0, now: Self.at(0))
        #expect(pace.step(now: Self.at(0)) == .wait(.seconds(1)))
        #expect(pace.step(now: Self.at(1_000)) == .pass(16_384))
        pace.pass(16_384, now: Self.at(1_000))
        #expect(pace.step(now: Self.at(1_500)) == .wait(.milliseconds(500)))
    }

    @Test(arguments: [Int64.max, 1, 0, -5])
    func `extreme rates and times trap nothing`(rate: Int64) {
        var pace = StreamPace(bytesPerSecond: rate, now: MonotonicInstant(nanoseconds: 0))
        _ = pace.step(now: MonotonicInstant(nanoseconds: .max))
        pace.pass(.max, now: MonotonicInstant(nanoseconds: .max))
        _ = pace.step(now: MonotonicInstant(nanoseconds: .max))
    }

    @Test func `the rate of a link follows its measurements, and small bodies do not count`() {
        var rate = LinkRate()
        rate.measured(1_000, in: .milliseconds(1))
        #expect(rate.bytesPerSecond == nil)
        rate.measured(100_000, in: .seconds(1))
        #expect(rate.bytesPerSecond == 100_000)
        rate.measured(500_000, in: .seconds(1))
        #expect(rate.bytesPerSecond == 200_000)
        rate.measured(.max, in: 1)
        rate.measured(.max, in: 0)
        #expect(rate.bytesPerSecond ?? 0 > 0)
    }
}
