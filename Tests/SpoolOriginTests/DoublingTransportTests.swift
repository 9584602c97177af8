import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// A request whose answer is late is sent once more, and the first answer counts.
@Suite struct DoublingTransportTests {
    private let base = HandTransport()
    private let time = ManualTime()
    private let receiver = WordReceiver()
    private let transport: DoublingTransport

    init() { transport = DoublingTransport(base, time: time, on: HandMailbox()) }

    private func start(_ change: (inout OriginRequest) -> Void = { _ in }) -> any Transfer {
        var request = OriginRequest(url: "https://media.example/a", fields: [:])
        request.wait(OriginPatience(), isBrief: false)
        change(&request)
        return transport.start(request, receiver: receiver)
    }

    @Test func `an answer in time is the only one`() {
        _ = start()
        base.answer(0)
        time.advance(by: .seconds(60))
        #expect(base.count == 1)
        #expect(receiver.words == ["200"])
        base.end(0, .complete)
        #expect(receiver.words == ["200", "complete"])
    }

    @Test func `a late answer is asked for again, once`() {
        _ = start()
        time.advance(by: .seconds(7))
        #expect(base.count == 1)
        time.advance(by: .seconds(1))
        #expect(base.count == 2)
        time.advance(by: .seconds(60))
        #expect(base.count == 2)
        #expect(receiver.words == ["late"])
    }

    @Test func `an answer behind a redirect is late at the same time, and asked for again`() {
        var request = OriginRequest(url: "https://media.example/a", fields: [:])
        request.wait(OriginPatience(), isBrief: false)
        _ = RedirectingTransport(transport).start(request, receiver: receiver)
        base.answer(0, 302, ["Location": "/b"])
        #expect(base.count == 2)
        time.advance(by: .seconds(8))
        #expect(base.count == 3 && receiver.words == ["late"])
    }

    @Test(arguments: [0, 1]) func `the first answer wins, and the other request is cancelled`(first: Int) {
        _ = start()
        time.advance(by: .seconds(8))
        base.answer(first)
        #expect(base.cancelled == [1 - first])
        base.answer(1 - first)
        base.end(1 - first, .cancelled)
        #expect(base.offer(1 - first) == .enough)
        #expect(base.offer(first) == .taken)
        base.end(first, .complete)
        #expect(receiver.words == ["late", "200", "bytes", "complete"])
    }

    @Test func `a refusal of the second request waits for the first one`() {
        _ = start()
        time.advance(by: .seconds(8))
        base.answer(1, 503)
        #expect(base.cancelled == [1] && receiver.words == ["late"])
        base.end(1, .cancelled)
        base.answer(0)
        base.end(0, .complete)
        #expect(receiver.words == ["late", "200", "complete"])
    }

    @Test func `a refusal of the second request is the end if the first one fails`() {
        _ = start()
        time.advance(by: .seconds(8))
        base.answer(1, 503)
        base.end(0, .failed(.timeout("0")))
        #expect(receiver.words == ["late", "failed"])
    }

    @Test func `one failure of two is none`() {
        _ = start()
        time.advance(by: .seconds(8))
        base.end(0, .failed(.timeout("x")))
        #expect(receiver.words == ["late"])
        base.answer(1)
        base.end(1, .complete)
        #expect(receiver.words == ["late", "200", "complete"])
    }

    @Test func `when both fail, the last failure is the end`() {
        _ = start()
        time.advance(by: .seconds(8))
        base.end(1, .failed(.timeout("1")))
        base.end(0, .failed(.timeout("0")))
        #expect(receiver.words == ["late", "failed"])
    }

    @Test func `a cancelled request ends once, and is not sent again`() {
        let transfer = start()
        time.advance(by: .seconds(8))
        transfer.cancel()
        #expect(base.cancelled.sorted() == [0, 1])
        base.end(0, .cancelled)
        base.end(1, .cancelled)
        #expect(receiver.words == ["late", "cancelled"])
        let other = start()
        other.cancel()
        time.advance(by: .seconds(8))
        #expect(base.count == 3)
    }

    @Test func `a request is sent once without patience for two, with a body, or if its answer is held back`() {
        _ = start { $0.wait(OriginPatience(), isBrief: true) }
        _ = start { $0.body = RequestBody([1]) }
        _ = start { $0.method = "HEAD" }
        _ = start {
            $0.isHeldBack = true
            $0.wait(OriginPatience(), isBrief: false)
        }
        time.advance(by: .seconds(60))
        #expect(base.count == 4)
    }

    @Test func `the urgency of the readers reaches the request, and the one that is sent again`() {
        let transfer = start()
        transfer.setPriority(.prefetch)
        #expect(base.priorities(of: 0) == [.prefetch])
        time.advance(by: .seconds(8))
        #expect(base.priorities(of: 1) == [.prefetch])
        transfer.setPriority(.playing)
        #expect(base.priorities(of: 0).last == .playing && base.priorities(of: 1).last == .playing)
    }

    @Test func `the times of a request are those of its patience`() {
        var request = OriginRequest(url: "https://media.example/a", fields: [:])
        request.wait(OriginPatience(), isBrief: false)
        #expect(request.connectTimeout == .seconds(10) && request.headTimeout == .seconds(60) && request.lateAfter == .seconds(8))
        request.wait(OriginPatience(), isBrief: true)
        #expect(request.headTimeout == .seconds(8) && request.lateAfter == nil)
        var hasty = OriginPatience()
        hasty.head = .seconds(2)
        request.wait(hasty, isBrief: false)
        #expect(request.headTimeout == .seconds(2) && request.lateAfter == nil)
        hasty.head = .seconds(Int64.max)
        request.wait(hasty, isBrief: false)
        #expect(request.headTimeout == .seconds(3600) && !hasty.isValid)
    }
}
