import Foundation
import SpoolCore
import SpoolTesting
import Testing

/// The totals, the filters and the columns of `spool ls`.
@Suite(.timeLimit(.minutes(20)))
struct ListCommandTests {
    @Test func `the last line has the totals and the used part of the quota`() throws {
        let scene = try FilmScene(["/a/1.mp4", "/a/2.mp4", "/b/3.mp4"])
        let pattern = /3 resources, 2\.9 KiB stored; [0-9.]+ KiB of the quota of 8\.0 GiB used \(0 %\)/
        let listing = try scene.run("ls")
        #expect(listing.lines.last?.wholeMatch(of: pattern) != nil, "\(listing.text)")
        #expect(try scene.run("limits", "--quota", "none").code == 0)
        #expect(try scene.run("ls").lines.last == "3 resources, 2.9 KiB stored")
    }

    @Test func `the quota is that of the server that has the store`() throws {
        let scene = try FilmScene(["/a/1.mp4"])
        // A quota of the environment is not kept by the store.
        let server = try SpoolProcess(
            ["serve", "--listen", "127.0.0.1:0"], environment: ["SPOOL_CACHE": scene.directory.path("store"), "SPOOL_QUOTA": "16K"],
            in: scene.directory)
        _ = try #require(server.readLine())
        let listing = try scene.run("ls")
        #expect(listing.lines.last?.contains("of the quota of 16.0 KiB used (") == true, "\(listing.text)")
        server.send(SIGINT)
        #expect(try server.end().code == 0)
        #expect(try scene.run("ls").lines.last?.contains("8.0 GiB") == true)
    }

    @Test func `ls with URLs lists what begins with them or matches them, with its own total`() throws {
        let scene = try FilmScene(["/a/1.mp4", "/a/2.mp4", "/b/3.mp4"])
        #expect(try scene.run("pin", scene.url("/a/later.mp4")).code == 0)
        func listed(_ words: String...) throws -> [String] {
            try SpoolProcess.run(["ls"] + words, environment: ["SPOOL_CACHE": scene.directory.path("store")], in: scene.directory).lines
        }
        let prefix = try listed(scene.url("/a/"))
        #expect(prefix.count == 4 && prefix.last == "2 resources, 2.0 KiB stored", "\(prefix)")
        #expect(try listed(scene.url("/a/1")).count == 2)
        #expect(try listed("*3.mp4").last == "1 resource, 1000 B stored")
        #expect(try listed(scene.url("/a/1"), "*3.mp4").last == "2 resources, 2.0 KiB stored")
        let json = try #require(try scene.run("ls", "--json", scene.url("/b/")).json as? [[String: Any]])
        #expect(json.map { $0["url"] as? String } == [scene.url("/b/3.mp4")])
    }

    @Test func `ls with a URL that matches nothing says so and fails`() throws {
        let scene = try FilmScene(["/a/1.mp4"])
        let outcome = try scene.run("ls", scene.url("/c/"))
        #expect(outcome.code == 1 && outcome.output.isEmpty)
        #expect(outcome.errors.contains("no stored resource matches '\(scene.url("/c/"))'"))
        #expect(try scene.run("ls", "--json", scene.url("/c/")).text == "[]\n")
    }

    @Test func `the parts of a presentation count in the total, each once, and the total names them`() throws {
        let scene = try StreamScene(StreamScene.hls)
        try #require(scene.get("/v/master.m3u8").code == 0)
        let grouped = try scene.run("ls", [])
        #expect(grouped.lines.count == 2 && grouped.text.contains("\n11 resources, 10 of them parts of presentations, "), "\(grouped.text)")
        let all = try scene.run("ls", ["--all"])
        #expect(all.lines.count == 12 && all.text.contains("\n11 resources, ") && !all.text.contains("parts of"), "\(all.text)")
        let manifest = try scene.run("ls", [scene.origin.url("/v/master")])
        #expect(manifest.lines.count == 2 && manifest.lines.last?.hasPrefix("11 resources, ") == true, "\(manifest.text)")
        #expect(try scene.run("ls", [scene.origin.url("/s/")]).lines.count == 9)
    }

    @Test func `the long form has a heading, and its columns stay in line`() throws {
        let scene = try FilmScene(["/a/1.mp4"])
        let types = ["application/octet-stream", "application/" + String(repeating: "x", count: 60)]
        for (number, type) in types.enumerated() {
            let url = scene.url("/typed/\(number)")
            scene.origin.serve(VirtualResource(url: url, seed: 7, length: 1000, contentType: type))
            #expect(try scene.run("get", url, "-o", "-").code == 0)
        }
        #expect(try scene.run("pin", scene.url("/later.mp4")).code == 0)
        let lines = try scene.run("ls", "-l").lines
        #expect(lines.first?.split(separator: " ").joined(separator: " ") == "stored length ranges type last used URL")
        let places = lines.dropLast().map { line in
            line.range(of: "http").map { line.distance(from: line.startIndex, to: $0.lowerBound) }
                ?? line.range(of: "URL").map { line.distance(from: line.startIndex, to: $0.lowerBound) }
        }
        #expect(places.count == 5 && Set(places).count == 1, "\(lines)")
        #expect(lines.contains { $0.contains("application/xxx") && $0.contains("x...  ") })
    }
}
