import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The one timer for all requests whose answer may be late.
@Suite(.timeLimit(.minutes(20))) struct LatenessMonitorTests {
    /// A request that calls the monitor whenever the monitor looks at it.
    private final class Request: AwaitedAnswer {
        let monitor: LatenessMonitor
        let other: Request?
        private let lateCount = Locked(0)
        private let isOver = Locked(false)

        init(_ monitor: LatenessMonitor, other: Request? = nil) { (self.monitor, self.other) = (monitor, other) }

        var isUndecided: Bool {
            if let other { monitor.add(other, .seconds(100)) }
            return isOver.withLock { !$0 }
        }

        func answerIsLate() { lateCount.withLock { $0 += 1 } }
        func end() { isOver.withLock { $0 = true } }
        var late: Int { lateCount.withLock { $0 } }
    }

    private let time = ManualTime()
    private let monitor: LatenessMonitor

    init() { monitor = LatenessMonitor(time: time, mailbox: HandMailbox()) }

    @Test func `a request is late once, at its own time, and not after its answer came`() {
        let requests = (0..<40).map { _ in Request(monitor) }
        for (index, request) in requests.enumerated() { monitor.add(request, .seconds(Int64(index % 4 + 1))) }
        for request in requests[20...] { request.end() }
        time.advance(by: .seconds(2))
        #expect(requests[..<20].map(\.late) == (0..<20).map { $0 % 4 < 2 ? 1 : 0 })
        time.advance(by: .seconds(60))
        #expect(requests[..<20].allSatisfy { $0.late == 1 })
        #expect(requests[20...].allSatisfy { $0.late == 0 })
    }

    /// A request has a lock of its own, which its transport may hold while it adds another one.
    @Test func `a request may call the monitor while the monitor looks at it`() {
        let other = Request(monitor)
        let requests = (0..<200).map { _ in Request(monitor, other: other) }
        for request in requests { monitor.add(request, .seconds(8)) }
        time.advance(by: .seconds(8))
        #expect(requests.allSatisfy { $0.late == 1 })
        #expect(other.late == 0)
        time.advance(by: .seconds(1000))
        #expect(other.late > 0)
    }
}
