import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTesting
import Testing

/// Tests which names may lead to which addresses.
@Suite(.timeLimit(.minutes(20))) struct PrivateNamesTests {
    @Test(arguments: [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "100.127.255.255", "198.18.0.1", "192.0.0.8", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1",
        "fc00::1", "fd12:3456::1", "fe80::1", "ff02::1", "::ffff:127.0.0.1", "100::1", "168.63.129.16", "fd00:ec2::254",
        "::ffff:168.63.129.16",
    ])
    func `an address outside the Internet is private`(text: String) throws {
        let address = try #require(SocketAddress(literal: text, port: 80))
        #expect(!address.isPublic)
        let policy = PrivateNames.refused()
        for host in ["media.example", "a.b.example.com", "127.1", "2130706433", "0x7f.1", "nas.local.evil.example", "localhost.example"] {
            #expect(!policy.allow(host, at: address) { _ in false }, "\(host)")
            #expect(PrivateNames.allowed.allow(host, at: address) { _ in false })
            #expect(PrivateNames.refused(except: [host.uppercased()]).allow(host, at: address) { _ in false })
        }
        // Hosts that a user types, and names that an attacker can't register.
        for host in [
            text.contains(":") ? "[\(text)]" : text, "localhost", "LocalHost.", "nas", "nas.local", "nas.home.arpa", "x.internal",
            "a.localhost",
            "tv.lan",
        ] {
            #expect(policy.allow(host, at: address) { _ in false }, "\(host)")
        }
        #expect(PrivateNames.refused(except: ["*.plex.example"]).allow("192-168-1-1.a.plex.example", at: address) { _ in false })
        #expect(!PrivateNames.refused(except: ["*.plex.example"]).allow("plex.example", at: address) { _ in false })
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.0.2.1", "198.20.0.1", "223.255.255.255",
        "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
    ])
    func `a public address is allowed for every name`(text: String) throws {
        let address = try #require(SocketAddress(literal: text, port: 443))
        #expect(address.isPublic)
        #expect(PrivateNames.refused().allow("media.example", at: address) { _ in false })
    }

    @Test(arguments: ["168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254", "::ffff:168.63.129.16"])
    func `a cloud's service for its machines is for this machine only`(text: String) throws {
        let address = try #require(SocketAddress(literal: text, port: 80))
        #expect(address.isForThisMachine && !address.isPublic)
        #expect(OriginReach.isThisMachine(text.contains(":") ? "[\(text)]" : text))
    }

    @Test(arguments: ["m%C3%BCnchen", "nas%E3%80%82example", "m%C3%BCnchen.local"])
    func `a name that is not ASCII counts as public`(host: String) throws {
        let router = try #require(SocketAddress(literal: "192.168.1.1", port: 80))
        #expect(!PrivateNames.refused().allow(host, at: router) { _ in false })
    }

    /// Homes have global addresses, which a firewall keeps from strangers but not from the proxy.
    @Test func `a public name may not lead to a public address of the machine's own networks`() throws {
        let address = try #require(SocketAddress(literal: "2001:db8:1:2::1", port: 80))
        for isOwn in [true, false] {
            #expect(PrivateNames.refused().allow("media.example", at: address) { _ in isOwn } == !isOwn)
            #expect(PrivateNames.refused(except: ["media.example"]).allow("media.example", at: address) { _ in isOwn })
            #expect(PrivateNames.refused().allow("nas.local", at: address) { _ in isOwn })
            #expect(PrivateNames.allowed.allow("media.example", at: address) { _ in isOwn })
        }
    }

    @Test(arguments: [
        ("http://media.example/", "http://192.168.1.1/admin", false), ("http://media.example/", "http://127.0.0.1:8080/", false),
        ("http://media.example/", "http://[::1]/", false), ("http://media.example/", "http://localhost/", false),
        ("http://media.example/", "http://router.local/", false), ("http://media.example/", "http://router/", false),
        ("http://1.1.1.1/", "http://10.0.0.1/", false), ("http://media.example/", "http://[::ffff:10.0.0.1]/", false),
        ("http://media.example/", "http://cdn.example/", true), ("http://media.example/", "http://1.1.1.1/", true),
        ("http://nas.local/", "http://192.168.1.1/", true), ("http://127.0.0.1/", "http://localhost:8080/", true),
        ("http://192.168.1.1/", "http://media.example/", true), ("http://media.example/", "/other", true),
        ("http://media.example/", "http://2130706433/", false), ("http://media.example/", "http://0x7f.1./", false),
    ])
    func `a redirect from the Internet to a private network is rejected`(from: String, to: String, isFollowed: Bool) {
        func decision(_ names: PrivateNames) -> RedirectPolicy.Decision {
            var policy = RedirectPolicy(OriginRequest(url: from, fields: [:]), privateNames: names)
            return policy.headReceived(ResponseHead(status: 302, fields: ["Location": to]))
        }
        func follows(_ decision: RedirectPolicy.Decision) -> Bool {
            switch decision {
            case .follow: return true
            case .refuse(.notAsked(let url, let why)):
                #expect(url == to && why.contains("--allow-private"))
                return false
            case .refuse, .pass: return false
            }
        }
        #expect(follows(decision(.refused())) == isFollowed)
        #expect(follows(decision(.allowed)))
        #expect(follows(decision(.refused(except: ["media.example", "1.1.1.1"]))))
    }

    #if os(Linux)
    /// `127.1` is looked up like a name and leads to 127.0.0.1, as an attacker's name would.
    @Test func `libcurl connects a public name to no private address`() throws {
        let origin = try RawOrigin([VirtualResource(url: "/v", seed: 4, length: 1000)])
        defer { origin.stop() }
        func end(_ host: String, _ names: PrivateNames) -> TransferEnd? {
            var options = CurlTransportOptions.patient
            options.privateNames = names
            options.usesEnvironmentProxies = false
            let transport = CurlTransport(options: options)
            defer { transport.close() }
            let probe = TransferProbe()
            probe.start(OriginRequest(url: "http://\(host):\(origin.port)/v", fields: [:]), on: transport)
            return probe.waitForEnd()
        }
        guard case .failed(.notAsked(let url, let reason)) = end("127.1", .refused()) else {
            Issue.record("a private address behind a name was asked")
            return
        }
        #expect(url == "http://127.1:\(origin.port)/v")
        #expect(reason.contains("127.1") && reason.contains("127.0.0.1") && reason.contains("--allow-private"))
        #expect(origin.connectionCount == 0)
        #expect(end("127.1", .refused(except: ["127.1"])) == .complete)
        #expect(end("127.1", .allowed) == .complete)
        #expect(end("127.0.0.1", .refused()) == .complete)
        #expect(end("localhost", .refused()) == .complete)
    }

    /// libcurl takes a kept connection to the same address, whatever the spelling of the host is.
    @Test func `libcurl sends no request of a public name on a connection that another request opened`() throws {
        let origin = try RawOrigin([VirtualResource(url: "/v", seed: 4, length: 1000)])
        defer { origin.stop() }
        var options = CurlTransportOptions.patient
        options.privateNames = .refused()
        options.usesEnvironmentProxies = false
        let transport = CurlTransport(options: options)
        defer { transport.close() }
        func end(_ host: String) -> TransferEnd? {
            let probe = TransferProbe()
            probe.start(OriginRequest(url: "http://\(host):\(origin.port)/v", fields: [:]), on: transport)
            return probe.waitForEnd()
        }
        for host in ["127.1", "2130706433", "0177.0.0.1"] {
            #expect(end("127.0.0.1") == .complete)
            guard case .failed(.notAsked(let url, let reason)) = end(host) else {
                Issue.record("\(host) was asked on a kept connection")
                return
            }
            #expect(url == "http://\(host):\(origin.port)/v")
            #expect(reason.contains("127.0.0.1") && reason.contains("--allow-private"))
        }
    }

    @Test func `libcurl connects unnamed origins to this machine only for local clients`() throws {
        let origin = try RawOrigin([VirtualResource(url: "/v", seed: 4, length: 1000)])
        defer { origin.stop() }
        func end(_ host: String, _ reach: OriginReach) -> TransferEnd? {
            var options = CurlTransportOptions.patient
            options.usesEnvironmentProxies = false
            let transport = CurlTransport(options: options)
            defer { transport.close() }
            let probe = TransferProbe()
            var request = OriginRequest(url: "http://\(host):\(origin.port)/v", fields: [:])
            request.reach = [reach]
            probe.start(request, on: transport)
            return probe.waitForEnd()
        }
        guard case .failed(.notAsked(_, let reason)) = end("127.1", OriginReach(servesNetwork: true)) else {
            Issue.record("a service of this machine was asked")
            return
        }
        #expect(reason.contains("127.1") && reason.contains("--allow-origin"))
        #expect(origin.connectionCount == 0)
        let named = try #require(try URIReference("http://127.1:\(origin.port)").origin)
        #expect(end("127.1", OriginReach(named: [named], servesNetwork: true)) == .complete)
        #expect(end("127.1", OriginReach()) == .complete)
        // A client of this machine sent this request; the proxy refuses others earlier.
        #expect(end("127.0.0.1", OriginReach(servesNetwork: true)) == .complete)
    }

    @Test(arguments: [
        ("http://media.example/", ["http_proxy": "p"], true), ("http://media.example/", ["https_proxy": "p"], false),
        ("https://media.example/", ["HTTPS_PROXY": "p"], true), ("http://media.example/", ["HTTP_PROXY": "p"], false),
        ("http://media.example/", ["ALL_PROXY": "p"], true), ("http://media.example/", ["http_proxy": ""], false),
        ("http://media.example/", ["http_proxy": "p", "no_proxy": "other.example, media.example"], false),
        ("http://a.media.example/", ["http_proxy": "p", "no_proxy": ".media.example"], false),
        ("http://MEDIA.example./", ["http_proxy": "p", "NO_PROXY": "media.example."], false),
        ("http://xmedia.example/", ["http_proxy": "p", "no_proxy": "media.example"], true),
        ("http://media.example/", ["http_proxy": "p", "no_proxy": "*"], false),
        ("http://10.1.2.3/", ["http_proxy": "p", "no_proxy": "10.0.0.0/8"], false),
        ("http://11.1.2.3/", ["http_proxy": "p", "no_proxy": "10.0.0.0/8,10.1.2.3"], true),
        ("http://10.1.2.3/", ["http_proxy": "p", "no_proxy": "10.1.2.3"], false),
        ("http://[2001:db8::1]/", ["http_proxy": "p", "no_proxy": "2001:db8::/33"], false),
        ("http://[2001:db8:8000::1]/", ["http_proxy": "p", "no_proxy": "2001:db8::/33"], true),
    ])
    func `an environment proxy is used except for hosts in no_proxy`(url: String, variables: [String: String], isUsed: Bool) throws {
        #expect(try EnvironmentProxy { variables[$0] }.isUsed(for: MediaURL(url)) == isUsed)
    }
    #endif
}
