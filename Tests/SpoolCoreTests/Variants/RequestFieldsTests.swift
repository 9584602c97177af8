import SpoolCore
import Testing

/// The fields of a client that go to an origin.
@Suite struct RequestFieldsTests {
    private static let origin = URIReference.Origin(of: "https://media.example/film.mp4")
    private static let other = URIReference.Origin(of: "https://cdn.example/film.mp4")

    private func forwarded(_ fields: HTTPFields, at place: RequestFields.Place, configured: HTTPFields = [:]) -> HTTPFields {
        RequestFields(fields, to: Self.origin, at: place, configured: configured).fields
    }

    private static let general = RequestFields.Place.general(authority: "127.0.0.1:8080") { path in
        path.hasPrefix("/secret/https/") ? "https://" + path.dropFirst("/secret/https/".count) : nil
    }

    /// The fields of Chromium for a `<video>` at a general proxy.
    private static let browser: HTTPFields = [
        "Host": "127.0.0.1:8080", "User-Agent": "Mozilla/5.0", "Accept": "*/*", "Accept-Language": "en-GB", "Accept-Encoding": "identity",
        "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "video", "Sec-Fetch-Mode": "no-cors", "Range": "bytes=0-",
        "sec-ch-ua-platform": "Linux", "DNT": "1", "X-Page": "2",
    ]

    @Test(arguments: [
        ("User-Agent", "MyTV/1.0"), ("Cookie", "id=1; b=2"), ("Authorization", "Bearer t"), ("Accept-Language", "de"),
        ("X-Api-Key", "k"), ("Referer", "https://site.example/page?q"), ("Sec-Fetch-Mode", "navigate"), ("CMCD-Request", "bl=1"),
        ("X-Playback-Session-Id", "u"), ("DNT", "1"), ("Icy-MetaData", "1"), ("transferMode.dlna.org", "Streaming"),
    ]) func `a native player's field reaches the origin of its request`(name: String, value: String) {
        #expect(forwarded([HTTPFields.Name(name): value], at: Self.general)[name] == value)
    }

    @Test(arguments: [
        // Of the connection (RFC 9110 §7.6.1).
        "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Authorization", "Proxy-Connection", "Host",
        "Expect", "Via", "Max-Forwards", "HTTP2-Settings",
        // Of the cache.
        "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Accept-Encoding", "Cache-Control",
        "Pragma", "Origin", "Content-Length", "Content-Type",
        // Changing the body without Vary.
        "TimeSeekRange.dlna.org", "PlaySpeed.dlna.org", "A-IM", "X-HTTP-Method-Override", "X-HTTP-Method",
        "X-Method-Override",
        // Naming a host, a path or a client behind a proxy.
        "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "X-Original-URL", "X-Rewrite-URL",
        "X-Client-IP", "X-Host", "Front-End-Https", "X-ProxyUser-Ip", "X-AppEngine-User-IP", "X-Amzn-Oidc-Identity",
        "CF-Access-Jwt-Assertion",
        // The proxy of CGI programs.
        "Proxy",
    ]) func `a field that poisons, or that is the cache's own, stays here`(name: String) {
        for place in [Self.general, .site] {
            for written in [name, name.uppercased(), name.lowercased()] {
                #expect(forwarded([HTTPFields.Name(written): "1", "Accept": "*/*"], at: place) == ["Accept": "*/*"], "\(written)")
            }
        }
    }

    @Test(
        arguments: [
            (["TimeSeekRange.dlna.org": "npt=10-"], ["TimeSeekRange.dlna.org": "npt=10-"]), (["a-im": "feed"], ["a-im": "feed"]),
            (["PlaySpeed.dlna.org": "2", "Range": "bytes=5-"], ["PlaySpeed.dlna.org": "2", "Range": "bytes=5-"]),
            (["Range": "npt=10-20"], ["Range": "npt=10-20"]), (["Range": "bytes=5-"], [:]), (["Range": "Bytes = 5-"], [:]),
            (["Range": "bytes"], [:]), (["Range": "=5-"], [:]), (["Range": "a b=5-"], [:]), (["Icy-MetaData": "1", "Accept": "*/*"], [:]),
        ] as [(HTTPFields, HTTPFields)])
    func `a request that asks for another body than the resource's is known by its fields`(sent: HTTPFields, asking: HTTPFields) {
        #expect(RequestFields.askingForOtherBody(sent) == asking)
    }

    @Test func `fields that Connection names stay here`() {
        let fields: HTTPFields = ["Connection": "close, X-Hop ,\tx-other", "X-Hop": "1", "X-Other": "2", "X-Kept": "3"]
        #expect(forwarded(fields, at: Self.general) == ["X-Kept": "3"])
    }

    @Test func `the operator's field replaces the client's`() {
        let fields: HTTPFields = ["User-Agent": "Lavf", "Cookie": "a=1", "X-Kept": "3"]
        #expect(forwarded(fields, at: Self.general, configured: ["user-agent": "MyTV", "Cookie": "b=2"]) == ["X-Kept": "3"])
    }

    // MARK: Browsers

    @Test func `a browser's cookies, credentials and metadata are the proxy's, and stay here`() {
        var fields = Self.browser
        fields["Cookie"] = "of=127.0.0.1"
        fields["Authorization"] = "Basic eDp5"
        #expect(
            forwarded(fields, at: Self.general)
                == ["User-Agent": "Mozilla/5.0", "Accept": "*/*", "Accept-Language": "en-GB", "DNT": "1", "X-Page": "2"])
    }

    /// A script of a page sends such a token itself, to this one URL.
    @Test func `a token that only a script can send reaches the origin, also from a browser`() {
        var fields = Self.browser
        fields["Authorization"] = "Bearer t"
        #expect(forwarded(fields, at: Self.general)["Authorization"] == "Bearer t")
    }

    @Test func `a browser that sends no metadata, as to a plain network address, is one all the same`() {
        let fields: HTTPFields = [
            "User-Agent": "Mozilla/5.0", "Accept-Language": "en", "Accept-Encoding": "identity;q=1, *;q=0", "Cookie": "nas=1",
        ]
        #expect(RequestFields.isFromBrowser(fields))
        #expect(forwarded(fields, at: Self.general)["Cookie"] == nil)
    }

    @Test func `a player that borrows a browser's name is none`() {
        // The fields that yt-dlp passes to mpv.
        let fields: HTTPFields = [
            "User-Agent": "Mozilla/5.0", "Accept": "*/*", "Accept-Language": "en-us,en;q=0.5", "Sec-Fetch-Mode": "navigate",
            "Cookie": "id=1",
        ]
        #expect(!RequestFields.isFromBrowser(fields))
        #expect(forwarded(fields, at: Self.general) == fields)
    }

    @Test func `a site gets the cookies and credentials of its browsers`() {
        var fields = Self.browser
        fields["Cookie"] = "id=1"
        fields["Authorization"] = "Basic eDp5"
        let sent = forwarded(fields, at: .site)
        #expect(sent["Cookie"] == "id=1" && sent["Authorization"] == "Basic eDp5" && sent["X-Page"] == "2")
        #expect(sent["Sec-Fetch-Site"] == nil)
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080/secret/https/media.example/page", "https://media.example/page"),
        ("http://127.0.0.1:8080/secret/https/media.example/page?q=1", "https://media.example/page?q=1"),
        ("http://127.0.0.1:8080/secret/https/other.example/page", nil), ("http://127.0.0.1:8080/_spool/", nil),
        ("http://127.0.0.1:8080/", nil), ("https://site.example/", "https://site.example/"), ("nonsense", nil),
    ]) func `a Referer that names the proxy becomes the page behind it, or is dropped`(value: String, expected: String?) {
        #expect(forwarded(["Referer": value], at: Self.general)["Referer"] == expected)
    }

    // MARK: Other origins

    @Test func `another origin sees no field that may carry credentials`() {
        let sent = RequestFields(
            [
                "User-Agent": "MyTV", "Accept": "*/*", "Accept-Language": "de", "Cookie": "a", "Authorization": "b", "X-Api-Key": "c",
                "Referer": "https://site.example/",
            ],
            to: Self.origin, at: Self.general)
        #expect(sent.fields(for: Self.origin) == sent.fields)
        #expect(sent.fields(for: Self.other) == ["User-Agent": "MyTV", "Accept": "*/*", "Accept-Language": "de"])
    }

    @Test func `a resource that a manifest of another origin names gets no credentials, and the referrer stays`() {
        let all: HTTPFields = ["User-Agent": "MyTV", "Referer": "https://site.example/", "Cookie": "a", "X-Api-Key": "c", "X-App": "tv"]
        let sent = RequestFields(all, to: Self.origin, at: Self.general)
        let harmless: HTTPFields = ["User-Agent": "MyTV", "Referer": "https://site.example/"]
        #expect(sent.withoutCredentials(isShared: true).fields == harmless)
        #expect(sent.withoutCredentials(isShared: false).fields == HTTPFields(harmless.lines + [.init(name: "X-App", value: "tv")]))
    }

    // MARK: Credentials

    private func credentials(_ fields: HTTPFields, isShared: Bool = true) -> String {
        RequestFields(fields, to: Self.origin, at: Self.general).credentialText(isShared: isShared)
    }

    @Test func `fields that are not known to be harmless count as credentials, in any order of names`() {
        for name in ["User-Agent", "Accept-Language", "Referer", "DNT", "CMCD-Session", "X-Playback-Session-Id", "Sec-Fetch-Mode"] {
            #expect(credentials([HTTPFields.Name(name): "https://a/"]).isEmpty, "\(name)")
        }
        for name in ["Cookie", "Authorization", "X-Api-Key", "X-Plex-Token", "Token", "X-Any"] {
            #expect(!credentials([HTTPFields.Name(name): "1"]).isEmpty, "\(name)")
        }
        #expect(credentials(["B": "1", "a": "2"]) == credentials(["A": "2", "b": "1"]))
        #expect(credentials(["A": "1", "B": "2"]) != credentials(["A": "2", "B": "1"]))
    }

    @Test func `for one user, only fields that look like credentials count`() {
        for name in ["Cookie", "Authorization", "X-Api-Key", "X-Plex-Token", "X-Session"] {
            #expect(!credentials([HTTPFields.Name(name): "1"], isShared: false).isEmpty, "\(name)")
        }
        #expect(credentials(["X-Any": "1", "X-Playback-Session-Id": "2"], isShared: false).isEmpty)
    }
}

extension URIReference.Origin {
    init(of url: String) { self = try! URIReference(url).origin! }
}
