internal import Dispatch
internal import Foundation
package import SpoolCore
internal import SpoolOrigin
internal import SpoolSystem

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// One request over `URLSession`.
final class URLSessionTransfer: Transfer, @unchecked Sendable {
    // Safe to share: `cancelRequested` is a lock, and the constants are safe by themselves.
    // Everything else is used on the delegate queue of the session only, one operation at a time.
    private let request: OriginRequest
    private let options: URLSessionTransportOptions
    private let queue: OperationQueue
    private let delegate: URLSessionTransportDelegate
    private let cancelRequested = Locked(false)

    private var receiver: (any TransferReceiver)?
    /// The body of the request.
    var upload: Data?
    private var task: URLSessionDataTask?
    /// The number of the task. It stays when the task has ended and the receiver has not taken
    /// everything.
    private var taskNumber: Int?
    /// The answer as far as the task delivered it.
    private var answer = TaskAnswer()
    /// The times of the request and of its head.
    private var startTime: MonotonicInstant?
    private var headTime: MonotonicInstant?
    /// The measurements of the session, once they came. They come before the end of the task, and
    /// not at all for a transfer that ends itself.
    private var timings: TransferTimings?
    private var isPaused = false
    /// The number of deliveries of the session so far, by which a stall is noticed.
    private var arrivals = 0
    /// The bytes that arrived and were not taken, in order.
    private var kept: [Data] = []
    private var keptBytes = 0
    /// The end of the task, while the receiver has not taken everything.
    private var pendingEnd: TransferEnd?

    /// The most bytes of one call (the contract of `TransferReceiver`).
    private static let maxChunkBytes = 65_536

    init(
        request: OriginRequest, receiver: any TransferReceiver, options: URLSessionTransportOptions, queue: OperationQueue,
        delegate: URLSessionTransportDelegate
    ) {
        self.request = request
        self.receiver = receiver
        self.options = options
        self.queue = queue
        self.delegate = delegate
    }

    // MARK: Transfer

    func resume() {
        queue.addOperation { [self] in
            guard isPaused else { return }
            isPaused = false
            arrivals += 1
            deliverKept()
        }
    }

    func setPriority(_ priority: ReadPriority) {
        queue.addOperation { [self] in task?.priority = URLSessionTransport.taskPriority(of: priority) }
    }

    func cancel() {
        let isFirst = cancelRequested.withLock { !exchange(&$0, with: true) }
        if isFirst { queue.addOperation { [self] in finish(.cancelled) } }
    }

    // MARK: On the queue

    private var isCancelled: Bool { cancelRequested.withLock { $0 } }

    /// Returns the task of the request, or nil if the request can't be sent. In that case the
    /// transfer has ended.
    func makeTask(_ session: URLSession) -> URLSessionDataTask? {
        if isCancelled {
            finish(.cancelled)
            return nil
        }
        if let defect = request.defect {
            finish(.failed(defect))
            return nil
        }
        guard let url = URL(string: URLText.escaped(request.url)), url.host != nil else {
            finish(.failed(.unsupportedURL("the URL can't be read")))
            return nil
        }
        let task = session.dataTask(with: Self.message(request, upload, url, options))
        task.priority = URLSessionTransport.taskPriority(of: request.priority)
        self.task = task
        taskNumber = task.taskIdentifier
        startTime = SystemTime().now
        return task
    }

    private static func message(_ request: OriginRequest, _ upload: Data?, _ url: URL, _ options: URLSessionTransportOptions) -> URLRequest
    {
        var message = URLRequest(url: url)
        // The session's own timer for the whole of a silent request. Stalls of a body are noticed
        // earlier.
        if options.makeConfiguration == nil {
            message.timeoutInterval = Double(firstByteTimeout(of: request, options)) / 1e9
        }
        message.httpMethod = request.method
        message.httpBody = upload
        message.httpShouldHandleCookies = false
        message.allowsCellularAccess = request.access.allowsCellular
        #if canImport(Darwin)
        // The session's type is that of audio and video. `.background` would hold up a player that
        // joins the request.
        if options.makeConfiguration == nil, request.priority == .prefetch { message.networkServiceType = .default }
        message.allowsExpensiveNetworkAccess = request.access.allowsExpensive
        message.allowsConstrainedNetworkAccess = request.access.allowsConstrained
        #endif
        message.setValue("identity", forHTTPHeaderField: HTTPFields.Name.acceptEncoding.text)
        if let userAgent = options.userAgent { message.setValue(userAgent, forHTTPHeaderField: HTTPFields.Name.userAgent.text) }
        var replaced: Set<String> = []
        for field in request.fields.lines {
            if replaced.insert(field.name.asciiLowercased).inserted {
                message.setValue(field.value, forHTTPHeaderField: field.name)
            } else {
                message.addValue(field.value, forHTTPHeaderField: field.name)
            }
        }
        if !replaced.contains("authorization"), let credentials = BasicCredentials.field(for: url) {
            message.setValue(credentials, forHTTPHeaderField: HTTPFields.Name.authorization.text)
        }
        return message
    }

    private static func firstByteTimeout(of request: OriginRequest, _ options: URLSessionTransportOptions) -> Nanoseconds {
        if let timeout = request.headTimeout { return timeout }
        let isConditional = request.fields.lines.contains {
            ["if-none-match", "if-modified-since"].contains($0.name.asciiLowercased)
        }
        return request.method == "HEAD" || isConditional ? options.shortFirstByteTimeout : options.firstByteTimeout
    }

    // MARK: Stalls

    /// Lets the receiver decide when no byte came since the last check, although it takes them.
    ///
    /// - Parameter silence: The time without a byte before this check begins.
    private func watchForStalls(after silence: Nanoseconds = 0) {
        let (seen, delay) = (arrivals, Int(options.stallTimeout / 1_000_000))
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self, queue] in
            queue.addOperation { [weak self] in self?.checkStall(seen, quietBefore: silence) }
        }
    }

    private func checkStall(_ seen: Int, quietBefore: Nanoseconds) {
        guard let receiver, !isCancelled, pendingEnd == nil else { return }
        guard arrivals == seen, !isPaused, kept.isEmpty else { return watchForStalls() }
        let silence = quietBefore + options.stallTimeout
        if receiver.bodyIsQuiet(for: .nanoseconds(silence)) { return finish(.failed(.timeout("no byte for too long"))) }
        watchForStalls(after: silence)
    }

    func responseReceived(_ response: URLResponse) {
        guard let receiver, !isCancelled else { return }
        guard let response = response as? HTTPURLResponse else { return finish(.failed(.malformed("this is not HTTP"))) }
        // On Linux, 1xx responses arrive here as well.
        guard response.statusCode >= 200 else { return }
        var head = ResponseHead(status: response.statusCode, fields: Self.fields(of: response))
        if let defect = HeadCollector.lengthDefect(of: head.fields) { return finish(.failed(.malformed(defect))) }
        if head.hasCodedBody {
            // URLSession decodes every body. A manifest may be decoded, and media may not.
            guard request.decodesContent, let decoded = head.withoutCoding else {
                return finish(.failed(.malformed("URLSession would decode the content coding \(head.fields[.contentEncoding] ?? "")")))
            }
            head = decoded
        }
        headTime = SystemTime().now
        let length = head.fields[.transferEncoding] == nil ? head.fields[.contentLength].flatMap { Int64($0) } : nil
        if let defect = answer.headReceived(promising: request.method == "HEAD" ? 0 : length) {
            return finish(.failed(.malformed(defect)))
        }
        watchForStalls()
        receiver.headReceived(head)
    }

    private static func fields(of response: HTTPURLResponse) -> HTTPFields {
        TaskAnswer.fields(response.allHeaderFields.map { HTTPFields.Field(name: "\($0.key)", value: "\($0.value)") })
    }

    func dataReceived(_ data: Data) {
        guard receiver != nil, !isCancelled, answer.hasHead, pendingEnd == nil, !data.isEmpty else { return }
        if let defect = answer.bytesReceived(data.count) { return finish(.failed(.malformed(defect))) }
        arrivals += 1
        kept.append(data)
        keptBytes += data.count
        if !isPaused { deliverKept() }
        // A task is never suspended: the system goes on delivering, and on some systems holds up
        // other requests of the process. The receiver gets the kept bytes, and asks again from
        // there.
        guard keptBytes > options.maxBufferedBytes else { return }
        pendingEnd = .failed(.truncated(afterBytes: answer.arrivedBytes))
        dropTask()
    }

    /// Offers the kept bytes until all are taken or the receiver pauses.
    private func deliverKept() {
        guard let receiver, !isCancelled else { return }
        var index = 0
        var hasTaken = false
        while index < kept.count, !isPaused, self.receiver != nil, !isCancelled {
            let data = kept[index]
            let chunk = data.prefix(Self.maxChunkBytes)
            switch chunk.withUnsafeBytes(receiver.bodyReceived) {
            case .pause: isPaused = true
            case .enough: return finish(.cancelled)
            case .taken:
                hasTaken = true
                keptBytes -= chunk.count
                kept[index] = data.dropFirst(chunk.count)
                if kept[index].isEmpty { index += 1 }
            }
        }
        kept.removeFirst(min(index, kept.count))
        guard self.receiver != nil, !isCancelled else { return }
        if hasTaken { receiver.batchEnded() }
        endWhenTaken()
    }

    private func endWhenTaken() {
        if kept.isEmpty, let pendingEnd { finish(pendingEnd) }
    }

    func measured(_ timings: TransferTimings) { self.timings = timings }

    /// The measurements of the session, or the times by the clock.
    private var measurements: TransferTimings? {
        if let timings { return timings }
        guard let startTime else { return nil }
        var timings = TransferTimings(total: .nanoseconds(SystemTime().now - startTime), receivedBytes: answer.arrivedBytes)
        timings.firstByte = headTime.map { .nanoseconds($0 - startTime) }
        return timings
    }

    func taskEnded(_ error: (any Error)?) {
        guard receiver != nil, pendingEnd == nil else { return }
        // There is no task to cancel any more.
        task = nil
        pendingEnd = end(error)
        if !isPaused { endWhenTaken() }
    }

    private func end(_ error: (any Error)?) -> TransferEnd {
        guard let error else {
            guard answer.hasHead else { return .failed(.truncated(afterBytes: 0)) }
            return answer.isShort ? .failed(.truncated(afterBytes: answer.arrivedBytes)) : .complete
        }
        // On Linux, a 401 with an unanswered challenge is an error, after all of it has come.
        if answer.isWhole { return .complete }
        return .failed(.urlSession(error, bodyBytes: answer.hasHead ? answer.arrivedBytes : nil))
    }

    /// Calls the receiver with the end, once, and releases the task. A cancelled transfer always
    /// ends with `.cancelled`.
    func finish(_ end: TransferEnd) {
        guard let receiver else { return }
        self.receiver = nil
        let measurements = measurements
        kept = []
        keptBytes = 0
        dropTask()
        if let taskNumber { delegate.forget(taskNumber) }
        if let measurements { receiver.measured(measurements) }
        receiver.finished(isCancelled ? .cancelled : end)
    }

    private func dropTask() {
        guard let task else { return }
        self.task = nil
        task.cancel()
    }
}

extension OriginError {
    /// The code of App Transport Security, which allows no plain HTTP.
    private static var transportSecurity: Int { -1022 }

    /// Returns the error for an error of `URLSession`. On Linux many kinds of broken connections
    /// have the code -1.
    package static func urlSession(_ error: any Error, bodyBytes: Int64?) -> OriginError {
        let code = (error as? URLError)?.code ?? URLError.Code(rawValue: (error as NSError).code)
        let text = error.localizedDescription
        if (error as NSError).code == transportSecurity {
            // `NSAllowsArbitraryLoadsForMedia` allows plain HTTP to AVFoundation and not to
            // URLSession. So the player gets the original URL.
            return .unsupportedURL("App Transport Security lets only the player itself load it: \(text)")
        }
        switch code {
        case .timedOut:
            return .timeout(text)
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired:
            return .tls(text)
        case .badURL, .unsupportedURL:
            return bodyBytes == nil ? .unsupportedURL(text) : .malformed(text)
        case .badServerResponse, .cannotParseResponse, .cannotDecodeContentData, .cannotDecodeRawData:
            return bodyBytes.map { .truncated(afterBytes: $0) } ?? .malformed(text)
        default:
            return bodyBytes.map { .truncated(afterBytes: $0) } ?? .unreachable(text)
        }
    }
}
