import Spool
import SpoolCore
import SpoolDashboard
import SpoolOrigin
import SpoolProxy
import SpoolServer
import SpoolSystem
import SpoolTesting
import Testing

/// Clients that come through another proxy, such as nginx with TLS on the same machine.
@Suite(.timeLimit(.minutes(20))) struct BehindProxyTests {
    private static let passedOn: HTTPFields = ["X-Forwarded-For": "198.51.100.7"]

    private func world(
        _ resources: [VirtualResource], script: @escaping OriginScript = { _, _ in .correct }, isBehind: Bool = true,
        programToken: String? = nil, options: (inout ProxyOptions) -> Void = { _ in }
    ) throws -> ProxyWorld {
        try ProxyWorld(
            resources, script: script,
            configuration: {
                $0.security.privateNames = .refused()
                $0.freshness.isShared = isBehind
            },
            options: {
                $0.token = "t0ken"
                if isBehind { $0.fronts = FrontProxies() }
                $0.programToken = programToken
                options(&$0)
            })
    }

    @Test(arguments: [true, false], ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
    func `a client of another proxy gets resources, and no page, command or private address`(isBehind: Bool, field: String) throws {
        let film = VirtualResource.film()
        let world = try world([film], isBehind: isBehind, programToken: "command")
        defer { world.stop() }
        let fields: HTTPFields = [HTTPFields.Name(field): "198.51.100.7"]
        #expect(try world.get("/t0ken" + film.target, fields).status == 200)
        for place in ["", "api/resources", "api/status", "metrics", "status.js"] {
            #expect(try world.get("/t0ken/_spool/\(place)", fields).status == 403, "\(place)")
        }
        #expect(try world.get("/t0ken/_spool/health", fields).status == 200)
        for host in ["127.0.0.1:9", "localhost", "192.168.1.1", "nas.local", "[fd00::1]", "169.254.169.254"] {
            let answer = try world.get("/t0ken/http/\(host)/secret", fields)
            #expect(answer.status == 403, "\(host)")
        }
        let command = try world.connect()
        var asked = fields
        asked["Authorization"] = "Bearer command"
        asked["Content-Length"] = "0"
        command.ask("/t0ken/_spool/api/enter-received", method: "POST", asked)
        #expect(try command.answer().status != 200)
        // The same without the field comes from a program on this machine.
        #expect(try world.get("/t0ken/_spool/api/status").status == 200)
        let own = try world.connect()
        own.ask("/t0ken/_spool/api/enter-received", method: "POST", ["Authorization": "Bearer command", "Content-Length": "0"])
        #expect(try own.answer().status == 200)
    }

    @Test(arguments: [true, false])
    func `what one client's credentials fetched is not for another client of the proxy`(isBehind: Bool) throws {
        let film = VirtualResource.film()
        let world = try world(
            [film], script: { request, _ in request.fields[.authorization] == "Bearer A" ? .correct : .status(401) }, isBehind: isBehind)
        defer { world.stop() }
        var user = Self.passedOn
        user[.authorization] = "Bearer A"
        #expect(try world.get("/t0ken" + film.target, user).status == 200)
        for _ in 0..<2 { #expect(try world.get("/t0ken" + film.target, Self.passedOn).status == 401) }
        var other = Self.passedOn
        other[.authorization] = "Bearer B"
        #expect(try world.get("/t0ken" + film.target, other).status == 401)
        #expect(try world.get("/t0ken" + film.target, user).status == 200)
    }

    @Test func `the place of the client decides which pages are the proxy's own`() throws {
        let film = VirtualResource.film()
        let world = try world([film])
        defer { world.stop() }
        var page = Self.passedOn
        page["X-Forwarded-Host"] = "media.example"
        page["X-Forwarded-Proto"] = "https"
        page[.origin] = "https://media.example"
        #expect(try world.get("/t0ken" + film.target, page).status == 200)
        page[.origin] = "https://evil.example"
        #expect(try world.get("/t0ken" + film.target, page).status == 403)
    }

    @Test func `without a token, a site or named origins, a proxy behind another one is refused`() throws {
        #expect(throws: CacheError.self) { try ProxyWorld(options: { $0.fronts = FrontProxies() }) }
        let site = try ProxyWorld(options: {
            $0.fronts = FrontProxies()
            $0.fixedOrigin = VirtualResource.site
        })
        site.stop()
        let named = try ProxyWorld(options: {
            $0.fronts = FrontProxies()
            $0.allowedOrigins = [VirtualResource.site]
        })
        defer { named.stop() }
        // Without a token, the page has a secret address.
        #expect(try named.get("/_spool/api/resources").status == 403)
        let page = try #require(named.pageURL)
        #expect(try named.get(String(page.dropFirst("http://127.0.0.1:\(named.port)".count)) + "api/resources").status == 200)
    }

    @Test func `the site of a proxy is allowed whatever origins are named`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld(
            [film],
            options: {
                $0.fixedOrigin = VirtualResource.site
                $0.allowedOrigins = ["https://cdn.example"]
            })
        defer { world.stop() }
        #expect(try world.get("/\(film.target.split(separator: "/").last ?? "")").status == 200)
    }

    // MARK: Fields

    private static func request(_ fields: HTTPFields) -> RequestHead { RequestHead(method: "POST", target: "/", fields: fields) }

    @Test func `fields by which a site trusts its gateway stay here, and the proxy names the client itself`() throws {
        let site = FixedSite(origin: "https://media.example", prefix: "/", via: "1.1 spool")
        let client = try #require(SocketAddress(literal: "2001:db8::7", port: 1))
        for name in [
            "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Forwarded", "True-Client-IP", "Remote-User",
            "X-Remote-User",
            "X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override", "X_Forwarded_For", "Remote_User", "X-Auth-Request-Email",
            "X-SSL-Client-Verify",
        ] {
            let fields = site.fieldsForOrigin(Self.request([HTTPFields.Name(name): "127.0.0.1", "X-App": "1"]), from: client)
            #expect(fields.values(of: .xForwardedFor) == ["2001:db8::7"], "\(name)")
            #expect(!fields.lines.contains { $0.value == "127.0.0.1" }, "\(name)")
            #expect(fields["X-App"] == "1")
        }
        #expect(site.fieldsForOrigin(Self.request([:]), from: nil)[.xForwardedFor] == nil)
    }

    @Test(arguments: [
        ("http://media.home/t0ken/page?a#b", "https://media.example/page?a#b"),
        ("https://media.home/t0ken/page", "https://media.example/page"),
        ("https://other.home:444/t0ken/page", "https://media.example/page"), ("https://other.home/t0ken", "https://media.example/"),
        ("https://media.home/elsewhere", "https://media.example/elsewhere"),
        ("https://other.home/t0kens/page", "https://other.home/t0kens/page"),
        ("https://player.example/", "https://player.example/"),
    ])
    func `a Referer with the token is the proxy's own, whatever its authority and scheme`(referer: String, sent: String) {
        let site = FixedSite(origin: "https://media.example", prefix: "/t0ken/", via: "1.1 spool")
        let fields = site.fieldsForOrigin(
            Self.request(["Host": "media.home", "Referer": referer, "Origin": "https://media.home"]), from: nil)
        #expect(fields[.referer] == sent)
        #expect(fields[.origin] == "https://media.example")
    }

    @Test(arguments: [
        ("http://localhost/t0ken/http/media.example/m.m3u8", "http://media.example/m.m3u8"),
        ("https://media.home/t0ken/http/media.example/m.m3u8", "http://media.example/m.m3u8"),
        ("https://media.home/t0ken/http/other.example/m.m3u8", nil), ("https://media.home/t0ken/", nil), ("https://media.home/t0ken", nil),
        ("https://player.example/t0", "https://player.example/t0"),
    ])
    func `a general proxy keeps its token out of Referer, whatever the authority`(referer: String, sent: String?) throws {
        let film = VirtualResource.film()
        let world = try world([film], isBehind: false)
        defer { world.stop() }
        #expect(try world.get("/t0ken" + film.target, ["Host": "localhost", "Referer": referer]).status == 200)
        #expect(world.origin.log.entries.last?.request.fields[.referer] == sent)
    }

    // MARK: Proofs

    /// The reference implementation's table is for messages 00, 01, … under the key 00, 01, … 0F.
    @Test(
        arguments: [
            (0, 0x726F_DB47_DD0E_0E31), (1, 0x74F8_39C5_93DC_67FD), (7, 0xAB02_00F5_8B01_D137), (8, 0x93F5_F579_9A93_2462),
            (15, 0xA129_CA61_49BE_45E5),
        ] as [(UInt8, UInt64)])
    func `SipHash-2-4 matches the table of its authors`(length: UInt8, code: UInt64) {
        #expect(SipHash(key: Array(0..<16)).of(Array(0..<length)) == code)
    }

    @Test func `the path of a segment at another host stays valid over a restart`() throws {
        let directory = try TemporaryDirectory()
        var keys: [[UInt8]] = []
        for _ in 0..<2 {
            let world = try ProxyWorld(store: .files, directory: directory)
            keys.append(world.cache.nameInVia().proofKey)
            world.stop()
        }
        #expect(keys[0] == keys[1])
        let other = try ProxyWorld(), further = try ProxyWorld()
        defer {
            other.stop()
            further.stop()
        }
        #expect(other.cache.nameInVia().proofKey != further.cache.nameInVia().proofKey)
    }
}
