public import SpoolCore
package import SpoolOrigin
import SpoolSystem

/// Changes the requests to origins just before they are sent, for example to add a token that
/// expires or a signature.
public protocol RequestModifier: Sendable {
    /// Returns the fields to send with a request to `url`.
    ///
    /// The cache calls this method before each origin request, and once more if the origin refused
    /// that request, so that credentials can be refreshed. It runs in a task of its own. `Range`
    /// and conditional fields are added afterwards and can't be changed.
    ///
    /// When no reader needs the response any more, the cache cancels the task and does not wait for
    /// its end.
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - fields: The fields of the configuration and of the reader that the request is made for.
    ///   - refusal: The status 401 or 403 if the origin refused the request before, or nil at
    ///     first.
    /// - Returns: All fields to send.
    /// - Throws: Any error. The request then fails, and with it the readers that wait for it.
    func fields(for url: String, fields: HTTPFields, refusal: Int?) async throws -> HTTPFields
}

/// A transport whose requests an app may change, around a transport that sends them.
package final class ModifyingTransport: TransportLayer {
    /// The transport that sends the requests.
    package let base: any Transport
    private let modifier: any RequestModifier

    /// Creates a transport around another one.
    package init(_ base: any Transport, modifier: any RequestModifier) {
        self.base = base
        self.modifier = modifier
    }

    /// Asks the app, then starts the request.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let question = ModifierQuestion(request, base: base, modifier: modifier)
        let transfer = AttemptedTransfer(
            RefusalPolicy(budget: request.budget, askAgain: { question.ask(refusal: $0) }), receiver: receiver,
            onCancel: { question.cancel() })
        question.transfer = transfer
        question.ask(refusal: nil)
        return transfer
    }
}

/// The rules of a request whose first refusal is answered by new credentials.
private struct RefusalPolicy: AttemptPolicy {
    let budget: RequestBudget?
    let askAgain: @Sendable (_ status: Int) -> Void

    func headReceived(_ head: ResponseHead, of attempt: Int, others: Set<Int>) -> AttemptStep {
        let isRefusal = head.status == 401 || head.status == 403
        guard isRefusal, attempt == 0, budget?.allowsAnother() != false else { return AttemptStep(.pass(head)) }
        // The next attempt starts when the app has answered.
        return AttemptStep(.drop) { [askAgain] in askAgain(head.status) }
    }

    func ended(_ end: TransferEnd, of attempt: Int, others: Set<Int>) -> AttemptStep { AttemptStep(.finish(end)) }
}

/// Asks the app for the fields of one request, then sends it.
private final class ModifierQuestion: Sendable {
    /// The fields that name bytes and conditions, which the engine sets itself.
    private static let engineFieldNames: [HTTPFields.Name] = [.range, .ifRange, .ifNoneMatch, .ifModifiedSince]

    private struct State {
        weak var transfer: AttemptedTransfer<RefusalPolicy>?
        /// Whether the app was asked and has not answered.
        var isAsking = false
        /// The task that asks the app.
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    private let request: OriginRequest
    private let base: any Transport
    private let modifier: any RequestModifier
    private let state = Locked(State())

    init(_ request: OriginRequest, base: any Transport, modifier: any RequestModifier) {
        self.request = request
        self.base = base
        self.modifier = modifier
    }

    /// The transfer that the question is about.
    var transfer: AttemptedTransfer<RefusalPolicy>? {
        get { state.withLock { $0.transfer } }
        set { state.withLock { $0.transfer = newValue } }
    }

    /// Asks the app in a task, which keeps the transfer.
    func ask(refusal: Int?) {
        guard let transfer else { return }
        state.withLock { $0.isAsking = true }
        let task = Task { [self] in
            do {
                let changed = try await changed(refusal: refusal)
                guard answered() else { return }
                transfer.begin { [base] in base.start(changed, receiver: $0) }
            } catch {
                guard answered() else { return }
                transfer.end(.failed(.unreachable("the app's request modifier failed: \(error)")))
            }
        }
        let isCancelled = state.withLock { state in
            if state.isAsking { state.task = task }
            return state.isAsking && state.isCancelled
        }
        if isCancelled { stop(task, transfer) }
    }

    /// Ends a request whose app has not answered. An app that never answers would otherwise keep
    /// the fetch, and the session of its resource, for ever.
    func cancel() {
        let (task, transfer) = state.withLock { state in
            state.isCancelled = true
            defer { state.task = nil }
            return (state.task, state.transfer)
        }
        if let task, let transfer { stop(task, transfer) }
    }

    /// A task of its own, because a transfer never ends inside `cancel()`.
    private func stop(_ task: Task<Void, Never>, _ transfer: AttemptedTransfer<RefusalPolicy>) {
        task.cancel()
        Task { transfer.end(.cancelled) }
    }

    /// Notes the answer of the app. Returns false if the request was cancelled meanwhile.
    private func answered() -> Bool {
        state.withLock { state in
            (state.isAsking, state.task) = (false, nil)
            return !state.isCancelled
        }
    }

    private func changed(refusal: Int?) async throws -> OriginRequest {
        let own = request.fields.lines.filter { line in Self.engineFieldNames.contains(where: line.isNamed) }
        var plain = request.fields
        for name in Self.engineFieldNames { plain[name] = nil }
        var changed = request
        changed.fields = try await modifier.fields(for: request.url, fields: plain, refusal: refusal)
        for name in Self.engineFieldNames { changed.fields[name] = nil }
        changed.fields.lines += own
        return changed
    }
}
