import SpoolSystem

extension Connection {
    /// Receives bytes from the socket and processes them.
    func receive() {
        let room = server.options.inputBytes - receiving.input.count
        guard room > 0 else { return consumeInput() }
        let buffer = UnsafeMutableRawBufferPointer(rebasing: server.scratch[..<min(room, server.scratch.count)])
        let result = socket.receive(into: buffer)
        server.options.onTransfer?(.receive(result))
        switch result {
        case .count(let count): received(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        case .wouldBlock: break
        case .ended, .failed: clientLeft()
        }
    }

    private func received(_ bytes: UnsafeRawBufferPointer) {
        guard receiving.input.isEmpty else {
            receiving.input.append(contentsOf: bytes)
            return consumeInput()
        }
        let consumed = consume(bytes)
        if phase != .closed, phase != .draining, consumed < bytes.count { receiving.input = Array(bytes[consumed...]) }
        settle()
    }

    /// Processes the bytes that earlier calls left in `receiving.input`.
    func consumeInput() {
        var bytes = receiving.takeInput()
        let consumed = bytes.withUnsafeBytes { consume($0) }
        if phase != .closed, phase != .draining, consumed < bytes.count {
            // No byte is moved while a head grows, even when it arrives in very small steps.
            if consumed > 0 { bytes.removeFirst(consumed) }
            receiving.input = bytes
        }
        settle()
    }

    /// Takes requests off `bytes` while they can be answered at once.
    ///
    /// - Returns: The number of bytes consumed.
    private func consume(_ bytes: UnsafeRawBufferPointer) -> Int {
        receiving.isConsuming = true
        defer { receiving.isConsuming = false }
        var offset = 0
        var requests = 0
        while phase == .reading, offset < bytes.count, requests < server.options.requestsPerTurn {
            if let skipped = receiving.skip(available: bytes.count - offset) {
                offset += skipped.count
                if let request = skipped.request { dispatch(request) }
                continue
            }
            let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
            if let consumed = answerRepeated(rest) {
                offset += consumed
                requests += 1
                continue
            }
            switch receiving.parser.parse(rest) {
            case .needsMore: return offset
            case .head(let head, let consumed, let bodyBytes):
                offset += consumed
                requests += 1
                offset += take(head, bodyBytes, UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            case .refused(let refusal):
                refuse(refusal)
                return bytes.count
            }
        }
        return offset
    }

    /// Answers a request that differs from the last one in its range only, without parsing it.
    ///
    /// - Returns: The number of bytes that the request takes, or nil when it is a different
    ///   request.
    private func answerRepeated(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let repeated, !receiving.parser.isInsideHead, let (spec, count) = repeated.match(bytes),
            counted.begin(repeated.head.forwarding, in: server.census)
        else { return nil }
        guard let response = repeated.responder.response(to: spec) else {
            counted.end(in: server.census)
            return nil
        }
        receiving.isHeadTimed = false
        server.requestCount += 1
        sending.request = .repeated(repeated)
        if server.options.onResponse != nil { sending.began = loop.readClock() }
        start(response)
        return count
    }

    /// Processes a head. `rest` holds the bytes behind it.
    ///
    /// - Returns: The number of bytes of `rest` that were consumed.
    private func take(_ head: RequestHead, _ bodyBytes: Int, _ rest: UnsafeRawBufferPointer) -> Int {
        if head.contentLength > 0, let sink = server.handler.bodySink(for: head) {
            guard beginUpload(of: head, into: sink) else {
                clientLeft()
                return rest.count
            }
            let taken = offer(rest)
            dispatch(head, sink)
            return taken
        }
        guard bodyBytes <= server.options.requestLimits.skippedBodyBytes else {
            refuse(RequestRefusal(413, "the request body is longer than \(server.options.requestLimits.skippedBodyBytes) bytes"))
            return rest.count
        }
        if bodyBytes == 0 { dispatch(head) } else { receiving.beginSkipping(bodyBytes, of: head) }
        return 0
    }

    private func dispatch(_ head: RequestHead, _ sink: (any BodySink)? = nil) {
        var head = head
        head.forwarding = Forwarding(head, from: ticket.isFront ? server.options.fronts : nil)
        guard counted.begin(head.forwarding, in: server.census) else {
            return refuse(RequestRefusal(503, "this client has \(server.options.connectionsPerClient) requests; end one of them"))
        }
        phase = .handling
        receiving.isHeadTimed = false
        setDeadline(uploadTimeout)
        let exchange = Exchange(head, bodySink: sink, on: self, loop: loop)
        sending.request = .exchange(exchange)
        sending.began = loop.readClock()
        server.requestCount += 1
        server.handler.respond(to: head, on: exchange)
        repeated = exchange.rangeResponder.flatMap { RepeatedRequest(head, $0, limits: server.options.requestLimits) }
    }

    /// Sets the interest and the deadline after the available bytes have been processed.
    private func settle() {
        countInput()
        guard phase == .reading else { return endIfInputIsTooLong() }
        if server.isStopping, receiving.isIdle { return close() }
        guard receiving.input.isEmpty || server.heldInputBytes <= server.maximumHeldInputBytes else {
            return refuse(RequestRefusal(503, "too many requests wait for their ends; try again in a few seconds"))
        }
        listen(for: receiving.isHalfClosed ? .read : .readOrPeerClosed)
        if receiving.isInsideRequest, !receiving.isHeadTimed {
            receiving.isHeadTimed = true
            setDeadline(server.options.headTimeout)
        }
        if receiving.hasMoreRequests { continueLater() }
    }

    /// Ends a connection with many bytes behind a request in progress, when the server has no room for
    /// them. The client sends those requests again (RFC 9112 §9.3.2).
    func endIfInputIsTooLong() {
        if !server.mayHold(receiving.input.count) { clientLeft() }
    }

    /// Updates the server's count of held bytes with those of this connection.
    func countInput() {
        server.heldInputBytes += receiving.takeInputChange()
    }

    /// Continues on a later turn of the loop, because complete requests are left and other
    /// connections get their turn first.
    private func continueLater() {
        guard !receiving.isContinuing else { return }
        receiving.isContinuing = true
        loop.post {
            self.receiving.isContinuing = false
            guard self.phase == .reading else { return }
            self.consumeInput()
        }
    }

    /// Answers a request that no handler gets, and closes the connection.
    func refuse(_ refusal: RequestRefusal) {
        server.refusalCount += 1
        receiving.isHeadTimed = false
        let response = Response.error(refusal.status, refusal.explanation)
        sending.request = .refused(refusal)
        phase = .handling
        start(response)
    }
}
