import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolServer
import SpoolTesting
import Testing

/// Requests that a proxy for one site passes on: other methods, and requests with credentials.
@Suite(.timeLimit(.minutes(20))) struct PassOnTests {
    private func world(
        _ resources: [VirtualResource] = [], script: @escaping OriginScript = { _, _ in .correct },
        options: (inout ProxyOptions) -> Void = { _ in }
    ) throws -> ProxyWorld {
        try ProxyWorld(
            resources, script: script,
            options: {
                $0.fixedOrigin = VirtualResource.site
                options(&$0)
            })
    }

    private func sum(_ bytes: [UInt8]) -> String {
        String(bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }, radix: 16)
    }

    // MARK: Methods and bodies

    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
    func `another method reaches the origin with its body, and its answer comes back`(method: String) throws {
        let world = try world()
        defer { world.stop() }
        let client = try world.connect()
        for body in ["", "hello", String(repeating: "x", count: 600_000)] {
            client.ask("/form?x=%2f", method: method, body.isEmpty ? [:] : ["Content-Length": String(body.utf8.count)])
            client.write(body)
            let answer = try client.answer()
            #expect(answer.status == 200 && answer.text == "done\n")
            let hasBody = !body.isEmpty || ["POST", "PUT", "PATCH"].contains(method)
            #expect(answer["X-Echo"] == (hasBody ? "\(method) \(body.utf8.count) \(sum(Array(body.utf8)))" : method))
            #expect(answer["Cache-Status"] == "spool; fwd=\(method == "OPTIONS" ? "bypass" : "method"); fwd-status=200")
        }
        let entries = world.origin.log.entries
        #expect(entries.map(\.request.url) == Array(repeating: VirtualResource.site + "/form?x=%2f", count: 3))
        #expect(entries.map(\.request.method) == [method, method, method])
    }

    @Test func `a form may go wherever a file of the site may, also to a private address`() throws {
        let film = VirtualResource.film()
        let world = try world([film], options: { $0.allowedOrigins = [VirtualResource.site] })
        defer { world.stop() }
        #expect(try world.get("/film.mp4").status == 200)
        let client = try world.connect()
        client.ask("/form", method: "POST", ["Content-Length": "0"])
        #expect(try client.answer().status == 200)
        let reaches = world.origin.log.entries.map(\.request.reach)
        #expect(reaches.count == 2 && Set(reaches).count == 1 && reaches.first?.contains { !$0.named.isEmpty } == true)
    }

    @Test func `a general proxy does not pass on other methods`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film])
        defer { world.stop() }
        let client = try world.connect()
        for method in ["POST", "DELETE", "TRACE"] {
            client.ask(film.target, method: method)
            let answer = try client.answer()
            #expect(answer.status == 405 && answer["Allow"] == "GET, HEAD")
        }
        #expect(world.asked.isEmpty)
    }

    @Test(arguments: ["TRACE", "CONNECT"]) func `TRACE and CONNECT are refused`(method: String) throws {
        let world = try world()
        defer { world.stop() }
        let client = try world.connect()
        client.ask(method == "CONNECT" ? "media.example:443" : "/", method: method)
        #expect(try client.answer().status == 405)
        #expect(world.asked.isEmpty)
    }

    @Test func `the proxy's own page takes no other method, and a foreign page cannot post`() throws {
        let world = try world()
        defer { world.stop() }
        let client = try world.connect()
        client.ask("/_spool/", method: "DELETE")
        #expect(try client.answer().status == 405)
        client.ask("/form", method: "POST", ["Origin": "https://evil.example", "Content-Length": "0"])
        #expect(try client.answer().status == 403)
        #expect(world.asked.isEmpty)
    }

    // MARK: Fields

    @Test func `fields of the connection are dropped, and Origin and Referer name the site`() throws {
        let world = try world()
        defer { world.stop() }
        let host = "127.0.0.1:\(world.port)"
        let client = try world.connect()
        client.ask(
            "/form", method: "POST",
            [
                "Host": host, "Content-Length": "0", "Connection": "keep-alive, X-Hop", "X-Hop": "1", "Keep-Alive": "5", "TE": "trailers",
                "Proxy-Authorization": "Basic x", "Origin": "http://\(host)", "Referer": "http://\(host)/page?q", "Cookie": "id=1",
                "Authorization": "Bearer t", "Via": "1.0 other", "X-Kept": "a, b", "Content-Type": "text/plain",
            ])
        #expect(try client.answer().status == 200)
        let fields = try #require(world.origin.log.entries.first).request.fields
        for (name, value) in [
            ("Origin", VirtualResource.site), ("Referer", VirtualResource.site + "/page?q"), ("Cookie", "id=1"),
            ("Authorization", "Bearer t"), ("X-Kept", "a, b"), ("Content-Type", "text/plain"),
        ] { #expect(fields[name] == value, "\(name)") }
        #expect(fields.values(of: "Via").count == 1)
        #expect(fields["Via"]?.hasPrefix("1.0 other, 1.1 spool-") == true)
        for name in ["Connection", "X-Hop", "Keep-Alive", "TE", "Proxy-Authorization", "Host", "Content-Length"] {
            #expect(fields[name] == nil, "\(name)")
        }
    }

    @Test(arguments: ["/secret/page?q", "/secret/", "/secret"])
    func `the token stays with the proxy, and the origin's locations are rewritten below it`(page: String) throws {
        let world = try world(
            script: { request, _ in
                .status(303, fields: ["Location": VirtualResource.site + (request.url.hasSuffix("/") ? "" : "/home?x#y")])
            },
            options: { $0.token = "secret" })
        defer { world.stop() }
        let host = "127.0.0.1:\(world.port)"
        let client = try world.connect()
        client.ask("/secret/form", method: "POST", ["Host": host, "Content-Length": "0", "Referer": "http://\(host)\(page)"])
        #expect(try client.answer()["Location"] == "/secret/home?x#y")
        client.ask("/secret/", method: "POST", ["Host": host, "Content-Length": "0"])
        #expect(try client.answer()["Location"] == "/secret/")
        let referer = try #require(world.origin.log.entries.first?.request.fields["Referer"])
        #expect(referer == VirtualResource.site + (page == "/secret/page?q" ? "/page?q" : "/"))
    }

    @Test func `a location that begins with two slashes stays on the proxy`() throws {
        let world = try world(script: { _, _ in .status(302, fields: ["Location": VirtualResource.site + "//evil.example/x"]) })
        defer { world.stop() }
        let client = try world.connect()
        client.ask("/form", method: "POST", ["Content-Length": "0"])
        #expect(try client.answer()["Location"] == "/.//evil.example/x")
    }

    @Test func `the origin's cookies reach the client, and its locations lead to the proxy`() throws {
        let world = try world(script: { request, _ in
            switch request.url.dropFirst(VirtualResource.site.count) {
            case "/login":
                .status(
                    303,
                    fields: HTTPFields([
                        .init(name: "Set-Cookie", value: "id=1; HttpOnly"), .init(name: "Set-Cookie", value: "b=2"),
                        .init(name: "Location", value: VirtualResource.site + "/home?x#y"), .init(name: "Connection", value: "X-Hop"),
                        .init(name: "X-Hop", value: "1"),
                    ]))
            case "/away": .status(302, fields: ["Location": "https://elsewhere.example/"])
            default: .status(302, fields: ["Location": "../up"])
            }
        })
        defer { world.stop() }
        let client = try world.connect()
        client.ask("/login", method: "POST", ["Content-Length": "0"])
        let login = try client.answer()
        #expect(login.status == 303)
        #expect(login.head.fields.values(of: "Set-Cookie") == ["id=1; HttpOnly", "b=2"])
        #expect(login["Location"] == "/home?x#y" && login["X-Hop"] == nil)
        client.ask("/away", method: "POST", ["Content-Length": "0"])
        #expect(try client.answer()["Location"] == "https://elsewhere.example/")
        client.ask("/other", method: "POST", ["Content-Length": "0"])
        #expect(try client.answer()["Location"] == "../up")
        #expect(world.asked.count == 3, "the client follows redirects, not the proxy")
    }

    // MARK: Credentials

    @Test(arguments: ["Cookie", "Authorization"]) func `a page that is asked for with credentials comes from the origin, and is not stored`(
        name: HTTPFields.Name
    )
        throws
    {
        var page = VirtualResource.film("page")
        page.fields = ["Set-Cookie": "seen=1"]
        let world = try world([page])
        defer { world.stop() }
        let client = try world.connect()
        for _ in 0..<2 {
            let answer = try client.get("/page", [name: "x"])
            #expect(answer.status == 200 && answer.body == page.allBytes)
            #expect(answer["Set-Cookie"] == "seen=1")
            #expect(answer["Cache-Status"] == "spool; fwd=bypass; fwd-status=200")
        }
        client.ask("/page", method: "HEAD", [name: "x"])
        let head = try client.answer(to: "HEAD")
        #expect(head.status == 200 && head["Content-Length"] == "100000")
        #expect(world.origin.log.entries.allSatisfy { $0.request.fields[name] == "x" })
        #expect(try world.status(of: page.url) == nil)
        // Without credentials it is a resource like others.
        #expect(try client.get("/page")["Cache-Status"] == "spool; fwd=uri-miss")
        try world.wait(for: page.url) { $0.isComplete }
    }

    @Test(arguments: ["Cookie", "Authorization"]) func `media that are asked for with credentials are stored`(name: HTTPFields.Name) throws
    {
        let film = VirtualResource.film()
        let world = try world([film], script: { request, _ in request.fields[name] == "x" ? .correct : .status(401) })
        defer { world.stop() }
        #expect(try world.get("/film.mp4").status == 401)
        for _ in 0..<2 {
            #expect(try world.get("/film.mp4", [name: "x", "Range": "bytes=10-19"]).body == film.bytes(10..<20))
            try world.wait(for: film.url) { $0.stored == .of(10..<20) && $0.readers == 0 }
        }
        #expect(world.origin.log.handedOver(film.url).bytes == 10)
    }

    // MARK: Invalidation

    @Test func `a resource that another method changed is validated, and others are not`() throws {
        let films = ["a.mp4", "b.mp4", "c.mp4", "d.mp4"].map { name in
            var film = VirtualResource.film(name, seed: 1)
            film.fields = ["Cache-Control": "max-age=3600"]
            return film
        }
        let world = try world(
            films,
            script: { request, _ in
                guard request.method != "GET" else { return .correct }
                switch request.url.dropFirst(VirtualResource.site.count) {
                case "/b.mp4": return .status(404)
                case "/form":
                    return .status(201, fields: ["Location": "/c.mp4", "Content-Location": "http://other.example/d.mp4"])
                default: return .status(204)
                }
            })
        defer { world.stop() }
        let client = try world.connect()
        for film in films {
            _ = try client.get(film.url.replacing(VirtualResource.site, with: ""))
            try world.wait(for: film.url) { $0.isComplete }
        }
        for (method, target) in [("PUT", "/a.mp4"), ("DELETE", "/b.mp4"), ("POST", "/form"), ("OPTIONS", "/d.mp4")] {
            client.ask(target, method: method, ["Content-Length": "0"])
            _ = try client.answer()
        }
        let asked = world.asked.count
        // The stored bytes stay: the origin decides whether they are still current.
        for film in films { #expect(try world.status(of: film.url)?.isComplete == true) }
        // RFC 9111 §4.4: the client already has the answer to the change, so no client may get the
        // old bytes now without asking.
        for name in ["a", "b", "c", "d"] { #expect(try client.get("/\(name).mp4").status == 200) }
        #expect(world.asked.count == asked + 2)
        #expect(world.origin.log.entries.suffix(2).map(\.status) == [304, 304])
    }

    // MARK: Trouble and pace

    @Test func `trouble with the origin becomes the answer's status`() throws {
        let world = try world(script: { request, _ in
            switch request.url.dropFirst(VirtualResource.site.count) {
            case "/refused": .refuse
            case "/cut": .cut(afterBytes: 3, .close, .correct)
            default: .status(503, fields: ["Retry-After": "5"], body: Array("later".utf8))
            }
        })
        defer { world.stop() }
        let client = try world.connect()
        client.ask("/refused", method: "POST", ["Content-Length": "0"])
        #expect(try client.answer().status == 502)
        client.ask("/busy", method: "POST", ["Content-Length": "0"])
        let busy = try client.answer()
        #expect(busy.status == 503 && busy["Retry-After"] == "5" && busy.text == "later")
        client.ask("/cut", method: "POST", ["Content-Length": "0"])
        #expect(throws: ProxyClient.Failure.self) { try client.answer() }
    }

    @Test func `a client that stops reading stops the origin, and one that leaves ends the transfer`() throws {
        let film = VirtualResource.film("page", length: 64 << 20)
        let world = try world([film])
        defer { world.stop() }
        let client = try world.connect(receiveBuffer: 65_536)
        client.ask("/page", ["Cookie": "x"])
        _ = try client.head()
        #expect(try client.compare(1 << 20, with: film.content, at: 0) == nil)
        // The sockets and a buffer of a quarter MiB hold far less than the whole film.
        world.wait("the origin stands", until: { world.origin.log.handedOver(film.url).bytes > 1 << 20 })
        #expect(try client.compare(8 << 20, with: film.content, at: 1 << 20) == nil)
        #expect(world.origin.log.handedOver(film.url).bytes < 48 << 20)
        client.hangUp()
        world.wait("the transfer is over", until: { world.origin.log.entries.allSatisfy(\.isOver) })
        #expect(world.origin.log.handedOver(film.url).bytes < 64 << 20)
    }
}
