import SpoolCore
import Testing

@Suite struct `URI references` {
    @Test func `a reference is split into its components`() throws {
        let uri = try URIReference("https://user:pw@Example.com:8443/a/b;c=1?q=/?x#frag?ment")
        #expect(uri.scheme == "https")
        #expect(uri.userinfo == "user:pw")
        #expect(uri.host == "Example.com")
        #expect(uri.port == 8443)
        #expect(uri.path == "/a/b;c=1")
        #expect(uri.query == "q=/?x")
        #expect(uri.fragment == "frag?ment")
    }

    // The examples of RFC 3986 §1.1.2.
    @Test(
        arguments: [
            ("ftp://ftp.is.co.za/rfc/rfc1808.txt", "ftp", "ftp.is.co.za", "/rfc/rfc1808.txt"),
            ("ldap://[2001:db8::7]/c=GB?objectClass?one", "ldap", "[2001:db8::7]", "/c=GB"),
            ("mailto:John.Doe@example.com", "mailto", nil, "John.Doe@example.com"), ("tel:+1-816-555-1212", "tel", nil, "+1-816-555-1212"),
            ("telnet://192.0.2.16:80/", "telnet", "192.0.2.16", "/"),
            ("urn:oasis:names:specification:docbook:dtd:xml:4.1.2", "urn", nil, "oasis:names:specification:docbook:dtd:xml:4.1.2"),
        ] as [(String, String, String?, String)])
    func `the examples of RFC 3986 are split`(text: String, scheme: String, host: String?, path: String) throws {
        let uri = try URIReference(text)
        #expect(uri.scheme.map(String.init) == scheme)
        #expect(uri.host.map(String.init) == host)
        #expect(uri.path == path)
    }

    @Test func `an empty component is not an absent one`() throws {
        let uri = try URIReference("http://@h:/?#")
        #expect(uri.userinfo == "")
        #expect(uri.port == nil)
        #expect(uri.query == "")
        #expect(uri.fragment == "")
        let relative = try URIReference("")
        #expect(relative.scheme == nil && relative.host == nil && relative.path.isEmpty && relative.query == nil)
    }

    @Test func `percent-encoding and odd characters of paths are kept`() throws {
        let uri = try URIReference("http://h/a%2fb%2F%zz/[x]|{y}?a[]=%20&\"")
        #expect(uri.path == "/a%2fb%2F%zz/[x]|{y}")
        #expect(uri.query == "a[]=%20&\"")
    }

    @Test(arguments: [
        ("http://h/a b", 10), ("http://h/\u{7f}", 9), ("http://h/é", 9), ("http://h/\r\nHost: x", 9), ("1http://h/", 0), (":x", 0),
        ("ht_tp://h/", 2), ("http://h:80a/", 11), ("http://h:65536/", 9), ("http://h:99999999999999999999/", 9), ("http://h:1:2/", 10),
        ("http://a\\b@evil/", 8), ("http://a@b@c/", 8), ("http://h\\/", 8), ("http://<h>/", 7), ("http://[::1/", 11),
        ("http://[::1]x/", 12),
        // A resolver would decode these names to another host.
        ("http://evil%2ecom/", 11), ("http://loc%61lhost/", 10), ("http://a!b/", 8), ("http://h%/", 8), ("http://h%c/", 8),
        ("http://[1:2]/", 8), ("http://[]/", 8), ("http://[::g]/", 8), ("http://h]/", 8),
    ])
    func `a reference that breaks the grammar fails with an offset`(text: String, offset: Int) {
        let error = #expect(throws: ParseError.self) { try URIReference(text) }
        #expect(error?.offset == offset)
    }

    @Test func `an internationalised host name is percent-encoded`() throws {
        #expect(try URIReference(lenient: "http://münchen.example/").host == "m%C3%BCnchen.example")
    }

    @Test(arguments: [
        "::", "::1", "1::", "1:2:3:4:5:6:7:8", "2001:DB8::7", "::ffff:192.0.2.1", "1:2:3:4:5:6:1.2.3.4", "1:2:3::5:6:7:8",
        "fe80::1:2:3:4",
    ])
    func `a valid IPv6 address is a host`(address: String) throws {
        #expect(try URIReference("http://[\(address)]:80/").host == "[\(address)]")
    }

    @Test(arguments: [
        "1", ":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", ":1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:", "12345::", "::1.2.3",
        "::1.2.3.256", "1.2.3.4::", "::1.2.3.4:5", "1:2:3:4:5:6:7:1.2.3.4", "fe80::1%25eth0", "1::2:3:4:5:6:7:8", "::1.2..3",
    ])
    func `an invalid IPv6 address is an error`(address: String) {
        #expect(throws: ParseError.self) { try URIReference("http://[\(address)]/") }
    }

    @Test func `a reference over 64 kibibytes is an error`() throws {
        _ = try URIReference("/" + String(repeating: "a", count: URIReference.maxBytes - 1))
        #expect(throws: ParseError.self) { try URIReference("/" + String(repeating: "a", count: URIReference.maxBytes)) }
    }

    @Test func `a lenient reference encodes spaces and letters`() throws {
        #expect(try URIReference(lenient: "http://h/a b/é?ü").text == "http://h/a%20b/%C3%A9?%C3%BC")
        #expect(throws: ParseError.self) { try URIReference(lenient: "http://h/a\nb") }
    }

    @Test func `origins compare without case and default port`() throws {
        let origin = try #require(try URIReference("HTTPS://Example.COM/x").origin)
        #expect(origin == (try URIReference("https://u@example.com:443/y").origin))
        #expect(origin.description == "https://example.com")
        #expect(try URIReference("http://example.com:8080/").origin?.description == "http://example.com:8080")
        #expect(try URIReference("http://example.com:443/").origin != origin)
        #expect(try URIReference("http://[::1]/").origin?.authority == "[::1]")
        #expect(try URIReference("/path").origin == nil)
        #expect(try URIReference("http:///path").origin == nil)
        #expect(try URIReference("rtsp://h/").origin == nil)
        #expect(try URIReference("rtsp://h:554/").origin?.port == 554)
    }

    @Test(arguments: [
        ("https://user:pw@h:8443/a/b?token=1#x", "https://h:8443/a/b"), ("/a?b", "/a"), ("//u@h/a", "//h/a"), ("urn:x?y", "urn:x"),
    ])
    func `a reference in a log contains no secrets`(text: String, logged: String) throws {
        #expect(try URIReference(text).redactedForLog == logged)
    }

    @Test func `mutated references never trap, and their components add up to the text`() {
        mutate(["https://user:pw@h.com:8443/a/../b?q#f", "//[::1]:80/x", "../a/./b?c", "mailto:x@y"]) { text in
            let uri: URIReference
            do throws(ParseError) { uri = try URIReference(text) } catch {
                #expect(error.offset <= text.utf8.count, "\(text)")
                return
            }
            // The port is a number, so zeros or its colon may be lost.
            let length =
                (uri.scheme.map { $0.utf8.count + 1 } ?? 0) + (uri.userinfo.map { $0.utf8.count + 1 } ?? 0)
                + (uri.host.map { $0.utf8.count + 2 } ?? 0)
                + uri.path.utf8.count + (uri.query.map { $0.utf8.count + 1 } ?? 0) + (uri.fragment.map { $0.utf8.count + 1 } ?? 0)
            #expect(length <= text.utf8.count, "\(text)")
            if uri.host == nil { #expect(length == text.utf8.count, "\(text)") }
        }
    }
}

@Suite struct `references against a base` {
    private static let base = "http://a/b/c/d;p?q"

    // RFC 3986 §5.4.1
    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"),
        ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
        ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
        ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"),
    ])
    func `the normal examples of RFC 3986 are resolved`(reference: String, expected: String) throws {
        #expect(try URIReference(Self.base).resolving(URIReference(reference)).text == expected)
    }

    // RFC 3986 §5.4.2; `http:g` by the strict reading.
    @Test(arguments: [
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
        ("http:g", "http:g"),
    ])
    func `the abnormal examples of RFC 3986 are resolved`(reference: String, expected: String) throws {
        #expect(try URIReference(Self.base).resolving(URIReference(reference)).text == expected)
    }

    @Test(arguments: [
        ("http://h", "x", "http://h/x"), ("http://h?q", "x", "http://h/x"), ("http://u:p@h:8080/a", "/b", "http://u:p@h:8080/b"),
        ("http://h/a/b", "//[::1]:8/c", "http://[::1]:8/c"), ("http://h/a%2F..%2Fb/c", "d", "http://h/a%2F..%2Fb/d"),
        ("https://h/a", "http://other/b", "http://other/b"), ("http://h/a//b", "../c", "http://h/a/c"), ("http://h/", "///x", "http:///x"),
        ("http://h/a", "?", "http://h/a?"), ("urn:a/b", "..//c", "urn:/.//c"),
    ])
    func `the Location of a redirect is resolved`(base: String, reference: String, expected: String) throws {
        #expect(try URIReference(base).resolving(URIReference(reference)).text == expected)
    }

    @Test func `the Location of a redirect may contain spaces and letters`() throws {
        #expect(try URIReference("http://h/a").resolving(lenient: "/ä b").text == "http://h/%C3%A4%20b")
    }

    /// The results are those of `new URL(reference, base)` in browsers.
    @Test(arguments: [
        ("%2e%2e/g", "http://a/b/g"), (".%2E/%2e./g", "http://a/g"), ("%2e/g", "http://a/b/c/g"), ("%2e%2e", "http://a/b/"),
        ("/%2e%2e/g", "http://a/g"), ("/g/%2E%2E/%2e%2e/h", "http://a/h"), ("..\\g", "http://a/b/g"), ("/..\\g", "http://a/g"),
        ("\\g", "http://a/g"), ("\\\\h\\g", "http://h/g"), ("/\\h/g", "http://h/g"), ("http:\\\\h\\x\\..\\g", "http://h/g"),
        ("HTTPS://h/x/%2e%2e/g", "HTTPS://h/g"), ("g?%2e%2e/\\h", "http://a/b/c/g?%2e%2e/\\h"),
        ("g#%2e%2e/\\h", "http://a/b/c/g#%2e%2e/\\h"),
        ("%2e%2eg/g%2e%2e/%2e%2e%2e", "http://a/b/c/%2e%2eg/g%2e%2e/%2e%2e%2e"),
        ("%2e%2e%2fg/%5c/%252e%252e", "http://a/b/c/%2e%2e%2fg/%5c/%252e%252e"),
        ("%2e%2e/$N%05d$", "http://a/b/$N%05d$"), ("data:%2e%2e/\\", "data:%2e%2e/\\"),
    ])
    func `encoded dot segments and backslashes are read as browsers read them`(reference: String, expected: String) throws {
        #expect(try URIReference(Self.base).resolving(lenient: reference).text == expected)
        // The plain form means the same to the letter of RFC 3986.
        #expect(try URIReference(Self.base).resolving(URIReference(reference.withPlainDotSegments)).text == expected)
    }

    @Test func `a reference whose result is too long is an error`() throws {
        let long = String(repeating: "a", count: URIReference.maxBytes - 20)
        #expect(throws: ParseError.self) { try URIReference("http://h/\(long)/x").resolving(URIReference(long)) }
    }

    @Test func `mutated references never trap and leave no dot segment`() {
        mutate(["../../g", "./a/../b/.//..", "//h/../x", "?y", "a/b/c/../../.."]) { text in
            let result: URIReference
            do throws(ParseError) { result = try URIReference(Self.base).resolving(URIReference(text)) } catch { return }
            // Without an authority, a path that starts with two slashes needs a dot segment, to
            // differ from an authority (RFC 3986 §3.3).
            let path = result.host == nil && result.path.hasPrefix("/.//") ? result.path.dropFirst(2) : result.path
            let segments = path.split(separator: "/", omittingEmptySubsequences: false)
            #expect(!segments.contains("..") && !segments.contains("."), "\(text)")
            #expect(result.scheme != nil, "\(text)")
        }
    }
}
