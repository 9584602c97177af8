import Foundation
import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// `spool download` on a store, with a server that has it and without one.
@Suite(.timeLimit(.minutes(20)))
struct DownloadCommandTests {
    private let paths = ["/a.mp4", "/b.mp4", "/c.mp4"]

    /// Returns the entries of the list by path.
    private func list(_ scene: FilmScene) throws -> [(path: String, entry: [String: Any])] {
        let outcome = try scene.run("download", "ls", "--json")
        let object = try #require(outcome.json as? [String: Any], "\(outcome.errors)")
        return try #require(object["downloads"] as? [[String: Any]]).map { entry in
            (String((entry["url"] as? String ?? "").dropFirst(scene.url("").count)), entry)
        }
    }

    private func states(_ scene: FilmScene) throws -> [String] {
        try list(scene).map { "\($0.path) \($0.entry["state"] as? String ?? "")" }
    }

    /// The paths of the stored resources, those of presentations included.
    private func listedParts(_ scene: FilmScene) throws -> [String] {
        let objects = try #require(try scene.run("ls", "--all", "--json").json as? [[String: Any]])
        return objects.compactMap { ($0["url"] as? String).map { String($0.dropFirst(scene.url("").count)) } }.sorted()
    }

    /// Looks at the list until it has these states. Each look is a process of its own.
    private func wait(for expected: [String], in scene: FilmScene) throws {
        while try states(scene) != expected {}
    }

    @Test func `the list waits without a server, and a server fetches it`() throws {
        let scene = try FilmScene(paths, isStored: false)
        let added = try scene.run("download", "add", scene.url("/a.mp4"), scene.url("/b.mp4"))
        #expect(added.code == 0 && added.text == "added \(scene.url("/a.mp4"))\nadded \(scene.url("/b.mp4"))\n")
        #expect(added.errors.contains("'spool serve' on this store fetches it"))
        #expect(try states(scene) == ["/a.mp4 queued", "/b.mp4 queued"])
        #expect(scene.origin.log.entries.isEmpty)

        let server = try scene.serve()
        defer { server.send(SIGKILL) }
        try wait(for: ["/a.mp4 complete", "/b.mp4 complete"], in: scene)
        let late = try scene.run("download", "add", "--priority", "3", "--group", "trip", scene.url("/c.mp4"))
        #expect(late.code == 0 && late.errors.isEmpty, "\(late.errors)")
        try wait(for: ["/c.mp4 complete", "/a.mp4 complete", "/b.mp4 complete"], in: scene)
        #expect(scene.origin.log.entries.count == 3, "each film is fetched once")
        let entry = try #require(try list(scene).first?.entry)
        #expect(entry["group"] as? String == "trip" && entry["priority"] as? Int == 3)
        #expect(entry["doneBytes"] as? Int == 1000 && entry["totalBytes"] as? Int == 1000 && entry["reason"] is NSNull)
    }

    @Test func `a second server runs the list when the first one has ended`() throws {
        let scene = try FilmScene(paths, isStored: false)
        let first = try scene.serve()
        let second = try scene.serve()
        defer { second.send(SIGKILL) }
        scene.origin.follow { _, _ in .silence }
        #expect(try scene.run("download", "add", scene.url("/a.mp4")).code == 0)
        first.send(SIGKILL)
        _ = try first.end()
        scene.origin.follow { _, _ in .correct }
        try wait(for: ["/a.mp4 complete"], in: scene)
        // Commands find the second server.
        while try scene.run("download", "add", scene.url("/b.mp4")).code != 0 {}
        try wait(for: ["/a.mp4 complete", "/b.mp4 complete"], in: scene)
    }

    @Test func `an HLS stream is one entry, with and without a server`() throws {
        let scene = try FilmScene([], isStored: false)
        let type = "application/vnd.apple.mpegurl"
        let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n1.ts\n#EXTINF:4,\n2.ts\n#EXT-X-ENDLIST\n"
        let master =
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=640x360\nlow.m3u8\n"
            + "#EXT-X-STREAM-INF:BANDWIDTH=2,RESOLUTION=1280x720\nhigh.m3u8\n"
        scene.origin.follow { request, _ in
            let path = request.url
            let body = path.hasSuffix("film.m3u8") ? master : path.hasSuffix(".m3u8") ? playlist : "segment \(path)"
            return .status(
                200, fields: ["Content-Type": path.hasSuffix(".m3u8") ? type : "video/mp2t", "ETag": "\"1\""], body: Array(body.utf8))
        }
        #expect(try scene.run("download", "add", "--variant", "360", scene.url("/film.m3u8")).code == 0)
        let server = try scene.serve()
        defer { server.send(SIGKILL) }
        try wait(for: ["/film.m3u8 complete"], in: scene)
        #expect(try listedParts(scene) == ["/1.ts", "/2.ts", "/film.m3u8", "/low.m3u8"])
        #expect(try scene.run("download", "add", "--variant", "best", scene.url("/film.m3u8")).code == 0)
        while try !listedParts(scene).contains("/high.m3u8") {}
        try wait(for: ["/film.m3u8 complete"], in: scene)
        #expect(try scene.run("download", "rm", scene.url("/film.m3u8")).text == "removed \(scene.url("/film.m3u8"))\n")
        #expect(try listedParts(scene) == ["/low.m3u8"], "the playlist of the first selection has been part of the cache since")
    }

    @Test(arguments: [false, true])
    func `entries are paused, resumed, moved and removed`(withServer: Bool) throws {
        let scene = try FilmScene(paths)
        // The origin is silent, so nothing ends.
        scene.origin.follow { _, _ in .silence }
        let server = withServer ? try scene.serve() : nil
        defer { server?.send(SIGKILL) }
        for path in paths {
            #expect(try scene.run("download", "add", "--group", path == "/a.mp4" ? "one" : "two", scene.url(path) + "?2").code == 0)
        }
        #expect(try scene.run("download", "pause", "--all").lines.count == 3)
        #expect(try states(scene) == ["/a.mp4?2 paused", "/b.mp4?2 paused", "/c.mp4?2 paused"])
        #expect(try scene.run("download", "order", "--last", scene.url("/a.mp4?2")).text == "moved \(scene.url("/a.mp4?2"))\n")
        #expect(try scene.run("download", "order", "--priority", "7", scene.url("/c*")).code == 0)
        #expect(try states(scene) == ["/c.mp4?2 paused", "/b.mp4?2 paused", "/a.mp4?2 paused"])
        #expect(try scene.run("download", "resume", "--group", "two").lines.count == 2)
        #expect(try list(scene).map { $0.entry["state"] as? String != "paused" } == [true, true, false])

        let again = try scene.run("download", "pause", "--json", scene.url("/a.mp4?2"))
        let objects = try #require(again.json as? [[String: Any]])
        #expect(again.code == 1 && objects.map { $0["changed"] as? Bool } == [false])
        #expect(again.errorObjects.first?["url"] as? String == scene.url("/a.mp4?2"))
        let unknown = try scene.run("download", "rm", scene.url("/a.mp4?2"), scene.url("/none"))
        #expect(unknown.code == 1 && unknown.text.isEmpty && unknown.errors.contains("no download"))
        #expect(try scene.run("download", "rm", scene.url("/a.mp4?2")).text == "removed \(scene.url("/a.mp4?2"))\n")
        #expect(try list(scene).map(\.path) == ["/c.mp4?2", "/b.mp4?2"])
        for words in [["ls", "--group", "one"], ["list", "--group", "one"]] {
            #expect(try scene.run("download", words[0], words[1], words[2]).text.hasPrefix("0 downloads, "))
        }
        #expect(try scene.run("download").text == scene.run("download", "ls").text)
    }

    @Test(arguments: [false, true])
    func `a removal takes the bytes along unless they are kept`(withServer: Bool) throws {
        let scene = try FilmScene(paths)
        let server = withServer ? try scene.serve() : nil
        defer { server?.send(SIGKILL) }
        for path in paths { #expect(try scene.run("download", "add", scene.url(path)).code == 0) }
        #expect(try scene.run("download", "rm", scene.url("/a.mp4")).code == 0)
        #expect(try scene.run("download", "rm", "--keep-bytes", scene.url("/b.mp4")).code == 0)
        // The removal of a resource is one of its download.
        #expect(try scene.run("rm", scene.url("/c.mp4")).code == 0)
        #expect(try list(scene).isEmpty)
        #expect(try scene.listed() == ["/b.mp4"])
    }

    @Test func `a server holds downloads to the room that it is given, and lists it`() throws {
        let scene = try FilmScene(paths, isStored: false)
        let server = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0", "--cache", scene.directory.path("store"), "--download-room", "1500"], in: scene.directory)
        defer { server.send(SIGKILL) }
        _ = try #require(server.readLine())
        #expect(try scene.run("download", "add", scene.url("/a.mp4")).code == 0)
        try wait(for: ["/a.mp4 complete"], in: scene)
        #expect(try scene.run("download", "add", scene.url("/b.mp4")).code == 0)
        try wait(for: ["/a.mp4 complete", "/b.mp4 failed"], in: scene)
        let outcome = try scene.run("download", "ls")
        #expect(outcome.text.contains("it has 1000 bytes, and 500 of the 1500 bytes for downloads are left"), "\(outcome.text)")
        #expect(outcome.lines.last?.hasPrefix("2 downloads, ") == true && outcome.lines.last?.contains(" of the 1.5 KiB for") == true)
        let object = try #require(try scene.run("download", "ls", "--json").json as? [String: Any])
        #expect(object["allowanceBytes"] as? Int == 1500 && object["usedBytes"] as? Int ?? 0 > 0)
    }

    @Test(arguments: [
        ["download", "fetch"], ["download", "add"], ["download", "ls", "http://a.example/"], ["download", "pause"],
        ["download", "rm", "--all", "http://a.example/"], ["download", "order", "http://a.example/"],
        ["download", "order", "--first", "--last", "http://a.example/"], ["download", "add", "--first", "http://a.example/"],
        ["download", "add", "--priority", "high", "http://a.example/"],
        ["download", "add", "--variant", "much", "http://a.example/film.m3u8"],
        ["download", "pause", "--variant", "720", "http://a.example/film.m3u8"],
        ["serve", "--download-jobs", "0"], ["serve", "--download-rate", "0"], ["serve", "--download-room", "much"],
    ])
    func `a command line without a meaning is refused`(words: [String]) throws {
        let directory = try ScratchDirectory()
        let outcome = try SpoolProcess.run(words, environment: ["SPOOL_CACHE": directory.path("store")], in: directory)
        #expect(outcome.code == 64, "\(outcome.errors)")
        #expect(try directory.names.isEmpty)
    }
}
