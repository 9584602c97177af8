import Spool
import SpoolCore
import SpoolDASH
import SpoolManifests
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Preloads of HLS and DASH presentations.
@Suite(.timeLimit(.minutes(20))) struct `Preloads of presentations` {
    private static let base = "http://origin.test/v/"

    private static let master = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en",DEFAULT=YES,URI="sound.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="en",LANGUAGE="en",DEFAULT=YES,URI="text.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360,AUDIO="a",SUBTITLES="t"
        mid.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=3000000,RESOLUTION=1280x720,AUDIO="a",SUBTITLES="t"
        high.m3u8
        """

    private static func playlist(_ name: String, key: Bool = false) -> String {
        let segments = (1...10).map { "#EXTINF:4,\n\(name)\($0).m4s" }.joined(separator: "\n")
        return "#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(key ? "#EXT-X-KEY:METHOD=AES-128,URI=\"\(name).key\"\n" : "")"
            + "#EXT-X-MAP:URI=\"\(name)-init.mp4\"\n\(segments)\n#EXT-X-ENDLIST\n"
    }

    private static let texts: [String: (type: String, text: String)] = [
        "master.m3u8": ("application/vnd.apple.mpegurl", master),
        // A manifest whose type and URL have no meaning.
        "start": ("text/plain", master),
        "mid.m3u8": ("application/vnd.apple.mpegurl", playlist("mid", key: true)),
        "high.m3u8": ("application/vnd.apple.mpegurl", playlist("high", key: true)),
        "sound.m3u8": ("application/vnd.apple.mpegurl", playlist("sound")),
        "text.m3u8": ("application/vnd.apple.mpegurl", playlist("text")),
        "live.m3u8": ("application/vnd.apple.mpegurl", playlist("mid").replacing("#EXT-X-ENDLIST\n", with: "")),
        "notes.xml": ("application/xml", "<notes/>"),
        "film.mpd": (
            "application/dash+xml",
            """
            <MPD mediaPresentationDuration="PT40S"><Period><AdaptationSet mimeType="video/mp4">\
            <SegmentTemplate initialization="$RepresentationID$-init.mp4" media="$RepresentationID$$Number$.m4s" duration="4"/>\
            <Representation id="low" bandwidth="500000" height="360"/><Representation id="high" bandwidth="3000000" height="720"/>\
            </AdaptationSet></Period></MPD>
            """
        ),
    ]

    private func world(readsDASH: Bool = true, script: (@Sendable (String) -> OriginBehaviour?)? = nil) throws -> EngineWorld {
        try EngineWorld(
            [],
            configuration: { $0.readsDASH = readsDASH },
            script: { request, _ in
                let name = String(request.url.dropFirst(Self.base.count))
                return script?(name) ?? Self.answer(to: request.url)
            })
    }

    private static func answer(to url: String) -> OriginBehaviour {
        let (type, body) =
            texts[String(url.dropFirst(base.count))].map { ($0.type, Array($0.text.utf8)) }
            ?? ("video/mp4", [UInt8](repeating: 7, count: 1000))
        return .status(200, fields: ["Content-Type": type, "ETag": "\"1\"", "Content-Length": "\(body.count)"], body: body)
    }

    /// The names of the stored resources.
    private func stored(_ world: EngineWorld) async throws -> Set<String> {
        Set(try await world.cache.resources().filter(\.isComplete).map { String($0.url.dropFirst(Self.base.count)) })
    }

    private static let tenSeconds: Set<String> = [
        "mid.m3u8", "sound.m3u8", "text.m3u8", "mid.key", "mid-init.mp4", "sound-init.mp4", "text-init.mp4", "mid1.m4s", "mid2.m4s",
        "mid3.m4s",
        "sound1.m4s", "sound2.m4s", "sound3.m4s", "text1.m4s", "text2.m4s", "text3.m4s",
    ]

    @Test(arguments: ["master.m3u8", "start"])
    func `seconds of HLS are the segments of the first variant with sound, subtitles, keys and sections`(name: String) async throws {
        let world = try world()
        let preload = try world.cache.preload(Self.base + name, .seconds(10))
        var last: PreloadProgress?
        for await progress in preload.progress { last = progress }
        let result = try await preload.result()
        #expect(try await stored(world) == Self.tenSeconds.union([name]))
        #expect(last?.partCount == 17)
        #expect(last?.finishedPartCount == 17)
        #expect(last?.doneBytes == result.fetchedBytes)
        let again = try await world.cache.preload(Self.base + name, .seconds(10)).result()
        #expect(again.storedBytes == result.fetchedBytes)
        await world.cache.close()
    }

    @Test func `a height chooses another variant`() async throws {
        let world = try world()
        try await world.cache.preload(Self.base + "master.m3u8", .seconds(4), variant: .height(720)).result()
        let names = try await stored(world)
        #expect(names.contains("high1.m4s") && !names.contains("high2.m4s") && !names.contains("mid1.m4s"))
        await world.cache.close()
    }

    @Test func `segments are that many of each rendition from a time on, with keys and sections`() async throws {
        let world = try world()
        try await world.cache.preload(Self.base + "master.m3u8", .segments(2, from: 9)).result()
        let parts = ["mid", "sound", "text"].flatMap { ["\($0).m3u8", "\($0)-init.mp4", "\($0)3.m4s", "\($0)4.m4s"] }
        #expect(try await stored(world) == Set(parts + ["master.m3u8", "mid.key"]))
        await world.cache.close()
    }

    @Test(arguments: [(0, 0), (3, 3), (Int.max, 10), (-1, 0)])
    func `a number of segments ends with the presentation`(count: Int, expected: Int) async throws {
        let world = try world()
        try await world.cache.preload(Self.base + "film.mpd", .segments(count)).result()
        #expect(try await stored(world).filter { $0.hasSuffix(".m4s") }.count == expected)
        await world.cache.close()
    }

    @Test func `the app's closure chooses the variant, and leaves the choice to the quality without an answer`() async throws {
        let seen = Locked<[Int64]>([])
        let world = try EngineWorld(
            [],
            configuration: { configuration in
                configuration.fetching.chooseVariant = { variants in
                    seen.withLock { $0 = variants.map(\.bandwidth) }
                    // An index that does not exist chooses nothing.
                    return variants.firstIndex { $0.height == 720 } ?? 7
                }
            }, script: { request, _ in Self.answer(to: request.url) })
        try await world.cache.preload(Self.base + "master.m3u8", .segments(1), variant: .worst).result()
        #expect(seen.withLock { $0 } == [800_000, 3_000_000])
        #expect(try await stored(world).contains("high1.m4s"))
        try await world.cache.preload(Self.base + "mid.m3u8", .segments(1)).result()
        #expect(try await stored(world).contains("mid1.m4s"))
        await world.cache.close()
    }

    @Test func `seconds of DASH are the segments of the variant for the first megabit`() async throws {
        let world = try world()
        try await world.cache.preload(Self.base + "film.mpd", .seconds(5)).result()
        #expect(try await stored(world) == ["film.mpd", "low-init.mp4", "low1.m4s", "low2.m4s"])
        await world.cache.close()
    }

    @Test func `without its reader, a DASH manifest is refused and never taken for the whole film`() async throws {
        let world = try world(readsDASH: false)
        let preload = try world.cache.preload(Self.base + "film.mpd", .whole)
        let error = await #expect(throws: CacheError.self) { try await preload.result() }
        #expect(error?.code == .configuration && error?.message.contains("SpoolDASH") == true)
        await world.cache.close()
    }

    @Test func `a whole presentation is complete, and bytes are whole parts`() async throws {
        let world = try world()
        try await world.cache.preload(Self.base + "film.mpd", .whole).result()
        #expect(try await stored(world).count == 12)
        let few = try await world.cache.preload(Self.base + "mid.m3u8", .bytes(2500)).result()
        #expect(few.fetchedBytes >= 2500 && few.fetchedBytes < 8000)
        await world.cache.close()
    }

    @Test func `a part that is refused makes the manifests come anew, once`() async throws {
        let refusals = Counter()
        let world = try world { name in name == "mid2.m4s" && refusals.next() == 1 ? .status(403) : nil }
        try await world.cache.preload(Self.base + "mid.m3u8", .seconds(10)).result()
        #expect(try await stored(world).isSuperset(of: ["mid1.m4s", "mid2.m4s", "mid3.m4s"]))
        #expect(world.origin.log.entries.filter { $0.request.url.hasSuffix("mid.m3u8") }.count == 2)
        await world.cache.close()
        let other = try self.world { name in name == "mid2.m4s" ? .status(403) : nil }
        await #expect { try await other.cache.preload(Self.base + "mid.m3u8", .seconds(10)).result() } throws: {
            ($0 as? CacheError)?.status == 403
        }
        await other.cache.close()
    }

    @Test func `a live stream has no beginning, and a document that is no manifest is a resource`() async throws {
        let world = try world()
        await #expect { try await world.cache.preload(Self.base + "live.m3u8", .seconds(10)).result() } throws: {
            ($0 as? CacheError)?.code == .unsupportedURL
        }
        #expect(try await world.cache.preload(Self.base + "notes.xml", .seconds(10)).result().fetchedBytes == 8)
        await world.cache.close()
    }

    /// Downloads the presentation of this name, and returns the last progress.
    @discardableResult
    private func download(_ name: String, in world: EngineWorld) async throws -> PreloadProgress? {
        let preload = try Preload.presentation(in: world.cache, Self.base + name, PresentationSelection())
        var last: PreloadProgress?
        for await progress in preload.progress { last = progress }
        try await preload.result()
        return last
    }

    @Test func `a repeated download asks for no stored part, even a stale one, and counts it as stored`() async throws {
        let world = try world { name in
            guard name.hasSuffix(".m4s") else { return nil }
            return .status(
                200, fields: ["Cache-Control": "max-age=0", "ETag": "\"1\"", "Content-Length": "9"], body: [UInt8](repeating: 1, count: 9))
        }
        let first = try await download("mid.m3u8", in: world)
        #expect(first?.storedBytes == 0 && first?.finishedPartCount == 13 && first?.totalBytes == first?.doneBytes)
        let asked = world.origin.log.entries.count
        let again = try await download("mid.m3u8", in: world)
        #expect(world.origin.log.entries.dropFirst(asked).allSatisfy { $0.request.url.hasSuffix("mid.m3u8") })
        #expect(again?.doneBytes == first?.doneBytes && again?.storedBytes == first?.doneBytes)
        await world.cache.close()
    }

    @Test func `the parts of a pinned presentation are pinned when they are downloaded`() async throws {
        let world = try world()
        let manifest = Self.base + "mid.m3u8"
        try await world.cache.pin(manifest)
        try await download("mid.m3u8", in: world)
        #expect(try await world.cache.resources().allSatisfy(\.isPinned))
        await world.cache.close()
    }

    @Test func `a download of another resource fails, and fetches its first bytes only`() async throws {
        let film = [UInt8](repeating: 7, count: 8 << 20)
        let world = try world { _ in
            .status(200, fields: ["Content-Type": "video/mp4", "ETag": "\"1\"", "Content-Length": "\(film.count)"], body: film)
        }
        await #expect { try await download("film.mp4", in: world) } throws: {
            ($0 as? CacheError)?.message.contains("is not an HLS or DASH stream") == true
        }
        #expect(try await world.cache.status(of: Self.base + "film.mp4")?.isComplete != true)
        await world.cache.close()
    }

    @Test(arguments: [1, 2000]) func `a playlist that must not be stored is asked for once`(segments: Int) async throws {
        let list = (1...segments).map { "#EXTINF:4,\nmid\($0).m4s\n" }.joined()
        let body = Array("#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(list)#EXT-X-ENDLIST\n".utf8)
        let fields: HTTPFields = [
            "Content-Type": "application/vnd.apple.mpegurl", "Cache-Control": "no-store", "Content-Length": "\(body.count)",
        ]
        let world = try world { $0 == "list.m3u8" ? .status(200, fields: fields, body: body) : nil }
        try await world.cache.preload(Self.base + "list.m3u8", .seconds(4)).result()
        #expect(world.origin.log.entries.map { String($0.request.url.dropFirst(Self.base.count)) } == ["list.m3u8", "mid1.m4s"])
        await world.cache.close()
    }

    @Test func `a download fails with the URL of a manifest or part that must not be stored`() async throws {
        for name in ["mid.m3u8", "mid3.m4s"] {
            let body = Self.texts[name].map { Array($0.text.utf8) } ?? [1, 2, 3]
            let world = try world { asked in
                asked == name ? .status(200, fields: ["Cache-Control": "no-store", "Content-Length": "\(body.count)"], body: body) : nil
            }
            await #expect { try await download("mid.m3u8", in: world) } throws: {
                ($0 as? CacheError)?.code == .notStored && ($0 as? CacheError)?.message.contains(Self.base + name) == true
            }
            await world.cache.close()
        }
    }

    @Test func `a download fails when a part is shorter than the range of its playlist`() async throws {
        let playlist = "#EXTM3U\n#EXTINF:4,\n#EXT-X-BYTERANGE:1200@0\npart.ts\n#EXT-X-ENDLIST\n"
        let world = try world { name in
            name == "list.m3u8"
                ? .status(200, fields: ["Content-Type": "application/vnd.apple.mpegurl", "ETag": "\"1\""], body: Array(playlist.utf8)) : nil
        }
        await #expect { try await download("list.m3u8", in: world) } throws: {
            ($0 as? CacheError)?.message.contains("only 1000 of the 1200 bytes") == true
        }
        await world.cache.close()
    }

    /// The announced bytes of the segments that run at once are together more than a number can hold.
    @Test func `segments of the greatest length make an estimate within the bound`() async throws {
        let bound = ByteRange.maximumOffset
        let world = try world { name in
            guard name.hasSuffix(".m4s") else { return nil }
            let fields: HTTPFields = ["Content-Type": "video/mp4", "ETag": "\"1\"", "Content-Length": "\(bound - 1)"]
            return .stall(afterBytes: 1000, .status(200, fields: fields, body: [UInt8](repeating: 7, count: 2000)))
        }
        let preload = try world.cache.preload(Self.base + "master.m3u8", .whole)
        try await eventually("the segments began") { world.origin.log.entries.count { $0.request.url.hasSuffix(".m4s") } >= 4 }
        try await eventually("their lengths are known") { preload.currentProgress?.totalBytes == bound }
        preload.cancel()
        await world.cache.close()
    }

    @Test(arguments: ["private.m3u8", "master-private.m3u8"])
    func `a public manifest leads a preload into no private network`(name: String) async throws {
        let texts = [
            "private.m3u8": "#EXTM3U\n#EXTINF:4,\nhttp://10.0.0.7/s.ts\n#EXT-X-ENDLIST\n",
            "master-private.m3u8": "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://10.0.0.7/v.m3u8\n",
        ]
        let base = "http://origin.example/"
        let world = try EngineWorld(
            [], configuration: { $0.security.privateNames = .refused() },
            script: { request, _ in
                let body = Array((texts[String(request.url.dropFirst(base.count))] ?? "#EXTM3U\n#EXT-X-ENDLIST\n").utf8)
                let fields: HTTPFields = ["Content-Type": "application/vnd.apple.mpegurl", "Content-Length": "\(body.count)"]
                return .status(200, fields: fields, body: body)
            })
        let error = await #expect(throws: CacheError.self) { try await world.cache.preload(base + name, .whole).result() }
        #expect(error?.code == .unsupportedURL && error?.message.contains("--allow-private origin.example") == true)
        let download = await #expect(throws: CacheError.self) {
            try await Preload.presentation(in: world.cache, base + name, PresentationSelection()).result()
        }
        #expect(download?.message.contains("--allow-private origin.example") == true)
        #expect(world.origin.log.entries.allSatisfy { $0.request.url.hasPrefix(base) })
        await world.cache.close()
    }
}

/// Counts calls.
private final class Counter: Sendable {
    private let count = Locked(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
