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

    @Test(arguments: [
        "\u{FEFF}#EXTM3U\n#EXTINF:2,\n/a.ts\n", " \r\n\t#EXTM3U\n/a.ts\n", "#EXTM3U\r#EXTINF:2,x\r/a.ts\r", "#EXTM3U\r\r\n/a.ts\r\r\n",
        "#EXTM3U\n\r#EXTINF:2,\n\r/a.ts\n\r", "#EXTM3U\n#EXTINF:2,a\u{0}\u{1B}[1m\u{7F}\n  /a.ts \n",
        "#EXTM3U\n  #EXT-X-MAP:URI=\"/a.ts\"\n",
    ])
    func `a playlist may have a mark, blanks, any line ends and any title`(text: String) throws {
        #expect(try urls(text) == ["https://a.example/a.ts"])
    }

    @Test func `bytes that are not UTF-8 leave as they came, and are escaped where a player resolves them`() throws {
        let bytes = Array("#EXTM3U\n#EXTINF:2,M".utf8) + [0xFC] + Array("nchen\n/f".utf8) + [0xFC] + Array("r.ts\n#EXTINF:2,\nb.ts\n".utf8)
        let contents = try #require(try reader.contents(of: bytes, at: "https://a.example/m.m3u8"))
        #expect(contents.references.compactMap(\.url) == ["https://a.example/f%FCr.ts", "https://a.example/b.ts"])
        let written = try reader.rewritten(bytes, contents) { "/x" + $0.text }
        #expect(written == Array("#EXTM3U\n#EXTINF:2,M".utf8) + [0xFC] + Array("nchen\n/x/f%FCr.ts\n#EXTINF:2,\n/xb.ts\n".utf8))
    }

    @Test func `a line may have a quote, and a quoted string can't`() throws {
        let bytes = Array("#EXTM3U\n#EXT-X-MAP:URI=\"/i.mp4\"\n/a\"b.ts\n".utf8)
        let contents = try #require(try reader.contents(of: bytes, at: "https://a.example/m.m3u8"))
        let written = try reader.rewritten(bytes, contents) { $0.text + "\"" }
        #expect(String(decoding: written, as: UTF8.self) == "#EXTM3U\n#EXT-X-MAP:URI=\"/i.mp4\"\n/a\"b.ts\"\n")
    }

    @Test func `references come in the order of the playlist, in whatever order a tag has its attributes`() throws {
        let list = #"X-ASSET-LIST="/list",X-ASSET-URI="/asset""#
        let text = "#EXTM3U\n#EXT-X-DATERANGE:CLASS=\"com.apple.hls.interstitial\",\(list)\n0.ts\n"
        #expect(try urls(text) == ["https://a.example/list", "https://a.example/asset", "https://a.example/v/0.ts"])
    }
}
