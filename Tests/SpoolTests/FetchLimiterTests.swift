import Spool
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// How many origin requests run at once, and which ones give way.
@Suite struct FetchLimiterTests {
    /// Notes the fetches that started and those that can give way.
    private final class Fetches: Sendable {
        let limiter: FetchLimiter
        private let state = Locked<(started: [String], idle: Set<String>, tickets: [String: UInt64])>(([], [], [:]))

        init(total: Int, perHost: Int) {
            limiter = FetchLimiter(total: total, perHost: perHost)
        }

        var started: [String] { state.withLock { $0.started } }

        func submit(_ name: String, host: String = "a") {
            let ticket = limiter.submit(
                host: host, start: { [self] _ in state.withLock { $0.started.append(name) } }, preempt: { [self] in preempt(name) })
            state.withLock { $0.tickets[name] = ticket }
        }

        func makeIdle(_ name: String) { _ = state.withLock { $0.idle.insert(name) } }

        func finish(_ name: String) {
            if let ticket = state.withLock({ $0.tickets[name] }) { limiter.finished(ticket) }
        }

        private func preempt(_ name: String) -> Bool {
            guard state.withLock({ $0.idle.remove(name) }) != nil else { return false }
            finish(name)
            return true
        }
    }

    @Test func `fetches beyond a host's limit queue and start in the order of arrival`() {
        let fetches = Fetches(total: 10, perHost: 2)
        for name in ["1", "2", "3", "4"] { fetches.submit(name) }
        fetches.submit("5", host: "b")
        #expect(fetches.started == ["1", "2", "5"])
        #expect(fetches.limiter.counts == (active: 3, queued: 2))
        fetches.finish("2")
        #expect(fetches.started == ["1", "2", "5", "3"])
        fetches.finish("1")
        fetches.finish("1")
        #expect(fetches.started == ["1", "2", "5", "3", "4"])
    }

    @Test func `the total limit holds across hosts`() {
        let fetches = Fetches(total: 2, perHost: 2)
        fetches.submit("1", host: "a")
        fetches.submit("2", host: "b")
        fetches.submit("3", host: "c")
        #expect(fetches.started == ["1", "2"])
        fetches.finish("1")
        #expect(fetches.started == ["1", "2", "3"])
    }

    @Test func `an idle fetch gives its slot to a queued one`() {
        let fetches = Fetches(total: 10, perHost: 2)
        fetches.submit("1")
        fetches.submit("2")
        fetches.makeIdle("1")
        fetches.submit("3")
        #expect(fetches.started == ["1", "2", "3"])
        // A busy fetch keeps its slot until it is idle.
        fetches.submit("4")
        #expect(fetches.started == ["1", "2", "3"])
        fetches.makeIdle("2")
        fetches.limiter.reclaim()
        #expect(fetches.started == ["1", "2", "3", "4"])
    }

    @Test func `a fetch that is given up in the queue never starts`() {
        let fetches = Fetches(total: 10, perHost: 1)
        fetches.submit("1")
        fetches.submit("2")
        fetches.finish("2")
        fetches.finish("1")
        #expect(fetches.started == ["1"])
        #expect(fetches.limiter.counts == (active: 0, queued: 0))
    }

    @Test func `a fetch that waits starts beside a slow one, and nothing is looked at while none waits`() {
        let time = ManualTime(), looks = Locked(0), started = Locked<[String]>([])
        let limiter = FetchLimiter(total: 4, perHost: 4, time: time, control: HandMailbox())
        func submit(_ name: String, bytesPerSecond: Int64) {
            let start = time.now
            _ = limiter.submit(
                host: name, start: { _ in started.withLock { $0.append(name) } }, preempt: { false },
                progress: FetchLimiter.Progress(moved: {
                    looks.withLock { $0 += 1 }
                    return ((time.now - start) / .seconds(1) * bytesPerSecond, false)
                }))
        }
        submit("drip", bytesPerSecond: 1)
        for film in ["a", "b", "c"] { submit(film, bytesPerSecond: 1 << 20) }
        time.advance(by: .seconds(60))
        #expect(looks.withLock { $0 } == 0)
        // The drip has run for a minute, so the first look tells.
        submit("first", bytesPerSecond: 1 << 20)
        #expect(started.withLock { $0 } == ["drip", "a", "b", "c", "first"])
        let seen = looks.withLock { $0 }
        time.advance(by: .seconds(60))
        #expect(looks.withLock { $0 } == seen)
        submit("second", bytesPerSecond: 1)
        time.advance(by: .seconds(20))
        #expect(started.withLock { $0 } == ["drip", "a", "b", "c", "first"], "four slots move bytes")
        #expect(looks.withLock { $0 } > seen)
    }

    @Test func `a quiet fetch of a client that could move more ends while others wait`() {
        let time = ManualTime(), ended = Locked<[Int]>([])
        let limiter = FetchLimiter(total: 2, perHost: 2, time: time, control: HandMailbox())
        for number in 0..<4 {
            _ = limiter.submit(
                host: "site", client: [UInt8(number / 2)], start: { _ in }, preempt: { false },
                progress: FetchLimiter.Progress(moved: { (0, number == 1) }, end: { ended.withLock { $0.append(number) } }))
        }
        for _ in 0..<29 { time.advance(by: .seconds(2)) }
        #expect(ended.withLock { $0 } == [])
        for _ in 0..<2 { time.advance(by: .seconds(2)) }
        #expect(Set(ended.withLock { $0 }) == [1])
    }
}
