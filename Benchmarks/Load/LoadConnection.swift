import SpoolLibc

/// One GET of a load.
struct LoadRequest {
    /// The path and query for the program under test.
    var target: String
    /// The requested bytes, or nil for the whole resource.
    var range: Range<Int64>?
    /// The range of the body in the source.
    var expected: Range<Int64>
    /// Whether the body is compared with the source, not only counted.
    var isChecked: Bool
    /// Whether the kernel drops a body that is not compared, instead of copying it.
    var isDropped = false
    /// Whether the request omits the end of `range`, as players do. The range still ends at the end
    /// of the resource.
    var isOpenEnded = false
    /// Whether the request says that nobody waits for its answer (`Priority: u=7`, RFC 9218).
    var isBackground = false
    /// The number of body bytes after which the request counts as answered and the connection is
    /// closed, or nil for the whole body.
    var takenBytes: Int64?
}

/// The arrival times of a response, in nanoseconds since its request was sent.
struct ResponseTimes {
    var firstByte: UInt64
    var complete: UInt64
}

/// One keep-alive connection of the load generator, with at most one open request.
final class LoadConnection {
    let descriptor: Int32
    /// The end of every request but for its range.
    private let hostField: [UInt8]
    private var text: [UInt8] = []
    private var head: [UInt8] = []
    private var request: LoadRequest?
    private var sentAt: UInt64 = 0
    private var firstByteAt: UInt64?
    private var isInBody = false
    private var next: Int64 = 0
    /// The number of body bytes of all responses so far.
    private(set) var receivedBytes: Int64 = 0
    /// Whether the client took all that it wanted of a body and closed the connection.
    private(set) var hasLeft = false

    init(port: UInt16, receiveBufferBytes: Int32? = nil) throws {
        descriptor = try connectLoopback(port: port, receiveBufferBytes: receiveBufferBytes)
        hostField = Array(" HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n".utf8)
    }

    deinit {
        leave()
    }

    /// Closes the connection. Nothing more can be asked on it.
    private func leave() {
        if !hasLeft { close(descriptor) }
        hasLeft = true
    }

    /// Sends the next request.
    func begin(_ request: LoadRequest) throws {
        precondition(self.request == nil, "a connection has one request at a time")
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: "GET ".utf8)
        text.append(contentsOf: request.target.utf8)
        text.append(contentsOf: hostField)
        if let range = request.range {
            text.append(contentsOf: "Range: bytes=".utf8)
            text.append(contentsOf: range.lowerBound.description.utf8)
            text.append(UInt8(ascii: "-"))
            if !request.isOpenEnded { text.append(contentsOf: (range.upperBound - 1).description.utf8) }
            text.append(contentsOf: "\r\n".utf8)
        }
        if request.isBackground { text.append(contentsOf: "Priority: u=7\r\n".utf8) }
        text.append(contentsOf: "\r\n".utf8)
        self.request = request
        next = request.expected.lowerBound
        isInBody = false
        firstByteAt = nil
        head.removeAll(keepingCapacity: true)
        sentAt = nanoseconds()
        try sendRequest(text, on: descriptor)
    }

    /// The size of a read before the head of a dropped answer has arrived: the head, and little
    /// more.
    private static let headBytes = 1024

    /// Reads the bytes that are there, at most one buffer.
    ///
    /// A dropped body is only counted (`MSG_TRUNC`, tcp(7)). Copying it would cost more than a
    /// server needs to send it.
    ///
    /// - Returns: The times of the response, or nil while it is incomplete.
    func receive(into buffer: UnsafeMutableRawBufferPointer, source: SourceFile) throws -> ResponseTimes? {
        guard let request, request.isDropped, !request.isChecked else {
            guard let count = try receive(into: buffer, flags: 0) else { return nil }
            return try take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), source)
        }
        if !isInBody {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Self.headBytes])
            guard let count = try receive(into: room, flags: 0) else { return nil }
            let times = try take(UnsafeRawBufferPointer(rebasing: room[..<count]), source)
            guard times == nil, isInBody, count == Self.headBytes else { return times }
        }
        let left = Int(request.expected.upperBound - next)
        let rest = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: min(left, LoadGenerator.droppedBytes))
        guard let count = try receive(into: rest, flags: Int32(MSG_TRUNC)) else { return nil }
        return try takeBody(count: count, request)
    }

    /// - Returns: The number of bytes, or nil when none is there now.
    private func receive(into buffer: UnsafeMutableRawBufferPointer, flags: Int32) throws -> Int? {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, flags)
        guard count >= 0 else {
            if errno == EAGAIN || errno == EINTR { return nil }
            throw BenchmarkError.system("recv")
        }
        guard let request else { throw BenchmarkError("bytes or an end of stream without a request") }
        guard count > 0 else { throw BenchmarkError("\(request.target): connection closed at byte \(next) of \(request.expected)") }
        return count
    }

    private func take(_ received: UnsafeRawBufferPointer, _ source: SourceFile) throws -> ResponseTimes? {
        guard let request else { return nil }
        var bytes = received
        if !isInBody {
            guard let body = try bodyStart(bytes, request) else { return nil }
            bytes = UnsafeRawBufferPointer(rebasing: bytes[body...])
        }
        guard let start = bytes.baseAddress, bytes.count > 0 else { return nil }
        guard next + Int64(bytes.count) <= request.expected.upperBound else {
            throw BenchmarkError("\(request.target): more bytes than announced")
        }
        if request.isChecked && !source.matches(start, count: bytes.count, at: next) {
            throw BenchmarkError("\(request.target): wrong bytes at or after \(next)")
        }
        return try takeBody(count: bytes.count, request)
    }

    /// Returns the offset in `bytes` at which the body starts, or nil while the head is incomplete.
    private func bodyStart(_ bytes: UnsafeRawBufferPointer, _ request: LoadRequest) throws -> Int? {
        let before = head.count
        let found: LoadResponseHead?
        if before == 0 {
            found = try LoadResponseHead(bytes)
        } else {
            head.append(contentsOf: bytes)
            found = try head.withUnsafeBytes { try LoadResponseHead($0) }
        }
        guard let found else {
            if before == 0 { head.append(contentsOf: bytes) }
            return nil
        }
        let status = request.range == nil ? 200 : 206
        guard found.status == status, found.contentLength == Int64(request.expected.count) else {
            throw BenchmarkError(
                "\(request.target): \(found.status) with \(found.contentLength) bytes, not \(status) with \(request.expected.count)")
        }
        isInBody = true
        return found.byteCount - before
    }

    private func takeBody(count: Int, _ request: LoadRequest) throws -> ResponseTimes? {
        let now = nanoseconds()
        let first = firstByteAt ?? now
        firstByteAt = first
        next += Int64(count)
        receivedBytes += Int64(count)
        let isEnough = request.takenBytes.map { next - request.expected.lowerBound >= $0 } ?? false
        guard isEnough || next == request.expected.upperBound else { return nil }
        self.request = nil
        if next < request.expected.upperBound { leave() }
        return ResponseTimes(firstByte: first - sentAt, complete: now - sentAt)
    }
}
