import Foundation
import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// `spool ls`, `stat`, `pin`, `rm`, `verify` and `export` of HLS and DASH presentations.
@Suite(.timeLimit(.minutes(20))) struct PresentationStoreTests {
    private static func master(_ scene: StreamScene) -> String { scene.origin.url("/v/master.m3u8") }

    /// The lines of a listing without the total.
    private static func lines(_ outcome: SpoolProcess.Outcome) -> [String] {
        outcome.text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }.dropLast()
    }

    @Test func `ls shows a presentation as one line, and with --all its parts`() throws {
        let scene = try StreamScene(StreamScene.hls)
        try #require(scene.get("/v/master.m3u8").code == 0)
        let listing = Self.lines(try scene.run("ls", []))
        #expect(listing.count == 1)
        #expect(listing.first?.hasPrefix("whole ") == true && listing.first?.hasSuffix(Self.master(scene)) == true)
        // Three manifests, six segments, the key and the initialisation section.
        #expect(Self.lines(try scene.run("ls", ["--all"])).count == 11)
        let json = try scene.run("ls", ["--json"])
        let objects = try JSONSerialization.jsonObject(with: Data(json.output)) as? [[String: Any]]
        #expect(objects?.count == 1)
        #expect(objects?.first?["complete"] as? Bool == true)
        #expect(objects?.first?["resources"] as? Int == 11)
    }

    @Test func `a presentation without a segment of its variant is not whole`() throws {
        let scene = try StreamScene(StreamScene.hls)
        try #require(scene.get("/v/master.m3u8").code == 0)
        #expect(try scene.run("rm", [scene.origin.url("/s/hi2.m4s")]).code == 0)
        #expect(Self.lines(try scene.run("ls", [])).first?.hasPrefix("part ") == true)
        let stat = try scene.run("stat", [Self.master(scene)])
        #expect(stat.text.contains("video, 720 pixels, 3000000 bits a second, 5 of 6 parts\n"))
        #expect(stat.text.contains("audio, en, 6 of 6 parts, whole") == false, "no variant plays")
        #expect(try scene.get("/v/master.m3u8").code == 0)
        #expect(try scene.run("stat", [Self.master(scene)]).text.contains("6 of 6 parts, whole\n"))
    }

    @Test func `rm of a presentation removes all of it, and nothing that another one shares`() throws {
        var manifests = StreamScene.hls
        manifests["/w/other.m3u8"] = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n/v/lo.m3u8\n"
        let scene = try StreamScene(manifests)
        for flags in [[], ["--variant", "worst"]] { try #require(scene.get("/v/master.m3u8", flags).code == 0) }
        try #require(scene.get("/w/other.m3u8").code == 0)
        #expect(Self.lines(try scene.run("ls", [])).count == 2)
        let removal = try scene.run("rm", [Self.master(scene)])
        #expect(removal.code == 0)
        // The other presentation has its manifest, the playlist, three segments, key and section.
        #expect(Self.lines(try scene.run("ls", ["--all"])).count == 7)
        #expect(Self.lines(try scene.run("ls", [])).first?.hasPrefix("whole ") == true)
        #expect(try scene.run("rm", [scene.origin.url("/w/other.m3u8")]).code == 0)
        #expect(Self.lines(try scene.run("ls", ["--all"])).isEmpty)
    }

    @Test func `pin protects every part, also those of a later get, and unpin takes it back`() throws {
        let scene = try StreamScene(StreamScene.hls)
        try #require(scene.get("/v/master.m3u8").code == 0)
        #expect(try scene.run("pin", [Self.master(scene)]).code == 0)
        try #require(scene.get("/v/master.m3u8", ["--variant", "worst"]).code == 0)
        func pinned() throws -> Int { Self.lines(try scene.run("ls", ["--all", "--long"])).count { $0.contains(" * ") } }
        #expect(try pinned() == 15)
        #expect(try scene.run("unpin", [Self.master(scene)]).code == 0)
        #expect(try pinned() == 0)
        #expect(try scene.run("unpin", [Self.master(scene)]).code == 1)
    }

    @Test func `verify reads every part`() throws {
        let scene = try StreamScene(StreamScene.hls)
        try #require(scene.get("/v/master.m3u8").code == 0)
        let outcome = try scene.run("verify", [Self.master(scene)])
        #expect(outcome.code == 0 && outcome.text.hasPrefix("11 resources"))
    }

    @Test(arguments: ["/v/master.m3u8", "/v/stream.mpd"])
    func `export of a manifest makes no file, and names what to use instead`(path: String) throws {
        let scene = try StreamScene(path.hasSuffix("mpd") ? StreamScene.dash : StreamScene.hls)
        try #require(scene.get(path).code == 0)
        let outcome = try scene.run("export", [scene.origin.url(path), scene.directory.path("film")])
        #expect(outcome.code == 64)
        #expect(outcome.errors.contains("is the manifest of a presentation") && outcome.errors.contains("'spool serve'"))
        #expect(!FileManager.default.fileExists(atPath: scene.directory.path("film")))
        let json = try scene.run("export", ["--json", scene.origin.url(path), scene.directory.path("film")])
        #expect(json.code == 64 && json.errors.contains("\"unsupportedURL\""), "\(json.errors)")
    }
}
