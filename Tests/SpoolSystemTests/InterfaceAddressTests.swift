import SpoolSystem
import Testing

/// Tests the choice of the address at which other devices of the local network reach this one.
@Suite struct InterfaceAddressTests {
    private static func interface(_ name: String, _ address: String, isUp: Bool = true, isPointToPoint: Bool = false) throws
        -> InterfaceAddress
    {
        InterfaceAddress(
            name: name, address: try #require(SocketAddress(literal: address, port: 0)), isUp: isUp, isPointToPoint: isPointToPoint)
    }

    @Test func `the local network's address is a private one of a hardware interface`() throws {
        let addresses = [
            try Self.interface("lo0", "127.0.0.1"),
            try Self.interface("bridge100", "192.168.64.1"),
            try Self.interface("pdp_ip0", "10.11.12.13", isPointToPoint: true),
            try Self.interface("utun3", "10.8.0.2", isPointToPoint: true),
            try Self.interface("en1", "192.168.7.7", isUp: false),
            try Self.interface("en2", "203.0.114.9"),
            try Self.interface("en0", "fe80::1"),
            try Self.interface("en0", "192.168.0.23"),
        ]
        #expect(InterfaceAddress.localNetwork(among: addresses)?.host == "192.168.0.23")
        // Without an address of hardware, the choice is a bridge's. Without any private address, it
        // is a self-assigned one.
        let bridged = Array(addresses.dropLast())
        #expect(InterfaceAddress.localNetwork(among: bridged)?.host == "192.168.64.1")
        let selfGiven = try Self.interface("en0", "169.254.3.4")
        #expect(InterfaceAddress.localNetwork(among: bridged + [selfGiven])?.host == "192.168.64.1")
        #expect(InterfaceAddress.localNetwork(among: [addresses[0], selfGiven])?.host == "169.254.3.4")
        #expect(InterfaceAddress.localNetwork(among: Array(addresses[0...0])) == nil)
    }

    @Test func `the system lists its addresses, including loopback`() throws {
        let addresses = try InterfaceAddress.all()
        #expect(addresses.contains { $0.address.host == "127.0.0.1" && $0.isUp })
        #expect(addresses.allSatisfy { !$0.name.isEmpty && $0.address.port == 0 })
    }
}
