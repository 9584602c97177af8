import SpoolCore
import SpoolServer
import SpoolSystem
import Testing

/// The clients of a server that is behind other proxies.
@Suite(.timeLimit(.minutes(20))) struct ForwardingTests {
    /// A server that answers with the client, scheme and authority of a request.
    private func server(_ fronts: FrontProxies?, perClient: Int = 128) throws -> TestServer {
        try TestServer({
            $0.fronts = fronts
            $0.connectionsPerClient = perClient
        }) { request, exchange in
            let client = exchange.clientAddress?.literal ?? "none"
            let text =
                "\(client) \(request.publicScheme)://\(request.publicAuthority ?? "") \(exchange.isFromNetwork) \(exchange.isFromThisMachine)"
            // A request for `/wait` is answered never.
            if request.target != "/wait" { exchange.respond(Response(200, body: .bytes(Array(text.utf8)))) }
        }
    }

    private func get(_ client: Client, _ lines: String) throws -> String {
        client.send("GET / HTTP/1.1\r\nHost: here\r\n\(lines)\r\n")
        return try client.answer().text
    }

    @Test(arguments: [
        (1, "X-Forwarded-For: 198.51.100.7\r\n", "198.51.100.7"), (1, "X-Forwarded-For: 10.9.9.9, 198.51.100.7\r\n", "198.51.100.7"),
        (2, "X-Forwarded-For: 10.9.9.9, 198.51.100.7 ,192.0.2.1\r\n", "198.51.100.7"),
        (2, "X-Forwarded-For: 198.51.100.7\r\n", "198.51.100.7"),
        (1, "X-Forwarded-For: 10.9.9.9\r\nx-forwarded-for: 198.51.100.7\r\n", "198.51.100.7"),
        (1, "X-Forwarded-For: 198.51.100.7:4711\r\n", "198.51.100.7"), (1, "X-Forwarded-For: 2001:db8::7\r\n", "2001:db8::7"),
        (1, "X-Forwarded-For: [2001:db8::7]:80\r\n", "2001:db8::7"), (1, "X-Forwarded-For: unknown\r\n", "none"),
        (1, "X-Forwarded-For: ::ffff:127.0.0.1\r\n", "127.0.0.1"),
    ])
    func `a believed proxy names the client at its place from the end`(hops: Int, lines: String, client: String) throws {
        let server = try server(FrontProxies(hops: hops))
        defer { server.stop() }
        #expect(try get(server.connect(), lines) == "\(client) http://here true false")
    }

    @Test func `the place of the client is the one that the proxy states`() throws {
        let server = try server(FrontProxies())
        defer { server.stop() }
        let lines = "X-Forwarded-For: 198.51.100.7\r\nX-Forwarded-Proto: HTTPS\r\nX-Forwarded-Host: evil.example, media.example\r\n"
        #expect(try get(server.connect(), lines) == "198.51.100.7 https://media.example true false")
        #expect(try get(server.connect(), "X-Forwarded-For: 198.51.100.7\r\nX-Forwarded-Proto: ftp\r\n").contains("http://here"))
        // Without a field that names a client, no proxy passed the request on.
        #expect(try get(server.connect(), "X-Forwarded-Host: media.example\r\n") == "127.0.0.1 http://here true true")
    }

    @Test(arguments: ["Forwarded: for=198.51.100.7", "X-Real-IP: 198.51.100.7"])
    func `a believed proxy that names its client in another field passes on a stranger without an address`(line: String) throws {
        let server = try server(FrontProxies())
        defer { server.stop() }
        #expect(try get(server.connect(), line + "\r\n") == "none http://here true false")
    }

    @Test func `without the option, the fields show only that the request was passed on`() throws {
        let server = try server(nil)
        defer { server.stop() }
        #expect(try get(server.connect(), "") == "127.0.0.1 http://here false true")
        for name in ["X-Forwarded-For", "Forwarded", "X-Real-IP"] {
            #expect(
                try get(server.connect(), "\(name): 198.51.100.7\r\nX-Forwarded-Host: evil.example\r\n")
                    == "127.0.0.1 http://here true false")
        }
    }

    @Test func `the requests of one client are bounded, however many connections the proxy has`() throws {
        let server = try server(FrontProxies(), perClient: 2)
        defer { server.stop() }
        let waiting = try (0..<2).map { _ in try server.connect() }
        for client in waiting { client.send("GET /wait HTTP/1.1\r\nHost: here\r\nX-Forwarded-For: 198.51.100.7\r\n\r\n") }
        server.wait { server.server.counters.requests == 2 }
        let further = try server.connect()
        further.send("GET / HTTP/1.1\r\nHost: here\r\nX-Forwarded-For: 198.51.100.7\r\n\r\n")
        #expect(try further.answer().status == 503)
        #expect(try get(server.connect(), "X-Forwarded-For: 198.51.100.8\r\n").hasPrefix("198.51.100.8"))
        // A request that ends makes room.
        waiting[0].close()
        server.wait { server.server.counters.openConnections <= 2 }
        let next = try server.connect()
        for _ in 0..<4 { #expect(try get(next, "X-Forwarded-For: 198.51.100.7\r\n").hasPrefix("198.51.100.7")) }
        waiting[1].close()
    }

    @Test(arguments: [
        ("10.0.0.5", "10.0.0.5", true), ("10.0.0.5", "10.0.0.6", false), ("10.0.0.0/8", "10.255.0.1", true),
        ("10.0.0.0/8", "11.0.0.1", false),
        ("172.16.0.0/12", "172.31.255.255", true), ("172.16.0.0/12", "172.32.0.0", false), ("0.0.0.0/0", "203.0.113.7", true),
        ("0.0.0.0/0", "2001:db8::1", false), ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
        ("10.0.0.5", "::ffff:10.0.0.5", true), ("::1", "::1", true),
    ])
    func `a range has the addresses that begin with its bits`(range: String, address: String, isInside: Bool) throws {
        let range = try #require(AddressRange(range))
        #expect(range.contains(try #require(SocketAddress(literal: address, port: 0))) == isInside)
    }

    @Test(arguments: ["", "balancer", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "::1/129", "/8"])
    func `another text is no range`(text: String) { #expect(AddressRange(text) == nil) }
}
