import SpoolCore
import SpoolProxy
import Testing

@Suite struct `Proxy targets` {
    private func rules(_ change: (inout ProxyOptions) -> Void = { _ in }) throws -> ProxyTargetRules {
        var options = ProxyOptions()
        options.token = nil
        change(&options)
        return try ProxyTargetRules(options)
    }

    private func status(_ target: ProxyTarget) -> Int? {
        if case .refused(let refusal) = target { refusal.status } else { nil }
    }

    @Test func `the token is the first segment, and a request without it is refused`() throws {
        let rules = try rules { $0.token = "s3cret" }
        let song = ProxyTarget.resource(try MediaURL("http://example.com/a"))
        #expect(rules.read(path: "/s3cret/http/example.com/a", host: "localhost") == song)
        #expect(rules.read(path: "/s3cret/?url=http%3A%2F%2Fexample.com%2Fa", host: "localhost") == song)
        #expect(rules.read(path: "/s3cret/_spool/", host: "localhost") == .own(""))
        for path in ["/http/example.com/a", "/s3cre/http/example.com/a", "/s3crett/http/example.com/a", "/", "/_spool/"] {
            #expect(status(rules.read(path: path, host: "localhost")) == 403, "\(path)")
        }
    }

    @Test(arguments: ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "x y", "", "256.1.1.1"])
    func `a foreign Host is refused with 421, so no foreign name can be rebound to the proxy`(host: String) throws {
        #expect(status(try rules().read(path: "/http/example.com/a", host: host)) == 421)
    }

    @Test(arguments: ["127.0.0.1", "127.9.9.9", "localhost:99", "LOCALHOST", "[::1]:8080", "192.168.1.8", "media.home:80"])
    func `a loopback address, localhost and allowed hosts reach the proxy`(host: String) throws {
        let rules = try rules { $0.allowedHosts = ["Media.Home", "192.168.1.8"] }
        #expect(try rules.read(path: "/http/example.com/a", host: host) == .resource(MediaURL("http://example.com/a")))
    }

    /// Browsers reach a loopback listener by these addresses without naming the site of the page.
    @Test(arguments: ["0.0.0.0:8080", "[::]:8080", "[::ffff:127.0.0.1]:8080", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:0]"])
    func `an unspecified or mapped address is refused as Host, on every listener`(host: String) throws {
        #expect(status(try rules().read(path: "/http/example.com/a", host: host)) == 421)
        #expect(status(try rules { $0.allowedHosts = ["*"] }.read(path: "/http/example.com/a", host: host)) == 421)
        let network = try rules { ($0.host, $0.token) = ("0.0.0.0", "abc") }
        #expect(status(network.read(path: "/abc/http/example.com/a", host: host)) == 421)
    }

    @Test func `another address is accepted as Host only in a network or with forwarded ports`() throws {
        for host in ["192.168.1.7:8080", "172.17.0.2", "[2001:db8::7]:8080", "[fe80::1]"] {
            #expect(status(try rules().read(path: "/http/example.com/a", host: host)) == 421, "\(host)")
            for listener in ["0.0.0.0", "::", "192.168.1.5"] {
                let network = try rules { ($0.host, $0.token) = (listener, "abc") }
                let target = network.read(path: "/abc/http/example.com/a", host: host)
                #expect(try target == .resource(MediaURL("http://example.com/a")), "\(host)")
            }
        }
        let container = try rules { $0.allowedHosts = ["*"] }
        #expect(try container.read(path: "/http/example.com/a", host: "nas.example:80") == .resource(MediaURL("http://example.com/a")))
        #expect(try container.read(path: "/http/example.com/a", host: "192.168.1.7") == .resource(MediaURL("http://example.com/a")))
    }

    @Test(arguments: [
        "127.0.0.1:9200", "127.1.1.1", "localhost:9200", "a.LocalHost", "[::1]:9200", "169.254.169.254", "0.0.0.0", "[::]", "[fe80::1]",
        "[::ffff:127.0.0.1]",
    ])
    func `clients of the network reach no service of the proxy's machine unless it is allowed`(host: String) throws {
        let path = "/abc/http/\(host)/x"
        let network = try rules { ($0.host, $0.token) = ("0.0.0.0", "abc") }
        #expect(status(network.read(path: path, host: nil, isFromNetwork: true)) == 403)
        #expect(try network.read(path: path, host: nil) == .resource(MediaURL("http://\(host)/x")))
        let neighbour = network.read(path: "/abc/http/192.168.1.9/x", host: nil, isFromNetwork: true)
        #expect(try neighbour == .resource(MediaURL("http://192.168.1.9/x")))
        let named = try rules { ($0.host, $0.token, $0.allowedOrigins) = ("0.0.0.0", "abc", ["http://\(host)"]) }
        #expect(try named.read(path: path, host: nil, isFromNetwork: true) == .resource(MediaURL("http://\(host)/x")))
        let fixed = try rules { ($0.host, $0.token, $0.fixedOrigin) = ("0.0.0.0", "abc", "http://\(host)") }
        #expect(try fixed.read(path: "/abc/x", host: nil, isFromNetwork: true) == .resource(MediaURL("http://\(host.lowercased())/x")))
    }

    @Test(arguments: [
        ("/s3cret/https/alice:pass@cdn.example/a.mp3?sig=1", "https://cdn.example/a.mp3"),
        ("/s3cret/?url=https%3A%2F%2Falice%3Apass%40cdn.example%2Fa.mp3%3Fsig%3D1", "https://cdn.example/a.mp3"),
        ("http://127.0.0.1:8080/s3cret/http/cdn.example/a", "http://cdn.example/a"),
        ("/s3cret/_spool/api/resources?x", "/_spool/api/resources"),
        ("/s3cret/", "/"), ("/s3cre/https/alice:pass@cdn.example/", "(refused)"), ("/s3cret/ftp/alice:pass@x/", "(refused)"),
    ])
    func `a log line contains no token, no user information and no query`(target: String, logged: String) throws {
        #expect(try rules { $0.token = "s3cret" }.logged(target) == logged)
    }

    @Test func `a log line omits the address of a site's page`() throws {
        #expect(try rules { $0.fixedOrigin = "https://example.com" }.logged("/_spool/s3cret/") == "/_spool/…")
    }

    @Test(arguments: ["/ftp/example.com/a", "/http/", "/x", "/file//etc/passwd", "/http/exa mple.com/\u{1}", "/?url=%zz", "/?url=relative"])
    func `a target that is no http URL is refused with an explanation`(path: String) throws {
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
        #expect(try rules.read(path: "/a/b?c", host: "127.0.0.1") == .resource(MediaURL("https://example.com/a/b?c")))
        #expect(try rules.read(path: "/", host: "127.0.0.1") == .resource(MediaURL("https://example.com/")))
        #expect(rules.read(path: "/_spool/api/resources", host: "127.0.0.1") == .own("api/resources"))
    }

    /// `//host` names another host for every client, and `/\host` for browsers.
    @Test(arguments: ["//evil.example/x", "/\\evil.example/x", "///x", "//", "/.//x", "/a//b"])
    func `a path of the fixed origin leads to no other host, and back to the same URL`(path: String) throws {
        let rules = try rules { $0.fixedOrigin = "https://example.com" }
        let here = try #require(rules.proxied("https://example.com\(path)?q", prefix: "/"))
        #expect(here.hasPrefix("/") && !here.hasPrefix("//") && !here.hasPrefix("/\\"))
        let isDotted = path.hasPrefix("/.//")
        let url = try MediaURL("https://example.com\(isDotted ? "//x" : path)?q")
        #expect(rules.read(path: here, host: "127.0.0.1") == .resource(url))
        #expect(rules.proxied("https://example.com\(path)", prefix: "http://127.0.0.1/") == "http://127.0.0.1\(path)")
    }

    @Test(arguments: [
        "/rtsp/alice:s3cret@cam.example/live?sig=s3cret", "/?url=ftp%3A%2F%2Falice%3As3cret%40host.example%2Fx", "/s3cret:s3cret/x",
        "/?url=mailto%3As3cret%40host.example", "/127.0.0.1:8000/s3cret.mp4",
    ])
    func `a refusal shows the form of a URL, and neither user information nor query`(path: String) throws {
        let target = try rules().read(path: path, host: "127.0.0.1")
        guard case .refused(let refusal) = target else {
            Issue.record("\(path) gave \(target)")
            return
        }
        #expect(refusal.explanation.contains("not an http or https URL") && !refusal.explanation.contains("s3cret"))
        #expect(refusal.explanation.contains("/scheme/host/path"))
    }

    @Test func `a list of allowed origins excludes all others`() throws {
        let rules = try rules { $0.allowedOrigins = ["https://example.com"] }
        #expect(try rules.read(path: "/https/example.com/a", host: "localhost") == .resource(MediaURL("https://example.com/a")))
        #expect(status(rules.read(path: "/https/example.org/a", host: "localhost")) == 403)
        #expect(status(rules.read(path: "/http/example.com/a", host: "localhost")) == 403)
    }

    @Test func `an address that others can reach requires a token`() throws {
        #expect(throws: (any Error).self) { try rules { $0.host = "0.0.0.0" } }
        _ = try rules {
            $0.host = "0.0.0.0"
            $0.token = "abc"
        }
        #expect(throws: (any Error).self) { try rules { $0.token = "a/b" } }
        #expect(throws: (any Error).self) { try rules { $0.token = "" } }
    }
}
