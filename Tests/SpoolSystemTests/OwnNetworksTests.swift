import SpoolLibc
import SpoolSystem
import Testing

/// Tests which addresses count as this machine's own.
@Suite struct OwnNetworksTests {
    @Test(arguments: [
        ("203.0.113.5", "203.0.113.5", true), ("203.0.113.5", "203.0.113.6", false), ("2001:db8:1:2::1", "2001:db8:1:2::5", true),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::5", true), ("2001:db8:1:3::1", "2001:db8:1:2::5", false),
        ("::ffff:203.0.113.5", "::ffff:203.0.113.5", true), ("203.0.113.5", nil, false),
    ])
    func `an address is own if the system sends to it from itself or its IPv6 network`(text: String, from: String?, isOwn: Bool) throws {
        let address = try #require(SocketAddress(literal: text, port: 443))
        let source = from.flatMap { SocketAddress(literal: $0, port: 0) }
        let networks = OwnNetworks(source: { _ in source }, report: { Issue.record("\($0)") })
        #expect(networks.contains(address) == isOwn)
    }

    @Test func `an error of the system makes no address an own one, and is reported once`() throws {
        let reports = Locked<[SystemError]>([])
        let networks = OwnNetworks(
            source: { _ throws(SystemError) in throw SystemError(code: EMFILE, operation: "socket") },
            report: { error in reports.withLock { $0.append(error) } })
        for text in ["203.0.113.7", "2001:db8::1", "127.0.0.1", "203.0.113.7"] {
            #expect(!networks.contains(try #require(SocketAddress(literal: text, port: 443))), "\(text)")
        }
        #expect(reports.withLock { $0.map(\.code) } == [EMFILE])
    }

    @Test func `the addresses of this machine are its own, and addresses of documentation are not`() throws {
        let networks = OwnNetworks { Issue.record("\($0)") }
        let own = try InterfaceAddress.all().filter { $0.isUp && ($0.address.family == .ipv4 || $0.address.isLoopback) }
        #expect(!own.isEmpty)
        for address in own.map(\.address) { #expect(networks.contains(address), "\(address)") }
        // RFC 5737, RFC 3849
        for text in ["192.0.2.1", "2001:db8:1234::1"] {
            #expect(!networks.contains(try #require(SocketAddress(literal: text, port: 443))), "\(text)")
        }
    }
}
