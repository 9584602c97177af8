/// The addresses that begin with the same bits, such as `10.0.0.0/8`, or one address (RFC 4632
/// §3.1).
package struct AddressRange: Hashable, Sendable {
    private let bytes: [UInt8]
    private let bits: Int

    /// Creates a range from `ADDRESS` or `ADDRESS/BITS`, or returns nil for another text.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = SocketAddress(literal: String(parts[0]), port: 0)?.unmapped else { return nil }
        let most = address.bytes.count * 8
        guard let bits = parts.count == 1 ? most : Int(parts[1]), (0...most).contains(bits) else { return nil }
        bytes = address.bytes
        self.bits = bits
    }

    /// Returns whether an address is in the range. A mapped IPv4 address counts as the IPv4
    /// address.
    package func contains(_ address: SocketAddress) -> Bool {
        let other = address.unmapped.bytes
        guard other.count == bytes.count else { return false }
        return bytes.indices.allSatisfy { index in
            let left = bits - 8 * index
            return left <= 0 || (bytes[index] ^ other[index]) >> UInt8(max(0, 8 - left)) == 0
        }
    }
}

/// The proxies through which the clients of a server come.
package struct FrontProxies: Hashable, Sendable {
    /// The number of proxies that a request passes in turn, at least 1. Each adds its client to
    /// `X-Forwarded-For`, so the entry at this place from the end is the client's.
    package var hops: Int
    /// The addresses of proxies that are believed, besides those of this machine.
    package var named: [AddressRange]

    /// The numbers of proxies that a server may be behind. More would be an error of the setting.
    package static let hopCounts = 1...16

    /// Creates the description of proxies.
    package init(hops: Int = 1, named: [AddressRange] = []) {
        self.hops = hops
        self.named = named
    }

    /// Returns whether the fields of this peer about its clients are believed.
    package func believes(_ peer: SocketAddress) -> Bool { peer.isLoopback || named.contains { $0.contains(peer) } }
}
