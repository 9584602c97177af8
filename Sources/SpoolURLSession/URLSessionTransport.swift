internal import Foundation
internal import SpoolCore
package import SpoolOrigin
internal import SpoolSystem

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// A transport over `URLSession`: the one of Apple's systems.
///
/// A pause keeps what arrives in memory, so one request should ask for `windowBytes` at most. Receivers are called on the
/// session's delegate queue, which is also where all state lives.
///
/// What `URLSession` can't do, or does wrong, and what is done about it:
/// - It decodes content codings, whatever was asked. A response with one ends with `.malformed`: decoded bytes are not
///   those that ranges count.
/// - It goes on calling the delegate after `cancel`. A transfer that is over is forgotten at once, so nobody hears of that.
/// - On Linux `suspend` closes the connection and `resume` asks again from the start; it is not used there. A receiver that
///   pauses while an origin sends more than `maxBufferedBytes` gets what is kept, then `.truncated`, and may ask on from there.
/// - On Linux a truncated body has an error code that says nothing. What was received counts, not the code.
package final class URLSessionTransport: Transport {
    private let options: URLSessionTransportOptions
    private let delegate: URLSessionTransportDelegate
    private let queue = OperationQueue()
    private let session: URLSession

    package init(options: URLSessionTransportOptions = URLSessionTransportOptions()) {
        self.options = options
        delegate = URLSessionTransportDelegate()
        queue.maxConcurrentOperationCount = 1
        queue.name = "spool-urlsession"
        delegate.onChallenge = options.onChallenge
        session = URLSession(configuration: Self.configuration(options), delegate: delegate, delegateQueue: queue)
    }

    package var windowBytes: Int64? { options.windowBytes }

    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let transfer = URLSessionTransfer(request: request, receiver: receiver, options: options, queue: queue, delegate: delegate)
        let session = session, delegate = delegate
        let queue = queue
        guard let body = request.body else {
            queue.addOperation { delegate.begin(transfer, session) }
            return transfer
        }
        // Its body streams can't be told to wait, so a body is sent when it is all there.
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

    /// Ends every transfer with `.cancelled`; the ends are told on the delegate queue.
    package func close() {
        let session = session, delegate = delegate
        queue.addOperation { delegate.close(session) }
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
            configuration.timeoutIntervalForRequest = Double(options.stallTimeout) / 1e9
            configuration.httpMaximumConnectionsPerHost = options.maxConnectionsPerHost
        }
        #if canImport(Darwin)
        // A player wants an answer within its own deadline; the engine retries by itself.
        configuration.waitsForConnectivity = false
        configuration.networkServiceType = .avStreaming
        #endif
        return configuration
    }
}
