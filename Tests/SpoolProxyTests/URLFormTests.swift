import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolStore
import SpoolTesting
import Testing

/// The forms of a target that name a resource, on the wire.
@Suite(.timeLimit(.minutes(20))) struct URLFormTests {
    /// Paths and queries that a server on the way might normalise.
    static let paths = [
        "/a%20b.mp4", "/caf%C3%A9.mp4", "/caf%c3%a9.mp4", "/%2e%2e/x", "/a/../b", "/a//b", "//", "/./", "/%2F%2F", "/%", "/%zz",
        "/p;v=1,2/x",
        "/a'b(c)*!$&+=", "/a:b@c", "/~user", "/[x]", "/a|b^c`{}", "/a\\b", "/\"q\"<>", "/x?", "/x??", "/x?y=1&z=%26;q", "/x?a=b=c&&",
        "/x?/..//",
        "/x?url=http%3A%2F%2Fother.example%2F", "/http/other.example/x", "/_spool/", "/x?a+b", "/",
    ]

    @Test(arguments: paths)
    func `paths and queries reach the origin byte for byte, in every form`(path: String) throws {
        // Fresh, so that a proxy for one site need not ask again.
        let film = VirtualResource(url: VirtualResource.site + path, seed: 1, length: 1000, fields: ["Cache-Control": "max-age=60"])
        let encoded = film.url.utf8.map { "%" + String(Int($0) + 256, radix: 16).suffix(2) }.joined()
        try expect(film, at: [film.target, "/?url=\(encoded)"]) { _ in }
        try expect(film, at: ["/secret" + film.target, "/secret/?url=\(encoded)"]) { $0.token = "secret" }
        if path != "/_spool/" { try expect(film, at: [path]) { $0.fixedOrigin = VirtualResource.site } }
    }

    /// Requests the film by each target, and by the URL that the proxy itself returns.
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

    @Test func `a resource with an explicit key is the same under every URL, for clients with the token`() throws {
        let films = ["film.mp4?sig=1", "film.mp4?sig=2"].map { VirtualResource.film($0) }
        let world = try ProxyWorld(films, options: { $0.token = "secret" })
        defer { world.stop() }
        let key = ResourceKey(normalized: "film 42 & more")
        let given = try #require(world.proxy.url(for: films[0].url, key: key))
        let targets = [
            String(given.dropFirst("http://127.0.0.1:\(world.port)".count)),
            "/secret/?url=http%3A%2F%2Fmedia.example%2Ffilm.mp4%3Fsig%3D2&key=film%2042%20%26%20more",
        ]
        for target in targets { #expect(try world.get(target).body == films[0].allBytes) }
        // Several ranges, each of which is a reader of its own.
        #expect(try world.get(targets[1], ["Range": "bytes=0-9,500-509"]).status == 206)
        #expect(world.origin.log.entries.map(\.request.url) == [films[0].url])
        // The explicit key differs from the key of the URL and from other explicit keys.
        #expect(try world.get("/secret" + films[0].target).status == 200)
        #expect(try world.get("/secret/?key=film%2043&url=http%3A%2F%2Fmedia.example%2Ffilm.mp4%3Fsig%3D1").status == 200)
        #expect(world.origin.log.entries.count == 3)
        #expect(try world.get(String(targets[0].dropFirst("/secret".count))).status == 403, "the token is missing")
    }

    @Test func `an explicit key is refused without a token, when malformed, and for a fixed origin`() throws {
        let film = VirtualResource.film()
        let open = try ProxyWorld([film])
        defer { open.stop() }
        let item = "key=a&url=http%3A%2F%2Fmedia.example%2Ffilm.mp4"
        #expect(try open.get("/?\(item)").status == 403)
        #expect(open.proxy.url(for: film.url, key: ResourceKey(normalized: "a")) == nil)
        #expect(open.asked.isEmpty)
        let locked = try ProxyWorld([film], options: { $0.token = "secret" })
        defer { locked.stop() }
        for key in ["", "%zz", "%ff", "a%1Bc", "a%0Ab", "%C2%9B", String(repeating: "x", count: 1025)] {
            #expect(try locked.get("/secret/?key=\(key)&url=http%3A%2F%2Fmedia.example%2Ffilm.mp4").status == 400, "\(key)")
        }
        #expect(locked.asked.isEmpty)
        let site = try ProxyWorld([film], options: { ($0.token, $0.fixedOrigin) = ("secret", VirtualResource.site) })
        defer { site.stop() }
        #expect(try site.get("/secret/?\(item)").status == 404, "the target is a path of the site")
    }

    /// A playlist with signed URLs, as a player asks for it: the playlist with one signature, its
    /// segments with theirs, and everything again on another day. Playlists and segments are plain
    /// resources here, and one policy covers all of them.
    @Test(arguments: [true, false]) func `a playlist and its segments share the rules for keys`(isSite: Bool) throws {
        let names = ["master.m3u8", "video/1.m4s", "video/2.m4s", "manifest.mpd"]
        let days = [1, 2].map { day in
            names.enumerated().map { index, name in
                VirtualResource(
                    url: "\(VirtualResource.site)/\(name)?v=7&Expires=\(day)&Signature=s\(day)", seed: UInt64(index + 1), length: 1000,
                    fields: ["Cache-Control": "max-age=3600"])
            }
        }
        let world = try ProxyWorld(
            days.flatMap { $0 },
            configuration: {
                $0.freshness.keyPolicy = KeyPolicy().dropQueryItems(named: ["Expires", "Signature"], forHosts: ["media.example"])
            },
            options: { if isSite { $0.fixedOrigin = VirtualResource.site } })
        defer { world.stop() }
        for day in days {
            for resource in day {
                let target = isSite ? String(resource.url.dropFirst(VirtualResource.site.count)) : resource.target
                #expect(try world.get(target).body == resource.allBytes, "\(resource.url)")
                try world.wait(for: resource.url) { $0.isComplete && $0.readers == 0 }
            }
        }
        #expect(world.origin.log.entries.map(\.request.url) == days[0].map(\.url), "the second day's signatures were not needed")
    }

    @Test func `raw bytes in a target are percent-encoded and name the same resource`() throws {
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

    @Test func `the proxy returns no URL for a resource that it does not serve`() throws {
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
