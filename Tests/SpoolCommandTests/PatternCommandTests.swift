import Foundation
import SpoolCommand
import SpoolCore
import SpoolTesting
import Testing

/// Patterns such as `http://host/*` in the place of URLs.
@Suite(.timeLimit(.minutes(20)))
struct PatternCommandTests {
    @Test(arguments: [
        ("*", "http://a/b", true), ("http://a/*", "http://a/b/c.mp4", true), ("http://a/*", "http://a/", true),
        ("http://a/*", "http://ab/c", false), ("HTTP://A:80/*", "http://a/b", true), ("http://a*", "http://abc/d", true),
        ("*.mp4", "http://a/b.mp4", true), ("*.mp4", "http://a/b.mp4?c", false), ("http://*/b*.mp4", "http://a/x/b.mp4", true),
        ("http://a/*b*c", "http://a/bc", true), ("http://a/*bc*bc", "http://a/bc", false), ("http://a/b*b", "http://a/b", false),
        ("http://a/B*", "http://a/bc", false), ("*://*.example.com/*", "https://cdn.example.com/x", true), ("**", "", true),
        ("http://a/b?*", "http://a/b?c=d", true), ("http://a/b?*", "http://a/bc", false),
    ])
    func `an asterisk stands for any characters`(pattern: String, key: String, isMatch: Bool) {
        #expect(ResourcePattern(pattern).matches(ResourceKey(normalized: key)) == isMatch)
    }

    @Test(arguments: [
        ("http://a/b", "http://a/b", true), ("http://a/b", "http://a/bc", true), ("http://a", "http://abc/", true),
        ("HTTP://A:80/b", "http://a/bc", true), ("http://a/b/", "http://a/b", false), ("", "http://a/", true),
    ])
    func `a prefix stands for the keys that begin with it`(prefix: String, key: String, isMatch: Bool) {
        #expect(ResourcePattern(prefix: prefix).matches(ResourceKey(normalized: key)) == isMatch)
    }

    @Test(arguments: [false, true])
    func `rm removes what a pattern matches and counts it, and --dry-run removes nothing`(withServer: Bool) throws {
        let scene = try FilmScene(["/a/1.mp4", "/a/2.mp4", "/b/3.mp4"])
        let server = withServer ? try scene.serve() : nil
        defer { server?.send(SIGKILL) }
        let dry = try scene.run("rm", "--dry-run", scene.url("/a/*"))
        #expect(
            dry.lines == [
                "would remove \(scene.url("/a/1.mp4")) (1000 B)", "would remove \(scene.url("/a/2.mp4")) (1000 B)",
                "would remove 2 resources (2.0 KiB)",
            ])
        #expect(try scene.listed().count == 3)
        #expect(try scene.run("rm", "-n", "--all").lines.last == "would remove 3 resources (2.9 KiB)")
        let removal = try scene.run("rm", scene.url("/a/*"), scene.url("/a/1.mp4"))
        #expect(removal.code == 0 && removal.errors.isEmpty, "\(removal.errors)")
        #expect(removal.lines.last == "removed 2 resources (2.0 KiB)" && removal.lines.count == 3, "\(removal.text)")
        #expect(try scene.listed() == ["/b/3.mp4"])
    }

    @Test func `a pattern that matches nothing is an error, and nothing is changed`() throws {
        let scene = try FilmScene(["/a/1.mp4"])
        for command in ["rm", "pin", "unpin", "verify"] {
            let outcome = try scene.run(command, scene.url("/a/1.mp4"), scene.url("/c/*"))
            #expect(outcome.code == 1 && outcome.output.isEmpty, "\(command): \(outcome.text)")
            #expect(outcome.errors == "spool: no stored resource matches '\(scene.url("/c/*"))'; 'spool ls' lists what is stored\n")
        }
        #expect(try scene.listed() == ["/a/1.mp4"])
        #expect(try !scene.run("stat", scene.url("/a/1.mp4")).text.contains("pinned"))
    }

    @Test func `pin and unpin change what a pattern matches and count it`() throws {
        let scene = try FilmScene(["/a/1.mp4", "/a/2.mp4", "/b/3.mp4"])
        #expect(try scene.run("pin", scene.url("/a/1.mp4"), scene.url("/a/later.mp4")).code == 0)
        let pinned = try scene.run("pin", scene.url("/a/*"))
        #expect(pinned.lines.last == "pinned 1 of 2 resources", "\(pinned.text)")
        // A pin of a resource without stored bytes is listed, so a pattern ends it too.
        let unpinned = try scene.run("unpin", scene.url("/*"))
        #expect(unpinned.code == 0 && unpinned.errors.isEmpty && unpinned.lines.last == "unpinned 3 of 4 resources", "\(unpinned.text)")
        #expect(try scene.listed() == ["/a/1.mp4", "/a/2.mp4", "/b/3.mp4"])
        #expect(try scene.run("unpin", scene.url("/*")).code == 1)
    }

    @Test func `verify reads what a pattern matches`() throws {
        let scene = try FilmScene(["/a/1.mp4", "/a/2.mp4", "/b/3.mp4"])
        #expect(try scene.run("verify", scene.url("/a/*")).text == "2 resources, 2.0 KiB sound, no damage\n")
        #expect(try scene.run("verify", "--repair", "*.mp4").text == "3 resources, 2.9 KiB sound, no damage\n")
    }

    @Test func `a stored resource with an asterisk in its URL is found by its own name`() throws {
        let scene = try FilmScene(["/a*b.mp4", "/a-b.mp4"])
        let removal = try scene.run("rm", scene.url("/a*b.mp4"))
        #expect(removal.lines == ["removed \(scene.url("/a*b.mp4")) (1000 B)", "removed 1 resource (1000 B)"])
        #expect(try scene.listed() == ["/a-b.mp4"])
    }

    @Test func `a pattern that matches a manifest means its presentation, as in ls`() throws {
        let scene = try StreamScene(StreamScene.hls)
        try #require(scene.get("/v/master.m3u8").code == 0)
        let dry = try scene.run("rm", ["--dry-run", scene.origin.url("/*")])
        #expect(dry.lines.count == 2 && dry.lines.last?.hasPrefix("would remove 11 resources (") == true, "\(dry.text)")
        // The manifest does not match, so each part counts by itself.
        #expect(try scene.run("rm", ["--dry-run", scene.origin.url("/s/*")]).lines.count == 9)
        let removal = try scene.run("rm", [scene.origin.url("/*")])
        #expect(removal.code == 0 && removal.errors.isEmpty && removal.lines.last?.hasPrefix("removed 11 resources") == true)
        #expect(try scene.run("ls", ["--all", "--json"]).text == "[]\n")
    }
}
