import SpoolCore
import Testing

@Suite struct `resource keys` {
    @Test(arguments: [
        ("http://example.com/a", "http://example.com/a"), ("HTTP://EXAMPLE.com:80/A?B=c#frag", "http://example.com/A?B=c"),
        ("https://example.com:443", "https://example.com/"), ("https://example.com:80/", "https://example.com:80/"),
        ("http://example.com:/", "http://example.com/"), ("http://example.com:0080/", "http://example.com/"),
        ("http://example.com?b=2&a=1", "http://example.com/?b=2&a=1"), ("http://example.com/?", "http://example.com/?"),
        ("http://u:p@example.com/a", "http://example.com/a"), ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"),
        // An origin may tell these apart, so the key does.
        ("http://h/a%2fb", "http://h/a%2fb"), ("http://h/a%2Fb", "http://h/a%2Fb"), ("http://h/a/../b", "http://h/a/../b"),
        ("http://h//a", "http://h//a"), ("http://h/é x", "http://h/%C3%A9%20x"),
    ])
    func `are URLs in normal form`(url: String, key: String) throws {
        #expect(try ResourceKey(url: url).string == key)
        #expect(try ResourceKey(url: key).string == key)
        #expect(try KeyPolicy().key(for: url).string == key)
    }

    @Test(arguments: [
        "", "/a", "example.com/a", "ftp://h/a", "file:///a", "http:/a", "http:///a", "http://", "http://h:x/", "javascript:alert(1)",
    ])
    func `are only of absolute http and https URLs`(url: String) {
        #expect(throws: ParseError.self) { try ResourceKey(url: url) }
    }

    @Test func `of letters composed in two ways stay two`() throws {
        // Swift takes the two strings for equal; the origin does not.
        #expect(try ResourceKey(url: "http://h/\u{E9}") != ResourceKey(url: "http://h/e\u{301}"))
    }

    @Test func `do not change when they are made again`() {
        mutate(["https://user:pw@H.com:8443/a/../b?q#f", "http://[::1]:80/x y", "HTTP://h?é"]) { url in
            let key: ResourceKey
            do throws(ParseError) { key = try ResourceKey(url: url) } catch { return }
            // An error would be nil here, and no key.
            #expect((try? ResourceKey(url: key.string)) == key, "\(url)")
        }
    }
}

@Suite struct `key policies` {
    @Test(arguments: [
        ("http://cdn.com/a?x=1&sig=s&y=2", "http://cdn.com/a?x=1&y=2"), ("http://CDN.com/a?sig=s", "http://cdn.com/a"),
        ("http://cdn.com/a?sig", "http://cdn.com/a"), ("http://cdn.com/a?sig=&sig=2&x", "http://cdn.com/a?x"),
        ("http://cdn.com/a?Sig=s&xsig=1&x=sig", "http://cdn.com/a?Sig=s&xsig=1&x=sig"), ("http://cdn.com/a", "http://cdn.com/a"),
        ("http://cdn.com/a?", "http://cdn.com/a?"), ("http://cdn.com/a?&&x", "http://cdn.com/a?&&x"),
        ("http://other.com/a?sig=s", "http://other.com/a?sig=s"),
        ("http://cdn.com:8080/a?sig=s", "http://cdn.com:8080/a"),
    ])
    func `drop query items of their hosts`(url: String, key: String) throws {
        let policy = KeyPolicy().dropQueryItems(named: ["sig", "expires"], forHosts: ["Cdn.com"])
        #expect(try policy.key(for: url).string == key)
    }

    @Test func `drop query items everywhere`() throws {
        let policy = KeyPolicy().dropQueryItems(named: ["a"]).dropQueryItems(named: ["b"])
        #expect(try policy.key(for: "http://x/?a=1&b=2&c=3").string == "http://x/?c=3")
    }

    @Test func `map hosts once, after rules for the host that was asked`() throws {
        let policy = KeyPolicy()
            .mapHosts(["CDN1.com": "cdn2.com", "cdn2.com": "Cdn3.com"])
            .dropQueryItems(named: ["sig"], forHosts: ["cdn1.com"])
        #expect(try policy.key(for: "https://cdn1.com:8443/a?sig=1").string == "https://cdn2.com:8443/a")
        #expect(try policy.key(for: "https://cdn2.com/a?sig=1").string == "https://cdn3.com/a?sig=1")
    }

    @Test(arguments: [
        ("http://cdn.com/a?x=1&sig=s", "http://cdn.com/a"), ("http://cdn.com/a?", "http://cdn.com/a"),
        ("http://cdn.com/a", "http://cdn.com/a"),
        ("http://x.cdn.com/a?x", "http://x.cdn.com/a"), ("http://x.y.cdn.com/a?x", "http://x.y.cdn.com/a"),
        ("http://xcdn.com/a?x", "http://xcdn.com/a?x"), ("http://.cdn.com/a?x", "http://.cdn.com/a?x"),
    ])
    func `drop the whole query of their hosts and of those below a domain`(url: String, key: String) throws {
        #expect(try KeyPolicy().dropAllQueryItems(forHosts: ["cdn.com", "*.CDN.com"]).key(for: url).string == key)
    }

    @Test func `take the hosts of a set for one, whatever scheme and port`() throws {
        let policy = KeyPolicy().sameHosts(["Cdn.com", "*.cdn.com", "mirror.org"])
        #expect(try policy.key(for: "https://R3--sn.cdn.com/v?b=2&a=1").string == "https://cdn.com/v?b=2&a=1")
        #expect(try policy.key(for: "https://mirror.org:8443/v").string == "https://cdn.com:8443/v")
        #expect(try policy.key(for: "http://cdn.com/v").string == "http://cdn.com/v")
        #expect(try policy.key(for: "http://sub.mirror.org/v").string == "http://sub.mirror.org/v")
        #expect(try KeyPolicy().sameHosts([]).key(for: "http://a/").string == "http://a/")
    }

    @Test func `let the later of two rules for one host count`() throws {
        let policy = KeyPolicy().mapHosts(["a.com": "b.com"]).sameHosts(["c.com", "a.com"])
        #expect(try policy.key(for: "http://a.com/").string == "http://c.com/")
        #expect(try policy.mapHosts(["a.com": "d.com"]).key(for: "http://a.com/").string == "http://d.com/")
    }
}
