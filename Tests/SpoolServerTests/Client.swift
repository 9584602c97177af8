import SpoolLibc
import SpoolSystem
import Testing

#if canImport(Darwin)
private let streamType = SOCK_STREAM
#else
private let streamType = Int32(SOCK_STREAM.rawValue)
#endif

/// A plain blocking client. It sends and reads exactly as a test asks.
final class Client {
    private var descriptor: Int32
    private var buffer: [UInt8] = []

    /// An answer as received.
    struct Answer: Equatable {
        var status: Int
        var fields: [String: String]
        var body: [UInt8]
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    enum Failure: Error {
        case noAnswer
        case reset
        case shortBody(Int)
    }

    init(_ address: SocketAddress, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, streamType, 0)
        if var size = receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size)) }
        var system = sockaddr_in()
        system.sin_family = sa_family_t(AF_INET)
        system.sin_port = address.port.bigEndian
        withUnsafeMutableBytes(of: &system.sin_addr) { $0.copyBytes(from: address.bytes) }
        let result = withUnsafePointer(to: &system) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Self.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw SystemError(code: errno, operation: "connect") }
    }

    deinit { close() }

    func close() {
        if descriptor >= 0 { _ = Self.closeDescriptor(descriptor) }
        descriptor = -1
    }

    func finishSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes with a reset instead of a normal end.
    func reset() {
        var value = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    func send(_ text: String) {
        send(Array(text.utf8))
    }

    /// Sends all bytes, or as many as the server takes before it closes.
    func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { Self.sendBytes(descriptor, $0.baseAddress! + sent, bytes.count - sent) }
            if count <= 0 { return }
            sent += count
        }
    }

    func get(_ target: String, _ fields: String = "") throws -> Answer {
        send("GET \(target) HTTP/1.1\r\nHost: test\r\n\(fields)\r\n")
        return try answer()
    }

    /// Reads one answer.
    func answer(to method: String = "GET") throws -> Answer {
        while head == nil { try fill() }
        let end = head!
        let lines = String(decoding: buffer[..<end], as: UTF8.self).split(separator: "\r\n").map(String.init)
        buffer.removeFirst(end + 4)
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            fields[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        }
        let status = Int(lines[0].split(separator: " ")[1])!
        var answer = Answer(status: status, fields: fields, body: [])
        if method == "HEAD" || status == 204 || status == 304 { return answer }
        if fields["transfer-encoding"] == "chunked" {
            answer.body = try chunkedBody()
        } else if let length = fields["content-length"].flatMap({ Int($0) }) {
            answer.body = try take(length)
        } else {
            answer.body = buffer + (try rest())
            buffer = []
        }
        return answer
    }

    /// Reads everything until the server closes.
    func rest() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            var piece = [UInt8](repeating: 0, count: 65536)
            let count = recv(descriptor, &piece, piece.count, 0)
            if count < 0 { throw Failure.reset }
            if count == 0 { return bytes }
            bytes += piece[..<count]
        }
    }

    /// Whether the server has closed in order, after `buffer` was read.
    func isAtEnd() throws -> Bool {
        try buffer.isEmpty && rest().isEmpty
    }

    /// Reads `count` bytes and drops them.
    func discard(_ count: Int) throws {
        _ = try take(count)
    }

    private var head: Int? {
        guard buffer.count >= 4 else { return nil }
        return (0...(buffer.count - 4)).first {
            buffer[$0] == 13 && buffer[$0 + 1] == 10 && buffer[$0 + 2] == 13 && buffer[$0 + 3] == 10
        }
    }

    private func take(_ count: Int) throws -> [UInt8] {
        while buffer.count < count {
            do {
                try fill()
            } catch Failure.noAnswer {
                throw Failure.shortBody(buffer.count)
            }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    private func chunkedBody() throws -> [UInt8] {
        var body: [UInt8] = []
        while true {
            var line: [UInt8] = []
            while !line.suffix(2).elementsEqual([13, 10]) { line += try take(1) }
            let size = try #require(Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16))
            body += try take(size)
            #expect(try take(2) == [13, 10])
            if size == 0 { return body }
        }
    }

    private func fill() throws {
        var piece = [UInt8](repeating: 0, count: 262_144)
        let count = recv(descriptor, &piece, piece.count, 0)
        if count == 0 { throw Failure.noAnswer }
        if count < 0 { throw Failure.reset }
        buffer += piece[..<count]
    }

    private static func connect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
        #if canImport(Darwin)
        Darwin.connect(descriptor, address, length)
        #else
        Glibc.connect(descriptor, address, length)
        #endif
    }

    private static func closeDescriptor(_ descriptor: Int32) -> Int32 {
        #if canImport(Darwin)
        Darwin.close(descriptor)
        #else
        Glibc.close(descriptor)
        #endif
    }

    private static func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
        #if canImport(Darwin)
        Darwin.send(descriptor, bytes, count, 0)
        #else
        Glibc.send(descriptor, bytes, count, Int32(MSG_NOSIGNAL))
        #endif
    }
}
