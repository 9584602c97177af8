import Spool
import SpoolCore
import SpoolDashboard
import SpoolOrigin
import SpoolProxy
import SpoolTesting
import Testing

/// References of manifests and redirects that lead from the Internet into a private network.
@Suite(.timeLimit(.minutes(20))) struct ReferenceTrustTests {
    private static let segment = DocumentOrigin.Document("inside", type: "video/mp2t")

    private func world(
        _ documents: [String: DocumentOrigin.Document], _ names: PrivateNames = .refused(), isShared: Bool = false,
        options: (inout ProxyOptions) -> Void = { _ in }
    ) throws -> (DocumentOrigin, ProxyWorld) {
        let origin = DocumentOrigin(documents)
        let world = try ProxyWorld(
            transport: origin,
            configuration: {
                $0.security.privateNames = names
                $0.freshness.isShared = isShared
            }, options: options)
        return (origin, world)
    }

    private func reasons(_ world: ProxyWorld) -> [String] {
        world.dashboard.notices.entries.compactMap { $0.notice.kind == .notStored ? $0.notice.because : nil }
    }

    // MARK: Manifests

    private static let playlist = """
        #EXTM3U
        #EXT-X-KEY:METHOD=AES-128,URI="http://nas.local/key"
        #EXTINF:4,
        http://10.0.0.7/a.ts
        #EXTINF:4,
        //10.0.0.7/b.ts
        #EXTINF:4,
        https://cdn.example/c.ts
        #EXTINF:4,
        http://10.0.0.7:81/d.ts
        #EXT-X-ENDLIST

        """

    @Test func `a public manifest's references into a private network stay the player's, with one notice for each origin`() throws {
        let url = "https://origin.example/m.m3u8"
        let (origin, world) = try world([url: .init(Self.playlist), "\(url)?2": .init(Self.playlist + "#\n")])
        defer { world.stop() }
        let expected = Self.playlist.replacing("\n//10.", with: "\nhttps://10.")
            .replacing("https://cdn.example", with: "/_spool/child/https/cdn.example")
        #expect(try world.get("/https/origin.example/m.m3u8").text == expected)
        #expect(try world.get("/https/origin.example/m.m3u8?2").text == expected + "#\n")
        #expect(origin.asked.allSatisfy { $0.url.hasPrefix("https://origin.example/") })
        let reasons = reasons(world)
        #expect(reasons.count == 4, "\(reasons)")
        #expect(reasons.allSatisfy { $0.contains("--allow-private origin.example") && $0.contains("--allow-origin http") })
    }

    @Test func `a manifest leads into a private network from there, or where the operator allows it`() throws {
        func children(_ host: String, _ names: PrivateNames, _ options: (inout ProxyOptions) -> Void = { _ in }) throws -> Set<String> {
            let (_, world) = try world(["http://\(host)/m.m3u8": .init(Self.playlist)], names, options: options)
            defer { world.stop() }
            let lines = try world.get("/http/\(host)/m.m3u8").text.split(separator: "\n")
            return Set(lines.filter { $0.hasPrefix("/_spool/child/http/") }.map { String($0.dropFirst("/_spool/child/http/".count)) })
        }
        let all: Set = ["10.0.0.7/a.ts", "10.0.0.7/b.ts", "10.0.0.7:81/d.ts"]
        #expect(try children("origin.example", .refused()).isEmpty)
        for host in ["nas.local", "192.168.1.2", "127.0.0.1", "localhost"] { #expect(try children(host, .refused()) == all, "\(host)") }
        #expect(try children("origin.example", .allowed) == all)
        #expect(try children("origin.example", .refused(except: ["origin.example"])) == all)
        let named = try children("origin.example", .refused()) { $0.allowedOrigins = ["http://origin.example", "http://10.0.0.7"] }
        #expect(named == ["10.0.0.7/a.ts", "10.0.0.7/b.ts"])
    }

    @Test func `a child has no more trust than its own origin`() throws {
        let (_, world) = try world([
            "http://nas.local/m.m3u8": .init("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttps://origin.example/v.m3u8\n"),
            "https://origin.example/v.m3u8": .init(Self.playlist),
        ])
        defer { world.stop() }
        let child = String(try #require(try world.get("/http/nas.local/m.m3u8").text.split(separator: "\n").last))
        #expect(child == "/_spool/child/https/origin.example/v.m3u8")
        #expect(try world.get(child).text.contains("\nhttp://10.0.0.7/a.ts\n"))
    }

    @Test(arguments: ["/m.m3u8", "/go.m3u8", "/go"])
    func `a fixed origin's manifest opens no private service, also behind a redirect`(path: String) throws {
        let site = "http://site.example", evil = "http://evil.example/m.m3u8"
        let (origin, world) = try world(
            [
                "\(site)/m.m3u8": .init(Self.playlist), "\(site)/go.m3u8": .redirect(to: evil), "\(site)/go": .redirect(to: evil),
                evil: .init(Self.playlist), "http://10.0.0.7/a.ts": Self.segment,
            ], options: { $0.fixedOrigin = site })
        defer { world.stop() }
        var answer = try world.get(path, ["Range": "bytes=0-"])
        if answer.status == 302 { answer = try world.get(try #require(answer["Location"])) }
        #expect(answer.text.contains("\nhttp://10.0.0.7/a.ts\n") && answer.text.contains("/_spool/child/"), "\(answer.text)")
        #expect(!origin.asked.contains { $0.url.contains("10.0.0.7") })
        for place in ["http/10.0.0.7/a.ts", "http/127.0.0.1/x"] { #expect(try world.get("/_spool/child/\(place)").status == 403) }
    }

    @Test func `an MPD's base in a private network stays, and so does everything below it`() throws {
        let url = "https://origin.example/m.mpd"
        let text = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>//10.0.0.7/v/</BaseURL><Period><AdaptationSet mimeType="video/mp4">\
            <SegmentTemplate media="$Number$.m4s" initialization="/init.mp4" duration="4"/><Representation id="1"/>\
            </AdaptationSet></Period></MPD>
            """
        let (_, world) = try world([url: .init(text, type: "application/dash+xml")])
        defer { world.stop() }
        let found = try world.get("/https/origin.example/m.mpd").text
        #expect(found.contains("https://10.0.0.7/v/") && !found.contains("_spool/child"), "\(found)")
    }

    // MARK: Redirects and names

    @Test(arguments: [false, true]) func `a redirect into a private network is passed on`(isShared: Bool) throws {
        let inside = "http://10.0.0.7/film.ts"
        let (origin, world) = try world(
            ["http://origin.example/film.ts": .redirect(to: inside), inside: Self.segment], isShared: isShared)
        defer { world.stop() }
        let answer = try world.get("/http/origin.example/film.ts", ["Range": "bytes=0-"])
        #expect(answer.status == 307 && answer["Location"] == inside && origin.count(of: inside) == 0)
        #expect(answer["Proxy-Status"]?.contains("error=destination_ip_prohibited") == true)
        #expect(try world.get("/http/10.0.0.7/film.ts").text == "inside", "the client's own choice")
    }

    /// 1. The only user of this machine goes there without the proxy.
    /// 2. A stranger could have made the URL.
    @Test(arguments: [false, true]) func `a public name that leads to a private address is left to the only user`(isShared: Bool) throws {
        let url = "http://nas.example/film.ts"
        var document = Self.segment
        document.failure = .notAsked(
            url: url, "nas.example leads to the private address 10.0.0.7; allow it with --allow-private nas.example")
        let (_, world) = try world([url: document], isShared: isShared)
        defer { world.stop() }
        let answer = try world.get("/http/nas.example/film.ts")
        #expect(answer.status == (isShared ? 403 : 307) && answer["Location"] == (isShared ? nil : url))
        #expect(!isShared || answer.text.contains("--allow-private nas.example"))
    }
}
