package import SpoolCore

/// A transport that follows redirects, around one that does not. The engine sees final responses
/// only.
///
/// The next request starts as soon as the head of a redirect is there, and the body of the redirect
/// is dropped meanwhile. `cancel` and `resume` go to the request that is current when they are
/// called.
package final class RedirectingTransport: TransportLayer {
    /// The transport that sends the requests.
    package let base: any Transport
    private let privateNames: PrivateNames
    private let fieldsForURL: (@Sendable (String) -> HTTPFields)?

    /// Creates a transport around another one.
    ///
    /// - Parameters:
    ///   - base: The transport that sends the requests.
    ///   - privateNames: Whether a public origin may redirect into a private network.
    ///   - fieldsForURL: Returns the fields for a request to another origin, which belong to that
    ///     origin.
    package init(
        _ base: any Transport, privateNames: PrivateNames = .allowed, fieldsForURL: (@Sendable (String) -> HTTPFields)? = nil
    ) {
        self.privateNames = privateNames
        self.fieldsForURL = fieldsForURL
        self.base = base
    }

    /// Starts a request and follows its redirects, if it is a GET and allows that.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        guard request.followsRedirects, request.method == "GET" else { return base.start(request, receiver: receiver) }
        let policy = RedirectPolicy(request, privateNames: privateNames, fieldsForURL: fieldsForURL)
        let transfer = AttemptedTransfer(Redirection(policy: policy, base: base), receiver: receiver)
        transfer.begin { [base] in base.start(request, receiver: $0) }
        return transfer
    }
}

/// The rules of a request that follows redirects. Each attempt is a hop.
private struct Redirection: AttemptPolicy {
    var policy: RedirectPolicy
    let base: any Transport

    mutating func headReceived(_ head: ResponseHead, of attempt: Int, others: Set<Int>) -> AttemptStep {
        switch policy.headReceived(head) {
        case .pass(let head): AttemptStep(.pass(head))
        case .follow(let request): AttemptStep(.replace({ [base] in base.start(request, receiver: $0) }, drains: true))
        case .refuse(let error): AttemptStep(.finish(.failed(error)))
        }
    }

    func ended(_ end: TransferEnd, of attempt: Int, others: Set<Int>) -> AttemptStep { AttemptStep(.finish(end)) }

    /// An interim response behind a redirect would have the rights of the first origin.
    func passesInterim(of attempt: Int) -> Bool { attempt == 0 }
}
