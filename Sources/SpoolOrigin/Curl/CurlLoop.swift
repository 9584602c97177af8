#if os(Linux)
internal import CCurl
internal import SpoolCore
internal import SpoolLibc
internal import SpoolSystem

/// A multi handle on an event loop, its transfers, and the mailbox for its jobs.
///
/// The loop reports to libcurl which of its sockets are ready and when its timer is due
/// (`curl_multi_socket_action`). After each of these calls it calls `batchEnded` of the receivers
/// that got bytes, and ends the transfers that are done.
final class CurlLoop: Mailbox, @unchecked Sendable {
    // Safe to share: `gate`, `loop`, `options`, `time`, `multi`, `tlsSessions`, `ownNetworks` and
    // `received` are constant. The transfers, handles, sockets, windows and deadlines below
    // `MARK: Confined` are used on the loop only.

    /// The thread of the loop. Nil once `close` was called; no job is accepted then.
    private let gate: Locked<LoopThread?>
    private let loop: EventLoop
    private let options: CurlTransportOptions
    private let time: (any TimeSource)?
    private let multi: UnsafeMutableRawPointer
    /// The TLS sessions that later connections resume. libcurl 7.88 keeps them in the easy handles,
    /// if they share none.
    private let tlsSessions: UnsafeMutableRawPointer?
    /// The networks of this machine, to which no public name may lead.
    let ownNetworks: OwnNetworks
    /// The bytes that arrived from origins in transfers that are over.
    private let received = Locked(Int64(0))

    init(options: CurlTransportOptions, time: (any TimeSource)?, thread: LoopThread) {
        self.options = options
        self.time = time
        ownNetworks = OwnNetworks { [onTrouble = options.onTrouble] error in
            onTrouble("public names that lead to a public address of this machine are not refused: \(error)")
        }
        gate = Locked(thread)
        loop = thread.loop
        multi = Self.makeMulti(options)
        tlsSessions = curl_share_init()
        if let tlsSessions { _ = spool_curl_share_tls_sessions(tlsSessions) }
        let context = Unmanaged.passUnretained(self).toOpaque()
        spool_curl_multi_set_socket_callback(multi, curlSocketCallback, context)
        spool_curl_multi_set_timer_callback(multi, curlTimerCallback, context)
    }

    // MARK: Any thread

    func post(_ job: @escaping @Sendable () -> Void) {
        _ = accept(job)
    }

    /// Posts a job, like `post`.
    ///
    /// - Returns: False if the loop is closed, so that the job will not run.
    func accept(_ job: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = gate.withLock({ $0 }) else { return false }
        thread.loop.post { [self] in
            job()
            settle()
        }
        return true
    }

    /// The bytes that arrived from origins in transfers that are over.
    var receivedBytes: Int64 { received.withLock { $0 } }

    func now() -> MonotonicInstant {
        time?.now ?? EventLoop.monotonicNow()
    }

    /// Ends every transfer with `.cancelled`, and waits for that unless called on the loop.
    /// Idempotent.
    func close() {
        let thread = gate.withLock { $0.take() }
        thread?.wait { [self] done in
            tearDown()
            done()
        }
    }

    // MARK: - Confined to the loop

    private lazy var sockets = CurlSockets(loop: loop) { [unowned self] socket, events in act(socket, events) }
    private var isTornDown = false
    /// The addresses for which the open sockets were made.
    private var peers: [curl_socket_t: SocketAddress] = [:]
    private var active: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    /// The transfers that got body bytes in this round.
    private var touched: [CurlTransfer] = []
    /// The transfers that stop in a later turn of the loop.
    private var stopping: [CurlTransfer] = []
    /// The turn in which transfers stopped last, and the CPU time of the thread at which others wait
    /// for the next one.
    private var stopTurn: (number: UInt64, deadline: Nanoseconds)?
    private var busyPoll = BusyPollPolicy()
    let windows = CurlWindows()
    /// The time of the next check for transfers that wait too long, if one is planned.
    private var nextCheck: MonotonicInstant?
    /// The time at which libcurl asked to be called, by the clock of the system.
    private var deadline: MonotonicInstant?
    /// Fires at the deadline, or at an earlier deadline that was put off.
    private var alarm: (timer: LoopTimer, at: MonotonicInstant)?

    /// Starts a transfer, or ends it if the loop was closed meanwhile.
    func begin(_ transfer: CurlTransfer) {
        guard !transfer.isCancelled, !isTornDown else { return finish(transfer, .cancelled) }
        if let defect = transfer.request.defect { return finish(transfer, .failed(defect)) }
        guard let handle = CurlHandle(tlsSessions: tlsSessions) else { return finish(transfer, .failed(.unreachable("out of memory"))) }
        transfer.handle = handle
        do {
            let opensConnection = windows.opensConnection(for: transfer, now: now())
            try handle.configure(transfer, options, isAlone: active.isEmpty, opensConnection: opensConnection)
        } catch {
            return finish(transfer, .failed(error))
        }
        active[handle.raw] = transfer
        let code = curl_multi_add_handle(multi, handle.raw)
        guard code == CURLM_OK else { return finish(transfer, .failed(.unreachable(String(cString: curl_multi_strerror(code))))) }
        planCheck(now() + min(shortestTimeout, transfer.request.headTimeout ?? .max))
    }

    /// Offers the body of a paused transfer again. Must be called outside any lock, because libcurl
    /// calls the receiver from inside `curl_easy_pause`.
    func resume(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle, transfer.unpause() else { return }
        unpause(transfer, handle)
    }

    /// Asks for the body of the request again, after it had nothing to send.
    func resumeSending(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle, transfer.unpauseSending() else { return }
        unpause(transfer, handle)
    }

    /// Resumes the directions of a transfer that are not paused. While the transfer rests, that
    /// happens later.
    private func unpause(_ transfer: CurlTransfer, _ handle: CurlHandle) {
        guard !transfer.isResting else { return }
        let paused = (transfer.isPaused ? CURLPAUSE_RECV : 0) | (transfer.isSendPaused ? CURLPAUSE_SEND : 0)
        let code = curl_easy_pause(handle.raw, paused)
        guard code != CURLE_OK else { return }
        finish(transfer, end(of: transfer, code, handle.message(for: code)))
    }

    /// Notes that the receiver took bytes.
    func gotBytes(_ transfer: CurlTransfer) {
        guard !transfer.hasNewBytes else { return }
        transfer.hasNewBytes = true
        touched.append(transfer)
    }

    /// Notes that the receiver of a transfer took bytes, for the windows of the others.
    func tookBytes(_ transfer: CurlTransfer) {
        guard let now = transfer.lastActivity else { return }
        windows.took(transfer, endedBytes: receivedBytes, now: now)
    }

    /// Removes a transfer from the multi handle and calls its receiver with the end. Does nothing
    /// if the transfer is over already.
    ///
    /// - Parameter isDone: Whether libcurl has ended the transfer, and perhaps its connection.
    func finish(_ transfer: CurlTransfer, _ end: TransferEnd, isDone: Bool = false) {
        guard let receiver = transfer.receiver else { return }
        transfer.receiver = nil
        if let handle = transfer.handle, !isDone || handle.socket != nil { transfer.countReceived() }
        windows.ended(transfer, now: now())
        let bytes = transfer.receivedBytes
        if bytes > 0 { received.withLock { $0 += bytes } }
        if let handle = transfer.handle {
            receiver.measured(handle.timings(receivedBytes: bytes))
            transfer.handle = nil
            if isDone, options.version == .http1, let socket = handle.socket { windows.keeps(socket, of: transfer) }
            if active.removeValue(forKey: handle.raw) != nil { curl_multi_remove_handle(multi, handle.raw) }
        }
        receiver.finished(transfer.isCancelled ? .cancelled : end)
    }

    // MARK: Stopping

    /// Ends a transfer after its receiver was offered the bytes that have arrived already.
    func stop(_ transfer: CurlTransfer) {
        guard transfer.hasHead, let handle = transfer.handle else { return finish(transfer, .cancelled) }
        if options.version == .http1 { handle.forbidReuse() }
        windows.closes(transfer, now: now())
        stopping.append(transfer)
        takeArrived()
    }

    /// Stops the transfers that wait for it, as many as one turn of the loop has time for.
    private func takeArrived() {
        var now = LoopTimes.threadTime()
        if stopTurn?.number != loop.turnCount {
            stopTurn = (loop.turnCount, now + options.stopTurnTime)
        } else if let stopTurn, now >= stopTurn.deadline {
            return post { [self] in takeArrived() }
        }
        while !stopping.isEmpty {
            takeArrived(of: stopping.removeFirst(), until: now + options.stopTime)
            now = LoopTimes.threadTime()
            if let stopTurn, now >= stopTurn.deadline { break }
        }
        if !stopping.isEmpty { post { [self] in takeArrived() } }
    }

    private func takeArrived(of transfer: CurlTransfer, until deadline: Nanoseconds) {
        guard let handle = transfer.handle else { return }
        transfer.takeArrived(until: deadline)
        // libcurl passes on what it kept during a pause, and reads the socket as part of its work.
        curl_easy_pause(handle.raw, CURLPAUSE_CONT)
        // Streams of HTTP/2 share connections, and libcurl does not tell which one a stream has.
        let connections = transfer.socket.map { [$0] } ?? Array(peers.keys)
        if transfer.socket == nil { transfer.takeNoMore(than: connections.reduce(0) { $0 + ReceivingConnection.waitingBytes(of: $1) }) }
        var taken: Int64 = -1
        while transfer.receiver != nil, transfer.bodyBytes > taken {
            taken = transfer.bodyBytes
            for socket in connections { act(socket, CURL_CSELECT_IN) }
        }
        finish(transfer, .cancelled)
    }

    // MARK: Watching for answers

    /// Notes that a request leaves.
    ///
    /// - Returns: Whether the loop watches for its answer.
    func requestSent() -> Bool {
        let isWatched = busyPoll.requestSent()
        if isWatched { loop.watch(for: BusyPollPolicy.duration) }
        return isWatched
    }

    /// Notes that the answer to a watched request begins.
    func answered(after delay: Nanoseconds) {
        busyPoll.answered(after: delay)
        loop.stopWatching()
    }

    // MARK: libcurl's work

    /// Lets libcurl work on a ready socket, or on the work that is due (`CURL_SOCKET_TIMEOUT`), and
    /// then calls the receivers.
    private func act(_ socket: Int32, _ events: Int32) {
        var running: Int32 = 0
        let code = curl_multi_socket_action(multi, socket, events, &running)
        tellBatches()
        if code != CURLM_OK { finishAll(.failed(.unreachable(String(cString: curl_multi_strerror(code))))) }
        finishDone()
        watch()
    }

    /// Runs the work of libcurl that is due now, and passes its other requests to the loop.
    private func settle() {
        guard !isTornDown else { return }
        if let deadline, deadline <= EventLoop.monotonicNow() { actOnTime() } else { watch() }
    }

    private func actOnTime() {
        deadline = nil
        act(curl_socket_t(CURL_SOCKET_TIMEOUT), 0)
    }

    /// Registers the sockets and the deadline of libcurl with the loop.
    private func watch() {
        sockets.apply()
        guard let deadline else { return }
        if let alarm {
            guard deadline < alarm.at else { return }
            loop.cancel(alarm.timer)
        }
        let timer = loop.after(deadline - EventLoop.monotonicNow()) { [weak self] in
            self?.alarm = nil
            self?.settle()
        }
        alarm = (timer, deadline)
    }

    /// Notes that libcurl waits for other events of a socket, on behalf of a handle.
    func want(_ what: Int32, of socket: Int32, for handle: UnsafeMutableRawPointer?) {
        sockets.want(what, of: socket)
        guard options.version == .http1, what != CURL_POLL_REMOVE, let handle else { return }
        active[handle]?.uses(socket)
    }

    /// The addresses for which the sockets with a local port were made.
    func peers(ofLocalPort port: Int32) -> [SocketAddress] {
        peers.filter { socket, _ in SocketAddress(localOf: socket).map { Int32($0.port) } == port }.map(\.value)
    }

    /// Makes the socket for a connection to `peer`.
    func openSocket(_ address: curl_sockaddr, to peer: SocketAddress) -> curl_socket_t {
        let descriptor = socket(address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
        guard descriptor >= 0 else { return descriptor }
        sockets.opened(descriptor)
        peers[descriptor] = peer
        // libcurl sets the times of the probes. Without this option the kernel sends nine.
        ReceivingConnection.boundProbes(of: descriptor, to: CurlTransportOptions.lostProbes)
        return descriptor
    }

    /// Closes the socket of a connection.
    func closeSocket(_ socket: curl_socket_t) {
        windows.closed(socket, now: now())
        peers[socket] = nil
        _ = Glibc.close(socket)
    }

    /// Sets the time after which libcurl asks to be called. A negative one means no deadline.
    func wantCall(inMilliseconds wait: Int) {
        deadline = wait < 0 ? nil : EventLoop.monotonicNow() + .milliseconds(Int64(wait))
    }

    /// Pauses a transfer that took its share, until the jobs that were posted before have run.
    ///
    /// It pauses both directions, because libcurl would read on at once with one of them open. It
    /// applies to HTTP/1.1 only. The connection of a paused HTTP/2 stream is read for the other
    /// streams, and the bytes of the paused one would stay in memory, up to its window.
    func rest(_ transfer: CurlTransfer) {
        guard options.version == .http1 else { return }
        guard let handle = transfer.handle, curl_easy_pause(handle.raw, CURLPAUSE_ALL) == CURLE_OK else { return }
        guard !transfer.isResting else { return }
        transfer.isResting = true
        sockets.restingTransfers += 1
        post { [self] in
            transfer.isResting = false
            sockets.restingTransfers -= 1
            if let handle = transfer.handle { unpause(transfer, handle) }
        }
    }

    private func tellBatches() {
        guard !touched.isEmpty else { return }
        let round = touched
        touched.removeAll(keepingCapacity: true)
        for transfer in round {
            transfer.hasNewBytes = false
            transfer.tellBatch()
        }
    }

    private func finishDone() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let raw = message.pointee.easy_handle else { continue }
            // The message is invalid once its handle is removed.
            let code = spool_curl_message_result(message)
            guard let transfer = active[raw], let handle = transfer.handle else { continue }
            // If there were another transfer, it might have taken over this connection already, and
            // bytes on it might be its answer.
            if code == CURLE_OK, options.version == .http1, active.count == 1 { handle.endConnectionWithExcess() }
            finish(transfer, end(of: transfer, code, handle.message(for: code)), isDone: true)
        }
    }

    private func end(of transfer: CurlTransfer, _ code: CURLcode, _ text: String) -> TransferEnd {
        if let decided = transfer.decidedEnd { return decided }
        guard code == CURLE_OK else {
            if code == CURLE_COULDNT_CONNECT || code == CURLE_ABORTED_BY_CALLBACK, let refused = transfer.refusedAddress {
                return .failed(.notAsked(url: transfer.request.url, refused))
            }
            let bodyBytes = transfer.hasHead ? transfer.bodyBytes : nil
            return .failed(.curl(code, text, bodyBytes: bodyBytes, hasAnswer: transfer.hasAnswer))
        }
        transfer.passChallengeOn()
        // libcurl takes a connection that closes inside the head for a response without a body.
        return transfer.hasHead ? .complete : .failed(.truncated(afterBytes: 0))
    }

    private func finishAll(_ end: TransferEnd) {
        for transfer in Array(active.values) { finish(transfer, end) }
    }

    private func tearDown() {
        finishAll(.cancelled)
        isTornDown = true
        curl_multi_cleanup(multi)
        if let tlsSessions { curl_share_cleanup(tlsSessions) }
        sockets.removeAll()
        if let alarm { loop.cancel(alarm.timer) }
        alarm = nil
    }

    // MARK: Timeouts

    private var shortestTimeout: Nanoseconds { min(options.firstByteTimeout, options.stallTimeout, options.headTimeout) }

    /// Plans a check, never further ahead than the shortest timeout. Bytes that arrive do not move
    /// it. An earlier check takes its place.
    private func planCheck(_ instant: MonotonicInstant) {
        guard nextCheck.map({ instant < $0 }) ?? true else { return }
        nextCheck = instant
        let delay = max(0, instant - now())
        if let time {
            _ = time.after(delay, on: self) { [weak self] in self?.checkTimeouts(plannedFor: instant) }
        } else {
            loop.after(delay) { [weak self] in
                self?.checkTimeouts(plannedFor: instant)
                self?.settle()
            }
        }
    }

    private func checkTimeouts(plannedFor instant: MonotonicInstant) {
        guard !isTornDown, nextCheck == instant else { return }
        let now = now()
        nextCheck = nil
        var earliest = now + shortestTimeout
        for transfer in Array(active.values) {
            guard let deadline = deadline(of: transfer) else { continue }
            if deadline <= now, transfer.toleratesSilence(now: now) { continue }
            if deadline > now {
                earliest = min(earliest, deadline)
            } else {
                finish(transfer, .failed(.timeout(Self.words(forTimeoutOf: transfer))))
            }
        }
        if !active.isEmpty { planCheck(earliest) }
    }

    /// Returns the time at which the transfer has waited too long. Returns nil while it has no
    /// connection (libcurl has its own timeout for that) or is paused.
    private func deadline(of transfer: CurlTransfer) -> MonotonicInstant? {
        guard !transfer.isPaused, !transfer.isSendPaused, let last = transfer.lastActivity else { return nil }
        let headTimeout = transfer.request.headTimeout ?? options.firstByteTimeout
        guard let began = transfer.answerBegan, !transfer.isBetweenHeads else {
            return last + (transfer.request.isHeldBack ? max(headTimeout, options.heldBackTimeout) : headTimeout)
        }
        let stalled = max(last, transfer.toleratedUntil ?? last) + options.stallTimeout
        return transfer.hasHead ? stalled : min(stalled, began + max(options.headTimeout, headTimeout))
    }

    private static func words(forTimeoutOf transfer: CurlTransfer) -> String {
        if transfer.hasHead { return "no byte for too long" }
        return transfer.hasAnswer ? "the answer's head does not end" : "no answer to the request"
    }

    // MARK: Set-up

    private static func makeMulti(_ options: CurlTransportOptions) -> UnsafeMutableRawPointer {
        precondition(globalResult == CURLE_OK, "libcurl can't be initialised")
        guard let multi = curl_multi_init() else { preconditionFailure("libcurl has no memory for a multi handle") }
        spool_curl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, options.maxConnections)
        spool_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, options.maxIdleConnections)
        return multi
    }

    /// libcurl is initialised once in a process and never torn down, because other code may use it,
    /// too.
    private static let globalResult = curl_global_init(Int(CURL_GLOBAL_ALL))
}

// MARK: - Callbacks of libcurl

/// Called to close the socket of a connection. `context` is the loop.
let curlCloseSocketCallback: curl_closesocket_callback = { context, socket in
    if let context { Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().closeSocket(socket) }
    return 0
}

/// Called when libcurl waits for other events of a socket. `context` is the loop.
private let curlSocketCallback: curl_socket_callback = { handle, socket, what, context, _ in
    if let context { Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().want(what, of: socket, for: handle) }
    return 0
}

/// Called when libcurl sets its timer. `context` is the loop.
private let curlTimerCallback: curl_multi_timer_callback = { _, wait, context in
    if let context { Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().wantCall(inMilliseconds: wait) }
    return 0
}
#endif
