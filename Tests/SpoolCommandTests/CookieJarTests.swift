import SpoolCommand
import SpoolCore
import Testing

/// Tests which cookies of a cookie file a request carries (RFC 6265 §5.4).
@Suite struct CookieJarTests {
    private static let now = Timestamp(seconds: 1_700_000_000)

    /// A line of a `cookies.txt` file.
    private static func line(
        _ domain: String, subdomains: Bool = false, path: String = "/", secure: Bool = false, expires: Int = 0, _ pair: String
    ) -> String {
        let columns = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return ([domain, subdomains ? "TRUE" : "FALSE", path, secure ? "TRUE" : "FALSE", "\(expires)"] + columns.map(String.init))
            .joined(separator: "\t")
    }

    @Test(arguments: [
        ("https://example.com/", "a=1"), ("https://EXAMPLE.com/film", "a=1"), ("https://example.com:8443/", "a=1"),
        ("http://example.com/", nil),
        ("https://www.example.com/", nil), ("https://notexample.com/", nil), ("https://com/", nil), ("ftp:", nil), ("", nil),
    ])
    func `a cookie of one host goes to that host`(url: String, field: String?) throws {
        let jar = try CookieJar(netscape: Self.line("example.com", "a=1"))
        #expect(jar.field(for: url, now: Self.now) == field)
    }

    @Test(arguments: [
        ("https://example.com/", "a=1"), ("https://cdn.media.example.com/", "a=1"), ("https://badexample.com/", nil),
        ("https://example.com.evil.test/", nil),
    ])
    func `a cookie of a domain goes to its subdomains`(url: String, field: String?) throws {
        for domain in ["example.com", ".example.com", ".EXAMPLE.com"] {
            let jar = try CookieJar(netscape: Self.line(domain, subdomains: true, "a=1"))
            #expect(jar.field(for: url, now: Self.now) == field)
        }
    }

    @Test(arguments: [
        ("/", "/film", true), ("/films", "/films", true), ("/films", "/films/1", true), ("/films/", "/films/1", true),
        ("/films", "/filmstrip", false), ("/films/", "/films", false), ("/films", "/", false),
    ])
    func `a cookie goes to its path and to paths below it`(path: String, asked: String, goes: Bool) throws {
        let jar = try CookieJar(netscape: Self.line("a.test", path: path, "a=1"))
        #expect((jar.field(for: "https://a.test" + asked, now: Self.now) != nil) == goes)
    }

    @Test func `a secure cookie goes to HTTPS only, and an expired one nowhere`() throws {
        let jar = try CookieJar(
            netscape: [
                Self.line("a.test", secure: true, "secure=1"), Self.line("a.test", expires: 1_700_000_000, "old=1"),
                Self.line("a.test", expires: 1_700_000_001, "young=1"),
            ].joined(separator: "\n"))
        #expect(jar.field(for: "http://a.test/", now: Self.now) == nil)
        #expect(jar.field(for: "https://a.test/", now: Self.now) == "secure=1; young=1")
    }

    @Test(arguments: [
        ("http://nas.local:8096/", "a=1"), ("http://nas.local:8096/film", "a=1"), ("http://nas.local/", nil),
        ("https://nas.local:8096/", nil),
        ("http://nas.local:81/", nil), ("http://www.nas.local:8096/", nil),
    ])
    func `a cookie of an origin goes to that origin only`(url: String, field: String?) throws {
        let jar = try CookieJar(netscape: Self.line("http://nas.local:8096", "a=1"))
        #expect(jar.field(for: url, now: Self.now) == field)
    }

    @Test func `cookies with longer paths come first, the others in file order`() throws {
        let jar = try CookieJar(
            netscape: [
                Self.line("a.test", "first=1"), Self.line("a.test", path: "/films", "film=1"), Self.line("a.test", "second=2"),
            ].joined(separator: "\n"))
        #expect(jar.field(for: "https://a.test/films/1", now: Self.now) == "film=1; first=1; second=2")
    }

    @Test func `comments, empty lines, CRLF and HttpOnly cookies are read as browsers write them`() throws {
        let text =
            "# Netscape HTTP Cookie File\r\n\r\n#HttpOnly_" + Self.line("a.test", "a=1") + "\r\n" + Self.line("a.test", "empty=") + "\r\n"
        let jar = try CookieJar(netscape: text)
        #expect(jar.field(for: "https://a.test/", now: Self.now) == "a=1; empty=")
    }

    @Test(arguments: [
        "a.test\tFALSE\t/\tFALSE\t0", "a.test FALSE / FALSE 0 a 1", "a.test\tMAYBE\t/\tFALSE\t0\ta\t1",
        "a.test\tFALSE\tfilms\tFALSE\t0\ta\t1",
        "a.test\tFALSE\t/\tFALSE\tsoon\ta\t1", "\tFALSE\t/\tFALSE\t0\ta\t1", "a.test\tFALSE\t/\tFALSE\t0\ta\t1;b=2",
        "a.test\tFALSE\t/\tFALSE\t0\ta\t\u{1}", "a.test\tFALSE\t/\tFALSE\t99999999999999999999\ta\t1",
    ])
    func `an invalid line is reported by its number`(line: String) {
        let error = #expect(throws: ParseError.self) { try CookieJar(netscape: "# comment\n" + line) }
        #expect(error?.offset == 2)
    }

    @Test func `the cookies of a request stay within the size that servers accept`() throws {
        let lines = (0..<1000).map { Self.line("a.test", "name\($0)=" + String(repeating: "x", count: 100)) }
        let field = try #require(try CookieJar(netscape: lines.joined(separator: "\n")).field(for: "https://a.test/", now: Self.now))
        #expect(field.utf8.count <= CookieJar.mostBytes && field.utf8.count > CookieJar.mostBytes - 200)
    }
}
