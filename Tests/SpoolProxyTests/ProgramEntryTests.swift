import Spool
import SpoolCore
import SpoolProxy
import SpoolTesting
import Testing

/// Programs of the same user, which get resources through the proxy as origins send them.
@Suite(.timeLimit(.minutes(20))) struct ProgramEntryTests {
    private static let playlist = "#EXTM3U\n/a.ts\nhttps://other.example/b.ts\n"

    private func world(_ options: @escaping (inout ProxyOptions) -> Void = { _ in }) throws -> ProxyWorld {
        let origin = DocumentOrigin([
            "https://origin.example/x.m3u8": .init(Self.playlist), "https://other.example/y.m3u8": .init(Self.playlist),
        ])
        return try ProxyWorld(
            transport: origin,
            options: {
                $0.programToken = "secret"
                options(&$0)
            })
    }

    @Test(
        arguments: [
            "https/origin.example/x.m3u8", "https://origin.example/x.m3u8", "?url=https%3A%2F%2Forigin.example%2Fx.m3u8",
            "https/other.example/y.m3u8",
        ], [nil, "https://origin.example"])
    func `a program gets a playlist with the references of its origin, also of other sites`(form: String, site: String?) throws {
        let world = try world { $0.fixedOrigin = site }
        defer { world.stop() }
        for _ in 0..<2 {
            let answer = try world.get("/_spool/program/secret/\(form)")
            #expect(answer.status == 200 && answer.text == Self.playlist)
            #expect(answer["Cache-Status"] != nil, "a program tells answers about resources from refusals by this field")
        }
    }

    @Test func `the path takes the secret, and no client of another proxy`() throws {
        let world = try world()
        defer { world.stop() }
        #expect(try world.get("/_spool/program/secre/https/origin.example/x.m3u8").status == 403)
        #expect(try world.get("/_spool/program/secret/ftp/origin.example/x").status == 400)
        let passedOn: HTTPFields = ["X-Forwarded-For": "198.51.100.7"]
        #expect(try world.get("/_spool/program/secret/https/origin.example/x.m3u8", passedOn).status == 403)
        let without = try self.world { $0.programToken = nil }
        defer { without.stop() }
        #expect(try without.get("/_spool/program//https/origin.example/x.m3u8").status == 403)
    }

    @Test func `a log line contains no secret of programs`() throws {
        var options = ProxyOptions()
        (options.token, options.programToken) = (nil, "secret")
        let logged = try ProxyTargetRules(options).logged("/_spool/program/secret/?url=https%3A%2F%2Forigin.example%2Fx.m3u8%3Fk%3D1")
        #expect(logged == "https://origin.example/x.m3u8")
    }

    @Test func `a pasted URL is served, and a forward proxy's client learns the URL to ask`() throws {
        let world = try world()
        defer { world.stop() }
        for path in ["/https://origin.example/x.m3u8", "/https:/origin.example/x.m3u8"] {
            #expect(try world.get(path).text.contains("/https/origin.example/a.ts"), "\(path)")
        }
        let forwarded = try world.get("http://127.0.0.1:9/film.mp4?a=b", ["Host": "127.0.0.1:9"])
        #expect(forwarded.status >= 400)
        #expect(forwarded.text.contains("no forward proxy; ask http://127.0.0.1:\(world.port)/http/127.0.0.1:9/film.mp4?a=b"))
        #expect(try world.get("http://film.example/film.mp4", ["Host": "film.example"]).text.contains("/http/film.example/film.mp4"))
    }
}
