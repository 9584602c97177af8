import SpoolManifests
import Testing

struct HLSPlaylistTests {
    private let reader = ManifestReader()

    private func urls(_ text: String, at url: String = "https://a.example/v/main.m3u8?t=1", variables: [String: String] = [:]) throws
        -> [String]
    {
        let contents = try #require(try reader.contents(of: Array(text.utf8), at: url, variables: variables))
        return contents.references.compactMap(\.url)
    }

    @Test func `segments are resolved against the playlist`() throws {
        let text = "#EXTM3U\n#EXTINF:4,\n\n# a comment\nseg 1.ts\r\n#EXTINF:4,https://no.example\n/root.ts?x=1\n//b.example/s.ts\n?y#f\n"
        #expect(
            try urls(text) == [
                "https://a.example/v/seg%201.ts", "https://a.example/root.ts?x=1", "https://b.example/s.ts",
                "https://a.example/v/main.m3u8?y#f",
            ])
    }

    @Test func `a variable counts below its definition, and its value is not substituted again`() throws {
        let text = """
            #EXTM3U
            {$x}/0.ts
            #EXT-X-DEFINE:NAME="x",VALUE="https://b.example/{$x}"
            #EXT-X-DEFINE:NAME="y",VALUE="{z}"
            {$y}/1.ts
            #EXT-X-DEFINE:IMPORT="cdn"
            {$cdn}/2.ts
            #EXT-X-DEFINE:QUERYPARAM="t"
            {$t}.ts
            """
        #expect(
            try urls(text, at: "https://a.example/v/m.m3u8?t=a%2Fb", variables: ["cdn": "https://c.example/d"]) == [
                "https://a.example/v/{z}/1.ts", "https://c.example/d/2.ts", "https://a.example/v/a/b.ts",
            ])
    }

    @Test func `a byte order mark, a control character and bytes outside UTF-8 make no playlist`() throws {
        #expect(try reader.contents(of: [0xEF, 0xBB, 0xBF] + Array("#EXTM3U\na.ts\n".utf8), at: "https://a.example/") == nil)
        for wrong: [UInt8] in [[0x00], [0xFF], [0x7F]] {
            #expect(throws: (any Error).self) {
                _ = try reader.contents(of: Array("#EXTM3U\n".utf8) + wrong + Array("\na.ts\n".utf8), at: "https://a.example/")
            }
        }
    }

    @Test func `references come in the order of the playlist, in whatever order a tag has its attributes`() throws {
        let list = #"X-ASSET-LIST="/list",X-ASSET-URI="/asset""#
        let text = "#EXTM3U\n#EXT-X-DATERANGE:CLASS=\"com.apple.hls.interstitial\",\(list)\n0.ts\n"
        #expect(try urls(text) == ["https://a.example/list", "https://a.example/asset", "https://a.example/v/0.ts"])
    }
}
