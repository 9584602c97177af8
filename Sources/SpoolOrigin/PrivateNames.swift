internal import SpoolCore
package import SpoolSystem

/// Whether a public host name may lead to an address of a private network or of this machine.
///
/// Without this check, a stranger could use a proxy to reach servers that only the proxy can reach.
/// The stranger requests a name of their own, and lets that name point to a private address. The
/// check leaves out addresses in the URL itself, `localhost`, and names that public DNS does not
/// have (`nas`, `nas.local`, `nas.home.arpa`). Requests to them are always allowed.
public enum PrivateNames: Hashable, Sendable {
    /// Every name may lead to any address.
    case allowed
    /// Public names lead to public addresses only, except for the given names. `*.example.com`
    /// stands for every name below `example.com`.
    case refused(except: [String] = [])
}

extension PrivateNames {
    /// Returns whether a connection for `host`, as it stands in the URL, may go to `address`.
    ///
    /// - Parameter isOwnNetwork: Returns whether an address is in a network of this machine. Homes
    ///   have global IPv6 addresses, which a firewall keeps from strangers but not from this
    ///   machine.
    package func allow(_ host: String, at address: SocketAddress, isOwnNetwork: (SocketAddress) -> Bool) -> Bool {
        guard case .refused(let exceptions) = self, !address.isPublic || isOwnNetwork(address) else { return true }
        return Self.isInside(host) || HostSet(exceptions).contains(host.asciiLowercased)
    }

    /// Returns whether an origin at `host` may lead to `other`, by a redirect or a reference. A
    /// public origin may not lead into a private network, nor to an address that it hides.
    package func allowReference(from host: String, to other: String) -> Bool {
        guard case .refused(let exceptions) = self, Self.isInside(other) || Self.isOldAddress(other) else { return true }
        return Self.isInside(host) || HostSet(exceptions).contains(host.asciiLowercased)
    }

    /// Returns whether a stranger may name `host` in a URL: it is public, or an exception.
    package func allowStranger(_ host: String) -> Bool {
        guard case .refused(let exceptions) = self, Self.isInside(host) else { return true }
        return HostSet(exceptions).contains(host.asciiLowercased)
    }

    /// Returns whether a host by itself means a place in a private network: a private address, or a
    /// name that is not in public DNS.
    package static func isInside(_ host: String) -> Bool {
        if let address = SocketAddress(literal: host, port: 0) { return !address.isPublic }
        // Only the resolver decides what an internationalised name becomes, and the name may have
        // dots that are not ASCII.
        guard !host.utf8.contains(UInt8(ascii: "%")) else { return false }
        let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).asciiLowercased
        guard let last = name.split(separator: ".").last, !isOldAddress(name) else { return false }
        return !name.utf8.contains(UInt8(ascii: ".")) || reservedTopLevels.contains(String(last)) || name.hasSuffix(".home.arpa")
    }

    /// Whether a host is an IPv4 address in an old spelling, such as `127.1` or `0x7f000001`: its
    /// last label begins with a digit (WHATWG URL, "ends in a number").
    private static func isOldAddress(_ host: String) -> Bool {
        guard SocketAddress(literal: host, port: 0) == nil else { return false }
        return host.split(separator: ".").last?.utf8.first.map { (0x30...0x39).contains($0) } ?? false
    }

    /// Top-level names that public DNS does not and will not delegate (RFC 6761, RFC 6762, RFC
    /// 8375, and those of ICANN for private use).
    private static let reservedTopLevels: Set<String> = [
        "corp", "home", "internal", "intranet", "lan", "local", "localdomain", "localhost", "private", "test",
    ]
}
