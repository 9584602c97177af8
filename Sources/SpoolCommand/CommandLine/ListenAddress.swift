import SpoolSystem

/// An address to listen on, in the form `HOST:PORT`. An IPv6 literal is in brackets.
struct ListenAddress {
    let host: String
    let port: UInt16

    /// Whether only programs on this machine can reach the address. False for a name other than
    /// `localhost`.
    var isLoopback: Bool {
        host == "localhost" || SocketAddress(literal: host, port: port)?.isLoopback == true
    }
}

extension ListenAddress {
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
}
