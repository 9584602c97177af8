internal import Foundation
package import SpoolCore
package import SpoolOrigin
internal import SpoolSystem

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// A transport over `URLSession`, the default on Apple's systems.
///
/// A pause keeps the arriving bytes in memory, so a play begins with requests of `windowBytes`.
/// Receivers are called on the delegate queue of the session, which also confines all state.
///
/// `URLSession` has these limits and faults, handled as follows:
/// - It decodes content codings, even unasked. A response with one ends with `.malformed`, because
///   ranges do not count decoded bytes.
/// - It goes on calling the delegate after `cancel`. A transfer that is over is forgotten at once,
///   so these calls are ignored.
/// - `suspend` is not used. On Apple's systems it stops a delivery late or not at all, and a task
///   that is suspended for long can hold up other requests of the process. On Linux it closes the
///   connection, and `resume` asks again from the start. If an origin sends more than
///   `maxBufferedBytes` to a paused receiver, the task is cancelled. The receiver gets the kept
///   bytes and then `.truncated`, and may ask again from there.
/// - The system may repeat a request by itself. A second response on one task, or more bytes than
///   the length promises, ends with `.malformed`.
/// - On Linux, a truncated body has an unspecific error code. The number of received bytes decides,
///   and not the code.
package final class URLSessionTransport: Transport {
    private let options: URLSessionTransportOptions
    private let delegate: URLSessionTransportDelegate
    private let queue = OperationQueue()
    private let session: URLSession

    deinit { close() }

    /// Creates a transport with a session of its own.
    package init(options: URLSessionTransportOptions = URLSessionTransportOptions()) {
        self.options = options
        delegate = URLSessionTransportDelegate()
        queue.maxConcurrentOperationCount = 1
        queue.name = "spool-urlsession"
        delegate.onChallenge = options.onChallenge
        session = URLSession(configuration: Self.configuration(options), delegate: delegate, delegateQueue: queue)
    }

    /// The most bytes that the first requests of a play should ask for.
    package var windowBytes: Int64? { options.windowBytes }

    /// The bytes of responses in tasks that are over, by the metrics of the session. Nil on Linux,
    /// where the session has none.
    package var receivedBytes: Int64? {
        #if canImport(Darwin)
        delegate.received.withLock { $0 }
        #else
        nil
        #endif
    }

    /// Starts a request. A body is collected in memory first.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let transfer = URLSessionTransfer(request: request, receiver: receiver, options: options, queue: queue, delegate: delegate)
        let session = session, delegate = delegate
        let queue = queue
        guard let body = request.body else {
            queue.addOperation { delegate.begin(transfer, session) }
            return transfer
        }
        // The body streams of `URLSession` can't be made to wait, so a body is sent once it is
        // complete.
        BodyCollector.collect(body, limit: options.maxUploadBytes, post: { queue.addOperation($0) }) { result in
            switch result {
            case .success(let bytes):
                transfer.upload = Data(bytes)
                delegate.begin(transfer, session)
            case .failure(let error): transfer.finish(.failed(error))
            }
        }
        return transfer
    }

    /// Ends every transfer with `.cancelled`. The receivers are called on the delegate queue.
    package func close() {
        let session = session, delegate = delegate
        queue.addOperation { delegate.close(session) }
    }

    /// Returns the priority of a task among those of one connection.
    package static func taskPriority(of priority: ReadPriority) -> Float {
        switch priority {
        case .playing: URLSessionTask.highPriority
        case .upcoming: URLSessionTask.defaultPriority
        case .prefetch: URLSessionTask.lowPriority
        }
    }

    private static func configuration(_ options: URLSessionTransportOptions) -> URLSessionConfiguration {
        let configuration = options.makeConfiguration?() ?? .default
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCredentialStorage = nil
        if options.makeConfiguration == nil {
            configuration.httpMaximumConnectionsPerHost = options.maxConnectionsPerHost
        }
        #if canImport(Darwin)
        // A player needs an answer within its own deadline, and the engine retries by itself.
        configuration.waitsForConnectivity = false
        if options.makeConfiguration == nil { configuration.networkServiceType = .avStreaming }
        #endif
        return configuration
    }
}
