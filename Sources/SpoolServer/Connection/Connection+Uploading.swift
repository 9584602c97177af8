import SpoolCore
import SpoolSystem

// Request bodies for handlers: they arrive while the request is answered, as fast as the handler's
// sink takes them.

extension Connection {
    /// The interim response that lets a client send its body (RFC 9110 §10.1.1).
    private static let interimContinue = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// Begins to receive the body of `head` into `sink`.
    ///
    /// - Returns: False when the client is gone.
    func beginUpload(of head: RequestHead, into sink: any BodySink) -> Bool {
        sink.onRoom(uploadWake)
        upload = Upload(sink: sink, remaining: Int(head.contentLength))
        guard head.expectsContinue else { return true }
        return Self.interimContinue.withUnsafeBytes { socket.send($0).isAllOrNothing(of: $0.count) }
    }

    /// The time in which the next bytes of the body have to come. Nil without an upload, and while
    /// its sink is full.
    var uploadTimeout: Nanoseconds? { upload?.isFull == false ? server.options.bodyTimeout : nil }

    /// Offers bytes to the sink.
    ///
    /// - Returns: The number of bytes that belong to the body and that the sink took.
    func offer(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard var upload, !bytes.isEmpty else { return 0 }
        let part = UnsafeRawBufferPointer(rebasing: bytes[..<min(bytes.count, upload.remaining)])
        let taken = upload.sink.receive(part)
        upload.remaining -= taken
        upload.isFull = taken < part.count
        self.upload = upload
        if upload.remaining == 0 { endUpload(isComplete: true) }
        return taken
    }

    /// Receives body bytes from the socket, as long as the sink takes them.
    func receiveUpload() {
        guard offerInput() else { return refreshInterest() }
        let room = min(server.options.inputBytes - receiving.input.count, server.scratch.count)
        guard upload != nil, room > 0 else { return refreshInterest() }
        let buffer = UnsafeMutableRawBufferPointer(rebasing: server.scratch[..<room])
        switch socket.receive(into: buffer) {
        case .count(let count):
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            let taken = offer(bytes)
            receiving.input += bytes[taken...]
            countInput()
            endIfInputIsTooLong()
            if phase == .handling { setDeadline(uploadTimeout) }
        case .wouldBlock: break
        case .ended, .failed: return clientLeft()
        }
        refreshInterest()
    }

    /// Offers the bytes of `receiving.input` to the sink.
    ///
    /// - Returns: Whether no body bytes are left in `receiving.input`.
    private func offerInput() -> Bool {
        guard upload != nil, !receiving.input.isEmpty else { return true }
        var bytes = receiving.takeInput()
        let taken = bytes.withUnsafeBytes { offer($0) }
        bytes.removeFirst(taken)
        receiving.input = bytes
        return upload == nil || receiving.input.isEmpty
    }

    func uploadHasRoom() {
        guard upload != nil, phase != .closed, phase != .draining else { return }
        upload?.isFull = false
        if phase == .handling { setDeadline(server.options.bodyTimeout) }
        receiveUpload()
    }

    /// Ends the upload and informs the sink. Ignored without an upload.
    func endUpload(isComplete: Bool) {
        guard let upload else { return }
        self.upload = nil
        upload.sink.ended(isComplete: isComplete)
    }
}
