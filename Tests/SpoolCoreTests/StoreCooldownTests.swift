import SpoolCore
import Testing

/// Tests when a failing store is left unused for a while.
@Suite struct StoreCooldownTests {
    private let start = MonotonicInstant(nanoseconds: 0)

    @Test func `three failures within a minute cause a rest, and two do not`() {
        var rest = StoreCooldown()
        #expect(rest.failed(now: start) == nil)
        #expect(rest.failed(now: start + .seconds(10)) == nil)
        #expect(!rest.isResting(now: start + .seconds(10)))
        #expect(rest.failed(now: start + .seconds(20)) == .seconds(30))
        #expect(rest.isResting(now: start + .seconds(49)))
        #expect(!rest.isResting(now: start + .seconds(50)))
    }

    @Test func `failures far apart cause no rest`() {
        var rest = StoreCooldown()
        for minute in 0..<10 { #expect(rest.failed(now: start + .seconds(Int64(minute) * 61)) == nil) }
    }

    @Test func `each further rest is twice as long, up to ten minutes, until a good minute`() {
        var rest = StoreCooldown()
        var now = start
        var rests: [Nanoseconds] = []
        for _ in 0..<7 {
            for _ in 0..<3 { if let pause = rest.failed(now: now) { rests.append(pause) } }
            now = now + (rests.last ?? 0)
        }
        #expect(rests == [30, 60, 120, 240, 480, 600, 600].map { .seconds($0) })
        now = now + .seconds(61)
        for _ in 0..<3 { if let pause = rest.failed(now: now) { rests.append(pause) } }
        #expect(rests.last == .seconds(30))
    }
}
