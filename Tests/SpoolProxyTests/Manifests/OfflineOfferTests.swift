import Spool
import SpoolCore
import SpoolProxy
import SpoolTesting
import Testing

/// The manifests that a player gets while the network is away.
@Suite(.timeLimit(.minutes(20))) struct OfflineOfferTests {
    private static let base = "https://origin.example/v/"
    private static let master = """
        #EXTM3U
        #EXT-X-STREAM-INF:BANDWIDTH=1
        lo.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=2
        hi.m3u8

        """
    private let time = ManualTime()

    private func origin(_ master: String = Self.master, age: String = "max-age=60") -> DocumentOrigin {
        var documents: [String: DocumentOrigin.Document] = [:]
        for name in ["hi", "lo"] {
            let playlist =
                "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:4,\n\(name)1.ts\n#EXTINF:4,\n\(name)2.ts\n#EXT-X-ENDLIST\n"
            documents[Self.base + "\(name).m3u8"] = .init(playlist)
            for number in 1...2 { documents[Self.base + "\(name)\(number).ts"] = .init("\(name)\(number)", type: "video/mp2t") }
        }
        documents[Self.base + "master.m3u8"] = .init(master, fields: ["Cache-Control": age])
        return DocumentOrigin(documents)
    }

    private func get(_ world: ProxyWorld, _ name: String) throws -> ProxyClient.Answer { try world.get("/https/origin.example/v/\(name)") }

    /// Gets files, and waits until the index has them.
    private func play(_ world: ProxyWorld, _ names: String...) throws {
        for name in names { #expect(try get(world, name).status == 200) }
        for name in names { try world.wait(for: Self.base + name) { $0.isComplete } }
    }

    @Test func `while the network is away, a master playlist offers only complete variants`() throws {
        let origin = origin()
        let world = try ProxyWorld(time: time, transport: origin)
        defer { world.stop() }
        try play(world, "master.m3u8", "lo.m3u8", "lo1.ts", "lo2.ts", "hi.m3u8", "hi1.ts")
        let whole = try get(world, "master.m3u8")
        #expect(whole.text == Self.master)
        origin.stop()
        // Fresh, so that the origin is not asked.
        #expect(try get(world, "master.m3u8").text == Self.master)
        time.advance(by: .seconds(61))
        let reduced = try get(world, "master.m3u8")
        #expect(reduced.status == 200 && reduced.text == "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlo.m3u8\n")
        #expect(reduced["Cache-Control"] == "no-store")
        #expect(reduced["ETag"] != nil && reduced["ETag"] != whole["ETag"])
    }

    @Test(arguments: [[], ["lo.m3u8", "lo1.ts"], ["lo1.ts", "lo2.ts"]])
    func `with nothing complete, the master playlist stays as it is`(names: [String]) throws {
        let origin = origin()
        let world = try ProxyWorld(time: time, transport: origin)
        defer { world.stop() }
        _ = try get(world, "master.m3u8")
        for name in names { _ = try get(world, name) }
        origin.stop()
        time.advance(by: .seconds(61))
        let answer = try get(world, "master.m3u8")
        #expect(answer.text == Self.master && answer["Cache-Control"] == "max-age=60")
    }

    @Test(arguments: ["max-age=60", "max-age=0", "no-cache"])
    func `a master playlist that the origin confirms is whole`(age: String) throws {
        let origin = origin(age: age)
        let world = try ProxyWorld(time: time, transport: origin)
        defer { world.stop() }
        try play(world, "master.m3u8", "lo.m3u8", "lo1.ts", "lo2.ts")
        for _ in 0..<3 {
            time.advance(by: .seconds(61))
            #expect(try get(world, "master.m3u8").text == Self.master)
        }
        // Once the network is back, the whole list is offered again.
        guard age != "no-cache" else { return }
        origin.stop()
        time.advance(by: .seconds(61))
        #expect(try get(world, "master.m3u8").text != Self.master)
    }

    @Test func `while the network is away, an MPD offers only complete representations`() throws {
        let representations = ["lo", "hi"].map {
            "<Representation id=\"\($0)\" bandwidth=\"1\"><SegmentList><SegmentURL media=\"\($0)1.ts\"/><SegmentURL media=\"\($0)2.ts\"/></SegmentList></Representation>"
        }
        func mpd(_ inner: String) -> String {
            "<MPD type=\"static\"><Period><AdaptationSet mimeType=\"video/mp4\">\(inner)</AdaptationSet></Period></MPD>"
        }
        let origin = origin()
        origin[Self.base + "s.mpd"] = .init(
            mpd(representations.joined()), type: "application/dash+xml", fields: ["Cache-Control": "max-age=60"])
        let world = try ProxyWorld(time: time, transport: origin)
        defer { world.stop() }
        try play(world, "s.mpd", "hi1.ts", "hi2.ts", "lo1.ts")
        origin.stop()
        time.advance(by: .seconds(61))
        #expect(try get(world, "s.mpd").text == mpd(representations[1]))
    }
}
