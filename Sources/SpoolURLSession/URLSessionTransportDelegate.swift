internal import Foundation
internal import SpoolCore
internal import SpoolOrigin
internal import SpoolSystem

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Finds the transfer for each call of the session.
final class URLSessionTransportDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Safe to share: everything is used on the delegate queue of the session only, one operation at
    // a time.
    private var transfers: [Int: URLSessionTransfer] = [:]
    private var isClosed = false
    /// The bytes of responses as they crossed the network, of tasks that are over.
    let received = Locked<Int64>(0)
    /// Answers challenges. Set once, before the session is made.
    var onChallenge: URLSessionTransportOptions.ChallengeHandler?

    // MARK: From the transport

    func begin(_ transfer: URLSessionTransfer, _ session: URLSession) {
        guard !isClosed else { return transfer.finish(.cancelled) }
        guard let task = transfer.makeTask(session) else { return }
        transfers[task.taskIdentifier] = transfer
        task.resume()
    }

    /// Forgets a transfer that is over. Later calls of the session about its task are ignored.
    func forget(_ taskNumber: Int) {
        transfers[taskNumber] = nil
    }

    func close(_ session: URLSession) {
        guard !isClosed else { return }
        isClosed = true
        for transfer in transfers.sorted(by: { $0.key < $1.key }).map(\.value) { transfer.finish(.cancelled) }
        // Every task was cancelled by its transfer. Invalidating the session releases the delegate.
        session.finishTasksAndInvalidate()
    }

    // MARK: From the session

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let transfer = transfers[dataTask.taskIdentifier]
        transfer?.responseReceived(response)
        // Linux ignores this answer, so a transfer that is over also cancels its task.
        completionHandler(transfer == nil ? .cancel : .allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfers[dataTask.taskIdentifier]?.dataReceived(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        transfers[task.taskIdentifier]?.taskEnded(error)
    }

    /// Refuses every redirect, so that its response is the answer.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// Passes a challenge to the app if it has a handler. Otherwise TLS is verified as usual, and
    /// HTTP authentication is rejected, so that the 401 is the answer.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        if let onChallenge { return onChallenge(challenge, completionHandler) }
        #if canImport(Darwin)
        // Also the challenges of a proxy that the system is configured to use.
        let space = challenge.protectionSpace
        let isOfSystem = space.authenticationMethod == NSURLAuthenticationMethodServerTrust || space.isProxy()
        completionHandler(isOfSystem ? .performDefaultHandling : .rejectProtectionSpace, nil)
        #else
        completionHandler(.rejectProtectionSpace, nil)
        #endif
    }

    #if canImport(Darwin)
    /// Counts the bytes of a task, and passes its times to its transfer. Called before the end of
    /// the task, also for a task that its transfer has cancelled.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        let transactions = metrics.transactionMetrics.map(SessionTransaction.init)
        let bytes = transactions.reduce(0) { $0 + $1.receivedBytes }
        received.withLock { $0 += bytes }
        guard let timings = SessionTransaction.timings(of: transactions) else { return }
        transfers[task.taskIdentifier]?.measured(timings)
    }

    /// Refuses to cache a response, because the store keeps it already.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(nil)
    }
    #endif
}
