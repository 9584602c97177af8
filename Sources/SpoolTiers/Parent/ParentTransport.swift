package import SpoolOrigin
package import SpoolSystem
import SpoolCore

/// A transport that asks another Spool before the origin, around one that asks origins.
///
/// The parent has as long as `ParentProxy.connectTimeout` to begin its answer. Then the origin is
/// asked too, and the first answer counts. So a parent that is dead or slow costs a delay, and no
/// answer.
package final class ParentTransport: TransportLayer {
    /// The transport that sends the requests.
    package let base: any Transport
    private let parent: ParentProxy
    private let time: any TimeSource
    private let lateness: LatenessMonitor
    private let log: @Sendable (String) -> Void
    private let health = Locked(ServerHealth())

    /// Creates a transport around another one.
    ///
    /// - Parameters:
    ///   - time: The clock for late answers and for the rest of a parent that failed.
    ///   - mailbox: The thread on which a late answer is noticed.
    ///   - log: Called when the parent stops to serve, and when it serves again.
    package init(
        _ base: any Transport, parent: ParentProxy, time: any TimeSource, on mailbox: any Mailbox,
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.base = base
        self.parent = parent
        self.time = time
        lateness = LatenessMonitor(time: time, mailbox: mailbox)
        self.log = log
    }

    /// Starts a request at the parent, or at the origin while the parent rests.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        guard let asked = parent.request(for: request), health.withLock({ $0.mayAsk(at: time.now) }) else {
            return base.start(request, receiver: receiver)
        }
        let policy = ParentPolicy(
            judge: { [parent] head in parent.judge(head, of: request.url) }, report: { [self] news in take(news) },
            askOrigin: { [base] in base.start(request, receiver: $0) })
        let transfer = AttemptedTransfer(policy, receiver: receiver)
        // The line of the readers in the background is narrow beside a player, whoever sends.
        let isPaced = request.priority == .playing
        transfer.begin { [base, time] in base.start(asked, receiver: isPaced ? PacedReceiver($0, time: time) : $0) }
        lateness.add(transfer, ParentProxy.connectTimeout)
        return transfer
    }

    private func take(_ news: ParentPolicy.Report) {
        switch news {
        case .answered:
            if health.withLock({ $0.answered() }) { log("the parent \(parent.publicAddress) serves again") }
        case .failed(let why):
            guard health.withLock({ $0.failed(at: time.now) }) else { return }
            log("the parent \(parent.publicAddress) \(why); origins are asked instead, and the parent again after a pause")
        }
    }
}
