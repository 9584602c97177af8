import SpoolLibc

/// An IPv4 or IPv6 address and a port.
package struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    /// The version of the address.
    package enum Family: Hashable, Sendable {
        case ipv4, ipv6
    }

    /// The version of the address.
    package var family: Family
    /// Four or sixteen bytes in network order.
    package var bytes: [UInt8]
    /// The port number.
    package var port: UInt16

    private init(family: Family, bytes: [UInt8], port: UInt16) {
        self.family = family
        self.bytes = bytes
        self.port = port
    }

    /// Creates an address from a literal (`127.0.0.1`, `::1`, `[::1]`), or returns nil when `host`
    /// is not one. Does not look up names.
    package init?(literal host: String, port: UInt16) {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let text = isBracketed ? String(host.dropFirst().dropLast()) : host
        var v4 = in_addr(), v6 = in6_addr()
        if !isBracketed, inet_pton(AF_INET, text, &v4) == 1 {
            self.init(family: .ipv4, bytes: withUnsafeBytes(of: &v4) { Array($0) }, port: port)
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
            self.init(family: .ipv6, bytes: withUnsafeBytes(of: &v6) { Array($0) }, port: port)
        } else {
            return nil
        }
    }

    /// Returns the addresses of a `--listen` host: that of a literal, or both loopback addresses
    /// for `localhost`. Returns none for any other name.
    package static func resolve(_ host: String, port: UInt16) -> [SocketAddress] {
        let hosts = host.lowercased() == "localhost" ? ["127.0.0.1", "::1"] : [host]
        return hosts.compactMap { SocketAddress(literal: $0, port: port) }
    }

    /// Returns the loopback address of the same family as `host`, without brackets.
    package static func loopback(like host: String) -> String {
        SocketAddress(literal: host, port: 0)?.family == .ipv6 ? "::1" : "127.0.0.1"
    }

    /// Whether the address reaches only this machine.
    package var isLoopback: Bool {
        switch family {
        case .ipv4: return bytes[0] == 127
        case .ipv6:
            let isMapped = bytes[0..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            return isMapped ? bytes[12] == 127 : bytes[0..<15].allSatisfy { $0 == 0 } && bytes[15] == 1
        }
    }

    /// Whether it means every address of this machine (`0.0.0.0`, `::`).
    package var isUnspecified: Bool { bytes.allSatisfy { $0 == 0 } }

    /// Whether it reaches services that are not meant for other networks: loopback, link-local (RFC
    /// 3927, RFC 4291 §2.5.6) and unspecified addresses, also inside an IPv6 address, and the
    /// services of clouds for their machines.
    package var isForThisMachine: Bool {
        if isOfCloud { return true }
        if let bytes = family == .ipv4 ? bytes : mappedIPv4 {
            return bytes[0] == 127 || bytes[0] == 0 || (bytes[0] == 169 && bytes[1] == 254)
        }
        return isLoopback || isUnspecified || (bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80)
    }

    /// Whether it is an IPv6 address that maps an IPv4 address (RFC 4291 §2.5.5.2).
    package var isMappedIPv4: Bool {
        family == .ipv6 && bytes[0..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    }

    /// The IPv4 address of a mapped address; any other address itself.
    package var unmapped: SocketAddress {
        isMappedIPv4 ? SocketAddress(family: .ipv4, bytes: Array(bytes[12...]), port: port) : self
    }

    /// The bytes that identify a client: the IPv4 address, or the network part of an IPv6 address
    /// (RFC 4291 §2.5.4). One client has many addresses in its IPv6 network.
    package var networkBytes: [UInt8] { mappedIPv4 ?? (family == .ipv4 ? bytes : Array(bytes[..<8])) }

    /// The IPv4 address inside an IPv6 address: mapped (RFC 4291 §2.5.5.2), or translated by NAT64
    /// (RFC 6052 §2.1).
    private var mappedIPv4: [UInt8]? {
        guard family == .ipv6 else { return nil }
        let isMapped = bytes[0..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        let isTranslated = bytes[0..<4] == [0x00, 0x64, 0xFF, 0x9B] && bytes[4..<12].allSatisfy { $0 == 0 }
        return isMapped || isTranslated ? Array(bytes[12...]) : nil
    }

    /// Whether a cloud answers there with the credentials of this machine, outside link-local
    /// addresses: AWS, Google, Alibaba, Oracle, and Azure in its public range.
    private var isOfCloud: Bool {
        Self.ofClouds.contains(mappedIPv4 ?? bytes)
    }

    private static let ofClouds = Set(
        ["fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"].compactMap {
            SocketAddress(literal: $0, port: 0)?.bytes
        })

    /// Whether the address may belong to any host on the Internet, and not to this machine, a
    /// private or local network, a group (RFC 6890, RFC 4193, RFC 6598) or a cloud's service for
    /// its machines.
    package var isPublic: Bool {
        if isOfCloud { return false }
        if let bytes = family == .ipv4 ? bytes : mappedIPv4 {
            switch (bytes[0], bytes[1]) {
            case (0, _), (10, _), (127, _), (169, 254), (192, 168), (198, 18...19), (224..., _): return false
            case (172, let second): return !(16...31).contains(second)
            case (100, let second): return !(64...127).contains(second)
            case (192, 0): return bytes[2] != 0
            default: return true
            }
        }
        // Of IPv6, only global unicast addresses are routed.
        return bytes[0] & 0xE0 == 0x20
    }

    /// The address without its port and brackets.
    package var literal: String { family == .ipv4 ? host : String(host.dropFirst().dropLast()) }

    /// The address without its port, in the form of a URL: IPv6 has brackets.
    package var host: String {
        var text = [CChar](repeating: 0, count: 64)
        let family = family == .ipv4 ? AF_INET : AF_INET6
        _ = bytes.withUnsafeBytes { inet_ntop(family, $0.baseAddress, &text, socklen_t(text.count)) }
        let literal = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return family == AF_INET ? literal : "[\(literal)]"
    }

    /// The address and its port, as in a URL.
    package var description: String { "\(host):\(port)" }
}

extension SocketAddress {
    /// Creates an address from a system structure of `length` bytes, or returns nil for another
    /// family or a truncated structure.
    package init?(_ pointer: UnsafeRawPointer, length: Int) {
        guard length <= MemoryLayout<sockaddr_storage>.size else { return nil }
        self.init(query: { target, size in
            UnsafeMutableRawPointer(target).copyMemory(from: pointer, byteCount: length)
            size.pointee = socklen_t(length)
            return 0
        })
    }

    /// Calls `body` with the address in the system's form.
    func withSystemAddress<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        switch family {
        case .ipv4:
            var address = sockaddr_in()
            #if canImport(Darwin)
            address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
            #endif
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
            return Self.withErased(&address, body)
        case .ipv6:
            var address = sockaddr_in6()
            #if canImport(Darwin)
            address.sin6_len = UInt8(MemoryLayout<sockaddr_in6>.size)
            #endif
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
            return Self.withErased(&address, body)
        }
    }

    /// The local address of a socket, or nil if it has none.
    package init?(localOf descriptor: Int32) { self.init { getsockname(descriptor, $0, $1) } }

    /// Creates an address that `query` fills in (`getsockname`, `getpeername`), or returns nil when
    /// the call fails or the family is another.
    init?(query: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { query($0, &length) }
        }
        guard result == 0 else { return nil }
        let family = Int32(storage.ss_family)
        let parsed: SocketAddress? = withUnsafeBytes(of: &storage) { raw in
            if family == AF_INET {
                var address = raw.load(as: sockaddr_in.self)
                let bytes = withUnsafeBytes(of: &address.sin_addr) { Array($0) }
                return SocketAddress(family: .ipv4, bytes: bytes, port: UInt16(bigEndian: address.sin_port))
            } else if family == AF_INET6 {
                var address = raw.load(as: sockaddr_in6.self)
                let bytes = withUnsafeBytes(of: &address.sin6_addr) { Array($0) }
                return SocketAddress(family: .ipv6, bytes: bytes, port: UInt16(bigEndian: address.sin6_port))
            }
            return nil
        }
        guard let parsed else { return nil }
        self = parsed
    }

    private static func withErased<A, R>(_ address: inout A, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<A>.size)) }
        }
    }
}
