public import SpoolCore
import SpoolOrigin
import SpoolSystem

/// Changes the requests to origins just before they are made: a token that expires, a signature by the hour.
public protocol RequestModifier: Sendable {
    /// The fields to send with a request to `url`.
    ///
    /// Called before each origin request, and once more when the origin refused it: a chance to refresh credentials. What this throws fails
    /// the request, and with it who waits for it. Range and conditions are added afterwards and can't be changed.
    ///
    /// When nobody wants the answer any more, the cache cancels the task that this runs in and does not wait for its end.
    /// - Parameters:
    ///   - fields: what would be sent: those of the configuration and of the newest reader.
    ///   - refusal: 401 or 403 where the origin refused the request as it was made before; nil at first.
    func fields(for url: String, fields: HTTPFields, refusal: Int?) async throws -> HTTPFields
}

/// A transport whose requests an app may change, around one that makes them.
final class ModifyingTransport: Transport {
    private let base: any Transport
    private let modifier: any RequestModifier

    init(_ base: any Transport, modifier: any RequestModifier) {
        self.base = base
        self.modifier = modifier
    }

    var windowBytes: Int64? { base.windowBytes }

    func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let transfer = ModifiedTransfer(request, receiver: receiver, transport: base, modifier: modifier)
        transfer.prepare(refusal: nil)
        return transfer
    }

    func close() { base.close() }
}

/// One request, made once, or twice when the first was refused.
private final class ModifiedTransfer: Transfer {
    private struct State {
        /// Which try's callbacks count.
        var attempt = 0
        /// The transfer of that try; nil while the app is asked.
        var current: (any Transfer)?
        /// The app is asked, and has not answered.
        var isAsking = true
        var question: Task<Void, Never>?
        var owesResume = false
        var isCancelled = false
        var isOver = false
    }

    /// Fields that say which bytes are asked: the engine's business.
    private static let ofTheEngine = ["Range", "If-Range", "If-None-Match", "If-Modified-Since"]

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

    /// Asks the app, then makes the request.
    func prepare(refusal: Int?) {
        let question = Task { [self] in
            do {
                let own = request.fields.lines.filter { line in Self.ofTheEngine.contains { $0.equalsIgnoringCase(line.name) } }
                var plain = request.fields
                for name in Self.ofTheEngine { plain[name] = nil }
                var changed = request
                changed.fields = try await modifier.fields(for: request.url, fields: plain, refusal: refusal)
                for name in Self.ofTheEngine { changed.fields[name] = nil }
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

    /// The app has answered: the number of the try; nil when the transfer was cancelled while it was asked, and is over.
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

    func cancel() {
        let (transfer, question, attempt) = state.withLock { state in
            state.isCancelled = true
            defer { state.isAsking = false }
            return (state.current, state.question, state.isAsking ? state.attempt : nil)
        }
        transfer?.cancel()
        // An app that never answers would keep the fetch, and its resource's session, for ever.
        guard let attempt else { return }
        question?.cancel()
        Task { finished(.cancelled, attempt: attempt) }
    }

    // MARK: From the tries

    /// True when the body that follows is the answer's.
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

/// The receiver of one try. Its own state is touched in its callbacks only, which come one at a time.
private final class Attempt: TransferReceiver, @unchecked Sendable {
    private let number: Int
    private let owner: ModifiedTransfer
    private var isAnswer = false

    init(number: Int, owner: ModifiedTransfer) {
        self.number = number
        self.owner = owner
    }

    func headReceived(_ head: ResponseHead) { isAnswer = owner.headReceived(head, attempt: number) }

    // The body of a refusal is nobody's.
    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer { isAnswer ? owner.bodyReceived(bytes) : .enough }

    func batchEnded() { if isAnswer { owner.batchEnded() } }

    func finished(_ end: TransferEnd) { owner.finished(end, attempt: number) }
}
