import Spool
import SpoolCore
import SpoolOrigin
import SpoolServer
import SpoolSystem

/// One request that is forwarded to the fixed origin, with the response forwarded back. Nothing is
/// stored.
///
/// It serves methods that a cache cannot answer, and requests with credentials, whose responses are
/// for one user (RFC 9111 §3.5). Redirects go to the client. At most `bufferBytes` wait in each
/// direction, so a slow side stops the other.
final class OriginTunnel: TransferReceiver, BodySource, @unchecked Sendable {
    // Safe to share: a lock guards `state`. `chunk` and `exchange` belong to the loop's thread.

    /// The largest number of response bytes that wait for the client.
    private static let bufferBytes = 256 * 1024

    private struct State {
        var buffer: [UInt8] = []
        var isPaused = false
        var end: TransferEnd?
        var hasHead = false
        var transfer: (any Transfer)?
        var isClosed = false
    }

    private let request: RequestHead
    private let url: MediaURL
    private let site: FixedSite
    private let cache: MediaCache
    private let loop: EventLoop
    private let state = Locked(State())
    private let relay = WakeRelay()
    private var exchange: Exchange?
    /// Bytes on their way to the client, until all are taken.
    private var chunk: OwnedBytes?

    init(_ exchange: Exchange, url: MediaURL, site: FixedSite, cache: MediaCache) {
        request = exchange.request
        self.exchange = exchange
        self.url = url
        self.site = site
        self.cache = cache
        loop = exchange.loop
    }

    /// Sends the request to the origin. The response comes later.
    func begin() {
        let body = (exchange?.bodySink as? TunnelledBody)?.body
        // A field of the client replaces a configured one.
        let fields = cache.configuration.fields(for: url.text).replacing(with: site.fieldsForOrigin(request))
        var asked = OriginRequest(to: url, fields: fields)
        asked.method = request.method
        asked.followsRedirects = false
        asked.wait(cache.configuration.network.patience(forHost: url.origin.host), isBrief: false)
        // The origin may have run a request whose answer is late.
        asked.lateAfter = nil
        // A method that normally has a body gets an explicit empty one (RFC 9110 §8.6).
        asked.body = body ?? (["POST", "PUT", "PATCH"].contains(request.method) ? RequestBody([]) : nil)
        exchange?.onClose { self.close() }
        let transfer = cache.environment.transport.start(asked, receiver: self)
        let isClosed = state.withLock { state in
            state.transfer = transfer
            return state.isClosed
        }
        if isClosed { transfer.cancel() }
    }

    // MARK: From the transport's thread

    func interimReceived(_ head: ResponseHead) {
        loop.post { [self] in exchange?.sendInterim(head.status, fields: site.fieldsForClient(head, request)) }
    }

    func headReceived(_ head: ResponseHead) {
        state.withLock { $0.hasHead = true }
        loop.post { self.answer(head) }
    }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        let answer = state.withLock { state -> BodyAnswer in
            if state.isClosed { return .enough }
            guard state.buffer.isEmpty || state.buffer.count + bytes.count <= Self.bufferBytes else {
                state.isPaused = true
                return .pause
            }
            state.buffer += bytes
            return .taken
        }
        if answer == .taken { relay.wake() }
        return answer
    }

    func batchEnded() {}

    func finished(_ end: TransferEnd) {
        let hasHead = state.withLock { state in
            state.end = end
            state.transfer = nil
            return state.hasHead
        }
        if hasHead { relay.wake() } else { loop.post { self.fail(end) } }
    }

    // MARK: On the loop

    private func answer(_ head: ResponseHead) {
        guard let exchange else { return }
        self.exchange = nil
        invalidate(head)
        var fields = site.fieldsForClient(head, request)
        var status = CacheStatus(source: .forwarded(site.isSafe(request.method) ? .bypass : .method))
        status.forwardStatus = head.status
        fields.append(.cacheStatus, status.fieldValue)
        if request.method == "HEAD" || head.status == 204 || head.status == 304 {
            fields[.contentLength] = head.fields[.contentLength]
            exchange.respond(Response(head.status, fields: fields))
            return close()
        }
        let length = head.fields[.transferEncoding] == nil ? head.fields[.contentLength].flatMap { Int64($0) } : nil
        exchange.respond(Response(head.status, fields: fields, body: .source(self, length: length)))
    }

    /// Marks the stored resources that a change at the origin invalidates (RFC 9111 §4.4).
    private func invalidate(_ head: ResponseHead) {
        guard !site.isSafe(request.method), (200..<400).contains(head.status) else { return }
        for url in site.changedURLs(by: head, to: url) { cache.invalidate(cache.key(for: url), url: url) }
    }

    private func fail(_ end: TransferEnd) {
        guard let exchange else { return }
        self.exchange = nil
        guard case .failed(let cause) = end else {
            return exchange.respond(.error(502, "the origin's answer was given up"))
        }
        let error = CacheError(cause, key: cache.key(for: url))
        exchange.respond(.error(error.statusForClient, error.message))
        close()
    }

    // MARK: BodySource

    func onReadable(_ wake: @escaping @Sendable () -> Void) { relay.set(wake) }

    func next(max: Int) -> BodyChunk {
        if let chunk { return .memory(chunk.prefix(max)) }
        let (bytes, end, resumed) = state.withLock { state -> ([UInt8], TransferEnd?, (any Transfer)?) in
            var bytes: [UInt8] = []
            swap(&bytes, &state.buffer)
            defer { if !bytes.isEmpty { state.isPaused = false } }
            return (bytes, state.end, state.isPaused ? state.transfer : nil)
        }
        if !bytes.isEmpty {
            chunk = OwnedBytes(copying: bytes)
            resumed?.resume()
            return next(max: max)
        }
        switch end {
        case nil: return .wait
        case .complete: return .end
        case .failed(let error): return .abort("the origin's answer broke off: \(error)")
        case .cancelled: return .abort("the request was given up")
        }
    }

    func consumed(_ count: Int) {
        guard let rest = chunk?.dropFirst(count) else { return }
        chunk = rest.isEmpty ? nil : rest
    }

    func close() {
        relay.clear()
        let transfer = state.withLock { state in
            state.isClosed = true
            state.buffer = []
            return state.transfer
        }
        transfer?.cancel()
    }
}

/// The body of a forwarded request.
final class TunnelledBody: BodySink {
    let body: RequestBody

    init(count: Int64) { body = RequestBody(count: count) }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Int { body.write(bytes) }

    func onRoom(_ wake: @escaping @Sendable () -> Void) { body.onRoom(wake) }

    func ended(isComplete: Bool) { if !isComplete { body.breakOff() } }
}
