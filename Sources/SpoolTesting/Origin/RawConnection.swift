internal import SpoolCore
internal import SpoolOrigin
internal import SpoolSystem

/// One connection of a `RawOrigin`, on a thread of its own. It reads requests and sends responses,
/// one after the other.
final class RawConnection {
    /// The way in which the connection is closed.
    enum Ending {
        case close
        case reset
    }

    /// The largest request head, in bytes.
    private static let maxHeadBytes = 256 * 1024
    /// The most bytes of a client that are dropped before the connection is closed in order.
    private static let maxDrainedBytes = 16 * 1024 * 1024
    /// The longest wait for a client to close first, in milliseconds.
    private static let lingerMilliseconds: Int32 = 5_000
    /// The size of a chunk without a given pace. It is large, because tests do not depend on it.
    private static let chunkBytes = 65_536

    private let socket: RawSocket
    private let origin: RawOrigin
    private var input: [UInt8] = []
    private var generator = SystemRandomNumberGenerator()

    init(_ socket: RawSocket, origin: RawOrigin) {
        self.socket = socket
        self.origin = origin
    }

    /// Serves until either side ends the connection.
    func run() -> Ending {
        while !origin.isStopped, let request = readRequest() {
            var (answer, ordinal) = origin.answer(to: request.origin)
            guard let body = readBody(of: request.origin) else {
                origin.log.over(ordinal)
                return .close
            }
            if request.origin.method != "GET", request.origin.method != "HEAD" {
                origin.log.received(body, ordinal)
                answer.echo(body: body)
            }
            let ending = send(answer, ordinal, to: request)
            origin.log.over(ordinal)
            if let ending { return ending }
        }
        return .close
    }

    // MARK: Requests

    private struct Request {
        var origin: OriginRequest
        var isHead: Bool
        var keepsAlive: Bool
    }

    /// Returns the next request, or nil if the client left or sent no valid request.
    private func readRequest() -> Request? {
        while true {
            if let end = input.firstEndOfHead {
                let head = String(decoding: input[..<end], as: UTF8.self)
                input.removeSubrange(..<end)
                return parse(head)
            }
            guard input.count < Self.maxHeadBytes, let more = socket.receive(max: 16_384) else { return nil }
            input += more
        }
    }

    private func parse(_ head: String) -> Request? {
        // A CR LF is one character in Swift.
        let lines = head.split(whereSeparator: \.isNewline)
        guard let parts = lines.first?.split(separator: " "), parts.count == 3 else { return nil }
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            let pair = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { return nil }
            fields.append(HTTPFields.Name(String(pair[0])), String(pair[1].drop { $0 == " " }))
        }
        let url = parts[1].hasPrefix("/") ? origin.url(String(parts[1])) : String(parts[1])
        let keepsAlive = parts[2] == "HTTP/1.1" && fields["Connection"]?.equalsIgnoringCase("close") != true
        var request = OriginRequest(url: url, fields: fields)
        request.method = String(parts[0])
        return Request(origin: request, isHead: parts[0] == "HEAD", keepsAlive: keepsAlive)
    }

    /// The largest request body, in bytes.
    private static let maxBodyBytes = 64 * 1024 * 1024

    /// Returns the body of a request, or nil if the client left before its end or it is too large.
    private func readBody(of request: OriginRequest) -> [UInt8]? {
        guard let length = request.fields["Content-Length"].flatMap({ Int($0) }) else { return [] }
        guard (0...Self.maxBodyBytes).contains(length) else { return nil }
        while input.count < length {
            guard let more = socket.receive(max: 65_536) else { return nil }
            input += more
        }
        defer { input.removeSubrange(..<length) }
        return Array(input[..<length])
    }

    // MARK: Answers

    /// Sends a response.
    ///
    /// - Returns: The way to close the connection, or nil if it can be used again.
    private func send(_ answer: OriginAnswer, _ ordinal: Int, to request: Request) -> Ending? {
        switch answer.kind {
        case .refuse: return .reset
        case .silence: return waitForClient()
        case .raw(let bytes): return bytes.withUnsafeBytes(socket.sendAll) ? closeInOrder() : .reset
        case .response: break
        }
        if answer.pace.latency.upperBound > 0, !rest(draw(answer.pace.latency)) { return .reset }
        guard sendHead(answer, keepsAlive: request.keepsAlive) else { return .reset }
        origin.log.answered(ordinal, answer.head)
        if !request.isHead {
            guard sendBody(answer, ordinal) else { return .reset }
            switch answer.ending {
            case .cut(let bytes, let cut) where answer.framing != .length || bytes < answer.body.count:
                return cut == .reset ? .reset : closeInOrder()
            case .stall(let bytes) where answer.framing != .length || bytes < answer.body.count: return waitForClient()
            case .complete, .cut, .stall: break
            }
            if answer.framing == .chunked, !sendText("0\r\n\r\n") { return .reset }
        }
        return request.keepsAlive && answer.keepsAlive ? nil : closeInOrder()
    }

    private func sendHead(_ answer: OriginAnswer, keepsAlive: Bool) -> Bool {
        var text = ""
        for _ in 0..<answer.informational.count {
            text += "HTTP/1.1 \(answer.informational.status) Wait\r\nLink: </early>; rel=preload\r\n\r\n"
        }
        text += "HTTP/1.1 \(answer.head.status) \(answer.head.status < 400 ? "Fine" : "Not Fine")\r\n"
        for field in answer.head.fields.lines { text += "\(field.name): \(field.value)\r\n" }
        if !keepsAlive || !answer.keepsAlive, answer.framing != .close { text += "Connection: close\r\n" }
        return sendText(text + "\r\n")
    }

    /// Sends the body, up to its planned end.
    ///
    /// - Returns: False if the client is gone.
    private func sendBody(_ answer: OriginAnswer, _ ordinal: Int) -> Bool {
        let isPaced = answer.pace != OriginPace()
        var buffer = [UInt8](repeating: 0, count: isPaced ? answer.pace.chunkBytes.upperBound : Self.chunkBytes)
        var position: Int64 = 0
        while position < answer.sentBytes {
            let chunk =
                isPaced ? draw(Int64(answer.pace.chunkBytes.lowerBound)...Int64(answer.pace.chunkBytes.upperBound)) : Int64(buffer.count)
            let count = Int(min(chunk, answer.sentBytes - position))
            if let rate = answer.pace.bytesPerSecond, !rest(Int64(Double(count) / Double(rate) * 1e9)) { return false }
            let isSent = buffer.withUnsafeMutableBytes { buffer in
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                answer.body.fill(part, at: position)
                return sendChunk(UnsafeRawBufferPointer(part), answer.framing)
            }
            guard isSent else { return false }
            origin.log.handedOver(ordinal, answer.body, at: position, count: Int64(count))
            position += Int64(count)
        }
        return true
    }

    private func sendChunk(_ bytes: UnsafeRawBufferPointer, _ framing: OriginFraming) -> Bool {
        guard framing == .chunked else { return socket.sendAll(bytes) }
        return sendText(String(bytes.count, radix: 16) + "\r\n") && socket.sendAll(bytes) && sendText("\r\n")
    }

    private func sendText(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { socket.sendAll(UnsafeRawBufferPointer($0)) }
    }

    // MARK: Waiting

    /// Waits for a time.
    ///
    /// - Returns: False if the client left meanwhile.
    private func rest(_ nanoseconds: Int64) -> Bool {
        let end = EventLoop.monotonicNow() + nanoseconds
        while true {
            let left = end - EventLoop.monotonicNow()
            guard left > 0 else { return true }
            guard socket.waitReadable(milliseconds: Int32(min(left / 1_000_000 + 1, 60_000))) else { continue }
            guard input.count < Self.maxHeadBytes, let more = socket.receive(max: 16_384) else { return false }
            input += more
        }
    }

    /// Stays silent until the client leaves or the origin stops.
    private func waitForClient() -> Ending {
        while let more = socket.receive(max: 16_384), !more.isEmpty {}
        return .close
    }

    /// Ends the sending side and waits for the client to close. A close with unread bytes would
    /// reset the connection, and could destroy bytes that were sent before (RFC 9112 §9.6).
    private func closeInOrder() -> Ending {
        socket.endSending()
        var drained = input.count
        while drained < Self.maxDrainedBytes, socket.waitReadable(milliseconds: Self.lingerMilliseconds),
            let more = socket.receive(max: 16_384)
        {
            drained += more.count
        }
        return .close
    }

    private func draw(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &generator) }
}

extension OriginAnswer {
    /// Whether the connection can be used again after this response.
    fileprivate var keepsAlive: Bool {
        if case .cut = ending { return false }
        return framing != .close && head.fields["Connection"]?.equalsIgnoringCase("close") != true
    }
}

extension [UInt8] {
    /// The index after the empty line that ends the head of a request, or nil if it has not come
    /// yet.
    fileprivate var firstEndOfHead: Int? {
        guard count >= 4 else { return nil }
        return (4...count).first { self[$0 - 1] == 0x0A && self[$0 - 2] == 0x0D && self[$0 - 3] == 0x0A && self[$0 - 4] == 0x0D }
    }
}
