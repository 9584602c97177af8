import SpoolCore
import SpoolSystem

// Bodies that a handler wants: they come in while the request is answered, as fast as the handler's sink takes them.

extension Connection {
    /// The bytes that tell a client to send its body (RFC 9110 §10.1.1).
    private static let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// Begins to receive the body of `head` into `sink`. False when the client is gone.
    func beginUpload(of head: RequestHead, into sink: any BodySink) -> Bool {
        sink.onRoom(uploadWake)
        upload = Upload(sink: sink, remaining: Int(head.contentLength))
        guard head.expectsContinue else { return true }
        // Everything before was sent, so there is room for a line; a client that is gone is told from others later.
        guard case .count(Self.goOn.count) = Self.goOn.withUnsafeBytes({ socket.send($0) }) else { return false }
        return true
    }

    /// Offers bytes to the sink; how many of them belonged to the body and were taken.
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

    /// Takes what the socket has, as long as the sink takes it.
    func receiveUpload() {
        guard offerInput() else { return refreshInterest() }
        let room = min(server.options.inputBytes - input.count, server.scratch.count)
        guard upload != nil, room > 0 else { return refreshInterest() }
        let buffer = UnsafeMutableRawBufferPointer(rebasing: server.scratch[..<room])
        switch socket.receive(into: buffer) {
        case .count(let count):
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            let taken = offer(bytes)
            input += bytes[taken...]
            if phase == .handling { setDeadline(upload == nil ? nil : server.options.bodyTimeout) }
        case .wouldBlock: break
        case .ended, .failed: return clientLeft()
        }
        refreshInterest()
    }

    /// Offers what was kept; whether nothing of the body is left of it.
    private func offerInput() -> Bool {
        guard upload != nil, !input.isEmpty else { return true }
        var bytes: [UInt8] = []
        swap(&bytes, &input)
        let taken = bytes.withUnsafeBytes { offer($0) }
        bytes.removeFirst(taken)
        input = bytes
        return upload == nil || input.isEmpty
    }

    func uploadHasRoom() {
        guard upload != nil, phase != .closed, phase != .draining else { return }
        upload?.isFull = false
        if phase == .handling { setDeadline(server.options.bodyTimeout) }
        receiveUpload()
    }

    /// Tells the sink that nothing more comes. Harmless when nothing was to come.
    func endUpload(isComplete: Bool) {
        guard let upload else { return }
        self.upload = nil
        upload.sink.ended(isComplete: isComplete)
    }
}
