import SpoolCore
import SpoolDASH
import SpoolManifests
import Testing

/// The budget of one document: what an origin can make its reader do.
struct ManifestBudgetTests {
    private static let url = "https://a.example/v/main.m3u8"

    /// Returns whether reading or rewriting the text is beyond a limit.
    private static func isBeyondLimit(
        _ text: String, at url: String = url, limits: ManifestLimits = ManifestLimits()
    ) -> Bool {
        let reader = ManifestReader(limits: limits, formats: [DASHFormat()]), bytes = Array(text.utf8)
        do throws(ParseError) {
            guard let contents = try reader.contents(of: bytes, at: url) else { return false }
            _ = try reader.rewritten(bytes, contents) { $0.url }
            return false
        } catch {
            #expect(error.isBeyondLimit, "\(error)")
            return true
        }
    }

    private static func lines(_ line: String, _ count: Int) -> String { "#EXTM3U\n" + String(repeating: line + "\n", count: count) }

    @Test(arguments: [
        "#EXT-X-DEFINE:QUERYPARAM=\"missing\"", "#EXT-X-DEFINE:IMPORT=\"missing\"", "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"{$no}\"",
        "#EXT-X-DEFINE:QUERYPARAM=\"t\"", "#EXT-X-DEFINE:", "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"b\"",
    ])
    func `definitions of variables count, also those without an effect`(line: String) {
        let limit = ManifestLimits().maxVariables, url = "\(Self.url)?t=1"
        #expect(!Self.isBeyondLimit(Self.lines(line, limit), at: url))
        #expect(Self.isBeyondLimit(Self.lines(line, limit + 1), at: url))
    }

    @Test func `the first parameter of a name counts, with its value behind the first equals sign`() throws {
        let text = "#EXTM3U\n#EXT-X-DEFINE:QUERYPARAM=\"t\"\n#EXT-X-DEFINE:QUERYPARAM=\"f\"\n{$t}.ts\n{$f}.ts\n"
        let contents = try ManifestReader(formats: [DASHFormat()]).contents(of: Array(text.utf8), at: "\(Self.url)?f&x=0&t=a=%62&&t=c&f=")
        #expect(try #require(contents).references.map(\.text) == ["a=b.ts", ".ts"])
    }

    @Test func `the names and values of variables have a bound in bytes`() {
        func text(_ count: Int) -> String {
            (0..<4).reduce("#EXTM3U\n") { $0 + "#EXT-X-DEFINE:NAME=\"\($1)\",VALUE=\"\(String(repeating: "v", count: count))\"\n" }
        }
        let bytes = ManifestLimits().maxVariableBytes / 4
        #expect(!Self.isBeyondLimit(text(bytes - 1)))
        #expect(Self.isBeyondLimit(text(bytes)))
    }

    @Test func `a line has a bounded number of attributes`() {
        let limit = ManifestLimits().maxAttributes
        func text(_ count: Int) -> String { "#EXTM3U\n#EXT-X-MEDIA:\(String(repeating: "A=,", count: count - 1))URI=\"x\"\n" }
        #expect(!Self.isBeyondLimit(text(limit)))
        #expect(Self.isBeyondLimit(text(limit + 1)))
    }

    @Test func `a JSON text has a bounded number of values, wherever they are`() {
        var limits = ManifestLimits()
        limits.maxValues = 100
        func text(_ values: String) -> String { "{\"ASSETS\":[{\"URI\":\"/a\"}],\"other\":[\(values)]}" }
        // The text, the list, its element, the URI and the other list are values, too.
        #expect(!Self.isBeyondLimit(text([String](repeating: "0", count: 95).joined(separator: ",")), limits: limits))
        #expect(Self.isBeyondLimit(text([String](repeating: "{}", count: 96).joined(separator: ",")), limits: limits))
        #expect(Self.isBeyondLimit(text(String(repeating: "[", count: 64) + String(repeating: "]", count: 64))))
    }

    @Test func `names of JSON count with their escapes resolved`() throws {
        let text = #"{"ASSETS":[{"\u0055RI":"\/a"},{"URI":7},"URI",{"URI":{"URI":"no"}}],"URI":"no"}"#
        let contents = try #require(try ManifestReader(formats: [DASHFormat()]).contents(of: Array(text.utf8), at: Self.url))
        #expect(contents.references.map(\.text) == ["/a"])
    }

    @Test func `references of an MPD are resolved against each base once, within a bound`() {
        func mpd(bases: Int, _ segments: Int, _ media: String) -> String {
            let bases = (0..<bases).map { "<BaseURL>https://h\($0).example/\(String(repeating: "d", count: 40))/</BaseURL>" }.joined()
            let list = String(repeating: "<SegmentURL media=\"\(media)\"/>", count: segments)
            return "<MPD>\(bases)<Period><AdaptationSet><SegmentList>\(list)</SegmentList></AdaptationSet></Period></MPD>"
        }
        // A reference below one base costs the path of the base, of 42 bytes.
        var limits = ManifestLimits()
        limits.maxResolvedBytes = 42 * 100 + 200
        #expect(!Self.isBeyondLimit(mpd(bases: 1, 50, "/x"), limits: limits))
        #expect(Self.isBeyondLimit(mpd(bases: 1, 150, "/x"), limits: limits))
        #expect(Self.isBeyondLimit(mpd(bases: 2, 75, "/x"), limits: limits))
        #expect(!Self.isBeyondLimit(mpd(bases: 1, 1_000, "plain.m4s"), limits: limits), "they need no change")
        #expect(Self.isBeyondLimit(mpd(bases: 64, 40_000, "/x/y.m4s")))
        #expect(!Self.isBeyondLimit(mpd(bases: 1, 40_000, "/x/y.m4s")))
    }

    @Test func `a long path of the playlist makes no work for each of its references`() {
        let url = "https://a.example/\(String(repeating: "d", count: 60_000))/main.m3u8"
        #expect(!Self.isBeyondLimit(Self.lines("/x%20.ts", 50), at: url))
        #expect(Self.isBeyondLimit(Self.lines("/x%20.ts", 50_000), at: url))
    }
}
