import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolTesting
import Testing

/// Requests that lead back to the proxy.
@Suite(.timeLimit(.minutes(20))) struct LoopTests {
    @Test func `the proxy's own address is refused as an origin under every name`() throws {
        let world = try ProxyWorld(options: { $0.allowedHosts = ["media.home"] })
        defer { world.stop() }
        for host in ["127.0.0.1", "localhost", "LOCALHOST", "media.home", "0.0.0.0", "a.localhost"] {
            let answer = try world.get("/http/\(host):\(world.port)/http/media.example/film.mp4")
            #expect(answer.status == 508, "\(host)")
            #expect(answer.text.contains("proxy's own"))
        }
        #expect(try world.get("/?url=http%3A%2F%2F127.0.0.1%3A\(world.port)%2F_spool%2F").status == 508)
        #expect(world.asked.isEmpty)
        // Another port of this machine is another server.
        #expect(try world.get("/http/127.0.0.1:\(world.port ^ 1)/x").status == 404)
    }

    @Test func `a request that comes back through other proxies is refused by its Via name`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film])
        defer { world.stop() }
        #expect(try world.get(film.target, ["Via": "1.1 spool-other, 1.0 fred (Apache)"]).status == 200)
        let via = try #require(world.origin.log.entries.first?.request.fields["Via"])
        #expect(via.hasPrefix("1.1 spool-"))
        for value in [via, "1.1 varnish, \(via)", "\(via) (somewhere), 1.1 nginx"] {
            let answer = try world.get(film.target, ["Via": value])
            #expect(answer.status == 508, "\(value)")
        }
        // Two lines are one list.
        let lines = HTTPFields([.init(name: "Via", value: "1.1 a"), .init(name: "Via", value: via)])
        #expect(try world.get(film.target, lines).status == 508)
    }

    @Test func `each origin gets another Via name, and the proxy recognises all of them`() throws {
        let one = VirtualResource(url: "http://one.example/a.mp4", seed: 1, length: 100)
        let two = VirtualResource(url: "http://two.example/a.mp4", seed: 2, length: 100)
        let world = try ProxyWorld([one, two])
        defer { world.stop() }
        for film in [one, two] { #expect(try world.get(film.target).status == 200) }
        let names = world.origin.log.entries.compactMap { $0.request.fields["Via"] }
        #expect(Set(names).count == 2, "\(names)")
        for name in names {
            for film in [one, two] { #expect(try world.get(film.target, ["Via": name]).status == 508) }
            let forged = String(name.dropLast()) + (name.hasSuffix("0") ? "1" : "0")
            #expect(try world.get(one.target, ["Via": forged]).status == 200)
        }
    }

    @Test func `two proxies that are each other's origin stop at the second round`() throws {
        let film = VirtualResource.film()
        let outer = try ProxyWorld([film]), inner = try ProxyWorld([film])
        defer { outer.stop() }
        defer { inner.stop() }
        // The inner proxy's origin request goes to the outer one again.
        let via = try #require(try passed(outer, film))
        #expect(try inner.get(film.target, ["Via": via]).status == 200)
        #expect(try outer.get(film.target, ["Via": "\(via), 1.1 spool-inner"]).status == 508)
    }

    @Test func `a request to an origin carries the names of the caches that it came through, and no others`() throws {
        let film = VirtualResource.film()
        let outer = try ProxyWorld([film]), inner = try ProxyWorld([film])
        defer { outer.stop() }
        defer { inner.stop() }
        let name = try #require(try passed(outer, film))
        #expect(try inner.get(film.target, ["Via": "1.1 varnish, \(name), 1.1 spool-other"]).status == 200)
        let via = try #require(inner.origin.log.entries.first?.request.fields["Via"])
        #expect(via.hasPrefix("\(name), 1.1 spool-") && !via.contains("varnish") && !via.contains("other"), "\(via)")
        #expect(try outer.get(film.target, ["Via": via]).status == 508)
        #expect(try inner.get(film.target, ["Via": via]).status == 508)
    }

    private func passed(_ world: ProxyWorld, _ film: VirtualResource) throws -> String? {
        _ = try world.get(film.target)
        return world.origin.log.entries.first?.request.fields["Via"]
    }
}
