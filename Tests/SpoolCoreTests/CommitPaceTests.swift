import SpoolCore
import Testing

/// Tests when written bytes are due for a commit: by their number, their age, or both.
@Suite struct CommitPaceTests {
    private let start = MonotonicInstant(nanoseconds: 0)
    private var pace = CommitPace(bytes: 100, interval: .milliseconds(200), limitBytes: 1000)

    @Test mutating func `few bytes are never due, however long they wait`() {
        #expect(pace.isEmpty && !pace.isDue(now: start))
        pace.came(99, now: start)
        #expect(!pace.isEmpty && !pace.isDue(now: start + .seconds(3600)))
    }

    @Test mutating func `many bytes are due once the first of them, not the last, has waited`() {
        pace.came(1, now: start)
        pace.came(99, now: start + .milliseconds(199))
        #expect(!pace.isDue(now: start + .milliseconds(199)))
        #expect(pace.isDue(now: start + .milliseconds(200)))
    }

    @Test mutating func `bytes that arrived slowly are due as soon as there are enough`() {
        pace.came(99, now: start)
        pace.came(1, now: start + .seconds(2))
        #expect(pace.isDue(now: start + .seconds(2)))
    }

    @Test mutating func `bytes up to the loss limit are due at once`() {
        pace.came(999, now: start)
        #expect(!pace.isDue(now: start))
        pace.came(1, now: start)
        #expect(pace.isDue(now: start))
    }

    @Test mutating func `a limit below the usual number only shortens the wait`() {
        pace = CommitPace(bytes: 100, interval: .milliseconds(200), limitBytes: 10)
        pace.came(99, now: start)
        #expect(!pace.isDue(now: start + .seconds(1)))
        pace.came(1, now: start + .seconds(1))
        #expect(pace.isDue(now: start + .seconds(1)))
        pace.taken()
        pace.came(100, now: start + .seconds(1))
        #expect(pace.isDue(now: start + .seconds(1)))
    }

    @Test mutating func `bytes that come after a commit start a new wait`() {
        pace.came(500, now: start)
        pace.taken()
        #expect(pace.isEmpty && !pace.isDue(now: start + .seconds(1)))
        pace.came(500, now: start + .seconds(1))
        #expect(!pace.isDue(now: start + .seconds(1)))
        #expect(pace.isDue(now: start + .milliseconds(1200)))
    }
}
