import SpoolCore
import SpoolDASH
import SpoolManifests
import Testing

/// The parts of DASH documents that have rules of their own.
struct DASHManifestTests {
    private static let url = "https://origin.example/live/manifest.mpd"

    private static func rewritten(_ text: String, at url: String = url) throws -> String? {
        try TestProxy.rewritten(Array(text.utf8), at: url).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func contents(_ text: String) throws -> ManifestContents? {
        try ManifestReader(formats: [DASHFormat()]).contents(of: Array(text.utf8), at: url)
    }

    // MARK: Bases

    @Test func `a template from the root that two hosts share is written with steps up`() throws {
        let mpd = """
            <MPD><Period><SegmentTemplate media="/s/$Number$.m4s"/><AdaptationSet>\
            <Representation id="a"><BaseURL>https://a.example/x/y/</BaseURL></Representation>\
            <Representation id="b"><BaseURL>https://b.example/z/w/</BaseURL></Representation></AdaptationSet></Period></MPD>
            """
        let result = try #require(try Self.rewritten(mpd))
        #expect(result.contains("media=\"../../s/$Number$.m4s\""))
        #expect(result.contains("<BaseURL>/TOKEN/https/a.example/x/y/</BaseURL>"))
    }

    @Test func `a template that has no form for two hosts of different depth stays, and a wrong file is never asked`() throws {
        let mpd = """
            <MPD><Period><SegmentTemplate media="/s/$Number$.m4s"/><AdaptationSet>\
            <Representation id="a"><BaseURL>https://a.example/x/</BaseURL></Representation>\
            <Representation id="b"><BaseURL>https://b.example/</BaseURL></Representation></AdaptationSet></Period></MPD>
            """
        #expect(try Self.rewritten(mpd)?.contains("media=\"/s/$Number$.m4s\"") == true)
    }

    @Test func `references below a base of another scheme stay`() throws {
        let mpd = "<MPD><BaseURL>data:,</BaseURL><Period><BaseURL>https://a.example/</BaseURL></Period></MPD>"
        #expect(try Self.rewritten(mpd) == mpd)
    }

    @Test func `a reference with an entity of the document is not understood and stays`() throws {
        let mpd =
            "<!DOCTYPE MPD [<!ENTITY cdn 'https://a.example/'>]><MPD><BaseURL>&cdn;x/</BaseURL><Location>https://b.example/m</Location></MPD>"
        #expect(try Self.rewritten(mpd) == mpd.replacing("https://b.example/m", with: "/TOKEN/https/b.example/m"))
    }

    // MARK: Names that look like URLs

    @Test func `names of schemes, reports and information stay`() throws {
        let mpd = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" profiles="http://dashif.org/a" \
            xsi:schemaLocation="urn:mpeg:DASH:schema:MPD:2011 http://standards.iso.org/DASH-MPD.xsd">\
            <ProgramInformation moreInformationURL="http://a.example/"/><Metrics metrics="a"><Reporting schemeIdUri="http://a.example/" \
            xmlns:dvb="urn:dvb:dash:dash-extensions:2014-1" dvb:reportingUrl="https://report.example/x"/></Metrics>\
            <Period><AdaptationSet><EssentialProperty schemeIdUri="http://dashif.org/guidelines/thumbnail_tile" value="10x1"/>\
            <ContentProtection schemeIdUri="urn:uuid:a"><cenc:pssh xmlns:cenc="urn:mpeg:cenc:2013">AAAA</cenc:pssh>\
            <BaseURL xmlns="urn:other">https://a.example/</BaseURL></ContentProtection></AdaptationSet></Period></MPD>
            """
        #expect(try Self.rewritten(mpd) == mpd)
    }

    @Test func `a clock stays with its server, and a time stays a time`() throws {
        let mpd = """
            <MPD><UTCTiming schemeIdUri="urn:mpeg:dash:utc:http-head:2014" value="time https://t.example/ /t?a=1&amp;b=2"/>\
            <UTCTiming schemeIdUri="urn:mpeg:dash:utc:direct:2014" value="2026-01-01T00:00:00Z"/>\
            <UTCTiming schemeIdUri="urn:mpeg:dash:utc:ntp:2014" value="ntp.example"/></MPD>
            """
        let written = "https://origin.example/live/time https://t.example/ https://origin.example/t?a=1&amp;b=2"
        #expect(try Self.rewritten(mpd) == mpd.replacing("time https://t.example/ /t?a=1&amp;b=2", with: written))
    }

    @Test func `a remote element that resolves to nothing stays, and the others become absolute`() throws {
        let mpd = """
            <MPD xmlns:x="http://www.w3.org/1999/xlink"><Period x:href="urn:mpeg:dash:resolve-to-zero:2013"/><Period x:href="ad.xml"/></MPD>
            """
        let written = "http://127.0.0.1:8080/TOKEN/https/origin.example/live/ad.xml"
        #expect(try Self.rewritten(mpd) == mpd.replacing("ad.xml", with: written))
    }

    @Test func `content steering is removed, because it would name hosts of its own`() throws {
        let mpd = "<MPD>\n<ContentSteering defaultServiceLocation=\"a\">https://s.example/m</ContentSteering>\n<Period/></MPD>"
        #expect(try Self.rewritten(mpd) == "<MPD>\n\n<Period/></MPD>")
    }

    @Test func `a linked MPD keeps its fragment`() throws {
        let mpd =
            "<MPD><SupplementalProperty schemeIdUri='urn:mpeg:dash:mpd-as-linking:2015' value='https://a.example/b.mpd?x&#38;y#period=1'/></MPD>"
        #expect(try Self.rewritten(mpd) == mpd.replacing("https://a.example/b.mpd?x&#38;y", with: "/TOKEN/https/a.example/b.mpd?x&amp;y"))
    }

    // MARK: Patches and remote elements

    @Test func `a patch has proxied URLs and the same selectors`() throws {
        let patch = """
            <Patch xmlns="urn:mpeg:dash:schema:mpd-patch:2020" mpdId="a" originalPublishTime="2026-01-01T00:00:00Z">\
            <replace sel="/MPD/PatchLocation[1]"><PatchLocation ttl="60">https://p.example/patch?t=1</PatchLocation></replace>\
            <replace sel="/MPD/Period[@id='a/b']/BaseURL[1]/text()">https://a.example/x/</replace>\
            <add sel="/MPD/Period[1]/AdaptationSet[2]/SegmentTemplate" type="@media">https://a.example/$Number%05d$.m4s</add>\
            <replace sel="/MPD/Period[1]/AdaptationSet[2]/SegmentTemplate/@initialization">//a.example/i.mp4</replace>\
            <replace sel="/MPD/@publishTime">2026-01-01T00:00:02Z</replace>\
            <remove sel="/MPD/BaseURL[2]"/>\
            <add sel="/MPD/Period[1]/AdaptationSet[2]/SegmentList"><SegmentURL media="https://a.example/3.m4s"/><SegmentURL media="../4.m4s"/></add>\
            </Patch>
            """
        let written = patch.replacing("https://", with: "/TOKEN/https/").replacing("//a.example", with: "/TOKEN/https/a.example")
        #expect(try Self.rewritten(patch) == written)
        #expect(try Self.contents(patch)?.lifetime == .atMost(milliseconds: 0))
    }

    @Test func `remote elements without a root are rewritten, too`() throws {
        let periods = """
            <Period xmlns="urn:mpeg:dash:schema:mpd:2011" id="1"><BaseURL>https://ad.example/a/</BaseURL></Period>
            <Period xmlns="urn:mpeg:dash:schema:mpd:2011" id="2"><BaseURL>../../../../b/</BaseURL></Period>
            """
        #expect(try Self.contents(periods)?.kind == .xlinkFragment)
        #expect(try Self.rewritten(periods) == periods.replacing("https://", with: "/TOKEN/https/"))
    }

    // MARK: Lifetimes

    @Test(arguments: [
        ("<MPD/>", ManifestLifetime.byHTTP),
        ("<MPD type='static' minimumUpdatePeriod='PT2S'/>", .byHTTP),
        ("<MPD type='dynamic'/>", .byHTTP),
        ("<MPD type='dynamic' minimumUpdatePeriod='PT2.5S'/>", .atMost(milliseconds: 2_500)),
        ("<MPD type='dynamic' minimumUpdatePeriod='PT0S'/>", .atMost(milliseconds: 0)),
        ("<MPD type='dynamic' minimumUpdatePeriod='P1DT1H'/>", .atMost(milliseconds: 86_400_000)),
        ("<MPD type='dynamic' minimumUpdatePeriod='PT1H2M3S'/>", .atMost(milliseconds: 3_723_000)),
        ("<MPD type='dynamic' minimumUpdatePeriod='-PT2S'/>", .atMost(milliseconds: 0)),
        ("<MPD type='dynamic' minimumUpdatePeriod='PT99999999999999999999999S'/>", .atMost(milliseconds: 86_400_000)),
        ("<MPD type='dynamic' minimumUpdatePeriod='soon'/>", .atMost(milliseconds: 0)),
        ("<MPD type='dynamic' minimumUpdatePeriod='PT'/>", .atMost(milliseconds: 0)),
    ])
    func `an MPD serves as long as its update period`(mpd: String, lifetime: ManifestLifetime) throws {
        #expect(try Self.contents(mpd)?.lifetime == lifetime)
    }

    // MARK: Other documents

    @Test(arguments: [
        "", "<", "<html><body>", "<rss><channel/></rss>", "{\"a\":1}", "#EXTM3U8", "<?xml version='1.0' encoding='UTF-16'?><MPD/>",
        "<Period2/>", "<AdaptationSet/>", "\u{FEFF}", "<?xml", "<!DOCTYPE MPD [",
    ])
    func `a document that is no MPD, or not in an extension of ASCII, is passed on`(text: String) throws {
        #expect(try DASHManifest.contents(of: Array(text.utf8), at: Self.url) == nil)
    }

    @Test(arguments: [
        ("ISO-8859-1", "https://b.example/f%C3%BCr/"), ("windows-1252", "https://b.example/f%C3%BCr/"), ("ISO-8859-15", nil),
        ("utf-8", nil),
    ])
    func `a value in the declared encoding of an MPD is understood`(encoding: String, url: String?) throws {
        let start = "<?xml version=\"1.0\" encoding=\"\(encoding)\"?><MPD><BaseURL>https://b.example/f"
        let bytes = Array(start.utf8) + [0xFC] + Array("r/</BaseURL><BaseURL>https://c.example/</BaseURL></MPD>".utf8)
        let urls = try DASHManifest.contents(of: bytes, at: Self.url)?.references.compactMap(\.url)
        #expect(urls == [url, "https://c.example/"].compactMap(\.self))
    }

    @Test func `UTF-16 is passed on`() throws {
        let bytes: [UInt8] = [0xFF, 0xFE] + Array("<MPD/>".utf8).flatMap { [$0, 0] }
        #expect(try DASHManifest.contents(of: bytes, at: Self.url) == nil)
    }

    @Test(arguments: [
        "<MPD>", "<MPD></MPE>", "<MPD a=b/>", "<MPD a='1/>", "<MPD a='<'/>", "<MPD><!-- </MPD>", "<MPD><![CDATA[ ]]</MPD>", "<MPD/>text",
        "<MPD/></MPD>", "<MPD><?a </MPD>", "<MPD><></MPD>", "<MPD/", "<MPD><!DOCTYPE a></MPD>",
        String(repeating: "<MPD>", count: 65) + String(repeating: "</MPD>", count: 65),
        "<MPD " + (0..<129).map { "a\($0)=''" }.joined(separator: " ") + "/>",
    ])
    func `XML that is broken or beyond the bounds is passed on`(text: String) {
        let contents = try? DASHManifest.contents(of: Array(text.utf8), at: Self.url)
        #expect(contents == nil)
    }

    @Test func `references that would be resolved against very many long bases end at a bound`() {
        let bases = (0..<64).map { "<BaseURL>https://h\($0).example/\(String(repeating: "a", count: 2_000))/</BaseURL>" }.joined()
        let list = String(repeating: "<SegmentURL media='/a'/>", count: 10_000)
        let mpd = "<MPD>\(bases)<Period><AdaptationSet><SegmentList>\(list)</SegmentList></AdaptationSet></Period></MPD>"
        #expect(throws: ParseError.self) { try DASHManifest.contents(of: Array(mpd.utf8), at: Self.url) }
    }
}
