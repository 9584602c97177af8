import Spool
import SpoolSystem
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
}
