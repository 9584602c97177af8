import SpoolCore
import SpoolLibc
import SpoolSystem
import SpoolTesting
import Testing

#if canImport(Darwin)
private let streamType = SOCK_STREAM
private let quietly: Int32 = 0
#else
private let streamType = Int32(SOCK_STREAM.rawValue)
private let quietly = Int32(MSG_NOSIGNAL)
#endif

/// A client with one blocking connection. It sends and reads only as a test asks.
final class ProxyClient {
    /// The status line and fields of an answer.
    struct Head: Equatable {
        var status: Int
        var fields: HTTPFields

        var length: Int? { fields["Content-Length"].flatMap { Int($0) } }
        subscript(name: String) -> String? { fields[name] }
    }

    struct Answer: Equatable {
        var head: Head
        var body: [UInt8]

        var status: Int { head.status }
        var text: String { String(decoding: body, as: UTF8.self) }
        subscript(name: String) -> String? { head.fields[name] }
    }

    enum Failure: Error {
        /// The connection ended in order after this number of the requested bytes.
        case ended(after: Int)
        case reset(Int32)
        case malformed(String)
    }

    private var descriptor: Int32
    private var buffer: [UInt8] = []
    private var position = 0

    init(host: String = "127.0.0.1", port: UInt16, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, streamType, 0)
        if var size = receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size)) }
        var limit = timeval()
        limit.tv_sec = Awaited<Void>.hangSeconds
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw SystemError(code: EINVAL, operation: "inet_pton") }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard result == 0 else { throw SystemError(code: errno, operation: "connect") }
    }

    deinit { hangUp() }

    func hangUp() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    // MARK: Requests

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress! + sent, bytes.count - sent, quietly) }
            // The server may have refused the request and closed already. The answer contains the
            // reason.
            if count <= 0 { return }
            sent += count
        }
    }

    /// Sends a request and reads nothing.
    func ask(_ target: String, method: String = "GET", _ fields: HTTPFields = [:]) {
        var text = "\(method) \(target) HTTP/1.1\r\n"
        if fields["Host"] == nil { text += "Host: 127.0.0.1\r\n" }
        for field in fields.lines { text += "\(field.name): \(field.value)\r\n" }
        write(text + "\r\n")
    }

    func get(_ target: String, _ fields: HTTPFields = [:]) throws -> Answer {
        ask(target, fields)
        return try answer()
    }

    // MARK: Reading

    func answer(to method: String = "GET") throws -> Answer {
        let head = try head()
        if method == "HEAD" || head.status == 304 || head.status == 204 { return Answer(head: head, body: []) }
        if head["Transfer-Encoding"] == "chunked" { return Answer(head: head, body: try chunks()) }
        if let length = head.length { return Answer(head: head, body: try take(length)) }
        return Answer(head: head, body: try rest())
    }

    /// Reads an answer, or the part of it that comes before the server ends the connection.
    func answerOrPart() throws -> (Answer, isWhole: Bool) {
        var answer = Answer(head: try head(), body: [])
        guard ![204, 304].contains(answer.status) else { return (answer, true) }
        if let length = answer.head.length {
            answer.body = try take(upTo: length)
            return (answer, answer.body.count == length)
        }
        guard answer["Transfer-Encoding"] == "chunked" else {
            answer.body = try rest()
            return (answer, true)
        }
        do {
            while let chunk = try chunk() { answer.body += chunk }
            return (answer, true)
        } catch Failure.ended {
            return (answer, false)
        }
    }

    func head() throws -> Head {
        let lines = try headLines()
        let parts = lines[0].split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, parts[0] == "HTTP/1.1", let status = Int(parts[1]) else { throw Failure.malformed(lines[0]) }
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { throw Failure.malformed(line) }
            fields.append(HTTPFields.Name(String(line[..<colon])), String(line[line.index(after: colon)...].drop { $0 == " " }))
        }
        return Head(status: status, fields: fields)
    }

    private func headLines() throws -> [String] {
        var lines: [String] = []
        while true {
            let line = try line()
            if line.isEmpty { break }
            lines.append(line)
        }
        guard !lines.isEmpty else { throw Failure.malformed("an empty head") }
        return lines
    }

    /// A line without its end.
    private func line() throws -> String {
        var scanned = position
        while true {
            if let end = buffer[scanned...].firstIndex(of: 10) {
                guard end > position, buffer[end - 1] == 13 else { throw Failure.malformed("a line without carriage return") }
                defer { position = end + 1 }
                return String(decoding: buffer[position..<end - 1], as: UTF8.self)
            }
            let before = position
            scanned = buffer.count
            try fill(wanted: 1)
            // Filling may have moved the unread bytes to the front.
            if position < before { scanned -= before - position }
        }
    }

    /// The next `count` bytes.
    func take(_ count: Int) throws -> [UInt8] {
        while buffer.count - position < count { try fill(wanted: count) }
        defer { position += count }
        return Array(buffer[position..<position + count])
    }

    /// Reads `count` bytes and compares them with the content.
    ///
    /// - Returns: The offset of the first wrong byte, or nil.
    func compare(_ count: Int64, with content: OriginContent, at offset: Int64) throws -> Int64? {
        var done: Int64 = 0
        while done < count {
            if position == buffer.count { try fill(wanted: Int(count - done)) }
            let available = Int(min(Int64(buffer.count - position), count - done))
            let wrong = buffer.withUnsafeBytes { bytes in
                content.firstDifference(in: UnsafeRawBufferPointer(rebasing: bytes[position..<position + available]), at: offset + done)
            }
            if let wrong { return offset + done + Int64(wrong) }
            position += available
            done += Int64(available)
        }
        return nil
    }

    /// Returns the next `count` bytes, or those that arrive before the server closes or resets the
    /// connection.
    func take(upTo count: Int) throws -> [UInt8] {
        do {
            while buffer.count - position < count { try fill(wanted: 1) }
        } catch Failure.ended, Failure.reset(ECONNRESET) {
            return try take(buffer.count - position)
        }
        return try take(count)
    }

    /// Returns a chunked body.
    func chunks() throws -> [UInt8] {
        var body: [UInt8] = []
        while let chunk = try chunk() { body += chunk }
        return body
    }

    /// Returns the next chunk of a chunked body, or nil after the last.
    func chunk() throws -> [UInt8]? {
        let text = try line()
        guard let size = Int(text, radix: 16) else { throw Failure.malformed("a chunk of '\(text)' bytes") }
        let bytes = try take(size)
        guard try line().isEmpty else { throw Failure.malformed("a chunk that does not end") }
        return size == 0 ? nil : bytes
    }

    /// Returns all bytes until the server closes the connection.
    func rest() throws -> [UInt8] {
        while true {
            do {
                try fill(wanted: 1)
            } catch Failure.ended {
                defer { position = buffer.count }
                return Array(buffer[position...])
            }
        }
    }

    /// Whether the server has closed and no byte is left to read.
    func isAtEnd() throws -> Bool { try rest().isEmpty }

    private func fill(wanted: Int) throws {
        if position > 0 {
            buffer.removeFirst(position)
            position = 0
        }
        var piece = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &piece, piece.count, 0)
        if count == 0 { throw Failure.ended(after: buffer.count) }
        if count < 0 { throw Failure.reset(errno) }
        buffer += piece[..<count]
    }
}
