import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolTesting
import Testing

/// Stored answers grow old: when a client gets them at once, and when the proxy asks the origin
/// first (RFC 9111).
@Suite(.timeLimit(.minutes(20))) struct FreshnessAnswerTests {
    private let time = ManualTime()

    /// A proxy for one site, with one page of it stored whole.
    private func site(_ control: String, contentType: String = "video/mp4") throws -> (ProxyWorld, VirtualResource) {
        var film = VirtualResource.film()
        film.contentType = contentType
        film.fields = ["Cache-Control": control]
        let world = try ProxyWorld([film], time: time, options: { $0.fixedOrigin = VirtualResource.site })
        #expect(try world.get("/film.mp4").body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete && $0.fetches == 0 }
        return (world, film)
    }

    @Test func `a fresh answer is a hit, and a stale one is revalidated and fresh again`() throws {
        let (world, film) = try site("max-age=60")
        defer { world.stop() }
        time.advance(by: .seconds(59))
        #expect(try world.get("/film.mp4")["Cache-Status"] == "spool; hit")
        time.advance(by: .seconds(2))
        let answer = try world.get("/film.mp4")
        #expect(answer.body == film.allBytes)
        #expect(answer["Cache-Status"] == "spool; fwd=stale")
        #expect(answer["Age"] == "0")
        #expect(try world.get("/film.mp4")["Cache-Status"] == "spool; hit")
        #expect(world.origin.log.entries.map(\.status) == [206, 304])
    }

    @Test func `a revalidation brings the new version`() throws {
        let (world, film) = try site("no-cache")
        defer { world.stop() }
        let new = film.version(seed: 2)
        world.origin.serve(new)
        let answer = try world.get("/film.mp4", ["Range": "bytes=500-999"])
        #expect(answer.status == 206)
        #expect(answer.body == new.bytes(500..<1000))
        #expect(answer["ETag"] == new.entityTag)
    }

    @Test func `a client that asks for fresh bytes gets revalidated ones`() throws {
        let (world, film) = try site("max-age=60")
        defer { world.stop() }
        for fields in [["Cache-Control": "no-cache"], ["Pragma": "no-cache"]] as [HTTPFields] {
            let answer = try world.get("/film.mp4", fields)
            #expect(answer.body == film.allBytes)
            #expect(answer["Cache-Status"]?.hasPrefix("spool; fwd=request") == true)
        }
        #expect(world.origin.log.entries.count == 3)
        #expect(try world.get("/film.mp4", ["Cache-Control": "only-if-cached"])["Cache-Status"] == "spool; hit")
    }

    @Test(arguments: [("max-age=1", 200), ("max-age=1, must-revalidate", 502), ("no-cache", 502)])
    func `without its origin a stale answer is served unless its fields forbid that`(_ control: String, _ status: Int) throws {
        let (world, film) = try site(control)
        defer { world.stop() }
        time.advance(by: .seconds(10))
        world.origin.setOffline(true)
        let answer = try world.get("/film.mp4")
        #expect(answer.status == status)
        if status == 200 { #expect(answer.body == film.allBytes) }
    }

    @Test func `a browser that reloads without the origin gets the stored bytes`() throws {
        let (world, film) = try site("max-age=60")
        defer { world.stop() }
        world.origin.setOffline(true)
        let answer = try world.get("/film.mp4", ["Cache-Control": "no-cache", "Pragma": "no-cache"])
        #expect(answer.status == 200)
        #expect(answer.body == film.allBytes)
    }

    @Test func `a resource that the origin deleted is no longer served`() throws {
        let (world, film) = try site("no-cache")
        defer { world.stop() }
        world.origin.follow { _, _ in .status(410) }
        #expect(try world.get("/film.mp4").status == 410)
        world.wait("the resource is removed", until: { (try? world.status(of: film.url)) == .some(nil) })
    }

    @Test func `media under their own URL are served from the store, and playlists are revalidated`() throws {
        for (type, count) in [("video/mp4", 1), ("application/vnd.apple.mpegurl", 2)] {
            var film = VirtualResource.film("list")
            film.contentType = type
            film.fields = ["Cache-Control": "max-age=60"]
            let world = try ProxyWorld([film], time: time)
            defer { world.stop() }
            #expect(try world.get(film.target).body == film.allBytes)
            try world.wait(for: film.url) { $0.isComplete && $0.fetches == 0 }
            time.advance(by: .seconds(100))
            #expect(try world.get(film.target).body == film.allBytes)
            #expect(world.origin.log.entries.count == count)
        }
    }

    @Test func `a client that sends no-store gets its bytes, and none is stored`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], time: time)
        defer { world.stop() }
        #expect(try world.get(film.target, ["Cache-Control": "no-store"]).body == film.allBytes)
        #expect(try world.status(of: film.url)?.stored.totalBytes ?? 0 == 0)
        #expect(try world.get(film.target).body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete }
    }

    @Test func `a page in place of a film is passed on and not stored`() throws {
        var portal = VirtualResource.film()
        portal.contentType = "text/html"
        portal.fields = ["Cache-Control": "max-age=600"]
        let world = try ProxyWorld([portal], time: time)
        defer { world.stop() }
        #expect(try world.get(portal.target).body == portal.allBytes)
        #expect(try world.status(of: portal.url)?.stored.totalBytes ?? 0 == 0)
    }
}
