import SpoolCore
import SpoolOrigin
import SpoolSystem
import Testing

/// A request whose answer is late is sent once more, and the first answer counts.
@Suite struct DoublingTransportTests {
    private let base = HandTransport()
    private let time = HandTime()
    private let receiver = NotingReceiver()
    private let transport: DoublingTransport

    init() { transport = DoublingTransport(base, time: time, on: InlineMailbox()) }

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
        #expect(receiver.notes == ["200"])
        base.end(0, .complete)
        #expect(receiver.notes == ["200", "complete"])
    }

    @Test func `a late answer is asked for again, once`() {
        _ = start()
        time.advance(by: .seconds(7))
        #expect(base.count == 1)
        time.advance(by: .seconds(1))
        #expect(base.count == 2)
        time.advance(by: .seconds(60))
        #expect(base.count == 2)
        #expect(receiver.notes == ["late"])
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
        #expect(receiver.notes == ["late", "200", "bytes", "complete"])
    }

    @Test func `one failure of two is none`() {
        _ = start()
        time.advance(by: .seconds(8))
        base.end(0, .failed(.timeout("x")))
        #expect(receiver.notes == ["late"])
        base.answer(1)
        base.end(1, .complete)
        #expect(receiver.notes == ["late", "200", "complete"])
    }

    @Test func `when both fail, the last failure is the end`() {
        _ = start()
        time.advance(by: .seconds(8))
        base.end(1, .failed(.timeout("1")))
        base.end(0, .failed(.timeout("0")))
        #expect(receiver.notes == ["late", "failed"])
    }

    @Test func `a cancelled request ends once, and is not sent again`() {
        let transfer = start()
        time.advance(by: .seconds(8))
        transfer.cancel()
        #expect(base.cancelled.sorted() == [0, 1])
        base.end(0, .cancelled)
        base.end(1, .cancelled)
        #expect(receiver.notes == ["late", "cancelled"])
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

/// A transport whose answers the test gives by hand.
private final class HandTransport: Transport {
    private let state = Locked((receivers: [any TransferReceiver](), cancelled: [Int]()))

    var windowBytes: Int64? { nil }
    var count: Int { state.withLock { $0.receivers.count } }
    var cancelled: [Int] { state.withLock { $0.cancelled } }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let number = state.withLock { state in
            state.receivers.append(receiver)
            return state.receivers.count - 1
        }
        return HandTransfer { [self] in state.withLock { $0.cancelled.append(number) } }
    }

    func close() {}

    private func receiver(_ number: Int) -> any TransferReceiver { state.withLock { $0.receivers[number] } }

    func answer(_ number: Int) { receiver(number).headReceived(ResponseHead(status: 200, fields: [:])) }
    func offer(_ number: Int) -> BodyAnswer { [UInt8](repeating: 1, count: 4).withUnsafeBytes { receiver(number).bodyReceived($0) } }
    func end(_ number: Int, _ end: TransferEnd) { receiver(number).finished(end) }
}

private final class HandTransfer: Transfer {
    private let onCancel: @Sendable () -> Void

    init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    func resume() {}
    func cancel() { onCancel() }
}

/// Notes the calls in words.
private final class NotingReceiver: TransferReceiver {
    private let state = Locked([String]())

    var notes: [String] { state.withLock { $0 } }

    private func note(_ text: String) { state.withLock { $0.append(text) } }

    func answerIsLate() { note("late") }
    func headReceived(_ head: ResponseHead) { note(String(head.status)) }
    func batchEnded() {}

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        note("bytes")
        return .taken
    }

    func finished(_ end: TransferEnd) {
        switch end {
        case .complete: note("complete")
        case .failed: note("failed")
        case .cancelled: note("cancelled")
        }
    }
}

/// Runs each job at once.
private final class InlineMailbox: Mailbox {
    func post(_ job: @escaping @Sendable () -> Void) { job() }
}
