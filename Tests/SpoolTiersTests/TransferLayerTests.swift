import Spool
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import SpoolTiers
import Testing

/// Every callback, behind every transport that may send a request more than once.
@Suite(.timeLimit(.minutes(20))) struct TransferLayerTests {
    enum Layer: CaseIterable { case doubling, redirecting, parent, modifying }

    /// One request, and the events that lead to its second attempt.
    private struct Trial {
        private struct Tokens: RequestModifier {
            func fields(for url: String, fields: HTTPFields, refusal: Int?) async throws -> HTTPFields { fields }
        }

        let base = HandTransport()
        let receiver = WordReceiver()
        let transfer: any Transfer
        private let time = ManualTime()
        private let layer: Layer
        /// Kept, because late answers are noticed by the transport.
        private let transport: any Transport

        init(_ layer: Layer) async throws {
            self.layer = layer
            transport =
                switch layer {
                case .doubling: DoublingTransport(base, time: time, on: HandMailbox())
                case .redirecting: RedirectingTransport(base)
                case .parent: ParentTransport(base, parent: try #require(ParentProxy("http://parent/")), time: time, on: HandMailbox())
                case .modifying: ModifyingTransport(base, modifier: Tokens())
                }
            var request = OriginRequest(url: "https://media.example/a.mp4", fields: [:])
            request.wait(OriginPatience(), isBrief: false)
            transfer = transport.start(request, receiver: receiver)
            try await sent(1)
        }

        private func sent(_ count: Int) async throws {
            try await eventually("request \(count) was sent") { [base] in base.count == count }
        }

        /// Leads to the second attempt, which is the only one then.
        /// - Returns: The words that the receiver gets by that.
        func proceed() async throws -> [String] {
            switch layer {
            case .doubling:
                time.advance(by: .seconds(8))
                base.end(0, .failed(.timeout("silent")))
            case .redirecting: base.answer(0, 302, ["Location": "/b"])
            case .parent: base.end(0, .failed(.unreachable("refused")))
            case .modifying: base.answer(0, 401)
            }
            try await sent(2)
            return layer == .doubling ? ["late"] : []
        }
    }

    @Test(arguments: Layer.allCases, [0, 1])
    func `each callback of the attempt that answers reaches the receiver`(layer: Layer, attempt: Int) async throws {
        let trial = try await Trial(layer)
        var expected = attempt == 1 ? try await trial.proceed() : []
        let base = trial.base
        // An interim response of a parent is about its own answer, and one behind a redirect is that of
        // another origin.
        let isMute = (layer == .parent && attempt == 0) || (layer == .redirecting && attempt == 1)
        base.inform(attempt)
        base.delay(attempt)
        base.answer(attempt, 206, ["Cache-Status": "spool; hit", "Content-Type": "video/mp4"])
        #expect(base.offer(attempt) == .taken)
        base.endBatch(attempt)
        base.measure(attempt, bytes: 4)
        base.end(attempt, .complete)
        expected += (isMute ? [] : ["103"]) + ["late", "206", "bytes", "batch", "measured 4", "complete"]
        #expect(trial.receiver.words == expected)
    }

    @Test(arguments: Layer.allCases)
    func `no callback of an attempt that was left reaches the receiver`(layer: Layer) async throws {
        let trial = try await Trial(layer)
        let before = try await trial.proceed(), base = trial.base
        base.inform(0)
        base.delay(0)
        base.answer(0)
        _ = base.offer(0)
        base.endBatch(0)
        base.measure(0, bytes: 1)
        base.end(0, .complete)
        #expect(trial.receiver.words == before)
        base.answer(1)
        base.measure(1, bytes: 2)
        base.end(1, .failed(.truncated(afterBytes: 0)))
        #expect(trial.receiver.words == before + ["200", "measured 2", "failed"])
    }

    /// Answers the first attempt inside the notice that the answer is late.
    private final class LateAnswer: TransferReceiver {
        let words = WordReceiver()
        let base: HandTransport
        init(_ base: HandTransport) { self.base = base }

        func answerIsLate() {
            words.answerIsLate()
            base.answer(0)
        }
        func headReceived(_ head: ResponseHead) { words.headReceived(head) }
        func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { words.bodyReceived(bytes) }
        func batchEnded() {}
        func finished(_ end: TransferEnd) { words.finished(end) }
    }

    @Test func `an answer that comes just when it counts as late is not doubled, and no other attempt ends it`() {
        let base = HandTransport(), time = ManualTime(), receiver = LateAnswer(base)
        let transport = DoublingTransport(base, time: time, on: HandMailbox())
        var request = OriginRequest(url: "https://media.example/a.mp4", fields: [:])
        request.wait(OriginPatience(), isBrief: false)
        _ = transport.start(request, receiver: receiver)
        time.advance(by: .seconds(8))
        #expect(base.count == 1)
        #expect(base.offer(0) == .taken)
        base.end(0, .complete)
        #expect(receiver.words.words == ["late", "200", "bytes", "complete"])
    }

    @Test(arguments: Layer.allCases, [0, 1])
    func `resume and urgency reach the attempt that answers`(layer: Layer, attempt: Int) async throws {
        let trial = try await Trial(layer)
        trial.transfer.setPriority(.prefetch)
        if attempt == 1 { _ = try await trial.proceed() }
        try await eventually("the attempt knows the urgency") { trial.base.priorities(of: attempt).last == .prefetch }
        trial.base.answer(attempt, 200, ["Cache-Status": "spool; hit", "Content-Type": "video/mp4"])
        trial.transfer.resume()
        #expect(trial.base.resumed == [attempt])
    }

    @Test(arguments: Layer.allCases, [0, 1])
    func `a request that is cancelled before its answer ends once, without further calls`(layer: Layer, attempt: Int) async throws {
        let trial = try await Trial(layer)
        let before = attempt == 1 ? try await trial.proceed() : []
        trial.transfer.cancel()
        let base = trial.base
        #expect(base.cancelled.contains(attempt))
        base.inform(attempt)
        base.delay(attempt)
        base.answer(attempt)
        #expect(base.offer(attempt) == .enough)
        base.endBatch(attempt)
        base.end(attempt, .cancelled)
        base.end(attempt, .cancelled)
        #expect(trial.receiver.words == before + ["cancelled"] && base.count == attempt + 1)
    }

    @Test(arguments: Layer.allCases, [0, 1])
    func `a request that is cancelled during its answer ends once`(layer: Layer, attempt: Int) async throws {
        let trial = try await Trial(layer)
        let before = attempt == 1 ? try await trial.proceed() : []
        trial.base.answer(attempt, 200, ["Cache-Status": "spool; hit", "Content-Type": "video/mp4"])
        trial.transfer.cancel()
        #expect(trial.base.cancelled.contains(attempt))
        trial.base.end(attempt, .cancelled)
        #expect(trial.receiver.words == before + ["200", "cancelled"])
    }
}
