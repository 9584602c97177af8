import CSpoolSystem
import SpoolLibc

/// Connects to a port of the loopback address.
///
/// The descriptor is non-blocking and without Nagle's delay. `receiveBufferBytes` limits the unread
/// bytes that the kernel accepts.
func connectLoopback(port: UInt16, receiveBufferBytes: Int32? = nil) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw BenchmarkError.system("socket") }
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    if var bytes = receiveBufferBytes {
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, 4)
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
    let connected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
    guard connected == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
        let code = errno
        close(descriptor)
        throw BenchmarkError.system("connect to port \(port)", code)
    }
    return descriptor
}

/// Returns a blocking socket that listens on a free port of the loopback address.
func listenOnLoopback() throws -> (descriptor: Int32, port: UInt16) {
    let port = try freePort()
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw BenchmarkError.system("socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
    let isBound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
    guard isBound == 0, listen(descriptor, 16) == 0 else {
        let code = errno
        close(descriptor)
        throw BenchmarkError.system("listen", code)
    }
    return (descriptor, port)
}

/// Raises this process's limit of descriptors if necessary, to make room for `connections`
/// connections and the usual descriptors of a program.
func allowDescriptors(_ connections: Int) throws {
    let count = connections + 64
    var limits = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    guard limits.rlim_cur < rlim_t(count) else { return }
    limits.rlim_cur = min(limits.rlim_max, rlim_t(count))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    guard limits.rlim_cur >= rlim_t(count) else {
        throw BenchmarkError("\(count) descriptors are needed, \(limits.rlim_max) are allowed: raise the hard limit (ulimit -Hn)")
    }
}

/// Sends a whole request. It is small and the socket is idle, so a partial write is an error.
func sendRequest(_ request: [UInt8], on descriptor: Int32) throws {
    let sent = request.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    guard sent == request.count else { throw BenchmarkError.system("send a request") }
}

/// Sends a request and reads to the end of the connection, at most 1 MiB.
func exchange(_ request: String, port: UInt16) throws -> String {
    let descriptor = try connectLoopback(port: port), limit = 1 << 20
    defer { close(descriptor) }
    guard fcntl(descriptor, F_SETFL, 0) == 0 else { throw BenchmarkError.system("fcntl") }
    try sendRequest(Array(request.utf8), on: descriptor)
    var answer: [UInt8] = [], part = [UInt8](repeating: 0, count: 64 * 1024)
    while answer.count < limit {
        let count = recv(descriptor, &part, part.count, 0)
        guard count >= 0 else { throw BenchmarkError.system("recv") }
        if count == 0 { break }
        answer += part[..<count]
    }
    return String(decoding: answer, as: UTF8.self)
}

/// Descriptors that are polled together, each with a number.
final class Readiness {
    private let poll: Int32
    private let events: UnsafeMutablePointer<spool_event>
    private static let capacity: Int32 = 256

    init() throws {
        poll = spool_poll_open()
        guard poll >= 0 else { throw BenchmarkError.system("epoll", -poll) }
        events = .allocate(capacity: Int(Self.capacity))
    }

    deinit {
        close(poll)
        events.deallocate()
    }

    /// Polls a descriptor for bytes to read, until the descriptor is closed.
    func add(_ descriptor: Int32, token: Int) throws {
        let code = spool_poll_add(poll, descriptor, UInt32(SPOOL_READ), UInt64(token))
        guard code >= 0 else { throw BenchmarkError.system("epoll", -code) }
    }

    /// Calls `body` with the number of each ready descriptor, and returns their count.
    func wait(milliseconds: Int32, _ body: (Int) throws -> Void) throws -> Int {
        let count = spool_poll_wait(poll, events, Self.capacity, milliseconds)
        guard count >= 0 else {
            if count == -EINTR { return 0 }
            throw BenchmarkError.system("epoll", -count)
        }
        for index in 0..<Int(count) {
            try body(Int(events[index].token))
        }
        return Int(count)
    }
}
