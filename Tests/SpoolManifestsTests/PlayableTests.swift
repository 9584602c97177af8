import SpoolCore
import SpoolDASH
import SpoolManifests
import Testing

/// The renditions that a manifest still offers when only complete ones can be read.
struct PlayableTests {
    private static let url = "https://a.example/v/m"
    private static let master = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="de",LANGUAGE="de",URI="de.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="en",URI="sub.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="a",SUBTITLES="t",CODECS="x"
        # a comment stays
        lo.m3u8
        #EXT-X-STREAM-INF:SUBTITLES="t",BANDWIDTH=2,AUDIO="a"
        hi.m3u8
        #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="pictures.m3u8"

        """

    private static func offered(_ text: String, complete: Set<Int>) throws -> String? {
        let bytes = Array(text.utf8)
        let outline = try #require(try StreamOutline.read(bytes, at: url, formats: [DASHFormat()]))
        let playable = outline.playable(complete.contains)
        guard !playable.isEmpty else { return nil }
        var contents = try #require(try ManifestReader(formats: [DASHFormat()]).contents(of: bytes, at: url))
        contents.offer(playable, of: outline)
        return String(decoding: try ManifestReader(formats: [DASHFormat()]).rewritten(bytes, contents) { _ in nil }, as: UTF8.self)
    }

    @Test func `a multivariant playlist offers complete variants and renditions, and no empty group`() throws {
        #expect(
            try Self.offered(Self.master, complete: [1, 3]) == """
                #EXTM3U
                #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="de",LANGUAGE="de",URI="de.m3u8"
                #EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="a",CODECS="x"
                # a comment stays
                lo.m3u8

                """)
        #expect(try Self.offered(Self.master, complete: [0, 1, 2, 3, 4, 5]) == Self.master)
    }

    @Test func `a variant without its sound is not complete, and sound without a variant neither`() throws {
        #expect(try Self.offered(Self.master, complete: [2, 3, 4, 5]) == nil)
        #expect(try Self.offered(Self.master, complete: [0, 1, 2, 5]) == nil)
        let inside = Self.master.replacing("URI=\"de.m3u8\"", with: "CHANNELS=\"2\"")
        #expect(try Self.offered(inside, complete: [2])?.contains("lo.m3u8") == true)
    }

    @Test func `an MPD offers complete representations, and no empty adaptation set`() throws {
        let set =
            "<AdaptationSet mimeType=\"video/mp4\"><Representation id=\"1\" bandwidth=\"1\"><BaseURL>1.mp4</BaseURL></Representation>"
            + "<Representation id=\"2\"><BaseURL>2.mp4</BaseURL></Representation></AdaptationSet>"
        let texts =
            "<AdaptationSet mimeType=\"text/vtt\"><Representation id=\"3\"><BaseURL>3.vtt</BaseURL></Representation></AdaptationSet>"
        let mpd = "<MPD type=\"static\"><Period>\(set)\(texts)</Period></MPD>"
        #expect(
            try Self.offered(mpd, complete: [1]) == "<MPD type=\"static\"><Period><AdaptationSet mimeType=\"video/mp4\">"
                + "<Representation id=\"2\"><BaseURL>2.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>")
        let twoPeriods = "<MPD type=\"static\"><Period>\(set)</Period><Period>\(set)</Period></MPD>"
        #expect(try Self.offered(twoPeriods, complete: [0, 1]) == nil)
        #expect(try Self.offered(twoPeriods, complete: [0, 3]) != nil)
    }

    /// Licences, clocks and alternative bases are edits of their own. They go with the element
    /// around them.
    @Test func `an MPD loses the edits of a representation with the representation`() throws {
        let licence = "<ContentProtection schemeIdUri=\"urn:x\"><Laurl>license/1</Laurl></ContentProtection>"
        let bases = "<BaseURL>http://b.example/x/</BaseURL><BaseURL>//c.example/y/</BaseURL><BaseURL>/z/</BaseURL>"
        let low = "<Representation id=\"1\">\(bases)<SegmentList><SegmentURL media=\"/1.m4s\"/></SegmentList></Representation>"
        let high = low.replacing("\"1\"", with: "\"2\"").replacing("<SegmentList>", with: licence + "<SegmentList>")
        let mpd = "<MPD><Period><AdaptationSet mimeType=\"video/mp4\">\(low)\(high)</AdaptationSet></Period></MPD>"
        let whole = try #require(try Self.offered(mpd, complete: [0, 1]))
        #expect(whole.contains("<Laurl>https://a.example/v/license/1</Laurl>"))
        let second = try #require(whole.firstRange(of: "<Representation id=\"2\">")).lowerBound
        let first = try #require(whole.firstRange(of: "<Representation id=\"1\">")).lowerBound
        let end = try #require(whole.firstRange(of: "</AdaptationSet>")).lowerBound
        #expect(try Self.offered(mpd, complete: [0]) == String(whole[..<second] + whole[end...]))
        #expect(try Self.offered(mpd, complete: [1]) == String(whole[..<first] + whole[second...]))
    }

    /// A search through all variants for each reference would take minutes here.
    @Test func `ten thousand variants are filtered in one go`() throws {
        let lines = (0..<10_000).map { "#EXT-X-STREAM-INF:BANDWIDTH=\($0 + 1)\n\($0).m3u8\n" }.joined()
        let text = try #require(try Self.offered("#EXTM3U\n" + lines, complete: [7, 9_999]))
        #expect(text == "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=8\n7.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=10000\n9999.m3u8\n")
    }
}
