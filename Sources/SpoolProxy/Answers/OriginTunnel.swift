import Spool
import SpoolCore
package import SpoolOrigin
import SpoolServer
import SpoolSystem

/// One request that is forwarded to the origin, with the response forwarded back. Nothing is
/// stored.
///
/// It serves requests for another body than the resource's, such as a place in time. For the fixed
/// origin it also serves methods that a cache cannot answer, and requests with credentials, whose
/// responses are for one user (RFC 9111 §3.5); redirects of that origin go to the client. At most
/// `bufferBytes` wait in each direction, so a slow side stops the other.
///
/// A limiter starts the request, because forwarded requests have a bounded share of the connections
/// to origins. A request with an incomplete body is less urgent than others: the client sends at
/// its own rate, and holds the connection for as long. Of a body that waits for its start, at most
/// `TunnelledBody.waitingBytes` are kept.
final class OriginTunnel: TransferReceiver, LimitedFetch, BodySource, @unchecked Sendable {
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
        /// Whether the limiter ended the transfer, because the client moved too little.
        var isGivenUp = false
        /// The request to the origin, and the body that it sends.
        var asked: (request: OriginRequest, sink: TunnelledBody?)?
        /// The number of the request in the limiter.
        var ticket: UInt64?
        /// Whether the transfer is over.
        var isOver: Bool { isClosed || end != nil }
        /// The bytes of the response that arrived.
        var receivedBytes: Int64 = 0
    }

    private let request: RequestHead
    private let url: MediaURL
    private let rules: ResourceFields
    private let fields: HTTPFields
    private let cache: MediaCache
    private let loop: EventLoop
    private let state = Locked(State())
    private let relay = WakeRelay()
    private var exchange: Exchange?
    /// Bytes on their way to the client, until all are taken.
    private var chunk: OwnedBytes?

    /// Creates the tunnel for the request of `exchange`, which has these fields at the origin.
    init(_ exchange: Exchange, url: MediaURL, _ fields: HTTPFields, rules: ResourceFields, cache: MediaCache) {
        request = exchange.request
        self.exchange = exchange
        self.url = url
        self.fields = fields
        self.rules = rules
        self.cache = cache
        loop = exchange.loop
    }

    /// Sends the request to the origin, once there is a slot for it. The response comes later.
    func begin() {
        let sink = exchange?.bodySink as? TunnelledBody
        let body = sink?.body
        // A field of the client replaces a configured one.
        let fields = cache.configuration.fields(for: url.text).replacing(with: fields)
        var asked = OriginRequest(to: url, fields: fields)
        asked.method = request.method
        asked.followsRedirects = !rules.isSite
        asked.reach = cache.bounds.current
        asked.wait(cache.configuration.network.patience(forHost: url.origin.host), isBrief: false)
        // The origin may have run a request whose answer is late.
        asked.lateAfter = nil
        // A method that normally has a body gets an explicit empty one (RFC 9110 §8.6).
        asked.body = body ?? (["POST", "PUT", "PATCH"].contains(request.method) ? RequestBody([]) : nil)
        exchange?.onClose { self.close() }
        state.withLock { $0.asked = (asked, sink) }
        let (host, client, demand) = (url.origin.description, exchange?.client, FetchDemand(sink?.isWhole == false ? .upcoming : .playing))
        let ticket = cache.forwarding.submit(self) { scheduler, now in
            scheduler.submitted(host: host, client: client, demand, now: now)
        }
        let isOver = state.withLock { state in
            state.ticket = ticket
            return state.isOver
        }
        if isOver { return cache.forwarding.finished(ticket) }
        sink?.onWhole { [cache] in
            cache.forwarding.change { scheduler, now in scheduler.demanded(ticket, FetchDemand(.playing), sequence: 1, now: now) }
        }
    }

    /// Starts the transfer.
    func start(on access: NetworkAccess) {
        guard let (request, sink) = state.withLock({ $0.isClosed ? nil : $0.asked }) else { return }
        var asked = request
        asked.access = access
        sink?.begin()
        let transfer = cache.environment.transport.start(asked, receiver: self)
        let (isClosed, isPaused) = state.withLock { state in
            if state.end == nil { state.transfer = transfer }
            return (state.isClosed, state.isPaused)
        }
        // The client may have taken the bytes of a paused transfer before it was known here.
        if isClosed { transfer.cancel() } else if !isPaused { transfer.resume() }
    }

    func hold(_ hold: FetchScheduler.Hold) {}

    func stopIfIdle() -> Bool { false }
    func stopIfUnneeded() -> Bool { false }

    func look(_ ticket: UInt64) -> FetchScheduler.Look {
        let (received, isPaused, sink) = state.withLock { ($0.receivedBytes, $0.isPaused, $0.asked?.sink) }
        let moved = received.addingSaturated(sink?.body.writtenBytes ?? 0)
        return FetchScheduler.Look(id: ticket, bytes: moved, isClientsTurn: isPaused || sink?.isClientsTurn == true)
    }

    /// Ends the transfer, and drops the bytes that the client does not take.
    func giveUp() {
        let transfer = state.withLock { state in
            state.isGivenUp = true
            state.buffer = []
            return state.transfer
        }
        transfer?.cancel()
    }

    /// Frees the slot.
    private func giveBack() {
        if let ticket = state.withLock({ $0.ticket }) { cache.forwarding.finished(ticket) }
    }

    // MARK: From the transport's thread

    func interimReceived(_ head: ResponseHead) {
        guard rules.isSite else { return }
        loop.post { [self] in exchange?.sendInterim(head.status, fields: rules.forwarded(head)) }
    }

    func headReceived(_ head: ResponseHead) {
        state.withLock { $0.hasHead = true }
        loop.post { self.answer(head) }
    }

    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> BodyAnswer {
        let answer = state.withLock { state -> BodyAnswer in
            if state.isClosed || state.isGivenUp { return .enough }
            guard state.buffer.isEmpty || state.buffer.count + bytes.count <= Self.bufferBytes else {
                state.isPaused = true
                return .pause
            }
            state.buffer += bytes
            state.receivedBytes += Int64(bytes.count)
            return .taken
        }
        if answer == .taken { relay.wake() }
        return answer
    }

    /// Nothing else could bring the rest of the response.
    func bodyIsQuiet(for time: Duration) -> Bool { false }

    func batchEnded() {}

    func finished(_ end: TransferEnd) {
        let hasHead = state.withLock { state in
            state.end = end
            state.transfer = nil
            return state.hasHead
        }
        giveBack()
        if hasHead { relay.wake() } else { loop.post { self.fail(end) } }
    }

    // MARK: On the loop

    private func answer(_ head: ResponseHead) {
        guard let exchange else { return }
        self.exchange = nil
        invalidate(head)
        var fields = rules.forwarded(head)
        let reason: CacheStatus.Reason = FixedSite.isSafe(request.method) ? .bypass : .method
        fields.append(.cacheStatus, CacheStatus(.forwarded(reason), forwardStatus: head.status).fieldValue)
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
        guard let site = rules.site, !FixedSite.isSafe(request.method), (200..<400).contains(head.status) else { return }
        for url in site.changedURLs(by: head, to: url) { cache.invalidate(cache.key(for: url), url: url) }
    }

    private func fail(_ end: TransferEnd) {
        guard let exchange else { return }
        self.exchange = nil
        guard case .failed(let cause) = end else {
            let isGivenUp = state.withLock { $0.isGivenUp }
            return exchange.respond(
                isGivenUp
                    ? .error(408, "this request moved fewer than 1 KiB in a minute while others waited; send it again")
                    : .error(502, "the origin's answer was given up"))
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
        giveBack()
    }
}

/// The body of a forwarded request.
package final class TunnelledBody: BodySink, @unchecked Sendable {
    // Safe to share: a lock guards `state`.
    /// The most bytes that are kept of a body whose request waits for a slot: 16 KiB. Most forms
    /// are smaller, and 128 connections of a client keep at most 2 MiB.
    package static let waitingBytes: Int64 = 16 * 1024

    private struct State {
        var hasBegun = false
        var wake: (@Sendable () -> Void)?
        var onWhole: (@Sendable () -> Void)?
    }

    /// The bytes on their way to the origin.
    package let body: RequestBody
    private let state = Locked(State())

    /// Creates a body of `count` bytes.
    package init(count: Int64) { body = RequestBody(count: count) }

    /// Whether the client has sent all bytes.
    package var isWhole: Bool { body.writtenBytes == body.count }

    /// Whether the client could send more: the origin has taken what came, and the body is not
    /// whole.
    package var isClientsTurn: Bool { !isWhole && body.hasRoom && state.withLock { $0.hasBegun } }

    /// Takes all bytes from now on, as fast as the origin does.
    package func begin() {
        let wake = state.withLock { state in
            state.hasBegun = true
            return state.wake
        }
        wake?()
    }

    /// Calls `action` once when the client has sent all bytes: now, or on the loop.
    package func onWhole(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.onWhole = action }
        if isWhole { callWhole() }
    }

    private func callWhole() {
        let action = state.withLock { $0.onWhole.take() }
        action?()
    }

    /// Takes as many bytes as there is room for.
    package func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !state.withLock({ $0.hasBegun }) else { return body.write(bytes) }
        let room = max(0, Self.waitingBytes - body.writtenBytes)
        return body.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(min(room, Int64(bytes.count))))))
    }

    /// Sets the closure to call when there is room again.
    package func onRoom(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
        body.onRoom(wake)
    }

    /// Ends the body, complete or not.
    package func ended(isComplete: Bool) { if isComplete { callWhole() } else { body.breakOff() } }
}
