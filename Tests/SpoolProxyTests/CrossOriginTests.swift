import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolTesting
import Testing

/// An origin's fields about web sites (Fetch, "CORS protocol") and its cookies, which are meant for
/// one client, through a cache that other clients use.
@Suite(.timeLimit(.minutes(20))) struct CrossOriginTests {
    private static let a = "http://localhost:3000", b = "http://localhost:4000"

    /// The fields that an origin sends to the page of a site.
    enum Answer: CaseIterable, Sendable {
        /// The origin names the page's site, and states that the answer depends on it.
        case echoWithVary
        /// The origin names the page's site without a `Vary` field. A request without a page gets
        /// no CORS field.
        case echo
        /// The origin allows every site.
        case all

        func behaviour(_ request: OriginRequest) -> OriginBehaviour {
            let site = request.fields["Origin"]
            var fields = HTTPFields()
            if self == .echoWithVary { fields.append("Vary", "Accept-Language, origin") }
            if let allowed = self == .all ? "*" : site { fields.append("Access-Control-Allow-Origin", allowed) }
            return .fields(fields, .correct)
        }
    }

    private func world(_ answer: Answer, options: (inout ProxyOptions) -> Void = { _ in }) throws -> (ProxyWorld, VirtualResource) {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], script: { request, _ in answer.behaviour(request) }, options: options)
        return (world, film)
    }

    /// The sites of the origin's requests, in order, with a mark on those that only revalidate.
    private func asked(_ world: ProxyWorld) -> [String] {
        world.origin.log.entries.map { entry in
            (entry.request.fields["Origin"] ?? "nobody") + (entry.request.fields["If-None-Match"] == nil ? "" : ", current?")
        }
    }

    @Test(arguments: Answer.allCases) func `a page gets the CORS fields for its own site, and the bytes are fetched once`(answer: Answer)
        throws
    {
        let (world, film) = try world(answer)
        defer { world.stop() }
        for site in [Self.a, Self.a, Self.b, Self.b, Self.a] {
            let got = try world.get(film.target, ["Origin": site])
            #expect(got.status == 200 && got.body == film.allBytes)
            #expect(got.head.fields.values(of: "Access-Control-Allow-Origin") == [answer == .all ? "*" : site])
            try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 }
        }
        #expect(asked(world) == (answer == .all ? [Self.a] : [Self.a, "\(Self.b), current?", "\(Self.a), current?"]))
        #expect(world.origin.log.handedOver(film.url).bytes == film.length)
    }

    /// A failure that made people turn their caches off:
    ///
    /// 1. A player comes first. The origin sends it no CORS field.
    /// 2. A page comes next and gets the stored answer of the player, without CORS fields.
    @Test(arguments: Answer.allCases) func `a page does not get the CORS fields of an answer to a player`(answer: Answer) throws {
        let (world, film) = try world(answer)
        defer { world.stop() }
        #expect(try world.get(film.target).body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 }
        let page = try world.get(film.target, ["Origin": Self.a])
        #expect(page.body == film.allBytes)
        #expect(page["Access-Control-Allow-Origin"] == (answer == .all ? "*" : Self.a))
        #expect(asked(world) == (answer == .all ? ["nobody"] : ["nobody", "\(Self.a), current?"]))
    }

    /// With `Vary: Origin`, the answer to a page does not match a player's request (RFC 9111 §4.1).
    /// Without it a player takes the stored answer.
    @Test(arguments: Answer.allCases) func `a player revalidates only where the answer varies by Origin`(answer: Answer) throws {
        let (world, film) = try world(answer)
        defer { world.stop() }
        _ = try world.get(film.target, ["Origin": Self.a])
        try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 }
        #expect(try world.get(film.target).body == film.allBytes)
        #expect(asked(world) == (answer == .echoWithVary ? [Self.a, "nobody, current?"] : [Self.a]))
    }

    @Test func `a page gets stored bytes when the origin is out of reach`() throws {
        let (world, film) = try world(.echo)
        defer { world.stop() }
        _ = try world.get(film.target, ["Origin": Self.a])
        try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 }
        world.origin.setOffline(true)
        let page = try world.get(film.target, ["Origin": Self.b])
        #expect(page.status == 200 && page.body == film.allBytes)
        #expect(page["Access-Control-Allow-Origin"] == Self.a, "the browser of the second site hides the bytes")
    }

    @Test func `a page of the proxy itself asks as the fixed site, or without a site`() throws {
        let (world, film) = try world(.echo, options: { $0.fixedOrigin = VirtualResource.site })
        defer { world.stop() }
        let own = "http://127.0.0.1:\(world.port)"
        _ = try world.get("/film.mp4", ["Host": "127.0.0.1:\(world.port)", "Origin": own])
        #expect(asked(world) == [VirtualResource.site])
        let (general, _) = try self.world(.echo)
        defer { general.stop() }
        _ = try general.get(film.target, ["Host": "127.0.0.1:\(general.port)", "Origin": "http://127.0.0.1:\(general.port)"])
        #expect(asked(general) == ["nobody"])
    }

    @Test func `all parts of a multipart answer belong to the page of the request`() throws {
        let (world, film) = try world(.echo)
        defer { world.stop() }
        _ = try world.get(film.target, ["Origin": Self.a])
        try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 }
        let parts = try world.get(film.target, ["Origin": Self.b, "Range": "bytes=0-9,500-509"])
        #expect(parts.status == 206 && parts["Access-Control-Allow-Origin"] == Self.b)
        #expect(asked(world) == [Self.a, "\(Self.b), current?"])
    }

    // MARK: Cookies

    private static let cookies = HTTPFields([.init(name: "Set-Cookie", value: "id=1; HttpOnly"), .init(name: "Set-Cookie", value: "b=2")])

    @Test func `a site's cookies reach only the client whose request caused the fetch`() throws {
        var film = VirtualResource.film()
        film.fields = ["Cache-Control": "max-age=600"]
        let world = try ProxyWorld(
            [film], script: { _, _ in .fields(Self.cookies, .correct) }, options: { $0.fixedOrigin = VirtualResource.site })
        defer { world.stop() }
        #expect(try world.get("/film.mp4").head.fields.values(of: "Set-Cookie") == ["id=1; HttpOnly", "b=2"])
        try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 }
        // From the store, by a condition that the store answers, and by a range.
        for fields in [[:], ["If-None-Match": "\"v1\""], ["Range": "bytes=5-9"]] as [HTTPFields] {
            #expect(try world.get("/film.mp4", fields)["Set-Cookie"] == nil)
        }
        // A new fetch brings new cookies, for the client that caused it.
        #expect(try world.get("/film.mp4", ["Cache-Control": "no-cache"]).head.fields.values(of: "Set-Cookie").count == 2)
        #expect(try world.get("/film.mp4")["Set-Cookie"] == nil)
    }

    @Test func `one of several clients that share a fetch gets the cookies`() throws {
        var film = VirtualResource.film()
        film.fields = ["Cache-Control": "max-age=600"]
        let world = try ProxyWorld(
            [film], script: { _, _ in .fields(Self.cookies, .correct) }, options: { $0.fixedOrigin = VirtualResource.site })
        defer { world.stop() }
        world.gate.hold(afterBytes: 0)
        let clients = try (0..<4).map { _ in try world.connect() }
        for client in clients { client.ask("/film.mp4") }
        try world.wait(for: film.url) { $0.readers == 4 }
        world.gate.open()
        let answers = try clients.map { try $0.answer() }
        #expect(answers.allSatisfy { $0.body == film.allBytes })
        #expect(answers.filter { $0["Set-Cookie"] != nil }.count == 1)
        #expect(world.asked.count == 1)
    }

    @Test func `a general proxy passes cookies on to a player for their own origin, and none to a browser`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], script: { _, _ in .fields(["Set-Cookie": "id=1; Path=/a; Secure"], .correct) })
        defer { world.stop() }
        #expect(try world.get(film.target)["Set-Cookie"] == "id=1; Path=/http/media.example/a")
        let other = VirtualResource.film("other.mp4")
        world.origin.serve(other)
        #expect(try world.get(other.target, ["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "video"])["Set-Cookie"] == nil)
    }
}
