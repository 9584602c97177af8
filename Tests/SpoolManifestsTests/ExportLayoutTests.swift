import SpoolCore
import SpoolManifests
import Testing

/// The file names of an exported presentation.
struct ExportLayoutTests {
    private static let manifest = "https://a.example/v/film/master.m3u8"

    private static func paths(_ parts: [String], renames: Bool = true, ending: String = "") throws -> [String] {
        let layout = try ExportLayout(manifest: manifest, parts: parts, renames: renames) { $0 == manifest ? "" : ending }
        return parts.map { layout.paths[$0] ?? "" }
    }

    @Test func `paths are those of the URLs without the directories that all share`() throws {
        let layout = try ExportLayout(
            manifest: Self.manifest,
            parts: ["https://a.example/v/film/hi/1.ts", "https://a.example/v/sound/1.aac", "https://b.example/x/k.key"],
            renames: true)
        #expect(layout.paths[Self.manifest] == "film/master.m3u8")
        #expect(layout.paths["https://a.example/v/film/hi/1.ts"] == "film/hi/1.ts")
        #expect(layout.paths["https://a.example/v/sound/1.aac"] == "sound/1.aac")
        #expect(layout.paths["https://b.example/x/k.key"] == "other/b.example/x/k.key")
        #expect(layout.reference(from: Self.manifest, to: "https://a.example/v/sound/1.aac") == "../sound/1.aac")
    }

    /// No part of a URL can name a place outside of the folder.
    @Test(arguments: [
        "https://a.example/v/film/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "https://a.example/v/film/..%2f..%2fetc%2fpasswd",
        "https://a.example/v/film/%2Fetc%2Fpasswd", "https://a.example/v/film//etc/passwd", "https://a.example/v/film/a%00b",
        "https://a.example/v/film/..%5c..%5cx", "https://a.example/v/film/.bashrc",
        "https://a.example/v/film/%2e", "https://a.example/",
    ])
    func `a hostile URL stays inside of the folder`(url: String) throws {
        let path = try #require(try? Self.paths([url]).first)
        let names = path.split(separator: "/", omittingEmptySubsequences: false)
        #expect(!names.isEmpty && names.allSatisfy { !$0.isEmpty && !$0.hasPrefix(".") && $0.utf8.count <= ExportLayout.maxNameBytes })
        #expect(path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
    }

    @Test(arguments: [
        "https://a.example/v/film/%2e%2e/x", "https://a.example/v/film/a%2fb", "https://a.example/v/film//x",
        "https://a.example/v/film/a%00b",
        "https://a.example/v/film/" + String(repeating: "n", count: 201),
        "https://a.example/v/film/" + String(repeating: "d/", count: 40) + "x",
    ])
    func `where files can't be renamed, a name without a file is an error`(url: String) {
        #expect(throws: ExportLayout.Failure.self) { try Self.paths([url], renames: false) }
    }

    @Test func `parts that differ in query or case only get different files, and a long name is cut`() throws {
        let stem = "https://a.example/v/film/"
        let paths = try Self.paths([
            stem + "s.ts?n=1", stem + "s.ts?n=2", stem + "S.ts", stem + String(repeating: "x", count: 5_000) + ".ts",
        ])
        #expect(paths.prefix(3) == ["s.ts", "s-2.ts", "S-3.ts"])
        #expect(paths[3].utf8.count == ExportLayout.maxNameBytes)
        #expect(throws: ExportLayout.Failure.self) { try Self.paths([stem + "s.ts?n=1", stem + "s.ts?n=2"], renames: false) }
    }

    @Test func `a file that is in the way of a directory moves nothing outside`() throws {
        let stem = "https://a.example/v/film/"
        #expect(try Self.paths([stem + "a", stem + "a/b.ts", stem + "c/d.ts", stem + "c"]) == ["a", "b.ts", "c/d.ts", "c-2"])
    }

    @Test func `a playlist gets the extension by which servers give it its type`() throws {
        #expect(try Self.paths(["https://a.example/v/film/list.php?id=1"], ending: "m3u8") == ["list.php.m3u8"])
        #expect(try Self.paths(["https://a.example/v/film/list.M3U8"], ending: "m3u8") == ["list.M3U8"])
    }

    /// A quadratic search for free names would take minutes here.
    @Test func `fifty thousand parts of one name get fifty thousand files`() throws {
        let parts = (0..<50_000).map { "https://a.example/v/film/segment.ts?n=\($0)" }
        #expect(Set(try Self.paths(parts)).count == 50_000)
    }
}
