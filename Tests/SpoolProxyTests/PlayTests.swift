import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolTesting
import Testing

/// The requests to an origin for plays of stored media, on the wire (`CachePolicy.explicit`).
@Suite(.timeLimit(.minutes(20))) struct PlayTests {
    private let time = ManualTime()
    private let list = "https://origin.example/live.m3u8"
    private let segment = "https://origin.example/s5.ts"

    private func target(_ url: String) -> String { "/" + url.replacing("://", with: "/") }

    private func playlist(from sequence: Int, isLive: Bool = true) -> DocumentOrigin.Document {
        let end = isLive ? "" : "#EXT-X-ENDLIST\n"
        return .init("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:\(sequence)\n#EXTINF:4,\ns5.ts\n\(end)")
    }

    private func media(_ byte: UInt8, _ control: String) -> DocumentOrigin.Document {
        .init([UInt8](repeating: byte, count: 1000), type: "video/mp2t", fields: ["Cache-Control": control])
    }

    private func expectStored(_ world: ProxyWorld, _ url: String) throws {
        // A play begins only once the last reader has left.
        try world.wait(for: url) { $0.isComplete && $0.fetches == 0 && $0.readers == 0 }
    }

    @Test func `a song whose origin demands a check costs one request without a body for a play`() throws {
        var song = VirtualResource.film("song.mp3")
        (song.contentType, song.fields) = ("audio/mpeg", ["Cache-Control": "no-cache"])
        let world = try ProxyWorld([song], time: time)
        defer { world.stop() }
        #expect(try world.get(song.target).body == song.allBytes)
        try expectStored(world, song.url)
        time.advance(by: .seconds(3))
        let client = try world.connect()
        #expect(try client.get(song.target).body == song.allBytes)
        #expect(try client.get(song.target, ["Range": "bytes=500-999"]).body == song.bytes(500..<1000))
        #expect(world.origin.log.entries.map(\.status) == [206, 304])
        time.advance(by: .seconds(3))
        world.origin.setOffline(true)
        #expect(try client.get(song.target).body == song.allBytes)
    }

    @Test func `a live encoder that starts again with old names gives new segments`() throws {
        let origin = DocumentOrigin([list: playlist(from: 5), segment: media(1, "max-age=3600")])
        let world = try ProxyWorld(time: time, transport: origin)
        defer { world.stop() }
        #expect(try world.get(target(list)).status == 200)
        #expect(try world.get(target(segment)).body.first == 1)
        try expectStored(world, segment)
        (origin[list], origin[segment]) = (playlist(from: 1), media(2, "max-age=3600"))
        time.advance(by: .seconds(5))
        #expect(try world.get(target(list)).text.contains("SEQUENCE:1\n"))
        #expect(try world.get(target(segment)).body.first == 2)
    }

    @Test func `requests for a live segment do not grow with the viewers, and going back costs none`() throws {
        let origin = DocumentOrigin([list: playlist(from: 5), segment: media(1, "no-cache")])
        let world = try ProxyWorld(time: time, transport: origin)
        defer { world.stop() }
        for second in 0..<20 {
            time.advance(by: .seconds(2))
            origin[list] = playlist(from: 5 + second / 2)
            #expect(try world.get(target(list)).status == 200)
            for _ in 0..<5 { #expect(try world.get(target(segment)).body.first == 1) }
        }
        #expect(origin.count(of: segment) == 1)
    }

    @Test func `a confirmed manifest confirms its parts`() throws {
        let origin = DocumentOrigin([list: playlist(from: 1, isLive: false), segment: media(1, "no-cache")])
        let world = try ProxyWorld(time: time, transport: origin)
        defer { world.stop() }
        for _ in 0..<3 {
            #expect(try world.get(target(list)).status == 200)
            #expect(try world.get(target(segment)).body.first == 1)
            try expectStored(world, segment)
            time.advance(by: .seconds(700))
        }
        #expect(origin.count(of: segment) == 1)
    }

    @Test func `a range behind the end of a file without validator is the client's own request`() throws {
        var document = media(1, "")
        document.hasTag = false
        let origin = DocumentOrigin([segment: document])
        let world = try ProxyWorld(time: time, transport: origin)
        defer { world.stop() }
        #expect(try world.get(target(segment)).body.count == 1000)
        try expectStored(world, segment)
        document.body += [2, 2]
        origin[segment] = document
        let answer = try world.get(target(segment), ["Range": "bytes=1000-"])
        #expect(answer.status == 206 && answer.body == [2, 2])
        #expect(try world.get(target(segment), ["Range": "bytes=2000-"]).status == 416)
        #expect(origin.count(of: segment) == 2)
    }

    @Test func `Cache-Status names a hit before the bytes are on the disk`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], time: time)
        defer { world.stop() }
        #expect(try world.get(film.target)["Cache-Status"] == "spool; fwd=uri-miss")
        #expect(try world.get(film.target)["Cache-Status"] == "spool; hit")
    }
}
