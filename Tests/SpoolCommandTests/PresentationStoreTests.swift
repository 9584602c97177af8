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

    // MARK: Export

    /// All files below a folder, with their bytes.
    private static func files(_ folder: String) throws -> [String: Data] {
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return names.reduce(into: [:]) { found, name in
            var isDirectory = ObjCBool(false)
            _ = FileManager.default.fileExists(atPath: "\(folder)/\(name)", isDirectory: &isDirectory)
            if !isDirectory.boolValue { found[name] = FileManager.default.contents(atPath: "\(folder)/\(name)") }
        }
    }

    @Test func `export makes a folder with relative references to every file`() throws {
        let scene = try StreamScene(StreamScene.hls)
        try #require(scene.get("/v/master.m3u8").code == 0)
        let folder = scene.directory.path("film")
        let outcome = try scene.run("export", [Self.master(scene), folder])
        #expect(outcome.code == 0, "\(outcome.errors)")
        let files = try Self.files(folder)
        let segments = ["hi", "en"].flatMap { name in (1...3).map { "s/\(name)\($0).m4s" } }
        #expect(files.keys.sorted() == (["v/master.m3u8", "v/hi.m3u8", "v/en.m3u8", "s/init.mp4", "s/key.mp4"] + segments).sorted())
        let master = String(decoding: files["v/master.m3u8"] ?? Data(), as: UTF8.self)
        #expect(!master.contains("lo.m3u8") && !master.contains("de.m3u8") && !master.contains("SUBTITLES"))
        let playlist = String(decoding: files["v/hi.m3u8"] ?? Data(), as: UTF8.self)
        #expect(playlist.contains("\n../s/hi1.m4s\n") && playlist.contains("URI=\"../s/key.mp4\""))
        #expect(
            files["s/hi1.m4s"]
                == Data(VirtualResource(url: scene.origin.url("/s/hi1.m4s"), seed: 10, length: 1000).content.bytes(at: 0, count: 1000)))
        // A folder is not changed by accident.
        #expect(try scene.run("export", [Self.master(scene), folder]).errors.contains("--replace"))
    }

    @Test func `export of an MPD keeps its templates, and offers what is stored`() throws {
        let scene = try StreamScene(StreamScene.dash)
        try #require(scene.get("/v/stream.mpd").code == 0)
        let folder = scene.directory.path("film")
        let outcome = try scene.run("export", [scene.origin.url("/v/stream.mpd"), folder])
        #expect(outcome.code == 0, "\(outcome.errors)")
        let files = try Self.files(folder)
        let mpd = String(decoding: files["v/stream.mpd"] ?? Data(), as: UTF8.self)
        #expect(mpd.contains("<BaseURL>../s/</BaseURL>") && mpd.contains("$RepresentationID$$Number$.m4s"))
        #expect(!mpd.contains("id=\"lo\"") && !mpd.contains("lang=\"de\""))
        #expect(files.keys.contains("s/hi3.m4s") && files.keys.contains("s/en1.m4s"))
    }

    @Test func `without a complete variant there is nothing to export`() throws {
        let scene = try StreamScene(StreamScene.hls)
        try #require(scene.get("/v/master.m3u8").code == 0)
        #expect(try scene.run("rm", [scene.origin.url("/s/hi2.m4s")]).code == 0)
        let outcome = try scene.run("export", [Self.master(scene), scene.directory.path("film")])
        #expect(outcome.code != 0 && outcome.errors.contains("no variant of it is complete"))
        #expect(!FileManager.default.fileExists(atPath: scene.directory.path("film")))
    }

    /// The names in a playlist come from its origin, and no file may be made elsewhere.
    @Test func `export of a hostile playlist makes no file outside of its folder`() throws {
        let names = ["%2e%2e/%2e%2e/out", "..%2f..%2fout2", "%2Fout3", String(repeating: "n", count: 3_000), "s?q=/../../out4", "S?q=1"]
        let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n" + names.map { "#EXTINF:4,\n\($0)\n" }.joined() + "#EXT-X-ENDLIST\n"
        let scene = try StreamScene(["/a/b/p.m3u8": playlist])
        for name in names {
            scene.origin.serve(VirtualResource(url: scene.origin.url("/a/b/\(name)"), seed: UInt64(name.utf8.count), length: 50))
        }
        let got = try scene.get("/a/b/p.m3u8")
        try #require(got.code == 0, "\(got.errors)")
        // The outputs of the program lie there, too.
        func others() throws -> Set<String> {
            Set(try FileManager.default.contentsOfDirectory(atPath: scene.directory.path("")).filter { !$0.hasPrefix("stderr-") })
        }
        let before = try others()
        let folder = scene.directory.path("film")
        let outcome = try scene.run("export", [scene.origin.url("/a/b/p.m3u8"), folder])
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(try others() == before.union(["film"]))
        #expect(try Self.files(folder).count == names.count + 1)
    }
}
