import Spool
import SpoolCore
import SpoolProxy
import SpoolTesting
import Testing

/// Requests of browsers on behalf of a web site.
@Suite(.timeLimit(.minutes(20))) struct SiteTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var fields: HTTPFields
        var isServed: Bool
        /// Whether a resource is served although the page of the store is not.
        var isOfPlayer = false
        var testDescription: String { fields.lines.map { "\($0.name): \($0.value)" }.joined(separator: ", ") }

        init(_ isServed: Bool, _ fields: HTTPFields) { (self.fields, self.isServed) = (fields, isServed) }

        /// A player to which its user gave an `Origin`: nothing else in the request is a browser's.
        init(ofPlayer fields: HTTPFields) { (self.fields, isServed, isOfPlayer) = (fields, false, true) }
    }

    /// The fields of a browser that names no site, as to a plain network address.
    private static func fromBrowser(_ fields: HTTPFields) -> HTTPFields {
        fields.replacing(with: ["User-Agent": "Mozilla/5.0", "Accept-Language": "en", "Accept-Encoding": "identity"])
    }

    @Test(arguments: [
        Case(true, [:]), Case(true, ["Sec-Fetch-Site": "same-origin"]), Case(true, ["Sec-Fetch-Site": "same-site"]),
        Case(true, ["Sec-Fetch-Site": "none"]), Case(false, ["Sec-Fetch-Site": "cross-site"]),
        Case(false, ["Sec-Fetch-Site": "Cross-Site"]),
        Case(false, ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "video"]),
        // A page of this machine. With another host or port it is another site for a browser.
        Case(true, ["Origin": "http://localhost:3000", "Sec-Fetch-Site": "cross-site"]), Case(true, ["Origin": "http://127.0.0.1:8080"]),
        Case(true, ["Origin": "http://[::1]:5173"]), Case(true, ["Origin": "https://app.localhost"]),
        Case(false, ["Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"]),
        Case(false, ["Origin": "https://evil.example", "Sec-Fetch-Mode": "cors"]),
        Case(false, ["Origin": "https://evil.example", "Cookie": "a=1"]),
        Case(false, ["Origin": "https://evil.example", "Referer": "https://evil.example/"]),
        Case(false, fromBrowser(["Origin": "https://evil.example"])), Case(false, fromBrowser(["Origin": "null"])),
        Case(ofPlayer: ["Origin": "https://evil.example"]),
        Case(ofPlayer: ["Origin": "https://evil.example", "User-Agent": "Lavf/59.27.100"]),
        Case(ofPlayer: ["Origin": "http://localhost.evil.example"]), Case(ofPlayer: ["Origin": "http://127.0.0.1.evil.example"]),
        Case(ofPlayer: ["Origin": "http://evil.example#@localhost"]), Case(ofPlayer: ["Origin": "http://localhost@evil.example"]),
        Case(ofPlayer: ["Origin": "null"]), Case(ofPlayer: ["Origin": ""]), Case(ofPlayer: ["Origin": "localhost"]),
        Case(
            ofPlayer: HTTPFields([.init(name: "Origin", value: "http://localhost"), .init(name: "Origin", value: "https://evil.example")])),
        // An allowed site is compared as an origin, not as a prefix.
        Case(true, ["Origin": "https://player.example", "Sec-Fetch-Site": "cross-site"]),
        Case(true, ["Origin": "https://Player.example:443"]),
        Case(ofPlayer: ["Origin": "http://player.example"]), Case(ofPlayer: ["Origin": "https://player.example:444"]),
        Case(ofPlayer: ["Origin": "https://player.example.evil.example"]),
        // Browsers without these fields name the page in `Referer`.
        Case(true, ["Referer": "http://127.0.0.1:8080/_spool/"]), Case(true, ["Referer": "http://localhost:3000/page?q"]),
        Case(true, ["Referer": "https://player.example/watch"]), Case(false, fromBrowser(["Referer": "https://evil.example/"])),
        Case(false, fromBrowser(["Referer": "http://127.0.0.1.evil.example/"])), Case(false, fromBrowser(["Referer": "nonsense"])),
        Case(false, ["Referer": "https://evil.example/", "User-Agent": "AppleCoreMedia/1.0.0"]),
        // A player sends the referrer that its user gives it.
        Case(true, ["Referer": "https://evil.example/", "User-Agent": "Lavf/59.27.100"]),
        Case(true, ["Referer": "https://evil.example/", "User-Agent": "Mozilla/5.0", "Accept-Language": "en"]),
        Case(true, ["Referer": "https://evil.example/", "Sec-Fetch-Site": "same-origin"]),
        Case(true, ["Referer": "https://evil.example/", "Origin": "http://localhost"]),
        Case(true, ["Host": "media.home:8080", "Referer": "http://media.home:8080/x"]),
        // The proxy under the name of the request.
        Case(true, ["Host": "media.home:8080", "Origin": "http://media.home:8080"]),
        Case(ofPlayer: ["Host": "media.home:8080", "Origin": "http://media.home:8081"]),
    ])
    func `a page is refused unless its site is this machine's, the proxy's own or allowed`(test: Case) throws {
        var film = VirtualResource.film()
        film.fields = ["Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "true", "Timing-Allow-Origin": "*"]
        let world = try ProxyWorld(
            [film],
            options: {
                $0.allowedSites = ["https://player.example"]
                $0.allowedHosts = ["media.home"]
            })
        defer { world.stop() }
        let answer = try world.get(film.target, test.fields)
        #expect(answer.status == (test.isServed || test.isOfPlayer ? 200 : 403))
        #expect(world.asked.isEmpty == !(test.isServed || test.isOfPlayer), "a refused request asks no origin")
        // A refused page can read neither the answer nor the proxy's own pages.
        #expect(test.isServed || !answer.head.fields.lines.contains { Self.isAboutSites($0.name) })
        #expect(try world.get("/_spool/api/resources", test.fields).status == (test.isServed ? 200 : 403))
    }

    @Test func `files and every site are served when that is allowed`() throws {
        let film = VirtualResource.film()
        let files = try ProxyWorld([film], options: { $0.allowedSites = ["null"] })
        defer { files.stop() }
        #expect(try files.get(film.target, ["Origin": "null"]).status == 200)
        #expect(try files.get(film.target, ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"]).status == 403)
        let open = try ProxyWorld([film], options: { $0.allowsForeignSites = true })
        defer { open.stop() }
        #expect(try open.get(film.target, ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"]).status == 200)
        #expect(throws: CacheError.self) { try ProxyWorld(options: { $0.allowedSites = ["player.example"] }) }
    }

    /// Of a page of an old browser, which sends no more than a player does.
    @Test(
        arguments: [
            ("page.html", "text/html", false), ("film.mp4", "text/html", false), ("secret", "application/octet-stream", false),
            ("data", "application/json", false), ("film.mp4", nil, true), ("film", "video/mp4", true),
            ("film.mp4", "application/octet-stream", true), ("sound", "audio/mpeg", true),
        ] as [(String, String?, Bool)])
    func `media alone are for a player with an Origin`(name: String, type: String?, isServed: Bool) throws {
        var resource = VirtualResource.film(name)
        resource.fields = type.map { ["Content-Type": $0] } ?? [:]
        let world = try ProxyWorld([resource])
        defer { world.stop() }
        for _ in 0..<2 { #expect(try world.get(resource.target, ["Origin": "https://evil.example"]).status == (isServed ? 200 : 403)) }
        #expect(try world.get(resource.target).status == 200)
    }

    @Test func `a site that the proxy stands in for is not for a player with a foreign Origin`() throws {
        let page = VirtualResource.film("page.html")
        let site = try ProxyWorld([page], options: { $0.fixedOrigin = VirtualResource.site })
        defer { site.stop() }
        #expect(try site.get("/page.html", ["Origin": "https://evil.example"]).status == 403)
    }

    /// The origin decides what a page may read. The proxy passes its fields on unchanged.
    @Test func `the origin's CORS fields are in every answer about its bytes, and none is added`() throws {
        let fields: HTTPFields = [
            "Access-Control-Allow-Origin": "https://player.example", "Access-Control-Allow-Credentials": "true",
            "Access-Control-Expose-Headers": "Content-Length, ETag", "Cross-Origin-Resource-Policy": "cross-origin",
            "Timing-Allow-Origin": "*",
        ]
        var open = VirtualResource.film("open.mp4")
        open.fields = fields
        let closed = VirtualResource.film("closed.mp4", seed: 2)
        let world = try ProxyWorld([open, closed])
        defer { world.stop() }
        let client = try world.connect()
        let page: HTTPFields = ["Origin": "http://localhost:3000"]
        for (name, value) in [("X", "1"), ("X", "2"), ("Range", "bytes=5-9"), ("Range", "bytes=1-2,5-6"), ("If-None-Match", "*")] {
            var asked = page
            asked.append(HTTPFields.Name(name), value)
            let answer = try client.get(open.target, asked)
            for field in fields.lines {
                #expect(answer.head.fields.values(of: HTTPFields.Name(field.name)) == [field.value], "\(field.name) of \(answer.status)")
            }
            let other = try client.get(closed.target, asked)
            #expect(!other.head.fields.lines.contains { Self.isAboutSites($0.name) }, "\(other.status)")
        }
        for target in [closed.target, "/http/media.example/missing.mp4", "/_spool/api/resources", "/nonsense"] {
            let answer = try client.get(target, ["Origin": "http://localhost:3000", "Range": "bytes=200000-"])
            #expect(!answer.head.fields.lines.contains { Self.isAboutSites($0.name) }, "\(target): \(answer.status)")
        }
    }

    private static func isAboutSites(_ name: String) -> Bool {
        ["access-control-", "cross-origin-", "timing-allow"].contains { name.lowercased().hasPrefix($0) }
    }

    @Test func `a browser's request for an icon gets one`() throws {
        let world = try ProxyWorld()
        defer { world.stop() }
        let answer = try world.get("/favicon.ico")
        #expect(answer.status == 200 && answer["Content-Type"] == "image/svg+xml" && answer.text.hasPrefix("<svg"))
        let site = try ProxyWorld([VirtualResource.film("favicon.ico")], options: { $0.fixedOrigin = VirtualResource.site })
        defer { site.stop() }
        #expect(try site.get("/favicon.ico")["Content-Type"] == "video/mp4", "the site's own icon")
    }
}
