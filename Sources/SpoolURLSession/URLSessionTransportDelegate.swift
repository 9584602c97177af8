internal import Foundation
internal import SpoolCore
internal import SpoolOrigin

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Finds the transfer that a call of the session's is about.
final class URLSessionTransportDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Safe to share: everything is touched on the session's delegate queue only, one operation at a time.
    private var transfers: [Int: URLSessionTransfer] = [:]
    private var isClosed = false
    /// Answers challenges; set before the session is made and never again.
    var onChallenge: URLSessionTransportOptions.ChallengeHandler?

    // MARK: From the transport

    func begin(_ transfer: URLSessionTransfer, _ session: URLSession) {
        guard !isClosed else { return transfer.finish(.cancelled) }
        guard let task = transfer.makeTask(session) else { return }
        transfers[task.taskIdentifier] = transfer
        task.resume()
    }

    /// The transfer is over; whatever the session still has to say about its task is not heard.
    func forget(_ taskNumber: Int) {
        transfers[taskNumber] = nil
    }

    func close(_ session: URLSession) {
        guard !isClosed else { return }
        isClosed = true
        for transfer in transfers.sorted(by: { $0.key < $1.key }).map(\.value) { transfer.finish(.cancelled) }
        // Every task was cancelled by its transfer. Invalidating lets go of the delegate.
        session.finishTasksAndInvalidate()
    }

    // MARK: From the session

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let transfer = transfers[dataTask.taskIdentifier]
        transfer?.responseReceived(response)
        // The answer is ignored on Linux, so a transfer that is over cancels its task besides.
        completionHandler(transfer == nil ? .cancel : .allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfers[dataTask.taskIdentifier]?.dataReceived(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        transfers[task.taskIdentifier]?.taskEnded(error)
    }

    /// No redirect is followed: its response is the answer.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// Unless the app answers: TLS is verified as always, and HTTP authentication is not answered here, so that the 401 is the answer.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        if let onChallenge { return onChallenge(challenge, completionHandler) }
        #if canImport(Darwin)
        let isTrust = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust
        completionHandler(isTrust ? .performDefaultHandling : .rejectProtectionSpace, nil)
        #else
        completionHandler(.rejectProtectionSpace, nil)
        #endif
    }

    #if canImport(Darwin)
    /// Nothing is cached twice.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(nil)
    }
    #endif
}
