import SpoolLibc

/// One request and its response over a connection to this machine. The call blocks.
package enum LoopbackHTTPClient {
    /// The maximum size of a response that is read, in bytes.
    private static let limitBytes = 1 << 20
    /// The maximum silence of the server, in seconds. Removing a large store takes a while.
    private static let timeoutSeconds = 60

    /// Sends a request and reads until the other end closes the connection.
    package static func perform(_ request: String, host: String, port: UInt16) throws(SystemError) -> String {
        guard let address = SocketAddress.resolve(host, port: port).first(where: \.isLoopback) else {
            throw SystemError(code: EADDRNOTAVAIL, operation: "connect", subject: host)
        }
        #if canImport(Darwin)
        let kind = SOCK_STREAM
        #else
        let kind = Int32(SOCK_STREAM.rawValue)
        #endif
        let number = socket(address.family == .ipv6 ? AF_INET6 : AF_INET, kind, 0)
        guard number >= 0 else { throw SystemError(code: errno, operation: "socket", subject: host) }
        let descriptor = FileDescriptor(owning: number)
        var timeout = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        setsockopt(descriptor.rawValue, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        guard address.withSystemAddress({ connect(descriptor.rawValue, $0, $1) }) == 0 else {
            throw SystemError(code: errno, operation: "connect", subject: "\(address)")
        }
        try send(Array(request.utf8), descriptor.rawValue)
        return try receive(descriptor.rawValue)
    }

    private static func send(_ bytes: [UInt8], _ descriptor: Int32) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw SystemError(code: errno, operation: "write")
            }
            rest = rest.dropFirst(count)
        }
    }

    private static func receive(_ descriptor: Int32) throws(SystemError) -> String {
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while answer.count < limitBytes {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { break }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw SystemError(code: errno, operation: "read")
            }
            answer += buffer[..<count]
        }
        return String(decoding: answer, as: UTF8.self)
    }
}
