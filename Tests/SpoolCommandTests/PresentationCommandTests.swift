import Foundation
import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// `spool get` of HLS and DASH streams.
@Suite(.timeLimit(.minutes(20))) struct PresentationCommandTests {
    @Test func `get of a multivariant playlist stores the best variant with its sound, and the second time nothing is asked`() throws {
        let scene = try StreamScene(StreamScene.hls)
        let outcome = try scene.get("/v/master.m3u8")
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
        #expect(scene.asked() == (StreamScene.segments("en", "hi") + ["/s/init.mp4", "/s/key"]).sorted())
        #expect(try scene.get("/v/master.m3u8").code == 0)
        #expect(scene.asked() == [])
    }

    @Test(arguments: [
        (["--variant", "worst"], StreamScene.segments("en", "lo")),
        (["--variant", "719"], StreamScene.segments("en", "lo")),
        (["--variant", "3000000", "--audio", "de"], StreamScene.segments("de", "hi")),
        (["--subtitles", "all", "--audio", "fr"], StreamScene.segments("hi", "sub")),
    ])
    func `get of a multivariant playlist takes the named renditions`(flags: [String], wanted: [String]) throws {
        let scene = try StreamScene(StreamScene.hls)
        let outcome = try scene.get("/v/master.m3u8", flags)
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(scene.asked() == (wanted + ["/s/init.mp4", "/s/key"]).sorted())
    }

    @Test(arguments: [
        ([], StreamScene.segments("hi", "en") + ["/s/init.mp4"]),
        (["--variant", "worst", "--audio", "de"], StreamScene.segments("lo") + ["/s/de1.m4s", "/s/de2.m4s", "/s/init.mp4"]),
        (["--subtitles", "en"], StreamScene.segments("hi", "en") + ["/s/init.mp4", "/s/whole.mp4"]),
    ])
    func `get of an MPD stores the named representations`(flags: [String], wanted: [String]) throws {
        let scene = try StreamScene(StreamScene.dash)
        let outcome = try scene.get("/v/stream.mpd", flags)
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(scene.asked() == wanted.sorted())
    }

    @Test func `a second download fetches only the parts that are missing`() throws {
        let scene = try StreamScene(StreamScene.hls)
        #expect(try scene.get("/v/master.m3u8", ["--variant", "worst"]).code == 0)
        _ = scene.asked()
        #expect(try scene.get("/v/master.m3u8", ["--audio", "de"]).code == 0)
        #expect(scene.asked() == StreamScene.segments("de", "hi"))
    }

    @Test func `a live stream and a file that is no stream are refused with the reason`() throws {
        let scene = try StreamScene(StreamScene.hls)
        let live = try scene.get("/v/live.m3u8")
        #expect(live.code != 0 && live.errors.contains("live stream"))
        let file = try scene.get("/s/whole.mp4", ["--variant", "best"])
        #expect(file.code != 0 && file.errors.contains("is not an HLS or DASH stream"))
    }

    @Test func `with an output, get copies the manifest itself`() throws {
        let scene = try StreamScene(StreamScene.hls)
        #expect(try scene.get("/v/master.m3u8", ["-o", "-"]).text == StreamScene.hls["/v/master.m3u8"])
        #expect(scene.asked() == [])
    }
}
