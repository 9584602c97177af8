#if os(Linux)
internal import CCurl
internal import Glibc
internal import SpoolCore
internal import SpoolSystem

/// The transport's thread: a multi handle, the transfers on it, and a mailbox that brings it work.
///
/// Each round: run the jobs, let libcurl work, tell who got bytes, end who is done, sleep in `curl_multi_poll`.
final class CurlLoop: Mailbox, @unchecked Sendable {
    // Safe to share: `inbox`, `options`, `time` and `multi` are constant; the transfers, handles and deadlines
    // below `MARK: Confined` are touched on the loop's thread only.

    /// What other threads see, behind one lock.
    private struct Inbox {
        var jobs: [@Sendable () -> Void] = []
        /// False once `close` was called: nothing more is taken in.
        var isOpen = true
        /// The thread sleeps, or is about to: whoever posts wakes it.
        var isSleeping = false
        var thread: SystemThread?

        /// Whether the thread sleeps; nobody else need wake it then.
        mutating func takeSleep() -> Bool {
            defer { isSleeping = false }
            return isSleeping
        }
    }

    private let inbox = Locked(Inbox())
    private let options: CurlTransportOptions
    private let time: (any TimeSource)?
    private let multi: UnsafeMutableRawPointer
    /// What makes `curl_multi_poll` return. Of our own, since libcurl's goes with the multi handle: who wakes the thread need not hold the
    /// lock meanwhile, into which a thread that wakes at once on the same core would run.
    private let alarm: Alarm

    init(options: CurlTransportOptions, time: (any TimeSource)?) {
        self.options = options
        self.time = time
        multi = Self.makeMulti(options)
        do throws(SystemError) { alarm = try Alarm() } catch {
            preconditionFailure("no descriptor is left for the transport's thread: \(error)")
        }
    }

    // MARK: Any thread

    func post(_ job: @escaping @Sendable () -> Void) {
        _ = accept(job)
    }

    /// Like `post`; false when the loop was closed and the job will not run.
    func accept(_ job: @escaping @Sendable () -> Void) -> Bool {
        let (isAccepted, mustWake) = inbox.withLock { inbox in
            guard inbox.isOpen else { return (false, false) }
            inbox.jobs.append(job)
            return (true, inbox.takeSleep())
        }
        if mustWake { alarm.ring() }
        return isAccepted
    }

    func now() -> MonotonicInstant {
        time?.now ?? EventLoop.monotonicNow()
    }

    // MARK: Thread

    /// Starts the thread, which keeps the loop alive until `close`. Once.
    func start() {
        let thread = SystemThread(name: "spool-curl") { self.run() }
        inbox.withLock { $0.thread = thread }
    }

    /// Ends every transfer with `.cancelled` and waits for the thread, unless it is the caller's. Harmless when repeated.
    func close() {
        let (thread, mustWake) = inbox.withLock { inbox in
            guard inbox.isOpen else { return (SystemThread?.none, false) }
            inbox.isOpen = false
            defer { inbox.thread = nil }
            return (inbox.thread, inbox.takeSleep())
        }
        if mustWake { alarm.ring() }
        guard let thread, !thread.isCurrent else { return }
        thread.join()
    }

    private func run() {
        // A write of the TLS library's to a closed connection must be an error, not a signal; `SystemThread` has seen to that
        // (`CURLOPT_NOSIGNAL` stops libcurl from ignoring it by itself).
        while runJobs() {
            work()
            if maySleep() { sleep() }
        }
        tearDown()
    }

    /// Runs what was posted. False when the loop is to end.
    private func runJobs() -> Bool {
        let (jobs, isOpen) = inbox.withLock { inbox in
            inbox.isSleeping = false
            defer { inbox.jobs.removeAll(keepingCapacity: true) }
            return (inbox.jobs, inbox.isOpen)
        }
        for job in jobs { job() }
        return isOpen
    }

    private func maySleep() -> Bool {
        inbox.withLock { inbox in
            inbox.isSleeping = inbox.jobs.isEmpty && inbox.isOpen
            return inbox.isSleeping
        }
    }

    /// Sleeps until a socket is ready, a timer of libcurl's or ours is due, or somebody posts.
    private func sleep() {
        var wait = Self.longestSleepMilliseconds
        if let nextCheck { wait = min(wait, max(0, (nextCheck - now()) / .milliseconds(1) + 1)) }
        var watched = curl_waitfd(fd: alarm.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        curl_multi_poll(multi, &watched, 1, Int32(wait), nil)
        if watched.revents != 0 { alarm.take() }
    }

    /// Only a bound: every change wakes the thread.
    private static let longestSleepMilliseconds: Int64 = 60_000

    // MARK: - Confined to the thread

    private var active: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private var idle: [CurlHandle] = []
    /// Those that got body bytes in this round.
    private var touched: [CurlTransfer] = []
    /// When to look for transfers that wait too long, on the system's clock; nil with an injected one.
    private var nextCheck: MonotonicInstant?
    private var isCheckPending = false

    /// Starts a transfer that was handed in.
    func begin(_ transfer: CurlTransfer) {
        guard !transfer.isCancelled else { return finish(transfer, .cancelled) }
        if let defect = transfer.request.defect { return finish(transfer, .failed(defect)) }
        guard let handle = idle.popLast() ?? CurlHandle() else { return finish(transfer, .failed(.unreachable("out of memory"))) }
        transfer.handle = handle
        do {
            try handle.configure(transfer, options, isAlone: active.isEmpty)
        } catch {
            return finish(transfer, .failed(error))
        }
        active[handle.raw] = transfer
        let code = curl_multi_add_handle(multi, handle.raw)
        guard code == CURLM_OK else { return finish(transfer, .failed(.unreachable(String(cString: curl_multi_strerror(code))))) }
        planCheck(now() + shortestTimeout)
    }

    /// Offers the body of a paused transfer again. Outside any lock: libcurl calls the receiver from inside `curl_easy_pause`.
    func resume(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle, transfer.unpause() else { return }
        unpause(transfer, handle)
    }

    /// Asks for the request's body again, after it had nothing to send.
    func resumeSending(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle, transfer.unpauseSending() else { return }
        unpause(transfer, handle)
    }

    /// Lets go on what is not paused.
    private func unpause(_ transfer: CurlTransfer, _ handle: CurlHandle) {
        let paused = (transfer.isPaused ? CURLPAUSE_RECV : 0) | (transfer.isSendPaused ? CURLPAUSE_SEND : 0)
        let code = curl_easy_pause(handle.raw, paused)
        guard code != CURLE_OK else { return }
        finish(transfer, end(of: transfer, code, handle.message(for: code)))
    }

    /// Remembers that the receiver took bytes.
    func gotBytes(_ transfer: CurlTransfer) {
        guard !transfer.hasNewBytes else { return }
        transfer.hasNewBytes = true
        touched.append(transfer)
    }

    /// Takes a transfer off the multi handle, wherever it is, and tells its receiver. Nothing when it is over already.
    func finish(_ transfer: CurlTransfer, _ end: TransferEnd) {
        guard let receiver = transfer.receiver else { return }
        transfer.receiver = nil
        if let handle = transfer.handle {
            transfer.handle = nil
            if active.removeValue(forKey: handle.raw) != nil { curl_multi_remove_handle(multi, handle.raw) }
            handle.reset()
            // What a transfer leaves that never got an answer outlives a reset: libcurl keeps its receive buffer, and refuses another size.
            if transfer.hasAnswer, idle.count < options.maxPooledHandles { idle.append(handle) }
        }
        receiver.finished(transfer.isCancelled ? .cancelled : end)
    }

    /// Lets libcurl work, then tells the receivers.
    private func work() {
        var running: Int32 = 0
        let code = curl_multi_perform(multi, &running)
        tellBatches()
        if code != CURLM_OK { finishAll(.failed(.unreachable(String(cString: curl_multi_strerror(code))))) }
        finishDone()
        if let nextCheck, nextCheck <= now() { checkTimeouts() }
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
            // The message is gone once its handle is removed.
            let code = spool_curl_message_result(message)
            guard let transfer = active[raw], let handle = transfer.handle else { continue }
            // Another transfer, were there one, may have taken this connection over already: what is said on it is then for that one.
            if code == CURLE_OK, options.version == .http1, active.count == 1 { handle.endConnectionWithExcess() }
            finish(transfer, end(of: transfer, code, handle.message(for: code)))
        }
    }

    private func end(of transfer: CurlTransfer, _ code: CURLcode, _ text: String) -> TransferEnd {
        if let decided = transfer.decidedEnd { return decided }
        guard code == CURLE_OK else {
            if code == CURLE_COULDNT_CONNECT, let refused = transfer.refusedAddress { return .failed(.unreachable(refused)) }
            let bodyBytes = transfer.hasHead ? transfer.bodyBytes : nil
            return .failed(.curl(code, text, bodyBytes: bodyBytes, hasAnswer: transfer.hasAnswer))
        }
        // libcurl takes a connection that closes inside the head for a response without body.
        return transfer.hasHead ? .complete : .failed(.truncated(afterBytes: 0))
    }

    private func finishAll(_ end: TransferEnd) {
        for transfer in Array(active.values) { finish(transfer, end) }
    }

    private func tearDown() {
        finishAll(.cancelled)
        idle.removeAll()
        curl_multi_cleanup(multi)
    }

    // MARK: Timeouts

    private var shortestTimeout: Nanoseconds { min(options.firstByteTimeout, options.stallTimeout, options.headTimeout) }

    /// One check is planned at a time, never further ahead than the shortest timeout; no byte that comes moves it.
    private func planCheck(_ instant: MonotonicInstant) {
        guard !isCheckPending else { return }
        isCheckPending = true
        guard let time else {
            nextCheck = instant
            return
        }
        _ = time.after(max(0, instant - now()), on: self) { [weak self] in self?.checkTimeouts() }
    }

    private func checkTimeouts() {
        let now = now()
        isCheckPending = false
        nextCheck = nil
        var earliest = now + shortestTimeout
        for transfer in Array(active.values) {
            guard let deadline = deadline(of: transfer) else { continue }
            if deadline > now {
                earliest = min(earliest, deadline)
            } else {
                finish(transfer, .failed(.timeout(Self.words(forTimeoutOf: transfer))))
            }
        }
        if !active.isEmpty { planCheck(earliest) }
    }

    /// When the transfer has waited long enough, or nil while nothing is due: no connection yet (libcurl has its own timeout), or paused.
    private func deadline(of transfer: CurlTransfer) -> MonotonicInstant? {
        guard !transfer.isPaused, !transfer.isSendPaused, let last = transfer.lastActivity else { return nil }
        guard let began = transfer.answerBegan else { return last + options.firstByteTimeout }
        let stalled = last + options.stallTimeout
        return transfer.hasHead ? stalled : min(stalled, began + options.headTimeout)
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

    /// libcurl is initialised once in a process, and never torn down: others may use it too.
    private static let globalResult = curl_global_init(Int(CURL_GLOBAL_ALL))
}
#endif
