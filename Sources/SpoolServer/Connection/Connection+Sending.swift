import SpoolCore
import SpoolSystem

extension Connection {
    /// Begins to send a response.
    func start(_ response: Response) {
        let asked = sending.asked
        let framing = ResponseFraming(
            of: response, method: asked.method, version: asked.version,
            keepAlive: asked.keepAlive && !server.isStopping && upload == nil)
        server.headBuffer.removeAll()
        guard (200...999).contains(response.status) else {
            response.discard()
            return start(.error(500, "the answer had the status \(response.status), which ends no request"))
        }
        do throws(FieldLines.InvalidField) {
            try server.writer.write(
                status: response.status, prepared: response.prepared, fields: response.fields, framing: framing,
                version: asked.version, now: server.options.wallNow(), into: &server.headBuffer)
        } catch {
            response.discard()
            return start(.error(500, "the answer had a header field that can't be sent: \(error.name.prefix(64).filter(\.isLetter))"))
        }
        sending.begin(response, framing)
        server.began(response.status, &sending)
        open(response.body, framing)
        phase = .sending
        setDeadline(server.options.writeTimeout)
        sendHead(response, framing)
    }

    /// Sends the head of an interim response.
    func sendInterim(_ status: Int, fields: HTTPFields) {
        guard phase == .handling, let size = server.writeInterim(status, fields) else { return }
        if !socket.send(server.headBuffer.bytes).isAllOrNothing(of: size) { clientLeft() }
    }

    /// Takes the source of a body that follows, and closes that of one that does not.
    private func open(_ body: Response.Body, _ framing: ResponseFraming) {
        guard case .source(let source, _) = body else { return }
        guard framing.sendsBody else { return source.close() }
        sending.source = source
        source.onReadable(wake)
        if source.beginsInMemory { sending.limitUnsent(of: socket, to: server.options.unsentBytes) }
    }

    /// Sends the head. A small body that is available follows in the same call and the same TCP
    /// segment.
    private func sendHead(_ response: Response, _ framing: ResponseFraming) {
        if let source = sending.source {
            switch server.start(of: source, sending.framing) {
            case .gathered(let bytes): return sendWithHead(bytes, source)
            case .joined(let chunk): return sendHead(before: chunk, source)
            case .head: break
            }
        } else if framing.sendsBody, let bytes = response.body.inMemory {
            if bytes.count <= ResponseStart.inlineBodyBytes {
                sending.beginOutputBody(of: bytes.count)
                bytes.withUnsafeBytes { server.headBuffer.append($0) }
            } else {
                sending.bytes = bytes
            }
        }
        let head = server.headBuffer.bytes
        switch send(head, isContinued: !sending.bytes.isEmpty) {
        case .count(let count): sending.setOutput(Array(head[count...]))
        case .wouldBlock: sending.setOutput(Array(head))
        case .ended, .failed: return clientLeft()
        }
        pump()
    }

    /// Sends the head of a body that follows in the same segment.
    private func sendHead(before chunk: SendingState.FileChunk, _ source: any BodySource) {
        let head = server.headBuffer.bytes
        switch send(head, isContinued: true) {
        case .count(let count) where count == head.count: return proceed(after: sendResident(chunk, source))
        case .count(let count): sending.setOutput(Array(head[count...]))
        case .wouldBlock: sending.setOutput(Array(head))
        case .ended, .failed: return clientLeft()
        }
        pump()
    }

    /// Sends bytes that begin with the head. Body bytes that the socket does not take come from the
    /// source again.
    private func sendWithHead(_ bytes: UnsafeRawBufferPointer, _ source: any BodySource) {
        let head = server.headBuffer.count
        switch send(bytes) {
        case .count(let count) where count >= head:
            sending.sent(count - head)
            server.sentBodyBytes += Int64(count - head)
            source.consumed(count - head)
        case .count(let count): sending.setOutput(Array(server.headBuffer.bytes[count...]))
        case .wouldBlock: sending.setOutput(Array(server.headBuffer.bytes))
        case .ended, .failed: return clientLeft()
        }
        pump()
    }

    private func send(_ bytes: UnsafeRawBufferPointer, isContinued: Bool = false) -> Transferred {
        let result = socket.send(bytes, isContinued: isContinued)
        server.options.onTransfer?(.send(asked: bytes.count, isContinued: isContinued, result))
        return result
    }

    // MARK: The body

    /// The result of one step of sending.
    private enum Step {
        /// The next step can follow.
        case more
        /// The socket is full, or other connections get their turn.
        case blocked
        /// All bytes are sent.
        case done
        /// The phase changed, so this call ends.
        case left
    }

    /// Sends until the socket is full, the source has no bytes, the turn is over, or the response
    /// is complete.
    func pump() {
        guard phase == .sending else { return }
        let limit = sending.turnBytes + Int64(server.options.bytesPerTurn)
        while true {
            let step = sending.isOutputSent ? sendBody() : sendOutput()
            switch step {
            case .more:
                guard sending.turnBytes >= limit, !sending.isComplete else { continue }
                return listen(for: writeInterest)
            case .blocked: return listen(for: writeInterest)
            case .done: return responseSent()
            case .left: return
            }
        }
    }

    private func proceed(after step: Step) {
        switch step {
        case .more: pump()
        case .blocked: listen(for: writeInterest)
        case .done: responseSent()
        case .left: break
        }
    }

    private var writeInterest: PollInterest { receiving.isHalfClosed ? .write : .writeOrPeerClosed }

    private func sendOutput() -> Step {
        let start = sending.outputSent
        let result = sending.output.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        switch result {
        case .count(let count):
            setDeadline(server.options.writeTimeout)
            sending.outputSent += count
            guard sending.isOutputSent else { return .blocked }
            sending.setOutput([])
            return .more
        case .wouldBlock: return .blocked
        case .ended, .failed: return left()
        }
    }

    private func sendBody() -> Step {
        if sending.framing.isSent { return .done }
        if !sending.bytes.isEmpty { return sendBytes() }
        guard let source = sending.source else { return .done }
        switch source.next(max: sending.framing.demand(server.options.bytesPerTurn)) {
        case .file(let descriptor, let offset, let count, let keepAlive):
            return sendFile(.init(descriptor: descriptor, offset: offset, count: clip(count), keepAlive: keepAlive), source)
        case .memory(let bytes):
            return sendMemory(bytes.prefix(clip(bytes.count, cost: SendingState.memoryCost)), source)
        case .wait: return wait()
        case .end: return sourceEnded(source)
        case .abort(let reason): return abort(reason)
        }
    }

    /// Sends the next bytes of a body in memory, at most those of one turn: the system copies each
    /// byte that it takes, and a socket takes megabytes at once.
    private func sendBytes() -> Step {
        let count = clip(sending.bytes.count, cost: SendingState.memoryCost)
        let result = sending.bytes.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        if case .count(let sent) = result { sending.bytes = sending.bytes.dropFirst(sent) }
        return account(result, asked: count, cost: SendingState.memoryCost)
    }

    /// Limits a chunk to the requested size and to one turn, because a source that returns too many
    /// bytes must not break the framing.
    private func clip(_ count: Int, cost: Int = 1) -> Int {
        min(max(0, count), sending.framing.demand(server.options.bytesPerTurn / cost))
    }

    private func sendFile(_ chunk: SendingState.FileChunk, _ source: any BodySource) -> Step {
        guard chunk.count > 0 else { return abort("the body's source gave an empty piece of a file") }
        if let cold = server.options.coldReads, !server.isResident(chunk.descriptor, chunk.offset, chunk.count) {
            return warm(chunk.prefix(SendingState.warmedBytes), cold)
        }
        return sendResident(chunk, source)
    }

    private func sendResident(_ chunk: SendingState.FileChunk, _ source: any BodySource) -> Step {
        guard announce(chunk.count) else { return interrupted(source) }
        defer { withExtendedLifetime(chunk.keepAlive) {} }
        let result = socket.sendFile(chunk.descriptor, offset: chunk.offset, count: chunk.count)
        server.options.onTransfer?(.sendFile(asked: chunk.count, result))
        if result.meansUnreadable {
            guard source.couldNotRead() else { return abort("the stored file can't be read, or ends before the span that it should hold") }
            // The source reads the bytes on a lane and fetches those that are lost. The next call
            // waits for that.
            return .more
        }
        return account(result, asked: chunk.count, cost: 1, source)
    }

    private func sendMemory(_ bytes: OwnedBytes, _ source: any BodySource) -> Step {
        guard !bytes.isEmpty else { return abort("the body's source gave an empty piece of memory") }
        guard announce(bytes.count) else { return interrupted(source) }
        return account(bytes.withBytes { send($0) }, asked: bytes.count, cost: SendingState.memoryCost, source)
    }

    /// Writes the line before a chunk.
    ///
    /// - Returns: False when the socket did not take the whole line.
    private func announce(_ count: Int) -> Bool {
        guard let line = sending.framing.announce(count) else { return true }
        sending.setOutput(line)
        guard case .more = sendOutput() else { return false }
        return true
    }

    /// Releases a chunk that cannot be sent now. The source is asked again later.
    private func interrupted(_ source: any BodySource) -> Step {
        guard phase == .sending else { return .left }
        source.consumed(0)
        return .blocked
    }

    private func account(_ result: Transferred, asked: Int, cost: Int, _ source: (any BodySource)? = nil) -> Step {
        switch result {
        case .count(let count):
            setDeadline(server.options.writeTimeout)
            sending.sent(count)
            sending.turnBytes += Int64(count * cost)
            server.sentBodyBytes += Int64(count)
            source?.consumed(count)
            // A short count means that the socket is full. Another call would return the same.
            return count < asked ? .blocked : .more
        case .wouldBlock:
            source?.consumed(0)
            return .blocked
        case .ended: return left()
        case .failed(let error): return abort("sending failed: \(error.operation), error \(error.code)")
        }
    }

    private func left() -> Step {
        clientLeft()
        return .left
    }

    // MARK: Waiting

    private func wait() -> Step {
        if receiving.isHalfClosed { return left() }
        sending.limitUnsent(of: socket, to: server.options.unsentBytes)
        phase = .waiting
        setDeadline(nil)
        // The poller would report writability for ever.
        listen(for: .peerClosed)
        return .left
    }

    func sourceWoke() {
        guard phase == .waiting else { return }
        phase = .sending
        setDeadline(server.options.writeTimeout)
        pump()
    }

    private func warm(_ chunk: SendingState.FileChunk, _ cold: ColdReads) -> Step {
        phase = .warming
        setDeadline(nil)
        listen(for: receiving.isHalfClosed ? [] : .peerClosed)
        sending.warming = chunk
        sending.warmingSerial += 1
        let job = ReadAhead(connection: self, chunk: chunk, serial: sending.warmingSerial)
        let loop = loop
        cold.lane.post {
            cold.readAhead(job.chunk.descriptor, job.chunk.offset, job.chunk.count)
            loop.post { job.connection.warmed(job.serial) }
        }
        return .left
    }

    fileprivate func warmed(_ serial: Int) {
        guard phase == .warming, serial == sending.warmingSerial, let chunk = sending.warming, let source = sending.source else { return }
        sending.warming = nil
        phase = .sending
        setDeadline(server.options.writeTimeout)
        // The store may have been suspended in the meantime. Then the source returns another chunk.
        guard source.maySend(chunk.keepAlive) else { return pump() }
        // Otherwise send the range without another residency check. When memory is scarce, the
        // pages may be evicted again by now, and each check could find them missing.
        proceed(after: sendResident(chunk, source))
    }

    // MARK: Ends

    private func sourceEnded(_ source: any BodySource) -> Step {
        if let reason = sending.framing.missingAtEnd { return abort(reason) }
        closeSource()
        guard let end = sending.framing.endOfBody else { return .done }
        sending.setOutput(end)
        return .more
    }

    /// Ends a body that cannot be completed, in a way that the client does not take for a complete
    /// one.
    private func abort(_ reason: String) -> Step {
        guard phase != .closed else { return .left }
        let needsReset = sending.framing.needsReset
        finishExchange(.aborted(reason))
        if needsReset { close() } else { beginDraining() }
        return .left
    }

    /// Handles the end of a response: goes on to the next request, or closes.
    private func responseSent() {
        let (keepAlive, refusal) = (sending.keepAlive, sending.refusal)
        let mayWait = !server.isStopping || refusal != nil || !receiving.input.isEmpty || upload != nil
        finishExchange(refusal.map { .refused($0.explanation) } ?? .complete)
        guard phase != .closed else { return }
        // A close beside bytes that nobody has read makes the kernel drop the end of the response.
        guard keepAlive else { return mayWait ? beginDraining() : close() }
        phase = .reading
        setDeadline(server.options.idleTimeout)
        guard !receiving.isConsuming else { return }
        // This call also sets the interest.
        consumeInput()
    }

    /// Ends the current exchange, closes its source and reports it to the access log. Ignored
    /// without an exchange.
    func finishExchange(_ end: AccessRecord.End) {
        endUpload(isComplete: false)
        closeSource()
        counted.end(in: server.census)
        guard sending.isAnswering else { return }
        // The end of the connection is the end of such a body: a normal close would make it look whole.
        if sending.framing.needsReset, end != .complete { socket.resetOnClose() }
        let record = server.ended(&sending, end, from: socket.peerAddress)
        if sending.isUnsentLimited { socket.limitUnsent(to: 0) }
        let serial = sending.warmingSerial, exchange = sending.exchange
        sending = SendingState()
        sending.warmingSerial = serial
        exchange?.end()
        if let record { server.options.onResponse?(record) }
    }

    private func closeSource() {
        guard let source = sending.source else { return }
        sending.source = nil
        source.close()
    }
}

extension Transferred {
    /// Whether an interim response of `size` bytes was sent, or left out because earlier responses
    /// fill the socket. All of them were sent, so a part of it means that the client is gone.
    func isAllOrNothing(of size: Int) -> Bool {
        switch self {
        case .count(size), .wouldBlock: true
        default: false
        }
    }

    /// Whether `sendfile` found the file too short or its disk failing. Errors of the socket, and a
    /// file that is temporarily unreadable, do not count as such.
    fileprivate var meansUnreadable: Bool {
        switch self {
        case .count(0): true
        case .failed(let error): error.meansBrokenDisk
        default: false
        }
    }
}

/// The values that a read-ahead carries to a lane and back.
private struct ReadAhead: @unchecked Sendable {
    // Safe to send: the lane uses only the chunk's numbers and keeps its file open. The connection
    // is used on the loop only.
    let connection: Connection
    let chunk: SendingState.FileChunk
    let serial: Int
}
