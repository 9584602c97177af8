import SpoolCore
import Testing

@Suite struct `resource keys` {
    @Test(arguments: [
        ("http://example.com/a", "http://example.com/a"), ("HTTP://EXAMPLE.com:80/A?B=c#frag", "http://example.com/A?B=c"),
        ("https://example.com:443", "https://example.com/"), ("https://example.com:80/", "https://example.com:80/"),
        ("http://example.com:/", "http://example.com/"), ("http://example.com:0080/", "http://example.com/"),
        ("http://example.com?b=2&a=1", "http://example.com/?b=2&a=1"), ("http://example.com/?", "http://example.com/?"),
        ("http://u:p@example.com/a", "http://example.com/a"), ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"),
        // An origin may distinguish these URLs, so their keys differ.
        ("http://h/a%2fb", "http://h/a%2fb"), ("http://h/a%2Fb", "http://h/a%2Fb"), ("http://h/a/../b", "http://h/a/../b"),
        ("http://h//a", "http://h//a"), ("http://h/é x", "http://h/%C3%A9%20x"),
    ])
    func `a key is the URL in normal form`(url: String, key: String) throws {
        #expect(try ResourceKey(url: url).string == key)
        #expect(try ResourceKey(url: key).string == key)
        #expect(try KeyPolicy().key(for: url).string == key)
    }

    @Test(arguments: [
        "", "/a", "example.com/a", "ftp://h/a", "file:///a", "http:/a", "http:///a", "http://", "http://h:x/", "javascript:alert(1)",
    ])
    func `only an absolute http or https URL has a key`(url: String) {
        #expect(throws: ParseError.self) { try ResourceKey(url: url) }
    }

    @Test func `keys of composed and decomposed letters differ`() throws {
        // Swift compares the two strings as equal; the origin does not.
        #expect(try ResourceKey(url: "http://h/\u{E9}") != ResourceKey(url: "http://h/e\u{301}"))
    }

    @Test func `a key made from a key is the same`() {
        mutate(["https://user:pw@H.com:8443/a/../b?q#f", "http://[::1]:80/x y", "HTTP://h?é"]) { url in
            let key: ResourceKey
            do throws(ParseError) { key = try ResourceKey(url: url) } catch { return }
            // `try?` would turn an error into nil, and nil is not equal to the key.
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
    func `a policy drops query items for its hosts`(url: String, key: String) throws {
        let policy = KeyPolicy().dropQueryItems(named: ["sig", "expires"], forHosts: ["Cdn.com"])
        #expect(try policy.key(for: url).string == key)
    }

    @Test func `a policy drops query items for every host`() throws {
        let policy = KeyPolicy().dropQueryItems(named: ["a"]).dropQueryItems(named: ["b"])
        #expect(try policy.key(for: "http://x/?a=1&b=2&c=3").string == "http://x/?c=3")
    }

    @Test func `a policy maps hosts once, after the rules for the requested host`() throws {
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
    func `a policy drops the whole query for its hosts and their subdomains`(url: String, key: String) throws {
        #expect(try KeyPolicy().dropAllQueryItems(forHosts: ["cdn.com", "*.CDN.com"]).key(for: url).string == key)
    }

    @Test func `a policy treats a set of hosts as one, whatever scheme and port`() throws {
        let policy = KeyPolicy().sameHosts(["Cdn.com", "*.cdn.com", "mirror.org"])
        #expect(try policy.key(for: "https://R3--sn.cdn.com/v?b=2&a=1").string == "https://cdn.com/v?b=2&a=1")
        #expect(try policy.key(for: "https://mirror.org:8443/v").string == "https://cdn.com:8443/v")
        #expect(try policy.key(for: "http://cdn.com/v").string == "http://cdn.com/v")
        #expect(try policy.key(for: "http://sub.mirror.org/v").string == "http://sub.mirror.org/v")
        #expect(try KeyPolicy().sameHosts([]).key(for: "http://a/").string == "http://a/")
    }

    @Test func `the later of two rules for one host counts`() throws {
        let policy = KeyPolicy().mapHosts(["a.com": "b.com"]).sameHosts(["c.com", "a.com"])
        #expect(try policy.key(for: "http://a.com/").string == "http://c.com/")
        #expect(try policy.mapHosts(["a.com": "d.com"]).key(for: "http://a.com/").string == "http://d.com/")
    }
}
