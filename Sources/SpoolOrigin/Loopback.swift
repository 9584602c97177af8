package import SpoolCore
private import SpoolSystem

/// Detection of origins on this machine.
package enum Loopback {
    /// Returns whether the host of `url` is a loopback address or `localhost` (RFC 6761 §6.3).
    package static func isHost(of url: MediaURL) -> Bool {
        if let address = SocketAddress(literal: url.origin.host, port: 0) { return address.isLoopback }
        return isName(url.origin.host)
    }

    /// Returns whether a host is `localhost` or a name below it, in any spelling.
    static func isName(_ host: some StringProtocol) -> Bool {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : String(host)
        return name.equalsIgnoringCase("localhost") || name.asciiLowercased.hasSuffix(".localhost")
    }
}
