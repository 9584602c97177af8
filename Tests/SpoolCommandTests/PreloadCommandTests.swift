import Foundation
import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// `spool preload` on a store without a server, against an origin on a socket.
@Suite(.timeLimit(.minutes(20)))
struct PreloadCommandTests {
    private static let length: Int64 = 5_000_001

    /// One origin, two files, one store.
    private final class Scene {
        let directory: ScratchDirectory
        let origin: RawOrigin
        let urls: [String]

        init() throws {
            directory = try ScratchDirectory()
            origin = try RawOrigin()
            urls = ["/a.bin", "/b.bin"].map(origin.url)
            for (seed, url) in urls.enumerated() {
                origin.serve(VirtualResource(url: url, seed: UInt64(seed), length: PreloadCommandTests.length))
            }
        }

        deinit { origin.stop() }

        func run(_ words: [String]) throws -> SpoolProcess.Outcome {
            try SpoolProcess.run(words, environment: ["SPOOL_CACHE": directory.path("store")], in: directory)
        }

        /// The objects that the command prints.
        func preload(_ words: String...) throws -> [[String: Any]] {
            let outcome = try run(["preload", "--json"] + words)
            #expect(outcome.code == 0, "\(outcome.errors)")
            return try outcome.text.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
        }
    }

    @Test func `the first bytes of two resources are stored, and are not fetched again`() throws {
        let scene = try Scene()
        let first = try scene.preload("--bytes", "1M", scene.urls[0], scene.urls[1])
        #expect(first.map { $0["url"] as? String } == scene.urls)
        #expect(first.allSatisfy { $0["fetched"] as? Int == 1 << 20 && $0["stored"] as? Int == 0 })
        let asked = scene.origin.log.entries.count
        let second = try scene.preload("--bytes", "1M", scene.urls[1])
        #expect(second.first?["fetched"] as? Int == 0)
        #expect(second.first?["stored"] as? Int == 1 << 20)
        #expect(scene.origin.log.entries.count == asked)
    }

    @Test func `a whole resource is there when the origin is gone`() throws {
        let scene = try Scene()
        let outcome = try scene.run(["preload", "--whole", scene.urls[0]])
        #expect(outcome.code == 0)
        #expect(outcome.text == "\(scene.urls[0])  4.8 MiB fetched, 0 B stored before\n")
        scene.origin.stop()
        let copy = try scene.run(["get", scene.urls[0], "-o", "-"])
        #expect(copy.output == Data(OriginContent(seed: 0).bytes(at: 0, count: Int(Self.length))))
    }

    @Test func `seconds of a file that cannot be read come with a note`() throws {
        let scene = try Scene()
        let result = try scene.preload("--seconds", "2.5", scene.urls[0])
        #expect((result.first?["bytesReason"] as? String)?.isEmpty == false)
        #expect(result.first?["fetched"] as? Int == 2_621_440)
    }

    @Test func `one resource that fails is named, and the others are preloaded`() throws {
        let scene = try Scene()
        let outcome = try scene.run(["preload", "--bytes", "1000", scene.origin.url("/none"), scene.urls[0]])
        #expect(outcome.code == 1)
        #expect(outcome.text == "\(scene.urls[0])  1000 B fetched, 0 B stored before\n")
        #expect(outcome.errors.contains("/none"))
    }

    @Test func `the first seconds of a stream are there when the origin is gone`() throws {
        let scene = try Scene()
        let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.bin\n#EXTINF:6,\nb.bin\n#EXT-X-ENDLIST\n"
        let url = scene.origin.url("/v.m3u8")
        scene.origin.follow { request, _ in
            request.url.hasSuffix(".m3u8")
                ? .status(200, fields: ["Content-Type": "application/vnd.apple.mpegurl"], body: Array(playlist.utf8)) : .correct
        }
        let result = try scene.preload("--seconds", "5", "--variant", "720", url)
        #expect(result.first?["fetched"] as? Int == Int(Self.length) + playlist.utf8.count)
        scene.origin.stop()
        #expect(try scene.run(["get", scene.urls[0], "-o", "-"]).code == 0)
        #expect(try scene.run(["get", scene.urls[1], "-o", "-"]).code != 0)
    }

    @Test(arguments: [
        (["--bytes", "1M", "--whole", "http://a/"], "exclude"), (["--bytes", "no", "http://a/"], "a size such as 2M"),
        (["--seconds", "-1", "http://a/"], "a number of seconds"), (["--jobs", "0", "http://a/"], "from 1 to 64"),
        (["--variant", "no", "http://a/"], "a height or a bandwidth"),
        (["-", "http://a/"], "stands alone"),
    ])
    func `wrong arguments are explained`(words: [String], names: String) throws {
        let outcome = try Scene().run(["preload"] + words)
        #expect(outcome.code == 64)
        #expect(outcome.errors.contains(names), "\(outcome.errors)")
    }
}
