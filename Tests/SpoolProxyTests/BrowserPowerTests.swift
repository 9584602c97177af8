import Spool
import SpoolCore
import SpoolProxy
import SpoolTesting
import Testing

/// The rights of an origin's content in the browser origin of a general proxy, which all origins
/// share.
@Suite(.timeLimit(.minutes(20))) struct BrowserPowerTests {
    private static let sandbox = "sandbox; default-src 'none'"
    private static let media = "default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'"

    private static let active = [
        "text/html", "Text/HTML; charset=utf-8", "application/xhtml+xml", "image/svg+xml", "application/dash+xml", "text/xml",
        "application/xml", "application/pdf", "application/rss+xml", "multipart/x-mixed-replace; boundary=x", "message/rfc822",
        // Browsers take the last of several types.
        "video/mp4, text/html", "text/html, video/mp4",
    ]
    private static let inactive = [
        "video/mp4", "audio/mp4; codecs=\"mp4a.40.2\"", "audio/mpeg", "image/jpeg", "text/vtt", "application/vnd.apple.mpegurl",
        "application/x-mpegURL", "font/woff2",
    ]
    private static let mistyped: [String?] = ["application/octet-stream", "binary/octet-stream", "text/plain", "unknown", "", nil]

    private func film(_ type: String?, _ fields: HTTPFields = [:]) -> VirtualResource {
        // A page at a URL with the name of a film is not stored.
        var film = VirtualResource.film("content")
        film.contentType = type
        film.fields = fields
        return film
    }

    /// Each way to make an answer: a miss, a hit, a part, several parts, 304, 416, and the second
    /// hit of a connection.
    private func answers(_ world: ProxyWorld, _ film: VirtualResource, _ fields: HTTPFields = [:]) throws -> [ProxyClient.Answer] {
        let client = try world.connect()
        var answers = [try client.get(film.target, fields)]
        try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
        for extra: HTTPFields in [
            [:], ["Range": "bytes=5-9"], ["Range": "bytes=6-9"], ["Range": "bytes=1-2,5-6"], ["If-None-Match": "*"],
            ["Range": "bytes=200000-"],
        ] {
            answers.append(try client.get(film.target, HTTPFields(fields.lines + extra.lines)))
        }
        return answers
    }

    @Test(arguments: active) func `content that a browser runs gets no origin, no scripts and no subresources`(type: String) throws {
        let film = film(type)
        let world = try ProxyWorld([film], store: .files)
        defer { world.stop() }
        for answer in try answers(world, film) {
            #expect(answer["Content-Security-Policy"] == Self.sandbox, "\(answer.status)")
            #expect(answer["X-Content-Type-Options"] == "nosniff" && answer["Referrer-Policy"] == "no-referrer", "\(answer.status)")
        }
    }

    @Test(arguments: inactive) func `a media type keeps its origin, so a tab plays and seeks and loads nothing else`(type: String)
        throws
    {
        let film = film(type)
        let world = try ProxyWorld([film], store: .files)
        defer { world.stop() }
        for answer in try answers(world, film) where answer.status < 400 {
            #expect(answer["Content-Security-Policy"] == Self.media, "\(answer.status)")
            #expect(answer["X-Content-Type-Options"] == "nosniff" && answer["Referrer-Policy"] == "no-referrer", "\(answer.status)")
        }
    }

    @Test(arguments: mistyped) func `mistyped media are sandboxed and may still be recognised by their bytes`(type: String?) throws {
        let film = film(type)
        let world = try ProxyWorld([film], store: .files)
        defer { world.stop() }
        for answer in try answers(world, film) where answer.status < 400 {
            #expect(answer["Content-Security-Policy"] == Self.sandbox && answer["X-Content-Type-Options"] == nil, "\(answer.status)")
        }
    }

    @Test func `an origin's own policy stays beside the proxy's, but reports nothing`() throws {
        let film = film(
            "video/mp4",
            [
                "Content-Security-Policy": "default-src 'self'; report-uri https://evil.example/; Report-To x, sandbox",
                "Content-Security-Policy-Report-Only": "default-src 'none'; report-uri https://evil.example/",
            ])
        let world = try ProxyWorld([film], store: .files)
        defer { world.stop() }
        for answer in try answers(world, film) where answer.status < 400 {
            #expect(answer.head.fields.values(of: "Content-Security-Policy") == ["default-src 'self', sandbox", Self.media])
            #expect(answer["Content-Security-Policy-Report-Only"] == nil)
        }
    }

    @Test func `fields that act on more than their response are dropped`() throws {
        let names = [
            "Service-Worker-Allowed", "Clear-Site-Data", "Refresh", "Link", "NEL", "Report-To", "Reporting-Endpoints", "Alt-Svc",
            "Accept-CH",
            "Critical-CH", "Speculation-Rules", "Use-As-Dictionary", "Set-Cookie", "Attribution-Reporting-Register-Source",
        ]
        let film = film("video/mp4", HTTPFields(names.map { .init(name: $0, value: "/") } + [.init(name: "X-Kept", value: "1")]))
        let world = try ProxyWorld([film], store: .files)
        defer { world.stop() }
        for answer in try answers(world, film) where answer.status < 400 {
            for name in names { #expect(answer[name] == nil, "\(name) of \(answer.status)") }
            #expect(answer["X-Kept"] == "1")
        }
        // A proxy for one site passes on the site's fields.
        let site = try ProxyWorld([film], options: { $0.fixedOrigin = VirtualResource.site })
        defer { site.stop() }
        let own = try site.get("/content")
        #expect(own["Service-Worker-Allowed"] == "/" && own["Link"] == "/" && own["Content-Security-Policy"] == nil)
    }

    @Test(arguments: ["document", "iframe", "frame", "embed", "object"])
    func `a browser gets no page, cold or stored, but downloads and media`(destination: String) throws {
        let fields: HTTPFields = ["Sec-Fetch-Site": "none", "Sec-Fetch-Dest": destination]
        for type in Self.active {
            let film = film(type)
            let world = try ProxyWorld([film], store: .files)
            defer { world.stop() }
            let cold = try world.get(film.target, fields)
            #expect(cold.status == 403 && cold.text.contains("--origin") && cold["Content-Security-Policy"] == Self.sandbox, "\(type)")
            _ = try world.get(film.target)
            try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
            #expect(try world.get(film.target, fields).status == 403, "\(type)")
        }
        for type in Self.inactive + Self.mistyped {
            let film = film(type)
            let world = try ProxyWorld([film], store: .files)
            defer { world.stop() }
            for answer in try answers(world, film, fields) where ![304, 416].contains(answer.status) {
                #expect(answer.status == 200 || answer.status == 206, "\(type ?? "none")")
            }
        }
    }

    @Test(arguments: ["script", "style", "worker", "sharedworker", "serviceworker", "audioworklet", "manifest", "xslt"])
    func `a browser gets no code, and the proxy does not ask the origin for it`(destination: String) throws {
        let film = film("text/javascript")
        let world = try ProxyWorld([film])
        defer { world.stop() }
        #expect(try world.get(film.target, ["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": destination]).status == 403)
        #expect(world.asked.isEmpty)
    }

    @Test(arguments: ["video", "audio", "image", "track", "empty", "font"])
    func `a page gets media and bytes for its script`(destination: String) throws {
        let film = film("text/html")
        let world = try ProxyWorld([film])
        defer { world.stop() }
        #expect(try world.get(film.target, ["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": destination]).status == 200)
    }

    @Test func `the answer to an error is sandboxed too`() throws {
        let world = try ProxyWorld(script: { _, _ in .status(404, fields: ["Retry-After": "1", "Link": "<https://evil.example/>"]) })
        defer { world.stop() }
        let answer = try world.get("/http/media.example/x.html", ["Sec-Fetch-Dest": "document"])
        #expect(answer.status == 404 && answer["Content-Security-Policy"] == Self.sandbox && answer["Link"] == nil)
        #expect(answer["X-Content-Type-Options"] == "nosniff" && answer["Referrer-Policy"] == "no-referrer")
    }

    // MARK: The pages of a proxy for one site

    @Test func `a site's script cannot read the proxy's own pages`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], options: { $0.fixedOrigin = VirtualResource.site })
        defer { world.stop() }
        let script: HTTPFields = ["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors"]
        for path in ["/_spool/", "/_spool/api/resources", "/_spool/x/api/resources", "/_spool//api/resources", "/_spool"] {
            for fields: HTTPFields in [script, [:]] {
                let answer = try world.get(path, fields)
                #expect([302, 403].contains(answer.status) && !answer.text.contains("resources\":"), "\(path)")
                #expect(answer["Location"] ?? "/_spool/" == "/_spool/")
            }
        }
        let page = try #require(world.pageURL?.dropFirst("http://127.0.0.1:\(world.port)".count))
        #expect(try world.get(String(page)).text.contains("<html"))
        let listing = try world.get(page + "api/resources", script)
        #expect(listing.status == 200 && listing["X-Content-Type-Options"] == "nosniff")
    }

    @Test func `a general proxy serves its page at the usual address`() throws {
        let world = try ProxyWorld(options: { $0.token = "secret" })
        defer { world.stop() }
        #expect(world.pageURL == "http://127.0.0.1:\(world.port)/secret/_spool/")
        let page = try world.get("/secret/_spool/")
        #expect(page.status == 200 && page["Referrer-Policy"] == "no-referrer")
        #expect(try world.get("/secret/_spool/api/resources")["X-Content-Type-Options"] == "nosniff")
    }
}
