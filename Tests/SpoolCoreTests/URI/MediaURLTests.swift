import SpoolCore
import Testing

/// The parts of a URL that a door parses once.
struct MediaURLTests {
    @Test(
        arguments: [
            ("http://a.example", "http://a.example", "", nil, "/"),
            ("HTTPS://A.example:443/x?y#z", "https://a.example", "/x", "y", "/x?y"),
            ("http://[::1]:8080?q", "http://[::1]:8080", "", "q", "/?q"),
            ("http://u:p@a.example/x?", "http://a.example", "/x", "", "/x?"),
            ("http://a.example/ü x?é", "http://a.example", "/%C3%BC%20x", "%C3%A9", "/%C3%BC%20x?%C3%A9"),
        ] as [(String, String, String, String?, String)])
    func `a URL has its origin, path and query`(text: String, origin: String, path: String, query: String?, target: String) throws {
        let url = try MediaURL(text)
        #expect(url.origin.description == origin)
        #expect(url.path == path)
        #expect(url.query.map(String.init) == query)
        #expect(url.target == target)
    }

    @Test(arguments: ["", "/x", "//a.example/x", "ftp://a.example/", "http:/x", "http:///x", "http://a:x/", "data:,x", "http://a b/"])
    func `a text without http, https or a host is no URL of a resource`(text: String) {
        #expect(throws: ParseError.self) { try MediaURL(text) }
    }

    @Test func `user information and fragment can be removed`() throws {
        let url = try MediaURL("http://u:p@a.example/x?y#z")
        #expect(url.userinfo == "u:p")
        #expect(url.withoutUserinfo == "http://a.example/x?y#z")
        #expect(try url.withoutFragment.text == "http://u:p@a.example/x?y")
        #expect(url.redactedForLog == "http://a.example/x")
        #expect(try MediaURL("http://a.example/x?").withoutFragment.text == "http://a.example/x?")
        #expect(try MediaURL("http://@a.example/").userinfo == "")
    }
}
