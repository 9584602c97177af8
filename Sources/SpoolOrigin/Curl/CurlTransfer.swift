#if os(Linux)
internal import CCurl
internal import SpoolCore
internal import SpoolLibc
internal import SpoolSystem

/// One request over libcurl. It is a `Transfer` for its caller, and the context of the callbacks
/// for the loop.
final class CurlTransfer: Transfer, @unchecked Sendable {
    // Safe to share: `request`, `loop` and `cancelRequested` are constant and safe by themselves.
    // Everything else is used on the thread of the loop only.
    let request: OriginRequest
    private let loop: CurlLoop
    private let cancelRequested = Locked(false)

    /// The receiver. Nil once the transfer is over.
    var receiver: (any TransferReceiver)?
    /// The easy handle while the transfer is on the multi handle.
    var handle: CurlHandle?
    /// The end that a callback decided on. It takes precedence over the code with which libcurl
    /// ends the transfer.
    private(set) var decidedEnd: TransferEnd?
    /// The present urgency of the readers.
    private(set) var priority: ReadPriority
    private(set) var isPaused = false
    /// Whether the body of the request has nothing to send at the moment.
    private(set) var isSendPaused = false
    /// The number of body bytes that the receiver took.
    private(set) var bodyBytes: Int64 = 0
    /// The time of the last byte, or of the request. Nil while there is no connection yet.
    private(set) var lastActivity: MonotonicInstant?
    /// The last moment at which the receiver tolerated a silence of the body.
    private(set) var toleratedUntil: MonotonicInstant?
    /// The time of the request, and whether the loop watches for its answer.
    private var sent: (at: MonotonicInstant, isWatched: Bool)?
    /// The time of the first line of the answer.
    private(set) var answerBegan: MonotonicInstant?
    /// Whether any byte of the answer came.
    var hasAnswer: Bool { answerBegan != nil }
    /// Whether the transfer rests, so that other jobs of the loop go first.
    var isResting = false
    /// Whether the loop has to call `batchEnded` at the end of its round.
    var hasNewBytes = false
    /// The number of body bytes since the last `batchEnded`.
    private var untoldBytes = 0
    /// The number of body bytes since the transfer rested.
    private var bytesOfTurn = 0
    /// The private addresses that are refused to public names. Nil for a transfer through a proxy,
    /// which looks up names by itself.
    var privateNames: PrivateNames?
    /// A message about an address that was refused. It counts only if no other address could be
    /// connected to.
    private(set) var refusedAddress: String?
    private var head = HeadCollector()
    private var challenge = Challenge.none

    /// The state of a request that answers a Digest challenge.
    private enum Challenge {
        /// No challenge came.
        case none
        /// libcurl is expected to answer this one.
        case answering(ResponseHead)
        /// libcurl could not, so the challenge is the answer of the origin.
        case passedOn
    }
    /// The connection of an HTTP/1.1 transfer, which has it for itself; nil before libcurl uses it.
    private var connection: (socket: Int32, receivedBefore: Int64)?
    /// The bytes that a transfer still takes before it stops, and the CPU time of the thread at
    /// which it stops in any case. Nil for a transfer that runs.
    private var rest: (bytes: Int64, deadline: Nanoseconds)?
    /// The bytes that arrived on the connection, once they are counted.
    private var countedBytes: Int64?

    init(request: OriginRequest, receiver: any TransferReceiver, loop: CurlLoop) {
        self.request = request
        self.receiver = receiver
        self.loop = loop
        priority = request.priority
        request.body?.onReadable { [weak self] in
            guard let self else { return }
            loop.post { loop.resumeSending(self) }
        }
    }

    /// Whether the head of the final response was passed on.
    var hasHead: Bool { if case .passedOn = challenge { true } else { head.isDone } }

    /// Whether only interim heads came so far, so that the origin is still preparing its answer.
    var isBetweenHeads: Bool { head.isBetweenHeads }

    var isCancelled: Bool { cancelRequested.withLock { $0 } }

    // MARK: Transfer

    func resume() {
        loop.post { [loop] in loop.resume(self) }
    }

    func setPriority(_ priority: ReadPriority) {
        loop.post { [self, loop] in
            guard receiver != nil, self.priority != priority else { return }
            self.priority = priority
            loop.windows.changed(now: loop.now())
        }
    }

    func stop() {
        loop.post { [loop] in loop.stop(self) }
    }

    func cancel() {
        let isFirst = cancelRequested.withLock { !exchange(&$0, with: true) }
        if isFirst { loop.post { [loop] in loop.finish(self, .cancelled) } }
    }

    // MARK: On the loop's thread

    /// Notes that libcurl is about to send the request on an open connection.
    func requestSent() {
        let now = loop.now()
        lastActivity = now
        sent = (now, loop.requestSent())
    }

    /// Notes that libcurl waits for events of this socket on behalf of the transfer.
    func uses(_ socket: Int32) {
        guard connection?.socket != socket, let received = ReceivingConnection.receivedBytes(of: socket) else { return }
        connection = (socket, received)
        loop.windows.connected(self, now: loop.now())
    }

    /// The loop, as the context of callbacks that do not concern one transfer.
    var loopContext: UnsafeMutableRawPointer { Unmanaged.passUnretained(loop).toOpaque() }

    /// Notes that the connection is about to be closed. libcurl may send the request again on
    /// another one, whose socket may get the same number.
    func connectionClosed() { connection = nil }

    /// The socket of the connection, or nil before there is one and after it was closed.
    var socket: Int32? { connection?.socket }

    /// The host that is asked.
    var host: String? { request.location?.origin.host }

    /// The bytes that have arrived so far on the connection.
    var arrivedBytes: Int64 {
        guard let connection, let bytes = ReceivingConnection.receivedBytes(of: connection.socket) else { return bodyBytes }
        return bytes - connection.receivedBefore
    }

    /// Bounds the bytes that the transfer still takes to those that have arrived: in the kernel, in
    /// libcurl and in TLS. A connection with other transfers does not show them (`takeNoMore`).
    func takeArrived(until deadline: Nanoseconds) {
        let limit = OriginRequest.arrivedBytesLimit
        rest = (connection == nil ? limit : min(limit, arrivedBytes - bodyBytes), deadline)
    }

    /// Bounds the bytes that a transfer that stops still takes.
    func takeNoMore(than bytes: Int64) {
        if let rest, rest.bytes > bytes { self.rest?.bytes = bytes }
    }

    /// Counts the bytes that arrived on the connection, those in the kernel's buffer included.
    /// Called while the connection is certainly open.
    func countReceived() {
        guard countedBytes == nil, let connection else { return }
        countedBytes = ReceivingConnection.receivedBytes(of: connection.socket).map { $0 - connection.receivedBefore }
    }

    /// The bytes that arrived: by the kernel's count, or the body bytes that the receiver took.
    var receivedBytes: Int64 { max(bodyBytes, countedBytes ?? 0) }

    /// Returns whether a connection may be opened to an address that was looked up for the host of
    /// the URL.
    func mayConnect(to address: SocketAddress) -> Bool {
        guard checksAddresses, let privateNames else { return true }
        guard let origin = request.location?.origin else { return false }
        if let bound = request.reach.first(where: { !$0.allow(origin, at: address) }) {
            refusedAddress =
                "\(origin.host) leads to \(address.host), which is for this machine only, and clients on other machines use this door;"
                + " \(bound.advice(for: origin))"
            return false
        }
        if request.reach.contains(where: { $0.named.contains(origin) }) { return true }
        if privateNames.allow(origin.host, at: address, isOwnNetwork: loop.ownNetworks.contains) { return true }
        refusedAddress =
            "\(origin.host) leads to the private address \(address.host), which no public name may;"
            + " allow it with --allow-private \(origin.host), or the origin with --allow-origin \(origin)"
        return false
    }

    /// Whether the addresses of connections are checked.
    private var checksAddresses: Bool { privateNames.map { $0 != .allowed || !request.reach.isEmpty } ?? false }

    /// Returns whether the request may leave on a connection. Another request may have opened it, by
    /// another name of the same host or with other rights.
    ///
    /// A library such as proxychains moves connections, so their peer is not the address that was
    /// asked for. Then the latter counts. Connections to different addresses may share a local port,
    /// so each of them has to be allowed.
    func mayUse(connectionTo address: UnsafePointer<CChar>?, from port: Int32) -> Bool {
        // Of a name with several addresses, some may have been refused.
        refusedAddress = nil
        guard checksAddresses else { return true }
        if let peer = address.flatMap({ SocketAddress(literal: String(cString: $0), port: 0) }), mayConnect(to: peer) { return true }
        let asked = loop.peers(ofLocalPort: port)
        guard !asked.isEmpty, asked.allSatisfy(mayConnect) else { return false }
        refusedAddress = nil
        return true
    }

    /// Makes the socket for a connection.
    func openSocket(_ address: curl_sockaddr, to peer: SocketAddress) -> curl_socket_t { loop.openSocket(address, to: peer) }

    /// Whether the receiver goes on waiting for the next bytes of a body that has begun.
    func toleratesSilence(now: MonotonicInstant) -> Bool {
        guard hasHead, let receiver, let lastActivity, !receiver.bodyIsQuiet(for: .nanoseconds(now - lastActivity)) else { return false }
        toleratedUntil = now
        return true
    }

    /// Notes that the receiver can take the body again.
    ///
    /// - Returns: False if it was not paused.
    func unpause() -> Bool {
        guard isPaused else { return false }
        isPaused = false
        let now = loop.now()
        lastActivity = now
        loop.windows.changed(now: now)
        return true
    }

    /// Notes that the body of the request may have bytes again.
    ///
    /// - Returns: False if the transfer does not wait for them.
    func unpauseSending() -> Bool {
        guard isSendPaused else { return false }
        isSendPaused = false
        lastActivity = loop.now()
        return true
    }

    /// Fills the buffer with bytes of the request's body.
    ///
    /// - Returns: The number of bytes, 0 at the end, or the code of libcurl for a pause or an
    ///   abort.
    func bodyWanted(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let body = request.body, decidedEnd == nil, !isCancelled else { return spool_curl_read_abort() }
        lastActivity = loop.now()
        switch body.read(into: buffer) {
        case .bytes(let count): return count
        case .end: return 0
        case .wait:
            isSendPaused = true
            return spool_curl_read_pause()
        case .broken:
            decidedEnd = .failed(.unreachable("the request's body broke off before its end"))
            return spool_curl_read_abort()
        }
    }

    /// Takes a line of a head or a trailer.
    ///
    /// - Returns: False to end the transfer.
    func lineReceived(_ line: UnsafeRawBufferPointer) -> Bool {
        guard let receiver, decidedEnd == nil, !isCancelled else { return false }
        let now = loop.now()
        lastActivity = now
        if answerBegan == nil {
            answerBegan = now
            if let sent {
                if sent.isWatched { loop.answered(after: now - sent.at) }
                loop.windows.answered(self, after: now - sent.at, now: now)
            }
        }
        switch head.lineReceived(line) {
        case .more, .trailer:
            return true
        case .interim(let head):
            receiver.interimReceived(head)
            return !isCancelled
        case .head(let head):
            let decodes = request.decodesContent && head.fields.hasDecodableCoding
            guard let head = decodes ? head.withoutCoding : head else {
                decidedEnd = .failed(.malformed("the origin sent a part of a manifest with a content coding"))
                return false
            }
            // libcurl would fail at a name of no coding, which clients ignore.
            if request.decodesContent { handle?.decode(decodes) }
            if request.answersDigest, case .none = challenge, head.status == 401, head.fields.demandsDigest {
                (challenge, self.head) = (.answering(head), HeadCollector())
                return true
            }
            receiver.headReceived(head)
            return !isCancelled
        case .refused(let reason):
            decidedEnd = .failed(.malformed(reason))
            return false
        }
    }

    /// Passes on a challenge that libcurl does not answer: its body or its end came.
    func passChallengeOn() {
        guard case .answering(let unanswered) = challenge, !head.isDone else { return }
        challenge = .passedOn
        receiver?.headReceived(unanswered)
    }

    /// Takes body bytes.
    ///
    /// - Returns: The number of bytes taken, or the code of libcurl for a pause. Any other value
    ///   ends the transfer.
    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let receiver, decidedEnd == nil, !isCancelled else { return Self.abort(bytes) }
        lastActivity = loop.now()
        passChallengeOn()
        guard hasHead else {
            decidedEnd = .failed(.malformed("a body without a head"))
            return Self.abort(bytes)
        }
        if let rest, rest.bytes <= 0 || LoopTimes.threadTime() >= rest.deadline { return end(bytes) }
        switch receiver.bodyReceived(bytes) {
        case .taken:
            took(bytes.count)
            return bytes.count
        case .pause where rest != nil:
            return end(bytes)
        case .pause:
            isPaused = true
            loop.windows.changed(now: loop.now())
            return spool_curl_pause()
        case .enough:
            bodyBytes += Int64(bytes.count)
            return end(bytes)
        }
    }

    private func end(_ bytes: UnsafeRawBufferPointer) -> Int {
        decidedEnd = .cancelled
        // libcurl closes the connection next.
        countReceived()
        return Self.abort(bytes)
    }

    /// The most bytes between two calls of `batchEnded`.
    private static let batchBytes = 256 * 1024
    /// The most bytes in one turn of the loop. libcurl goes on as long as the socket has bytes,
    /// which may be as long as the body. With a smaller bound, many readers of one fetch would all
    /// be at its front, and would be sent copies instead of the file.
    private static let turnBytes = 1024 * 1024
    /// The most bytes in one turn for a body of which `steadyBytes` came: as many as are sent in
    /// one turn. Its readers stay.
    private static let steadyTurnBytes = 2 * turnBytes
    private static let steadyBytes: Int64 = 8 * 1024 * 1024

    private func took(_ count: Int) {
        let isFirst = bodyBytes == 0
        bodyBytes += Int64(count)
        untoldBytes += count
        bytesOfTurn += count
        rest?.bytes -= Int64(count)
        loop.tookBytes(self)
        guard isFirst || untoldBytes >= Self.batchBytes else { return loop.gotBytes(self) }
        tellBatch()
        let turnBytes = bodyBytes < Self.steadyBytes ? Self.turnBytes : Self.steadyTurnBytes
        guard isFirst || bytesOfTurn >= turnBytes, rest == nil else { return }
        // A reader waits for the first bytes, or another transfer for its turn.
        bytesOfTurn = 0
        loop.rest(self)
    }

    /// Calls `batchEnded` of the receiver if bytes came since the last call.
    func tellBatch() {
        guard untoldBytes > 0, !isCancelled else { return }
        untoldBytes = 0
        receiver?.batchEnded()
    }

    /// Returns a value that differs from `bytes.count` and is no pause.
    private static func abort(_ bytes: UnsafeRawBufferPointer) -> Int { bytes.count == 0 ? 1 : 0 }
}

// MARK: - Callbacks of libcurl

/// Called for each header line. `context` is the transfer of the handle.
let curlHeaderCallback: curl_write_callback = { pointer, size, count, context in
    guard let context else { return 0 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    let bytes = UnsafeRawBufferPointer(start: pointer, count: size * count)
    return transfer.lineReceived(bytes) ? bytes.count : 0
}

/// Called for body bytes.
let curlBodyCallback: curl_write_callback = { pointer, size, count, context in
    guard let context else { return 0 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    return transfer.bodyReceived(UnsafeRawBufferPointer(start: pointer, count: size * count))
}

/// Called for room for bytes of the request's body.
let curlUploadCallback: curl_read_callback = { pointer, size, count, context in
    guard let context else { return spool_curl_read_abort() }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    return transfer.bodyWanted(UnsafeMutableRawBufferPointer(start: pointer, count: size * count))
}

/// Makes the socket for a connection to an address, unless the address is refused.
let curlOpenSocketCallback: curl_opensocket_callback = { context, _, target in
    guard let context, let target else { return -1 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    // The address is longer than the field in which it begins; `addrlen` has its length.
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr),
        let address = SocketAddress(UnsafeRawPointer(target) + offset, length: Int(target.pointee.addrlen)),
        transfer.mayConnect(to: address)
    else { return -1 }
    return transfer.openSocket(target.pointee, to: address)
}

/// Called when there is a connection and the request leaves, unless the address is refused.
let curlRequestCallback: curl_prereq_callback = { context, address, _, _, port in
    guard let context else { return CURL_PREREQFUNC_ABORT }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    guard transfer.mayUse(connectionTo: address, from: port) else { return CURL_PREREQFUNC_ABORT }
    transfer.requestSent()
    return CURL_PREREQFUNC_OK
}
#endif
