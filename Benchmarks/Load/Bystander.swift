import SpoolLibc

/// Slow clients and a slow origin, in a separate process: this program, started by a row with
/// `--crowd`.
///
/// So they do not disturb the row's own generator, and each side has its own limit of descriptors.
enum Bystander: String {
    /// Connections without any request.
    case silent
    /// Clients that request the target and read a byte a second.
    case slowReaders = "slow-readers"
    /// Clients that request the target, each with a different query, and read what arrives.
    case readers
    /// An origin that answers each connection with a byte a second.
    case slowOrigin = "slow-origin"

    /// The line that reports readiness, followed by a port for an origin.
    static let ready = "ready"
    /// Runs until the program is ended.
    func run(_ options: Options.Crowd) throws -> Never {
        try allowDescriptors(options.count)
        let crowd: [Int32]
        switch self {
        case .silent: crowd = try Self.connect(options) { _ in nil }
        case .slowReaders:
            crowd = try Self.connect(options, receiveBufferBytes: 4096) { _ in options.target }
            Self.awaitAnswers(crowd)
        case .readers: crowd = try Self.connect(options) { "\(options.target)?n=\($0)" }
        case .slowOrigin: try SlowOrigin(connections: options.count).run()
        }
        Self.say(Self.ready)
        let bytesATurn = self == .slowReaders ? 1 : 4096
        var bytes = [UInt8](repeating: 0, count: bytesATurn)
        while true {
            if self != .silent { for descriptor in crowd { _ = recv(descriptor, &bytes, bytesATurn, 0) } }
            pause(milliseconds: 1000)
        }
    }

    static func say(_ text: String) {
        let line = Array((text + "\n").utf8)
        write(1, line, line.count)
    }

    private static func connect(
        _ options: Options.Crowd, receiveBufferBytes: Int32? = nil, _ target: (Int) -> String?
    ) throws -> [Int32] {
        try (0..<options.count).map { number in
            let descriptor = try connectLoopback(port: options.port, receiveBufferBytes: receiveBufferBytes)
            // Closed by a reset. Otherwise thousands of ports would stay in TIME_WAIT.
            var end = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &end, socklen_t(MemoryLayout<linger>.size))
            if let target = target(number) {
                try sendRequest(Array("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(options.port)\r\n\r\n".utf8), on: descriptor)
            }
            return descriptor
        }
    }

    /// Waits until every answer has begun, so that a row measures the crowd and not its arrival.
    private static func awaitAnswers(_ crowd: [Int32]) {
        for descriptor in crowd {
            var answer = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&answer, 1, -1)
        }
    }
}

/// An origin that answers every connection with a long resource, a byte a second.
private final class SlowOrigin {
    private static let head = Array(
        "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 1000000\r\nETag: \"slow\"\r\n\r\n".utf8)

    private let listener: Int32
    private var connections: [Int32] = []
    private let limit: Int

    init(connections limit: Int) throws {
        self.limit = limit
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard listener >= 0, code == 0, listen(listener, 1024) == 0 else { throw BenchmarkError.system("listen") }
    }

    func run() throws -> Never {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) }
        }
        Bystander.say("\(Bystander.ready) \(UInt16(bigEndian: address.sin_port))")
        var lastTurn = nanoseconds()
        while true {
            accept()
            if nanoseconds() - lastTurn >= 1_000_000_000 {
                lastTurn += 1_000_000_000
                connections = connections.filter { send($0, "x", 1, Int32(MSG_NOSIGNAL)) == 1 || errno == EAGAIN }
            }
            pause(milliseconds: 20)
        }
    }

    /// Accepts connections. Their requests are not read.
    private func accept() {
        while connections.count < limit {
            let descriptor = Glibc.accept(listener, nil, nil)
            guard descriptor >= 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else { return }
            send(descriptor, Self.head, Self.head.count, Int32(MSG_NOSIGNAL))
            connections.append(descriptor)
        }
    }
}
