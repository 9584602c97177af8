import SpoolLibc

/// One address of one of this machine's network interfaces.
package struct InterfaceAddress: Hashable, Sendable {
    /// The system's name of the interface: `en0`, `eth0`.
    package var name: String
    /// The address; its port is 0.
    package var address: SocketAddress
    /// Whether the interface is up.
    package var isUp: Bool
    /// Whether the interface connects to one other machine only, such as a tunnel or a mobile
    /// network.
    package var isPointToPoint: Bool

    /// Creates an address of an interface.
    package init(name: String, address: SocketAddress, isUp: Bool = true, isPointToPoint: Bool = false) {
        self.name = name
        self.address = address
        self.isUp = isUp
        self.isPointToPoint = isPointToPoint
    }

    /// The maximum number of addresses that are examined. A machine with more has a suitable one
    /// among the first.
    private static let maxCount = 1024

    /// Returns the current IPv4 and IPv6 addresses of this machine (getifaddrs(3)).
    ///
    /// - Throws: the system's error: `ENOMEM`, `EMFILE`.
    package static func all() throws(SystemError) -> [InterfaceAddress] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { throw SystemError(code: errno, operation: "getifaddrs") }
        defer { freeifaddrs(first) }
        var found: [InterfaceAddress] = []
        var next = first
        while let entry = next?.pointee, found.count < maxCount {
            next = entry.ifa_next
            guard let pointer = entry.ifa_addr, let length = length(ofFamily: Int32(pointer.pointee.sa_family)),
                let address = SocketAddress(UnsafeRawPointer(pointer), length: length)
            else { continue }
            // The type of the constants differs between systems.
            let flags = Int(entry.ifa_flags)
            found.append(
                InterfaceAddress(
                    name: String(cString: entry.ifa_name), address: address, isUp: flags & Int(IFF_UP) != 0,
                    isPointToPoint: flags & Int(IFF_POINTOPOINT) != 0))
        }
        return found
    }

    /// Returns the address at which other devices of the local network reach this machine, or nil
    /// when it is in no local network.
    ///
    /// It is an IPv4 address of a private network (RFC 1918), or otherwise a self-assigned one (RFC
    /// 3927). Addresses of tunnels and mobile networks do not count. Cable and wireless interfaces
    /// come before the bridges of virtual machines.
    package static func localNetwork(among addresses: [InterfaceAddress]) -> SocketAddress? {
        func rank(_ candidate: InterfaceAddress) -> Int {
            let isSelfGiven = candidate.address.bytes.starts(with: [169, 254])
            let isHardware = ["en", "eth", "wl"].contains { candidate.name.hasPrefix($0) }
            return (isSelfGiven ? 2 : 0) + (isHardware ? 0 : 1)
        }
        return
            addresses
            .filter { $0.isUp && !$0.isPointToPoint && $0.address.family == .ipv4 && !$0.address.isLoopback && !$0.address.isPublic }
            .min { (rank($0), $0.name) < (rank($1), $1.name) }?
            .address
    }

    private static func length(ofFamily family: Int32) -> Int? {
        switch family {
        case AF_INET: MemoryLayout<sockaddr_in>.size
        case AF_INET6: MemoryLayout<sockaddr_in6>.size
        default: nil
        }
    }
}
