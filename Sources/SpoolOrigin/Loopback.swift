import SpoolCore
private import SpoolSystem

/// Detection of origins on this machine.
package enum Loopback {
    /// Returns whether a URL's host is a loopback address or `localhost` (RFC 6761 §6.3).
    package static func isHost(_ host: String) -> Bool { SocketAddress(literal: host, port: 0)?.isLoopback ?? isName(host) }

    /// Returns whether a host is `localhost` or a name below it, in any spelling.
    static func isName(_ host: some StringProtocol) -> Bool {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : String(host)
        return name.equalsIgnoringCase("localhost") || name.asciiLowercased.hasSuffix(".localhost")
    }
}
