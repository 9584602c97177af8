import SpoolCore
import SpoolOrigin

/// The rules of a request that the parent gets first, and the origin when the parent does not serve
/// it in time. The first answer wins.
///
/// The parent is attempt 0, the origin attempt 1.
struct ParentPolicy: AttemptPolicy {
    /// An event of the parent, as its health counts it.
    enum Report {
        /// It answered, whatever the answer was worth.
        case answered
        /// It does not serve, for this reason.
        case failed(String)
    }

    private static let parent = 0

    private let judge: @Sendable (ResponseHead) -> ParentProxy.Verdict
    private let report: @Sendable (Report) -> Void
    private let askOrigin: AttemptStart
    private var hasAskedOrigin = false
    /// The end of the request to the origin, if it failed before the parent answered.
    private var endOfOrigin: TransferEnd?

    /// Creates the rules of a request that the parent gets now.
    ///
    /// - Parameters:
    ///   - judge: Judges the head of the parent's response.
    ///   - report: Called outside the lock of the transfer, with news about the parent.
    ///   - askOrigin: Sends the request to the origin.
    init(
        judge: @escaping @Sendable (ResponseHead) -> ParentProxy.Verdict, report: @escaping @Sendable (Report) -> Void,
        askOrigin: @escaping AttemptStart
    ) {
        self.judge = judge
        self.report = report
        self.askOrigin = askOrigin
    }

    mutating func answerIsLate() -> AttemptStep {
        guard !hasAskedOrigin else { return .wait }
        hasAskedOrigin = true
        return AttemptStep(.start(askOrigin))
    }

    mutating func headReceived(_ head: ResponseHead, of attempt: Int, others: Set<Int>) -> AttemptStep {
        guard attempt == Self.parent else {
            // A parent that is slower than the origin is useless.
            return AttemptStep(.pass(head), effect: others.isEmpty ? nil : reporting(.failed("is slower than the origin")))
        }
        switch judge(head) {
        case .answer: return AttemptStep(.pass(head), effect: reporting(.answered))
        case .askOrigin: return withoutParent(nil, reporting(.answered))
        case .refusal: return withoutParent(nil, reporting(.failed("answers \(head.status) without serving")))
        }
    }

    mutating func ended(_ end: TransferEnd, of attempt: Int, others: Set<Int>) -> AttemptStep {
        guard attempt == Self.parent else {
            endOfOrigin = end
            return others.isEmpty ? AttemptStep(.finish(end)) : .wait
        }
        guard case .failed(let error) = end else { return withoutParent(end, nil) }
        return withoutParent(nil, reporting(.failed("failed: \(error)")))
    }

    /// A parent that breaks off does not serve either.
    func answerEnded(_ end: TransferEnd, of attempt: Int) -> (@Sendable () -> Void)? {
        guard attempt == Self.parent, case .failed(let error) = end else { return nil }
        return reporting(.failed("failed: \(error)"))
    }

    /// Interim responses of the parent are about its own answer.
    func passesInterim(of attempt: Int) -> Bool { attempt != Self.parent }

    /// Goes on without the parent.
    ///
    /// - Parameter end: The end of a parent that did not fail, which ends a request that the origin
    ///   did not get.
    private mutating func withoutParent(_ end: TransferEnd?, _ effect: (@Sendable () -> Void)?) -> AttemptStep {
        if let endOfOrigin { return AttemptStep(.finish(endOfOrigin), effect: effect) }
        if hasAskedOrigin { return AttemptStep(.drop, effect: effect) }
        if let end { return AttemptStep(.finish(end), effect: effect) }
        hasAskedOrigin = true
        return .replace(effect: effect, askOrigin)
    }

    private func reporting(_ news: Report) -> @Sendable () -> Void {
        { [report] in report(news) }
    }
}
