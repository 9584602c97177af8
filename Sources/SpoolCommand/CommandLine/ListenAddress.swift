import SpoolSystem

/// Where to listen, as `HOST:PORT` says it; an IPv6 literal stands in brackets.
struct ListenAddress {
    let host: String
    let port: UInt16

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("[") && host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    /// Whether only programs on this machine can reach it; false for a name that is not `localhost`.
    var isLoopback: Bool {
        host == "localhost" || SocketAddress(literal: host, port: port)?.isLoopback == true
    }
}
