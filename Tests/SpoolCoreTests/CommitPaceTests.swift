import SpoolCore
import Testing

/// When written bytes are many enough for a commit.
@Suite struct CommitPaceTests {
    private let start = MonotonicInstant(nanoseconds: 0)
    private var pace = CommitPace(bytes: 100, interval: .milliseconds(200), limitBytes: 1000)

    @Test mutating func `few bytes are never due, however long they wait`() {
        #expect(pace.isEmpty && !pace.isDue(now: start))
        pace.came(99, now: start)
        #expect(!pace.isEmpty && !pace.isDue(now: start + .seconds(3600)))
    }

    @Test mutating func `many bytes are due when the first of them has waited, not the last`() {
        pace.came(1, now: start)
        pace.came(99, now: start + .milliseconds(199))
        #expect(!pace.isDue(now: start + .milliseconds(199)))
        #expect(pace.isDue(now: start + .milliseconds(200)))
    }

    @Test mutating func `bytes that came slowly are due as soon as they are many`() {
        pace.came(99, now: start)
        pace.came(1, now: start + .seconds(2))
        #expect(pace.isDue(now: start + .seconds(2)))
    }

    @Test mutating func `so many as may be lost at most are due at once`() {
        pace.came(999, now: start)
        #expect(!pace.isDue(now: start))
        pace.came(1, now: start)
        #expect(pace.isDue(now: start))
    }

    @Test mutating func `a limit below the usual number changes nothing but the wait`() {
        pace = CommitPace(bytes: 100, interval: .milliseconds(200), limitBytes: 10)
        pace.came(99, now: start)
        #expect(!pace.isDue(now: start + .seconds(1)))
        pace.came(1, now: start + .seconds(1))
        #expect(pace.isDue(now: start + .seconds(1)))
        pace.taken()
        pace.came(100, now: start + .seconds(1))
        #expect(pace.isDue(now: start + .seconds(1)))
    }

    @Test mutating func `what is taken waits no more, and what comes next waits from then on`() {
        pace.came(500, now: start)
        pace.taken()
        #expect(pace.isEmpty && !pace.isDue(now: start + .seconds(1)))
        pace.came(500, now: start + .seconds(1))
        #expect(!pace.isDue(now: start + .seconds(1)))
        #expect(pace.isDue(now: start + .milliseconds(1200)))
    }
}
