public import SpoolCore
import SpoolOrigin
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
    ///   - fields: The fields of the configuration and of the newest reader.
    ///   - refusal: The status 401 or 403 if the origin refused the request before, or nil at
    ///     first.
    /// - Returns: All fields to send.
    /// - Throws: Any error. The request then fails, and with it the readers that wait for it.
    func fields(for url: String, fields: HTTPFields, refusal: Int?) async throws -> HTTPFields
}

/// A transport whose requests an app may change, around a transport that sends them.
final class ModifyingTransport: Transport {
    private let base: any Transport
    private let modifier: any RequestModifier

    init(_ base: any Transport, modifier: any RequestModifier) {
        self.base = base
        self.modifier = modifier
    }

    var windowBytes: Int64? { base.windowBytes }

    var receivedBytes: Int64? { base.receivedBytes }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let transfer = ModifiedTransfer(request, receiver: receiver, transport: base, modifier: modifier)
        transfer.prepare(refusal: nil)
        return transfer
    }

    func close() { base.close() }
}

/// One request, sent once, or twice if the first was refused.
private final class ModifiedTransfer: Transfer {
    private struct State {
        /// The number of the try whose callbacks count.
        var attempt = 0
        /// The transfer of that try. Nil while the app is asked.
        var current: (any Transfer)?
        /// Whether the app is asked and has not answered.
        var isAsking = true
        var question: Task<Void, Never>?
        var owesResume = false
        /// The urgency of the readers since the request, or nil while it is that of the request.
        var priority: ReadPriority?
        var isCancelled = false
        var isOver = false
    }

    /// The fields that name bytes and conditions, which the engine sets itself.
    private static let engineFieldNames: [HTTPFields.Name] = [.range, .ifRange, .ifNoneMatch, .ifModifiedSince]

    private let request: OriginRequest
    private let receiver: any TransferReceiver
    private let transport: any Transport
    private let modifier: any RequestModifier
    private let state = Locked(State())

    init(_ request: OriginRequest, receiver: any TransferReceiver, transport: any Transport, modifier: any RequestModifier) {
        self.request = request
        self.receiver = receiver
        self.transport = transport
        self.modifier = modifier
    }

    /// Asks the app, then sends the request.
    func prepare(refusal: Int?) {
        let question = Task { [self] in
            do {
                let own = request.fields.lines.filter { line in Self.engineFieldNames.contains(where: line.isNamed) }
                var plain = request.fields
                for name in Self.engineFieldNames { plain[name] = nil }
                var changed = request
                changed.fields = try await modifier.fields(for: request.url, fields: plain, refusal: refusal)
                for name in Self.engineFieldNames { changed.fields[name] = nil }
                changed.fields.lines += own
                begin(changed)
            } catch {
                guard let attempt = answered() else { return }
                finished(.failed(.unreachable("the app's request modifier failed: \(error)")), attempt: attempt)
            }
        }
        let isCancelled = state.withLock { state in
            state.question = question
            return state.isCancelled
        }
        if isCancelled { question.cancel() }
    }

    /// Notes that the app has answered.
    ///
    /// - Returns: The number of the try, or nil if the transfer was cancelled meanwhile and is
    ///   over.
    private func answered() -> Int? {
        state.withLock { state in
            guard state.isAsking else { return nil }
            state.isAsking = false
            state.question = nil
            return state.attempt
        }
    }

    private func begin(_ request: OriginRequest) {
        guard let attempt = answered() else { return }
        let transfer = transport.start(request, receiver: Attempt(number: attempt, owner: self))
        let (mustCancel, mustResume) = state.withLock { state in
            if !state.isOver, state.attempt == attempt { state.current = transfer }
            defer { state.owesResume = false }
            return (state.isCancelled, state.owesResume)
        }
        transfer.setPriority(toPresent: { state.withLock { $0.priority } })
        if mustCancel { transfer.cancel() } else if mustResume { transfer.resume() }
    }

    // MARK: Transfer

    func resume() {
        let transfer = state.withLock { state in
            state.owesResume = state.current == nil && !state.isOver
            return state.current
        }
        transfer?.resume()
    }

    func setPriority(_ priority: ReadPriority) {
        let transfer = state.withLock { state in
            state.priority = priority
            return state.current
        }
        transfer?.setPriority(priority)
    }

    func cancel() {
        let (transfer, question, attempt) = state.withLock { state in
            state.isCancelled = true
            defer { state.isAsking = false }
            return (state.current, state.question, state.isAsking ? state.attempt : nil)
        }
        transfer?.cancel()
        // An app that never answers would otherwise keep the fetch, and the session of its
        // resource, for ever.
        guard let attempt else { return }
        question?.cancel()
        Task { finished(.cancelled, attempt: attempt) }
    }

    // MARK: From the tries

    /// Passes a head on, or begins the second try after a refusal.
    ///
    /// - Returns: Whether the body that follows belongs to the response.
    fileprivate func headReceived(_ head: ResponseHead, attempt: Int) -> Bool {
        let isRefusal = head.status == 401 || head.status == 403
        let refused = state.withLock { state -> (any Transfer)?? in
            guard attempt == state.attempt, isRefusal, attempt == 0, !state.isCancelled, !state.isOver else { return nil }
            state.attempt += 1
            state.isAsking = true
            defer { state.current = nil }
            return .some(state.current)
        }
        if let refused {
            refused?.cancel()
            prepare(refusal: head.status)
            return false
        }
        guard state.withLock({ $0.attempt == attempt && !$0.isOver }) else { return false }
        receiver.headReceived(head)
        return true
    }

    fileprivate func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { receiver.bodyReceived(bytes) }

    fileprivate func batchEnded() { receiver.batchEnded() }

    fileprivate func measured(_ timings: TransferTimings, attempt: Int) {
        if state.withLock({ $0.attempt == attempt && !$0.isOver }) { receiver.measured(timings) }
    }

    fileprivate func finished(_ end: TransferEnd, attempt: Int) {
        let isLast = state.withLock { state in
            guard attempt == state.attempt, !state.isOver else { return false }
            state.isOver = true
            state.current = nil
            return true
        }
        if isLast { receiver.finished(end) }
    }
}

/// The receiver of one try. Safe to share: its state is used only in its callbacks, which come one
/// at a time.
private final class Attempt: TransferReceiver, @unchecked Sendable {
    private let number: Int
    private let owner: ModifiedTransfer
    private var isAnswer = false

    init(number: Int, owner: ModifiedTransfer) {
        self.number = number
        self.owner = owner
    }

    func headReceived(_ head: ResponseHead) { isAnswer = owner.headReceived(head, attempt: number) }

    // The body of a refusal is dropped.
    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { isAnswer ? owner.bodyReceived(bytes) : .enough }

    func batchEnded() { if isAnswer { owner.batchEnded() } }

    func measured(_ timings: TransferTimings) { owner.measured(timings, attempt: number) }

    func finished(_ end: TransferEnd) { owner.finished(end, attempt: number) }
}
