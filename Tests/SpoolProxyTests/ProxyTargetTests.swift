import SpoolProxy
import Testing

@Suite struct `Proxy targets` {
    private func rules(_ change: (inout ProxyOptions) -> Void = { _ in }) throws -> ProxyTargetRules {
        var options = ProxyOptions()
        change(&options)
        return try ProxyTargetRules(options)
    }

    private func status(_ target: ProxyTarget) -> Int? {
        if case .refused(let refusal) = target { refusal.status } else { nil }
    }

    @Test(arguments: [
        ("/http/example.com/a/b.mp3", "http://example.com/a/b.mp3"),
        ("/https/example.com:8443/a?x=1&y=%20", "https://example.com:8443/a?x=1&y=%20"),
        ("/https/example.com", "https://example.com/"),
        ("/http/[::1]:81/x", "http://[::1]:81/x"),
        ("/http/example.com//double/../dots", "http://example.com//double/../dots"),
        ("/?url=https%3A%2F%2Fexample.com%2Fa%3Fb%3D1%26c", "https://example.com/a?b=1&c"),
        ("/?other=1&url=http%3A%2F%2Fexample.com%2F%25C3%25A9", "http://example.com/%C3%A9"),
    ])
    func `a proxied URL names the origin's URL exactly`(path: String, url: String) throws {
        #expect(try rules().read(path: path, host: "127.0.0.1:8080") == .resource(url))
    }

    @Test func `the token is the first segment, and nothing is served without it`() throws {
        let rules = try rules { $0.token = "s3cret" }
        #expect(rules.read(path: "/s3cret/http/example.com/a", host: "localhost") == .resource("http://example.com/a"))
        #expect(rules.read(path: "/s3cret/?url=http%3A%2F%2Fexample.com%2Fa", host: "localhost") == .resource("http://example.com/a"))
        #expect(rules.read(path: "/s3cret/_spool/", host: "localhost") == .own(""))
        for path in ["/http/example.com/a", "/s3cre/http/example.com/a", "/s3crett/http/example.com/a", "/", "/_spool/"] {
            #expect(status(rules.read(path: path, host: "localhost")) == 403, "\(path)")
        }
    }

    @Test(arguments: ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "x y", "", "256.1.1.1"])
    func `a foreign Host is misdirected, so that no foreign name can be rebound to the proxy`(host: String) throws {
        #expect(status(try rules().read(path: "/http/example.com/a", host: host)) == 421)
    }

    @Test(arguments: ["127.0.0.1", "localhost:99", "LOCALHOST", "[::1]:8080", "192.168.1.7:8080", "media.home:80"])
    func `an address, localhost and an allowed name are the proxy`(host: String) throws {
        let rules = try rules { $0.allowedHosts = ["Media.Home"] }
        #expect(rules.read(path: "/http/example.com/a", host: host) == .resource("http://example.com/a"))
    }

    @Test(arguments: ["/ftp/example.com/a", "/http/", "/x", "/file//etc/passwd", "/http/exa mple.com/\u{1}", "/?url=%zz", "/?url=relative"])
    func `what is no http URL is refused with an explanation`(path: String) throws {
        let target = try rules().read(path: path, host: "localhost")
        guard case .refused(let refusal) = target else {
            Issue.record("\(path) gave \(target)")
            return
        }
        #expect((400...404).contains(refusal.status))
        #expect(!refusal.explanation.isEmpty)
    }

    @Test func `a fixed origin is served under its own paths`() throws {
        let rules = try rules { $0.fixedOrigin = "https://Example.com/" }
        #expect(rules.read(path: "/a/b?c", host: "127.0.0.1") == .resource("https://example.com/a/b?c"))
        #expect(rules.read(path: "/", host: "127.0.0.1") == .resource("https://example.com/"))
        #expect(rules.read(path: "/_spool/api/resources", host: "127.0.0.1") == .own("api/resources"))
    }

    @Test func `only listed origins are asked when there is a list`() throws {
        let rules = try rules { $0.allowedOrigins = ["https://example.com"] }
        #expect(rules.read(path: "/https/example.com/a", host: "localhost") == .resource("https://example.com/a"))
        #expect(status(rules.read(path: "/https/example.org/a", host: "localhost")) == 403)
        #expect(status(rules.read(path: "/http/example.com/a", host: "localhost")) == 403)
    }

    @Test func `an address that others can reach demands a token`() throws {
        #expect(throws: (any Error).self) { try rules { $0.host = "0.0.0.0" } }
        _ = try rules {
            $0.host = "0.0.0.0"
            $0.token = "abc"
        }
        #expect(throws: (any Error).self) { try rules { $0.token = "a/b" } }
        #expect(throws: (any Error).self) { try rules { $0.token = "" } }
    }
}
