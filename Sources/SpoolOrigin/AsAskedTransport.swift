import SpoolCore
package import SpoolSystem

/// A transport that does not believe a refusal of a request that differs from the client's own.
///
/// A fetch asks for more than its client does: it adds or widens `Range`, and adds `If-Range`. Some
/// origins refuse or misread that request alone. So the request is sent once more exactly as the
/// client asked, and the second answer counts. The habit of the host is remembered.
package final class AsAskedTransport: TransportLayer {
    /// The transport that sends the requests.
    package let base: any Transport
    private let time: any TimeSource
    private let habits = Locked(HostHabits())

    /// Creates a transport around another one, which follows redirects.
    package init(_ base: any Transport, time: any TimeSource) {
        (self.base, self.time) = (base, time)
    }

    /// Starts a request, in the client's own form where only that one is served.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        guard request.method == "GET", let change = request.change, let host = request.location?.origin.description else {
            return base.start(request, receiver: receiver)
        }
        let advice = habits.withLock { $0.advice(for: host, change, now: time.now) }
        // A signature may cover the range, and a repetition after its expiry can't help.
        let isSigned = change != .condition && request.location?.isSigned == true
        let isAsked = (advice == .asClient || advice == .asClientOnce || isSigned) && (change == .condition || !request.isWindow)
        guard isAsked || advice != .believe else { return base.start(request, receiver: receiver) }
        let own = isAsked && request.isWindow ? request.withoutCondition : request.asClient
        let policy = AsAsked(
            start: { [base] in base.start(own, receiver: $0) }, ifRange: request.fields[.ifRange],
            mayRepeat: { [time, budget = request.budget, end = time.now + (request.headTimeout ?? Self.usualPatience) / 2] in
                time.now < end && budget?.allowsAnother() != false
            },
            note: { [habits, time] outcome in
                // The form of a signed request says nothing about the host.
                guard !isAsked || advice == .asClient || advice == .asClientOnce else { return }
                habits.withLock { habits in
                    // A host that served the client's form now may have served the other one, too.
                    if isAsked, advice == .asClientOnce { return habits.forget(host, change) }
                    switch outcome {
                    case .refused: habits.refused(host, change, now: time.now)
                    case .granted: habits.granted(host, change, now: time.now)
                    case .repeated(let isServed): habits.repeated(host, change, isServed: isServed, now: time.now)
                    }
                }
            }, refusal: isAsked ? ResponseHead(status: 200, fields: [:]) : nil)
        let transfer = AttemptedTransfer(policy, receiver: receiver)
        transfer.begin { [base] in base.start(isAsked ? own : request, receiver: $0) }
        return transfer
    }

    /// The patience with a request that names none.
    private static let usualPatience: Nanoseconds = .seconds(60)
}

extension OriginRequest {
    /// The request in the client's own form: its range and no condition.
    fileprivate var asClient: OriginRequest {
        var request = withoutCondition
        request.fields[.range] = clientRange?.fieldValue
        return request
    }

    fileprivate var withoutCondition: OriginRequest {
        var request = self
        request.fields[.ifRange] = nil
        return request
    }

    /// The difference to the client's own request, or nil if there is none or the client is not
    /// known.
    fileprivate var change: HostHabits.Change? {
        guard let clientRange else { return nil }
        if fields[.ifRange] != nil { return .condition }
        guard fields[.range] != clientRange.fieldValue else { return nil }
        return clientRange == .whole ? .addedRange : .otherRange
    }
}

/// The rules of a request that may be sent once more as its client asked.
private struct AsAsked: AttemptPolicy {
    /// The experience with the host.
    enum Outcome {
        /// It served the request with its change.
        case granted
        /// It refused that request by a status that is not repeated.
        case refused
        /// It refused that request, and answered to the client's own.
        case repeated(isServed: Bool)
    }

    /// Sends the client's own request.
    let start: AttemptStart
    /// The condition of the first request.
    let ifRange: String?
    /// Whether the reader's patience and budget allow another request, which is counted then.
    let mayRepeat: @Sendable () -> Bool
    let note: @Sendable (Outcome) -> Void
    /// The refusal of the first request, once the client's own runs. A 200 stands for the habit of
    /// the host where only the client's own is sent.
    var refusal: ResponseHead?

    mutating func headReceived(_ head: ResponseHead, of attempt: Int, others: Set<Int>) -> AttemptStep {
        guard refusal != nil else { return firstHead(head) }
        let isServed = (200...299).contains(head.status)
        // Without the condition, only a validator says whether a part continues the stored version.
        var head = head
        head.omitsCondition = true
        return AttemptStep(.pass(head), effect: { [note] in note(.repeated(isServed: isServed)) })
    }

    private mutating func firstHead(_ head: ResponseHead) -> AttemptStep {
        if isRefusal(head), mayRepeat() {
            refusal = head
            return AttemptStep(.replace(start, drains: head.status != 200))
        }
        guard !(300..<400).contains(head.status) else { return AttemptStep(.pass(head)) }
        return AttemptStep(.pass(head), effect: { [note] in note((200...299).contains(head.status) ? .granted : .refused) })
    }

    func ended(_ end: TransferEnd, of attempt: Int, others: Set<Int>) -> AttemptStep {
        // The repetition of a refused request brought nothing.
        AttemptStep(.finish(refusal.flatMap { $0.status == 200 ? nil : .failed(.status($0)) } ?? end))
    }

    /// Whether a response may be about the change alone. Credentials, rates and servers that are
    /// out of order are not (401, 407, 408, 410, 425, 429, 502, 503, 504).
    private func isRefusal(_ head: ResponseHead) -> Bool {
        // The origin repeats the version that the condition names, and so misreads the condition.
        if head.status == 200 { return ifRange != nil && isOfVersion(head) }
        // A resource without bytes has no range.
        if head.status == 416, head.fields[.contentRange]?.hasSuffix("/0") == true { return false }
        return [400, 403, 404, 405, 406, 412, 416, 500, 501].contains(head.status) && !head.fields.contains(.retryAfter)
    }

    /// Whether a response is of the version that the condition names.
    private func isOfVersion(_ head: ResponseHead) -> Bool {
        head.fields[.entityTag] == ifRange || head.fields[.lastModified] == ifRange
    }
}
