import SpoolCore
import SpoolDASH
import SpoolManifests
import Testing

/// The parts of a stream, as its manifests list them.
struct StreamOutlineTests {
    private static func outline(_ text: String) throws -> StreamOutline {
        try #require(try StreamOutline.read(Array(text.utf8), at: "https://a.example/v/manifest", formats: [DASHFormat()]))
    }

    private static func parts(_ text: String) throws -> [StreamPart] {
        try outline(text).renditions.flatMap(\.parts)
    }

    private static func template(_ attributes: String, _ content: String = "", duration: String = "PT10S") -> String {
        """
        <MPD mediaPresentationDuration="\(duration)"><Period><AdaptationSet mimeType="video/mp4"><SegmentTemplate \(attributes)>\(content)\
        </SegmentTemplate><Representation id="v" bandwidth="9"/></AdaptationSet></Period></MPD>
        """
    }

    /// Documents whose parts or representations share something, so that the outline may cost the
    /// square of the document.
    private static let sharing: [String] = {
        func period(_ content: String, _ set: String = "<AdaptationSet>", _ representation: String = "<Representation/>") -> String {
            let representations = String(repeating: representation, count: 100)
            return "<MPD mediaPresentationDuration=\"PT100S\"><Period>\(content)\(set)\(representations)</AdaptationSet></Period></MPD>"
        }
        let long = String(repeating: "d", count: 1_000), nothing = String(repeating: "$RepresentationID$", count: 50)
        let others = String(repeating: "<SegmentTimeline/><Other/>", count: 200), times = String(repeating: "<S/>", count: 200)
        let attributes = (0..<100).map { "a\($0)=\"\"" }.joined(separator: " ")
        return [
            // Players resolve each line below the directory of the playlist.
            "#EXTM3U\n" + String(repeating: "a.ts\nb.ts\n", count: 50),
            "#EXTM3U\n" + String(repeating: "#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n", count: 100),
            "#EXTM3U\n" + String(repeating: "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"a\"\n#EXT-X-STREAM-INF:\nv\n", count: 100),
            period("<SegmentList>\(String(repeating: "<SegmentURL media=\"a\"/>", count: 10))</SegmentList>"),
            period("", "<AdaptationSet lang=\"\(long)\">"),
            period("", "<AdaptationSet mimeType=\"\(long)\">"),
            period("<BaseURL>/\(long)/</BaseURL>"),
            period("<SegmentTemplate media=\"$Number$\" initialization=\"\(long)\"/>"),
            period("<SegmentTemplate media=\"\(nothing)\" duration=\"1\"/>"),
            period("<SegmentTemplate media=\"a\" startNumber=\"\(long)\" duration=\"100\"/>"),
            period("<SegmentTemplate media=\"a\"><SegmentTimeline>\(times)</SegmentTimeline></SegmentTemplate>"),
            period("<SegmentList>\(others)</SegmentList>"),
            period("<SegmentList><SegmentTimeline><S d=\"1\" r=\"999\"/></SegmentTimeline></SegmentList>"),
            period("<SegmentTemplate media=\"\"/>", "<AdaptationSet \(attributes)>"),
            period("<SegmentList><SegmentTimeline>\(String(repeating: "<S \(attributes)/>", count: 4))</SegmentTimeline></SegmentList>"),
            period("<SegmentList><SegmentTimeline><S d=\"\(long)\"/></SegmentTimeline></SegmentList>"),
            period("<BaseURL>/</BaseURL><SegmentList><Initialization range=\"\(long)\"/></SegmentList>"),
            period("<BaseURL>/</BaseURL><SegmentList><SegmentURL index=\"\" indexRange=\"\(long)\"/></SegmentList>"),
            period("<BaseURL>/</BaseURL><SegmentList><SegmentURL mediaRange=\"\(long)\"/></SegmentList>"),
        ]
    }()

    @Test(arguments: sharing)
    func `the cost of an outline has a bound, whatever its parts share`(text: String) throws {
        let url = "https://a.example/\(String(repeating: "d", count: 500))/manifest"
        var limits = ManifestLimits()
        #expect(try StreamOutline.read(Array(text.utf8), at: url, formats: [DASHFormat()]) != nil)
        limits.maxOutlineBytes = 40_000
        let error = try #require(throws: ParseError.self) {
            try StreamOutline.read(Array(text.utf8), at: url, limits: limits, formats: [DASHFormat()])
        }
        #expect(error.isBeyondLimit, "\(error)")
    }

    @Test(arguments: ["initialization", "index", "media"], ["RepresentationID", "Bandwidth"])
    func `a template that is longer than any URI with its identifiers replaced makes no part`(attribute: String, name: String) throws {
        let value = String(repeating: "1", count: 65_536), template = String(repeating: "$\(name)$", count: 1_200)
        let other = attribute == "media" ? "initialization" : "media"
        // With each identifier replaced, the template has more bytes than an outline may cost.
        let mpd = """
            <MPD mediaPresentationDuration="PT1S"><Period><AdaptationSet><SegmentTemplate \(attribute)="\(template)" \(other)="a" duration="1"/>\
            <Representation id="\(value)" bandwidth="\(value)"/></AdaptationSet></Period></MPD>
            """
        #expect(try Self.parts(mpd).map(\.url) == ["https://a.example/v/a"])
    }

    @Test func `a byte range without offset begins where the last one of its file ended`() throws {
        let playlist = """
            #EXTM3U
            #EXT-X-MAP:URI="a.mp4",BYTERANGE="100@0"
            #EXT-X-BYTERANGE:50@100
            a.mp4
            #EXT-X-BYTERANGE:60
            a.mp4
            #EXT-X-GAP
            b.mp4
            c.mp4
            #EXT-X-ENDLIST
            """
        for text in [playlist, playlist.replacing("\n", with: "\r\n")] {
            let url = "https://a.example/v/a.mp4"
            #expect(
                try Self.parts(text) == [
                    StreamPart(url: url, range: ByteRange(0, 100)), StreamPart(url: url, range: ByteRange(100, 150)),
                    StreamPart(url: url, range: ByteRange(150, 210)), StreamPart(url: "https://a.example/v/c.mp4"),
                ])
        }
    }

    @Test func `a template by number has the segments of its period`() throws {
        let mpd = Self.template("media='$RepresentationID$-$Bandwidth$/$Number%03d$$$.m4s' duration='3' startNumber='7'")
        #expect(try Self.parts(mpd).map(\.url) == (7...10).map { "https://a.example/v/v-9/\($0 < 10 ? "00" : "0")\($0)$.m4s" })
    }

    @Test func `a template whose last number is the one before its first has no segment`() throws {
        #expect(try Self.parts(Self.template("media='$Number$' duration='3' startNumber='5' endNumber='4'")).isEmpty)
        #expect(try Self.parts(Self.template("media='$Number$' duration='3' startNumber='5' endNumber='5'")).count == 1)
    }

    @Test func `a timeline repeats up to the next entry and to the end of the period`() throws {
        let mpd = Self.template(
            "media='$Time$.m4s' timescale='10' presentationTimeOffset='100'",
            "<SegmentTimeline><S t='100' d='20' r='-1'/><S t='140' d='30' r='-1'/></SegmentTimeline>")
        #expect(try Self.parts(mpd).map(\.url) == [100, 120, 140, 170].map { "https://a.example/v/\($0).m4s" })
    }

    @Test func `a list and a single file have their ranges`() throws {
        let mpd = """
            <MPD><Period><BaseURL>b/</BaseURL><AdaptationSet mimeType="audio/mp4"><Representation><SegmentList>\
            <Initialization range="0-9"/><SegmentURL media="1.m4s"/><SegmentURL mediaRange="10-19"/></SegmentList></Representation>\
            </AdaptationSet><AdaptationSet contentType="video"><Representation><BaseURL>x.mp4</BaseURL><SegmentBase/></Representation>\
            </AdaptationSet></Period></MPD>
            """
        let base = "https://a.example/v/b/"
        #expect(
            try Self.parts(mpd) == [
                StreamPart(url: base, range: ByteRange(0, 10)), StreamPart(url: base + "1.m4s"),
                StreamPart(url: base, range: ByteRange(10, 20)),
                StreamPart(url: base + "x.mp4"),
            ])
    }

    @Test func `the pictures for fast forward are no choice of a player`() throws {
        let mpd = """
            <MPD><Period><AdaptationSet contentType="video"><EssentialProperty schemeIdUri="http://dashif.org/guidelines/trickmode" value="1"/>\
            <Representation bandwidth="1"/></AdaptationSet><AdaptationSet id="1" contentType="video">\
            <EssentialProperty schemeIdUri="urn:mpeg:mpegB:cicp:TransferCharacteristics" value="1"/><Representation bandwidth="2"/></AdaptationSet>\
            </Period></MPD>
            """
        let outline = try Self.outline(mpd)
        var selection = PresentationSelection()
        selection.quality = .worst
        #expect(selection.renditions(of: outline).map(\.bandwidth) == [2])
        #expect(outline.playable { $0 == 0 }.isEmpty && outline.playable { $0 == 1 } == [1])
    }

    @Test(arguments: ["0-9223372036854775807", "5-1152921504606846976", "1152921504606846975-9223372036854775807"])
    func `a range of a manifest ends at the bound of offsets`(range: String) throws {
        let list = "<Initialization sourceURL='i' range='\(range)'/><SegmentURL index='x' indexRange='\(range)' mediaRange='\(range)'/>"
        let mpd = """
            <MPD><Period><AdaptationSet><Representation><SegmentList>\(list)</SegmentList></Representation></AdaptationSet></Period></MPD>
            """
        let first = try #require(Int64(range.prefix { $0 != "-" }))
        let bounded = ByteRange(first, ByteRange.maximumOffset)
        #expect(try Self.parts(mpd).map(\.range) == [bounded, bounded, bounded])
        let line = "#EXTM3U\n#EXT-X-BYTERANGE:9223372036854775807@\(first)\na.ts\n#EXT-X-ENDLIST\n"
        #expect(try Self.parts(line).map(\.range) == [bounded])
    }

    @Test(arguments: [
        template("media='$Number$' duration='1' timescale='1000000'", duration: "PT99999999H"),
        template("media='$Number$' duration='1'", duration: "P\(String(repeating: "9", count: 308))Y"),
        template("media='$Time$'", "<SegmentTimeline><S d='1' r='9223372036854775807'/></SegmentTimeline>"),
    ])
    func `a stream with more segments than any has is refused`(mpd: String) {
        #expect(throws: ParseError.self) { try StreamOutline.read(Array(mpd.utf8), at: "https://a.example/", formats: [DASHFormat()]) }
    }

    @Test(arguments: [
        template("media='$Number%099999999999999999999d$' duration='0'"), template("media='$Number$' duration='-1' timescale='0'"),
        template("media='$Time$'", "<SegmentTimeline><S t='9223372036854775807' d='9223372036854775807' r='5'/></SegmentTimeline>"),
        template("media='$' duration='3' startNumber='9223372036854775807' endNumber='-9223372036854775808'"),
        template("media='$Number$' duration='1'", duration: "-P\(String(repeating: "9", count: 308))D"),
        "#EXTM3U\n#EXT-X-BYTERANGE:9223372036854775807@9223372036854775807\na\n#EXT-X-BYTERANGE:1\na\n#EXT-X-ENDLIST",
    ])
    func `numbers at the limits of the arithmetic do no harm`(text: String) throws {
        _ = try Self.outline(text)
    }
}

/// The times at which a player needs the parts of a stream.
struct StreamTimesTests {
    private static func times(_ text: String) throws -> [Double] {
        let outline = try #require(try StreamOutline.read(Array(text.utf8), at: "https://a.example/v/manifest", formats: [DASHFormat()]))
        return outline.renditions.flatMap(\.times)
    }

    @Test func `a segment of HLS begins where the one before ends, and a key is needed with its segment`() throws {
        let playlist = """
            #EXTM3U
            #EXT-X-MAP:URI="init.mp4"
            #EXTINF:4.5,
            1.m4s
            #EXT-X-KEY:METHOD=AES-128,URI="k"
            #EXTINF:6,title
            2.m4s
            #EXT-X-GAP
            #EXTINF:6,
            3.m4s
            #EXTINF:nonsense,
            4.m4s
            5.m4s
            #EXT-X-ENDLIST
            """
        #expect(try Self.times(playlist) == [0, 0, 4.5, 4.5, 16.5, 16.5])
    }

    @Test func `segments of DASH count from the start of their period`() throws {
        let mpd = """
            <MPD><Period duration='PT8S'><AdaptationSet mimeType='video/mp4'>\
            <SegmentTemplate initialization='i' media='$Number$' duration='40' timescale='10'/><Representation id='a'/></AdaptationSet></Period>\
            <Period duration='PT4S'><AdaptationSet mimeType='video/mp4'>\
            <SegmentTemplate media='$Time$' timescale='10' presentationTimeOffset='100'><SegmentTimeline><S t='100' d='20' r='1'/>\
            </SegmentTimeline></SegmentTemplate><Representation id='a'/></AdaptationSet></Period>\
            <Period><AdaptationSet mimeType='video/mp4'><Representation id='a'><SegmentList duration='3'><SegmentURL media='1'/>\
            <SegmentURL media='2'/></SegmentList></Representation></AdaptationSet></Period></MPD>
            """
        #expect(try Self.times(mpd) == [0, 0, 4, 8, 10, 12, 15])
    }
}
