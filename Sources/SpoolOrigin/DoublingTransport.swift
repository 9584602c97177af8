import SpoolCore
package import SpoolSystem

/// A transport that sends a GET a second time when its answer is late, around one that sends it
/// once.
///
/// The request that is answered first goes on, and the other one is cancelled. So a request that
/// reached a stuck server of many does not wait for that server.
package final class DoublingTransport: TransportLayer {
    /// The transport that sends the requests.
    package let base: any Transport
    private let watch: LatenessMonitor

    /// Creates a transport around another one, with the clock for late answers.
    package init(_ base: any Transport, time: any TimeSource, on mailbox: any Mailbox) {
        self.base = base
        watch = LatenessMonitor(time: time, mailbox: mailbox)
    }

    /// Starts a request, and watches for its answer if the request says when that is late.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        guard let delay = request.lateAfter, request.method == "GET", request.body == nil else {
            return base.start(request, receiver: receiver)
        }
        let start: AttemptStart = { [base] in base.start(request, receiver: $0) }
        let transfer = AttemptedTransfer(Doubling(start: start, budget: request.budget), receiver: receiver)
        transfer.begin(start)
        watch.add(transfer, delay)
        return transfer
    }
}

/// The rules of a request that may be sent twice. The first success or redirect wins. A refusal of
/// the second request may be caused by the first one, which occupies the origin's only place. So
/// it, and an error of either, counts only if the other one has no answer either.
private struct Doubling: AttemptPolicy {
    let start: AttemptStart
    let budget: RequestBudget?
    private var isDoubled = false
    /// The refusal of the second request while the first one is pending.
    private var refusal: ResponseHead?

    init(start: @escaping AttemptStart, budget: RequestBudget?) { (self.start, self.budget) = (start, budget) }

    mutating func answerIsLate() -> AttemptStep {
        guard !isDoubled else { return .wait }
        isDoubled = true
        return AttemptStep(budget?.allowsAnother() == false ? .wait : .start(start), reportsLateness: true)
    }

    mutating func headReceived(_ head: ResponseHead, of attempt: Int, others: Set<Int>) -> AttemptStep {
        guard attempt > 0, !others.isEmpty, head.status >= 400 else { return AttemptStep(.pass(head)) }
        refusal = head
        return AttemptStep(.drop)
    }

    func ended(_ end: TransferEnd, of attempt: Int, others: Set<Int>) -> AttemptStep {
        others.isEmpty ? AttemptStep(.finish(refusal.map { .failed(.status($0)) } ?? end)) : .wait
    }
}
