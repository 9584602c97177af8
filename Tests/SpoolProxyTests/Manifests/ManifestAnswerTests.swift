import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolTesting
import Testing

/// The answers about a rewritten manifest, on the wire.
@Suite(.timeLimit(.minutes(20))) struct ManifestAnswerTests {
    private let master = "https://origin.example/a/master.m3u8"
    private let time = ManualTime()

    private func world(_ origin: DocumentOrigin, _ options: (inout ProxyOptions) -> Void = { _ in }) throws -> ProxyWorld {
        try ProxyWorld(time: time, transport: origin, options: options)
    }

    private func target(_ url: String) -> String { "/" + url.replacing("://", with: "/") }

    @Test func `ranges, HEAD and conditions are about the rewritten bytes`() throws {
        let origin = DocumentOrigin([master: .init("#EXTM3U\n#EXTINF:4,\n/root.ts\n#EXT-X-ENDLIST\n", fields: ["Content-MD5": "x"])])
        let world = try world(origin)
        defer { world.stop() }
        let whole = try world.get(target(master))
        #expect(whole.text == "#EXTM3U\n#EXTINF:4,\n/https/origin.example/root.ts\n#EXT-X-ENDLIST\n")
        #expect(whole["Content-Length"] == String(whole.body.count) && whole["Content-MD5"] == nil)
        let tag = try #require(whole["ETag"])
        #expect(tag.hasPrefix("\""))
        let all = try world.get(target(master), ["Range": "bytes=0-"])
        #expect(all.status == 206 && all.body == whole.body)
        #expect(all["Content-Range"] == "bytes 0-\(whole.body.count - 1)/\(whole.body.count)")
        #expect(try world.get(target(master), ["Range": "bytes=8-15"]).body == Array(whole.body[8...15]))
        #expect(try world.get(target(master), ["Range": "bytes=8-15", "If-Range": "\"other\""]).body == whole.body)
        #expect(try world.get(target(master), ["Range": "bytes=\(whole.body.count)-"]).status == 416)
        #expect(try world.get(target(master), ["If-None-Match": tag]).status == 304)
        let client = try world.connect()
        client.write("HEAD \(target(master)) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        let head = try client.head()
        #expect(head.status == 200 && head.length == whole.body.count && head["ETag"] == tag)
    }

    @Test func `a document that is not what its type claims is passed on unchanged`() throws {
        let documents: [(String, DocumentOrigin.Document)] = [
            ("page.m3u8", .init("<html>no playlist</html>")), ("page", .init("<MPD2/>", type: "text/html")),
            ("film.mp4", .init("#EXTM3U\n/a.ts\n", type: "video/mp4")),
            ("list.json", .init("{\"URI\": \"/a.ts\"}", type: "application/json")),
            ("feed", .init("{\"ASSETS\":[{\"URI\":\"/a\"}]}", type: "text/html")), ("a.gz", .init(Self.coded, type: "application/gzip")),
            ("empty.m3u8", .init("")), ("text", .init("#EXTM3U8\n/a.ts\n", type: "text/plain")),
        ]
        let origin = DocumentOrigin(Dictionary(uniqueKeysWithValues: documents.map { ("https://origin.example/\($0.0)", $0.1) }))
        let world = try world(origin)
        defer { world.stop() }
        for (name, document) in documents {
            let answer = try world.get("/https/origin.example/\(name)")
            #expect(answer.status == 200 && answer.body == document.body, "\(name)")
            #expect(answer["ETag"].map { !$0.hasPrefix("\"spool-") } ?? false, "\(name) has the tag of the origin")
            #expect(origin.count(of: "https://origin.example/\(name)") == 1)
        }
    }

    @Test func `a playlist is found by its first bytes where its URL and type are common ones`() throws {
        let origin = DocumentOrigin([
            "https://origin.example/play?id=1": .init("#EXTM3U\n/a.ts\n", type: "application/octet-stream"),
            "https://origin.example/assets": .init(
                #"{"ASSETS":[{"URI":"https:\/\/ads.example/ad.m3u8","DURATION":5}]}"#, type: "application/json"),
        ])
        let world = try world(origin)
        defer { world.stop() }
        for _ in 0..<2 {
            #expect(try world.get("/https/origin.example/play?id=1").text == "#EXTM3U\nhttp://127.0.0.1/https/origin.example/a.ts\n")
            let list = try world.get("/https/origin.example/assets")
            #expect(list.text == #"{"ASSETS":[{"URI":"http://127.0.0.1/_spool/child/https/ads.example/ad.m3u8","DURATION":5}]}"#)
        }
    }

    /// `#EXTM3U\n/a.ts\n/a.ts\n` in gzip.
    private static let coded: [UInt8] = [
        0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3, 0x53, 0x76, 0x8D, 8, 0xF1, 0x35, 0x0E, 0xE5, 0xD2, 0x4F, 0xD4, 0x2B, 0x29, 0x86, 0x92, 0, 0x73,
        0x55, 0x8A, 0x34, 0x14, 0, 0, 0,
    ]

    @Test(arguments: ["text/html; charset=UTF-8", "image/png", "video/mp2t", "application/javascript"])
    func `a playlist from a script is found by its first bytes, whatever its type`(type: String) throws {
        let origin = DocumentOrigin([
            "https://origin.example/play.php?id=1": .init("\u{FEFF}\n#EXTM3U\n/a.ts\n", type: type),
            "https://origin.example/mpd": .init("<MPD><BaseURL>/a/</BaseURL></MPD>", type: type),
            "https://origin.example/made": .init("<!-- made --><MPD><BaseURL>/a/</BaseURL></MPD>", type: type),
        ])
        let world = try world(origin)
        defer { world.stop() }
        for _ in 0..<2 {
            let playlist = try world.get("/https/origin.example/play.php?id=1"), mpd = try world.get("/https/origin.example/mpd")
            #expect(playlist.text == "\u{FEFF}\n#EXTM3U\nhttp://127.0.0.1/https/origin.example/a.ts\n")
            #expect(mpd.text == "<MPD><BaseURL>/https/origin.example/a/</BaseURL></MPD>")
            #expect(try world.get("/https/origin.example/made").text == "<!-- made -->\(mpd.text)")
            let isPage = type.hasPrefix("text/html")
            #expect(playlist["Content-Type"] == (isPage ? "application/vnd.apple.mpegurl" : type))
            #expect(mpd["Content-Type"] == (isPage ? "application/dash+xml" : type))
        }
    }

    @Test(arguments: ["gzip", "identity", "utf-8", "aws-chunked", ""])
    func `the bytes decide about the coding of a playlist, and not its name`(coding: String) throws {
        let origin = DocumentOrigin([
            "https://origin.example/plain": .init("#EXTM3U\n/a.ts\n", type: "audio/mpegurl", fields: ["Content-Encoding": coding]),
            "https://origin.example/coded": .init(Self.coded, type: "audio/mpegurl", fields: ["Content-Encoding": coding]),
        ])
        let world = try world(origin)
        defer { world.stop() }
        for _ in 0..<2 {
            let line = "http://127.0.0.1/https/origin.example/a.ts\n"
            let plain = try world.get("/https/origin.example/plain"), coded = try world.get("/https/origin.example/coded")
            #expect(plain.text == "#EXTM3U\n\(line)" && plain["Content-Encoding"] == nil)
            #expect(coded.text == "#EXTM3U\n\(line)\(line)" && coded["Content-Encoding"] == nil)
        }
    }

    @Test func `a redirected master is redirected here, also when the origin is away`() throws {
        let moved = "https://cdn.example/deep/er/master.m3u8?token=1"
        let origin = DocumentOrigin([
            master: .redirect(to: moved),
            moved: .init("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n", fields: ["Cache-Control": "max-age=60"]),
        ])
        let world = try world(origin)
        defer { world.stop() }
        for isAway in [false, true] {
            if isAway { origin.stop() }
            let answer = try world.get(target(master))
            #expect(answer.status == 302 && answer["Location"] == "/_spool/child\(target(moved))")
            #expect(try world.get("/_spool/child\(target(moved))").text == "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n")
        }
    }

    @Test func `a redirected manifest is found by its bytes where URL and type are common ones`() throws {
        let play = "https://origin.example/play?id=1", moved = "https://cdn.example/deep/er/get?token=1"
        let origin = DocumentOrigin([
            play: .redirect(to: moved), moved: .init("#EXTM3U\n#EXTINF:4,\n/a.ts\n", type: "application/octet-stream"),
            "https://origin.example/text": .redirect(to: "https://cdn.example/text"),
            "https://cdn.example/text": .init("no manifest", type: "text/plain"),
        ])
        let world = try world(origin)
        defer { world.stop() }
        for _ in 0..<2 {
            let answer = try world.get(target(play))
            #expect(answer.status == 302 && answer["Location"] == "/_spool/child\(target(moved))")
            let list = try world.get("/_spool/child\(target(moved))").text
            #expect(list.contains("\nhttp://127.0.0.1/_spool/child/https/cdn.example/a.ts\n"))
            #expect(try world.get("/https/origin.example/text").text == "no manifest")
        }
    }

    @Test func `a media playlist imports the variables of the multivariant playlist that names it`() throws {
        let origin = DocumentOrigin([
            master: .init("#EXTM3U\n#EXT-X-DEFINE:NAME=\"cdn\",VALUE=\"https://cdn.example\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n"),
            "https://origin.example/a/v.m3u8": .init("#EXTM3U\n#EXT-X-DEFINE:IMPORT=\"cdn\"\n#EXTINF:4,\n{$cdn}/1.ts\n#EXT-X-ENDLIST\n"),
        ])
        let world = try world(origin)
        defer { world.stop() }
        let child = "/https/origin.example/a/v.m3u8"
        #expect(try world.get(child).text.contains("\n{$cdn}/1.ts\n"), "without a parent nothing is known")
        _ = try world.get(target(master))
        #expect(try world.get(child).text.contains("\n/_spool/child/https/cdn.example/1.ts\n"))
    }

    @Test(arguments: [false, true])
    func `another site's multivariant playlist changes no playlist that it names`(isLater: Bool) throws {
        func parent(_ cdn: String) -> DocumentOrigin.Document {
            .init(
                "#EXTM3U\n#EXT-X-DEFINE:NAME=\"cdn\",VALUE=\"https://\(cdn)\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\n"
                    + "https://origin.example/a/v.m3u8\n")
        }
        let origin = DocumentOrigin([
            master: parent("cdn.example"), "https://evil.example/m.m3u8": parent("evil.example"),
            "https://friend.example/m.m3u8": parent("friend.example"),
            "https://origin.example/a/v.m3u8": .init("#EXTM3U\n#EXT-X-DEFINE:IMPORT=\"cdn\"\n#EXTINF:4,\n{$cdn}/1.ts\n#EXT-X-ENDLIST\n"),
        ])
        let world = try world(origin)
        defer { world.stop() }
        let child = "/https/origin.example/a/v.m3u8", named = "/_spool/child\(child)"
        func segment(_ path: String) throws -> String { String(try world.get(path).text.split(separator: "\n")[3]) }
        if isLater { _ = try world.get(target(master)) }
        let evil = try world.get("/https/evil.example/m.m3u8").text
        #expect(evil.hasSuffix("\n\(named)\n"))
        #expect(try segment(child) == (isLater ? "/_spool/child/https/cdn.example/1.ts" : "{$cdn}/1.ts"))
        #expect(try segment(named) == "/_spool/child/https/\(isLater ? "cdn" : "evil").example/1.ts")
        _ = try world.get("/https/friend.example/m.m3u8")
        #expect(
            try segment(named) == (isLater ? "/_spool/child/https/cdn.example/1.ts" : "{$cdn}/1.ts"),
            "of two parents, the player knows its own")
        _ = try world.get(target(master))
        for path in [child, named] { #expect(try segment(path) == "/_spool/child/https/cdn.example/1.ts") }
    }

    @Test func `content steering stays where playlists have stable identifiers, and is removed elsewhere`() throws {
        let tag = "#EXT-X-CONTENT-STEERING:SERVER-URI=\"https://steer.example/s.json\",PATHWAY-ID=\"a\"\n"
        let without = "#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n"
        let with = "#EXT-X-STREAM-INF:BANDWIDTH=1,STABLE-VARIANT-ID=\"v\"\nv.m3u8\n"
        let origin = DocumentOrigin([
            master: .init("#EXTM3U\n\(tag)\(without)"), "https://origin.example/stable.m3u8": .init("#EXTM3U\n\(tag)\(with)"),
            "https://steer.example/s.json?_HLS_pathway=a": .init(
                #"{"TTL":9,"RELOAD-URI":"/r.json","PATHWAY-PRIORITY":["a"],"PATHWAY-CLONES":[{"URI-REPLACEMENT":{"HOST":"c.example"}}]}"#,
                type: "application/json"),
        ])
        let world = try world(origin)
        defer { world.stop() }
        #expect(try world.get(target(master)).text == "#EXTM3U\n\(without)")
        let stable = try world.get("/https/origin.example/stable.m3u8").text
        #expect(stable == "#EXTM3U\n\(tag.replacing("https://steer.example", with: "/_spool/child/https/steer.example"))\(with)")
        for _ in 0..<2 {
            let steering = try world.get("/https/steer.example/s.json?_HLS_pathway=a").text
            #expect(steering == #"{"TTL":9,"RELOAD-URI":"/https/steer.example/r.json","PATHWAY-PRIORITY":["a"],"PATHWAY-CLONES":[]}"#)
        }
        #expect(origin.count(of: "https://steer.example/s.json?_HLS_pathway=a") == 2, "steering is for one moment")
    }

    @Test func `a live playlist serves for half a target duration, whatever the policy`() throws {
        for policy in [CachePolicy.standard, .preferStored, .storeEverything] {
            let live = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n1.ts\n"
            let origin = DocumentOrigin([master: .init(live, type: "text/plain", fields: ["Cache-Control": "max-age=600"])])
            let world = try ProxyWorld(time: time, transport: origin, configuration: { $0.freshness.policy = policy })
            defer { world.stop() }
            #expect(try world.get(target(master)).text == live)
            time.advance(by: .milliseconds(2_900))
            #expect(try world.get(target(master)).text == live)
            #expect(origin.count(of: master) == 1, "\(policy)")
            origin[master] = .init(live + "#EXTINF:6,\n2.ts\n", type: "text/plain", fields: ["Cache-Control": "max-age=600"])
            time.advance(by: .milliseconds(200))
            #expect(try world.get(target(master)).text.hasSuffix("2.ts\n"), "\(policy)")
            #expect(origin.count(of: master) == 2)
            origin.stop()
            time.advance(by: .seconds(60))
            #expect(try world.get(target(master)).text.hasSuffix("2.ts\n"), "\(policy): the last one serves while the origin is away")
        }
    }

    @Test func `a video on demand serves as long as HTTP says, and is asked for again when a segment fails`() throws {
        let segment = "https://origin.example/a/1.ts?sig=1"
        let fields: HTTPFields = ["Cache-Control": "max-age=86400"]
        let origin = DocumentOrigin([
            master: .init("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-PLAYLIST-TYPE:VOD\n1.ts?sig=1\n#EXT-X-ENDLIST\n", fields: fields)
        ])
        let world = try world(origin)
        defer { world.stop() }
        for _ in 0..<3 {
            _ = try world.get(target(master))
            time.advance(by: .seconds(3_600))
        }
        #expect(origin.count(of: master) == 1)
        #expect(try world.get(target(segment)).status == 404)
        origin[master] = .init("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-PLAYLIST-TYPE:VOD\n1.ts?sig=2\n#EXT-X-ENDLIST\n", fields: fields)
        #expect(try world.get(target(master)).text.contains("sig=2"))
        #expect(try world.get(target(master)).text.contains("sig=2"))
        #expect(origin.count(of: master) == 2)
    }

    @Test func `delivery directives reach the origin, and a delta does not replace the playlist`() throws {
        let full = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n1.ts\n"
        let delta = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-SKIP:SKIPPED-SEGMENTS=1\n#EXTINF:6,\n2.ts\n"
        let directed = "\(master)?_HLS_msn=2&_HLS_skip=YES"
        let origin = DocumentOrigin([master: .init(full), directed: .init(delta)])
        let world = try world(origin)
        defer { world.stop() }
        #expect(try world.get(target(master)).text == full)
        for _ in 0..<2 { #expect(try world.get(target(directed)).text == delta) }
        #expect(origin.count(of: directed) == 2, "the answer to a blocking request is for one moment")
        #expect(try world.get(target(master)).text == full)
        #expect(try world.status(of: directed)?.isComplete != true, "it is not stored")
    }

    @Test func `a playlist with no-cache serves while the origin is away, as its stored segments do`() throws {
        for (policy, serves) in [(CachePolicy.preferStored, true), (.storeEverything, true), (.standard, false)] {
            let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n1.ts\n"
            let origin = DocumentOrigin([master: .init(playlist, fields: ["Cache-Control": "no-cache"])])
            let world = try ProxyWorld(time: time, transport: origin, configuration: { $0.freshness.policy = policy })
            defer { world.stop() }
            for _ in 0..<2 { #expect(try world.get(target(master)).status == 200) }
            #expect(origin.count(of: master) == 2, "\(policy): it is asked for each time")
            origin.stop()
            time.advance(by: .seconds(60))
            let answer = try world.get(target(master))
            #expect((answer.status == 200) == serves, "\(policy): \(answer.status) \(answer.text)")
        }
    }

    @Test func `cookies of an origin go to the client that it answered, with the path of its resources`() throws {
        let cookie = "t=1~acl; Domain=.example; Path=/a; Secure; HttpOnly; SameSite=None"
        let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n1.ts\n#EXT-X-ENDLIST\n"
        let origin = DocumentOrigin([master: .init(playlist, fields: ["Cache-Control": "max-age=60", "Set-Cookie": cookie])])
        let world = try world(origin)
        defer { world.stop() }
        #expect(try world.get(target(master))["Set-Cookie"] == "t=1~acl; HttpOnly; Path=/https/origin.example/a")
        #expect(try world.get(target(master))["Set-Cookie"] == nil, "the next client was not answered by the origin")
        origin["https://origin.example/a/1.ts"] = .init("x", type: "video/mp2t", fields: ["Set-Cookie": "k=v"])
        let ofBrowser = try world.get("/https/origin.example/a/1.ts", ["Sec-Fetch-Site": "same-origin"])
        #expect(ofBrowser["Set-Cookie"] == nil)
        origin["https://origin.example/2.ts"] = .init("x", type: "video/mp2t", fields: ["Set-Cookie": "k=v; Domain=other.example"])
        #expect(try world.get("/https/origin.example/2.ts")["Set-Cookie"] == nil, "an origin sets none for another one")
    }

    @Test func `a resource that grows at the edge of a live playlist is asked for before its stored length counts`() throws {
        let growing = "https://origin.example/a/all.ts"
        func playlist(_ parts: Int) -> DocumentOrigin.Document {
            let lines = (0..<parts).map { "#EXT-X-PART:DURATION=1,URI=\"all.ts\",BYTERANGE=\"5@\($0 * 5)\"\n" }.joined()
            return .init("#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(lines)")
        }
        func resource(_ text: String) -> DocumentOrigin.Document {
            .init(text, type: "video/mp2t", fields: ["Cache-Control": "max-age=600"])
        }
        let origin = DocumentOrigin([master: playlist(1), growing: resource("11111")])
        let world = try world(origin)
        defer { world.stop() }
        _ = try world.get(target(master))
        #expect(try world.get(target(growing), ["Range": "bytes=0-4"]).text == "11111")
        origin[growing] = resource("1111122222")
        origin[master] = playlist(2)
        time.advance(by: .seconds(3))
        _ = try world.get(target(master))
        #expect(try world.get(target(growing), ["Range": "bytes=5-9"]).text == "22222")
        #expect(try world.get(target(growing), ["Range": "bytes=10-14"]).status == 416)
        let asked = origin.count(of: growing)
        origin[master] = .init("#EXTM3U\n#EXT-X-TARGETDURATION:4\nother.ts\n#EXT-X-ENDLIST\n")
        time.advance(by: .seconds(3))
        _ = try world.get(target(master))
        #expect(try world.get(target(growing), ["Range": "bytes=10-14"]).status == 416)
        #expect(origin.count(of: growing) == asked, "once the stream has ended, the stored length counts")
    }

    @Test func `a stored failure of a part of a live playlist hides no part that exists by now`() throws {
        let hint = "https://origin.example/a/2.1.mp4"
        var missing = DocumentOrigin.Document("no", type: "text/plain", fields: ["Cache-Control": "max-age=600"])
        (missing.status, missing.hasTag) = (404, false)
        let live = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n1.mp4\n#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"2.1.mp4\"\n"
        let origin = DocumentOrigin([master: .init(live), hint: missing])
        let world = try world(origin)
        defer { world.stop() }
        _ = try world.get(target(master))
        for _ in 0..<2 { #expect(try world.get(target(hint)).status == 404) }
        origin[hint] = .init("part", type: "video/mp4")
        #expect(try world.get(target(hint)).text == "part")
        #expect(origin.asked.last?.isHeldBack == true, "the origin may hold the answer back")
    }
}
