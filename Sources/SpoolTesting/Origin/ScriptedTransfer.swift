internal import SpoolCore
internal import SpoolOrigin
internal import SpoolSystem

/// One request to a scripted origin.
final class ScriptedTransfer: Transfer, @unchecked Sendable {
    // Safe to share: `cancelRequested` is a lock. Only jobs of the origin's mailbox use the rest,
    // one at a time.
    private let ordinal: Int
    private let origin: ScriptedOrigin
    private let cancelRequested = Locked(false)

    private var receiver: (any TransferReceiver)?
    private var answer: OriginAnswer?
    /// The number of body bytes that were sent.
    private var position: Int64 = 0
    /// The chunk that is on its way or was not taken. Nil between two chunks.
    private var chunk: [UInt8]?
    private var isPaused = false
    private var hasHead = false
    /// The times of the request and of its head.
    private let start: MonotonicInstant
    private var headTime: MonotonicInstant?
    private var silence: Timer?

    /// The most bytes of one chunk (the contract of `TransferReceiver`).
    private static let maxChunkBytes = 65_536

    init(ordinal: Int, receiver: any TransferReceiver, origin: ScriptedOrigin) {
        self.ordinal = ordinal
        self.receiver = receiver
        self.origin = origin
        start = origin.time.now
    }

    // MARK: Transfer

    func resume() {
        origin.mailbox.post { [self] in
            guard isPaused, isRunning else { return }
            isPaused = false
            offer()
        }
    }

    func cancel() {
        let isFirst = cancelRequested.withLock { !exchange(&$0, with: true) }
        if isFirst { origin.mailbox.post { [self] in finish(.cancelled) } }
    }

    // MARK: Jobs

    /// Whether the transfer is not over and not cancelled.
    private var isRunning: Bool { receiver != nil && !cancelRequested.withLock { $0 } }

    func begin(_ answer: OriginAnswer, latency: Nanoseconds) {
        guard isRunning else { return }
        self.answer = answer
        switch answer.kind {
        case .refuse: finish(.failed(.unreachable("connection refused")))
        case .silence: waitInVain()
        case .raw(let bytes): after(latency) { [self] in finish(.failed(Self.meaning(ofRaw: bytes))) }
        case .response: after(latency) { [self] in giveHead() }
        }
    }

    /// Returns the error of a client for bytes that are no complete response.
    private static func meaning(ofRaw bytes: [UInt8]) -> OriginError {
        bytes.starts(with: "HTTP/1.".utf8) ? .truncated(afterBytes: 0) : .malformed("this is not HTTP")
    }

    private func giveHead() {
        guard isRunning, let answer else { return }
        if let defect = answer.defect { return finish(.failed(.malformed(defect))) }
        origin.log.answered(ordinal, answer.head)
        hasHead = true
        headTime = origin.time.now
        receiver?.headReceived(answer.head)
        prepareChunk()
    }

    /// Sends the next chunk, or ends the transfer.
    private func prepareChunk() {
        guard isRunning, let answer else { return }
        let left = answer.receivableBytes - position
        guard left > 0 else { return end(answer) }
        let pace = answer.pace
        let drawn = origin.draw(Int64(pace.chunkBytes.lowerBound)...Int64(pace.chunkBytes.upperBound))
        let count = Int(min(drawn, left, Int64(Self.maxChunkBytes)))
        let body = answer.body, position = position
        chunk = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            body.fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count]), at: position)
            filled = count
        }
        let delay = pace.bytesPerSecond.map { Nanoseconds(Double(count) / Double($0) * 1e9) } ?? 0
        after(delay) { [self] in offer() }
    }

    private func offer() {
        guard isRunning, !isPaused, let receiver, let answer, let chunk else { return }
        switch chunk.withUnsafeBytes(receiver.bodyReceived) {
        case .pause:
            isPaused = true
        case .taken:
            took(chunk.count, of: answer)
            receiver.batchEnded()
            prepareChunk()
        case .enough:
            took(chunk.count, of: answer, isLast: true)
            finish(.cancelled)
        }
    }

    private func took(_ count: Int, of answer: OriginAnswer, isLast: Bool = false) {
        origin.log.handedOver(ordinal, answer.body, at: position, count: Int64(count), isLastChunk: isLast)
        position += Int64(count)
        chunk = nil
    }

    /// Ends the transfer after the last byte that is sent.
    private func end(_ answer: OriginAnswer) {
        switch answer.end {
        case .complete: finish(.complete)
        case .cut: finish(.failed(.truncated(afterBytes: position)))
        case .stall: waitInVain()
        }
    }

    private func waitInVain() {
        guard let timeout = origin.silenceTimeout else { return }
        silence = origin.time.after(timeout, on: origin.mailbox) { [self] in finish(.failed(.timeout("the origin says nothing"))) }
    }

    /// Ends the transfer because the network is gone.
    func breakOff() {
        finish(.failed(hasHead ? .truncated(afterBytes: position) : .unreachable("the network is gone")))
    }

    /// Calls the receiver with the end, once. A cancelled transfer always ends with `.cancelled`.
    func finish(_ end: TransferEnd) {
        guard let receiver else { return }
        self.receiver = nil
        chunk = nil
        silence?.cancel()
        origin.ended(ordinal)
        var timings = TransferTimings(total: .nanoseconds(origin.time.now - start), receivedBytes: position)
        timings.firstByte = headTime.map { .nanoseconds($0 - start) }
        receiver.measured(timings)
        receiver.finished(cancelRequested.withLock { $0 } ? .cancelled : end)
    }

    /// Runs `job` as a job of its own in any case, so that transfers take turns.
    private func after(_ delay: Nanoseconds, _ job: @escaping @Sendable () -> Void) {
        if delay > 0 { _ = origin.time.after(delay, on: origin.mailbox, job) } else { origin.mailbox.post(job) }
    }
}

extension OriginAnswer {
    /// The reason why a client can't use the response, or nil if it can.
    fileprivate var defect: String? {
        if informational.count > HeadCollector.maxInformational { return "too many 1xx responses" }
        return HeadCollector.lengthDefect(of: head.fields)
    }

    /// The length in the head, if it frames the body.
    private var declaredBytes: Int64? {
        framing == .length && !isHeadOnly ? head.fields["Content-Length"].flatMap { Int64($0) } : nil
    }

    /// The number of bytes that a client takes as the body. Bytes behind the stated length belong
    /// to no response (RFC 9112 §6.3).
    fileprivate var receivableBytes: Int64 { min(sentBytes, declaredBytes ?? .max) }

    /// The end of the body for a client.
    fileprivate var end: Ending {
        if isHeadOnly { return .complete }
        let isWhole = framing != .length || receivableBytes == declaredBytes ?? body.count
        switch ending {
        case .complete: return isWhole ? .complete : .cut(afterBytes: sentBytes, .close)
        case .stall: return framing == .length && isWhole ? .complete : ending
        // If only the end of the connection frames the body, an early end looks like the right one.
        case .cut(_, let cut): return (framing == .length && isWhole) || (framing == .close && cut == .close) ? .complete : ending
        }
    }
}
