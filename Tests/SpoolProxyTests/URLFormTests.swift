import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolStore
import SpoolTesting
import Testing

/// The ways to name a resource to the proxy, on the wire.
@Suite(.timeLimit(.minutes(20))) struct URLFormTests {
    /// Paths and queries that something on the way might want to tidy up.
    static let paths = [
        "/a%20b.mp4", "/caf%C3%A9.mp4", "/caf%c3%a9.mp4", "/%2e%2e/x", "/a/../b", "/a//b", "//", "/./", "/%2F%2F", "/%", "/%zz",
        "/p;v=1,2/x",
        "/a'b(c)*!$&+=", "/a:b@c", "/~user", "/[x]", "/a|b^c`{}", "/a\\b", "/\"q\"<>", "/x?", "/x??", "/x?y=1&z=%26;q", "/x?a=b=c&&",
        "/x?/..//",
        "/x?url=http%3A%2F%2Fother.example%2F", "/http/other.example/x", "/_spool/", "/x?a+b", "/",
    ]

    @Test(arguments: paths)
    func `paths and queries reach the origin byte for byte, in every form`(path: String) throws {
        // Fresh, so that a site's stand-in need not ask again.
        let film = VirtualResource(url: VirtualResource.site + path, seed: 1, length: 1000, fields: ["Cache-Control": "max-age=60"])
        let encoded = film.url.utf8.map { "%" + String(Int($0) + 256, radix: 16).suffix(2) }.joined()
        try expect(film, at: [film.target, "/?url=\(encoded)"]) { _ in }
        try expect(film, at: ["/secret" + film.target, "/secret/?url=\(encoded)"]) { $0.token = "secret" }
        if path != "/_spool/" { try expect(film, at: [path]) { $0.fixedOrigin = VirtualResource.site } }
    }

    /// Asks by each target, and by the URL that the proxy itself gives.
    private func expect(_ film: VirtualResource, at targets: [String], _ options: (inout ProxyOptions) -> Void) throws {
        let world = try ProxyWorld([film], options: options)
        defer { world.stop() }
        let given = try #require(world.proxy.url(for: film.url))
        let own = given.dropFirst("http://127.0.0.1:\(world.port)".count)
        for target in targets + [String(own)] {
            let answer = try world.get(target)
            #expect(answer.status == 200 && answer.body == film.allBytes, "\(target)")
        }
        #expect(world.origin.log.entries.map(\.request.url) == [film.url])
    }

    @Test func `raw bytes in a target are percent-encoded, which names the same`() throws {
        let film = VirtualResource.film("caf%C3%A9.mp4")
        let world = try ProxyWorld([film])
        defer { world.stop() }
        #expect(try world.get("/http/media.example/café.mp4").body == film.allBytes)
        #expect(try world.get("/?url=http://media.example/café.mp4").body == film.allBytes)
        let url = try #require(world.proxy.url(for: "http://media.example/café.mp4"))
        #expect(try world.get(String(url.dropFirst("http://127.0.0.1:\(world.port)".count))).body == film.allBytes)
        #expect(world.origin.log.entries.map(\.request.url) == [film.url])
    }

    @Test func `a fragment stays with the client`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film])
        defer { world.stop() }
        #expect(try world.get("/?url=http%3A%2F%2Fmedia.example%2Ffilm.mp4%23t%3D10").body == film.allBytes)
        #expect(try world.get(film.target + "#t=10").body == film.allBytes)
        #expect(world.origin.log.entries.map(\.request.url) == [film.url])
    }

    @Test func `one resource has one key, however scheme, host and port are written`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film])
        defer { world.stop() }
        _ = try world.get(film.target)
        for target in [
            "/HTTP/media.example/film.mp4", "/http/MEDIA.example:80/film.mp4", "/?url=http%3A%2F%2Fmedia.example%3A80%2Ffilm.mp4",
        ] {
            #expect(try world.get(target).body == film.allBytes, "\(target)")
        }
        #expect(world.asked.count == 1)
    }

    @Test func `the proxy gives no URL for what it does not serve`() throws {
        let open = try ProxyWorld()
        #expect(open.proxy.url(for: "ftp://media.example/a") == nil)
        #expect(open.proxy.url(for: "film.mp4") == nil)
        #expect(open.proxy.url(for: "http://user:pass@media.example/a")?.contains("/?url=http%3A%2F%2Fuser") == true)
        open.stop()
        #expect(open.proxy.url(for: "http://media.example/a") == nil)
        #expect(open.proxy.baseURL == nil)

        let fixed = try ProxyWorld(options: { $0.fixedOrigin = "https://media.example" })
        defer { fixed.stop() }
        #expect(fixed.proxy.url(for: "https://other.example/a") == nil)
        #expect(fixed.proxy.url(for: "http://media.example/a") == nil)
        #expect(fixed.proxy.url(for: "https://MEDIA.example:443/a?b") == "http://127.0.0.1:\(fixed.port)/a?b")

        let listed = try ProxyWorld(options: { $0.allowedOrigins = ["https://media.example"] })
        defer { listed.stop() }
        #expect(listed.proxy.url(for: "https://other.example/a") == nil)
        #expect(listed.proxy.url(for: "https://media.example/a") != nil)
    }
}
