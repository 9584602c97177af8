#if os(Linux)
internal import CCurl
internal import Glibc
internal import SpoolCore
internal import SpoolSystem

/// One request over libcurl, from the caller's side a `Transfer`, from the loop's side the context of its callbacks.
final class CurlTransfer: Transfer, @unchecked Sendable {
    // Safe to share: `request`, `loop` and `cancelRequested` are constant and safe by themselves;
    // everything else is touched on the loop's thread only.
    let request: OriginRequest
    private let loop: CurlLoop
    private let cancelRequested = Locked(false)

    /// Nil once the transfer is over.
    var receiver: (any TransferReceiver)?
    /// The easy handle while the transfer is on the multi handle.
    var handle: CurlHandle?
    /// What a callback decided; it wins over the code that libcurl ends the transfer with.
    private(set) var decidedEnd: TransferEnd?
    private(set) var isPaused = false
    /// The request's body has nothing to send at the moment.
    private(set) var isSendPaused = false
    /// Body bytes that the receiver took.
    private(set) var bodyBytes: Int64 = 0
    /// When the last byte came, or the request was sent; nil while there is no connection yet.
    private(set) var lastActivity: MonotonicInstant?
    /// When the request was sent, if the loop watches for the answer.
    private var watchedSince: MonotonicInstant?
    /// When the first line of the answer came; nil before it.
    private(set) var answerBegan: MonotonicInstant?
    /// Whether any byte of the answer came.
    var hasAnswer: Bool { answerBegan != nil }
    /// The loop lets others go first.
    var isResting = false
    /// Whether the loop is to tell the receiver of new bytes at the end of its round.
    var hasNewBytes = false
    /// Body bytes that came since the last `batchEnded`.
    private var untoldBytes = 0
    /// Body bytes that came since the transfer rested.
    private var bytesOfTurn = 0
    /// Which private addresses are refused to which names; nil for a transfer through a proxy, which looks names up by itself.
    var privateNames: PrivateNames?
    /// An address that was refused, in words; counts only when no other one could be connected to.
    private(set) var refusedAddress: String?
    private var head = HeadCollector()

    init(request: OriginRequest, receiver: any TransferReceiver, loop: CurlLoop) {
        self.request = request
        self.receiver = receiver
        self.loop = loop
        request.body?.onReadable { [weak self] in
            guard let self else { return }
            loop.post { loop.resumeSending(self) }
        }
    }

    /// Whether the final response's head was handed over.
    var hasHead: Bool { head.isDone }

    var isCancelled: Bool { cancelRequested.withLock { $0 } }

    // MARK: Transfer

    func resume() {
        loop.post { [loop] in loop.resume(self) }
    }

    func cancel() {
        let isFirst = cancelRequested.withLock { isRequested in
            defer { isRequested = true }
            return !isRequested
        }
        if isFirst { loop.post { [loop] in loop.finish(self, .cancelled) } }
    }

    // MARK: On the loop's thread

    /// libcurl is about to send the request: a connection is there.
    func requestSent() {
        let now = loop.now()
        lastActivity = now
        watchedSince = loop.requestSent() ? now : nil
    }

    /// Whether a connection to the address may be opened, which was looked up for the URL's host.
    func mayConnect(to address: SocketAddress) -> Bool {
        guard let privateNames, privateNames != .allowed || !request.reach.isEmpty else { return true }
        let origin: URIReference.Origin
        do {
            guard let found = try URIReference(lenient: request.url).origin else { return false }
            origin = found
        } catch { return false }
        guard request.reach.allSatisfy({ $0.allow(origin, at: address) }) else {
            refusedAddress =
                "\(origin.host) leads to \(address.host), which is for this machine only, and clients on other machines use this door;"
                + " allow it with --allow-origin \(origin)"
            return false
        }
        if privateNames.allow(origin.host, at: address) || request.reach.contains(where: { $0.named.contains(origin) }) { return true }
        refusedAddress =
            "\(origin.host) leads to the private address \(address.host), which no public name may;"
            + " allow it with --allow-private \(origin.host), or the origin with --allow-origin \(origin)"
        return false
    }

    /// Makes the socket for a connection.
    func openSocket(_ address: curl_sockaddr) -> curl_socket_t { loop.openSocket(address) }

    /// The receiver wants the body again. False when it did not pause.
    func unpause() -> Bool {
        guard isPaused else { return false }
        isPaused = false
        lastActivity = loop.now()
        return true
    }

    /// The request's body may have bytes again. False when nobody waits for them.
    func unpauseSending() -> Bool {
        guard isSendPaused else { return false }
        isSendPaused = false
        lastActivity = loop.now()
        return true
    }

    /// Fills the buffer with bytes of the request's body. Answers how many, 0 at its end, or libcurl's word for a pause or an end.
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

    /// A line of a head or a trailer. False ends the transfer.
    func lineReceived(_ line: UnsafeRawBufferPointer) -> Bool {
        guard let receiver, decidedEnd == nil, !isCancelled else { return false }
        let now = loop.now()
        lastActivity = now
        if answerBegan == nil {
            answerBegan = now
            if let watchedSince { loop.answered(after: now - watchedSince) }
        }
        switch head.lineReceived(line) {
        case .more, .trailer:
            return true
        case .head(let head):
            receiver.headReceived(head)
            return !isCancelled
        case .refused(let reason):
            decidedEnd = .failed(.malformed(reason))
            return false
        }
    }

    /// Body bytes. Answers how many were taken, or libcurl's word for a pause; anything else ends the transfer.
    func bodyReceived(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let receiver, decidedEnd == nil, !isCancelled else { return Self.abort(bytes) }
        lastActivity = loop.now()
        guard hasHead else {
            decidedEnd = .failed(.malformed("a body without a head"))
            return Self.abort(bytes)
        }
        switch receiver.bodyReceived(bytes) {
        case .taken:
            took(bytes.count)
            return bytes.count
        case .pause:
            isPaused = true
            return spool_curl_pause()
        case .enough:
            bodyBytes += Int64(bytes.count)
            decidedEnd = .cancelled
            return Self.abort(bytes)
        }
    }

    /// What is told of at the latest.
    private static let batchBytes = 256 * 1024
    /// What is taken in one turn of the loop; libcurl goes on as long as the socket has bytes, which may be as long as the body. With less of it
    /// many readers of one fetch would all be at its front, and be sent copies instead of the file.
    private static let turnBytes = 1024 * 1024
    /// What is taken in one turn of a body of which `steadyBytes` came, as much as is sent in one: its readers stay.
    private static let steadyTurnBytes = 2 * turnBytes
    private static let steadyBytes: Int64 = 8 * 1024 * 1024

    private func took(_ count: Int) {
        let isFirst = bodyBytes == 0
        bodyBytes += Int64(count)
        untoldBytes += count
        bytesOfTurn += count
        guard isFirst || untoldBytes >= Self.batchBytes else { return loop.gotBytes(self) }
        tellBatch()
        let turnBytes = bodyBytes < Self.steadyBytes ? Self.turnBytes : Self.steadyTurnBytes
        guard isFirst || bytesOfTurn >= turnBytes else { return }
        // Somebody waits for the first bytes, or for a turn.
        bytesOfTurn = 0
        loop.rest(self)
    }

    /// Tells the receiver that bytes came, unless it knows.
    func tellBatch() {
        guard untoldBytes > 0, !isCancelled else { return }
        untoldBytes = 0
        receiver?.batchEnded()
    }

    /// An answer that differs from `bytes.count` and is no pause.
    private static func abort(_ bytes: UnsafeRawBufferPointer) -> Int { bytes.count == 0 ? 1 : 0 }
}

// MARK: - Callbacks of libcurl

/// A header line, `context` being the transfer that the handle belongs to.
let curlHeaderCallback: curl_write_callback = { pointer, size, count, context in
    guard let context else { return 0 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    let bytes = UnsafeRawBufferPointer(start: pointer, count: size * count)
    return transfer.lineReceived(bytes) ? bytes.count : 0
}

/// Body bytes.
let curlBodyCallback: curl_write_callback = { pointer, size, count, context in
    guard let context else { return 0 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    return transfer.bodyReceived(UnsafeRawBufferPointer(start: pointer, count: size * count))
}

/// Room for bytes of the request's body.
let curlUploadCallback: curl_read_callback = { pointer, size, count, context in
    guard let context else { return spool_curl_read_abort() }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    return transfer.bodyWanted(UnsafeMutableRawBufferPointer(start: pointer, count: size * count))
}

/// Makes the socket for a connection to an address, unless the address is refused.
let curlOpenSocketCallback: curl_opensocket_callback = { context, _, target in
    guard let context, let target else { return -1 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    // The address is longer than the field that it begins in: libcurl says how long.
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr),
        let address = SocketAddress(UnsafeRawPointer(target) + offset, length: Int(target.pointee.addrlen)),
        transfer.mayConnect(to: address)
    else { return -1 }
    return transfer.openSocket(target.pointee)
}

/// The connection is there and the request goes out now.
let curlRequestCallback: curl_prereq_callback = { context, _, _, _, _ in
    guard let context else { return CURL_PREREQFUNC_ABORT }
    Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().requestSent()
    return CURL_PREREQFUNC_OK
}
#endif
