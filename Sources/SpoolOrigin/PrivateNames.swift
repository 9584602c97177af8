internal import SpoolCore
package import SpoolSystem

/// Whether a name that anybody can register may lead to an address of a private network or of this machine.
///
/// It is how a stranger gets through a proxy to what only the proxy can reach: he asks for a name of his own and lets that name
/// point there. Addresses that are written in the URL itself, `localhost`, and names that public DNS does not have (`nas`, `nas.local`,
/// `nas.home.arpa`) mean what they say and are always asked.
public enum PrivateNames: Hashable, Sendable {
    /// Every name may lead anywhere.
    case allowed
    /// Public names lead to public addresses only, but for these names; `*.example.com` is every name below that.
    case refused(except: [String] = [])
}

extension PrivateNames {
    /// Whether a connection for `host`, as it stands in the URL, may go to `address`.
    ///
    /// - Parameter isOwnNetwork: whether an address is in a network of this machine. Homes have global IPv6 addresses, which a firewall
    ///   keeps from strangers and not from this machine.
    package func allow(
        _ host: String, at address: SocketAddress, isOwnNetwork: (SocketAddress) -> Bool = InterfaceAddress.isOwnNetwork
    ) -> Bool {
        guard case .refused(let exceptions) = self, !address.isPublic || isOwnNetwork(address) else { return true }
        return Self.isInside(host) || HostSet(exceptions).contains(host.asciiLowercased)
    }

    /// Whether an origin at `host` may send a request on to `other`: from the Internet nobody leads into a private network.
    package func allowRedirect(from host: String, to other: String) -> Bool {
        guard case .refused(let exceptions) = self, Self.isInside(other) else { return true }
        return Self.isInside(host) || HostSet(exceptions).contains(host.asciiLowercased)
    }

    /// Whether a host by itself means a place in a private network: a private address, or a name that is not in public DNS.
    private static func isInside(_ host: String) -> Bool {
        if let address = SocketAddress(literal: host, port: 0) { return !address.isPublic }
        // What an internationalised name becomes is the resolver's business; it may have dots that are not ASCII.
        guard !host.utf8.contains(UInt8(ascii: "%")) else { return false }
        let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).asciiLowercased
        // A last label of digits is an address in an old spelling, whatever it means (WHATWG URL, "ends in a number").
        guard let last = name.split(separator: ".").last, !(last.utf8.first.map { (0x30...0x39).contains($0) } ?? false) else {
            return false
        }
        return !name.utf8.contains(UInt8(ascii: ".")) || reservedTopLevels.contains(String(last)) || name.hasSuffix(".home.arpa")
    }

    /// Top-level names that public DNS does not and will not delegate (RFC 6761, RFC 6762, RFC 8375 and ICANN's for private use).
    private static let reservedTopLevels: Set<String> = [
        "corp", "home", "internal", "intranet", "lan", "local", "localdomain", "localhost", "private", "test",
    ]
}
