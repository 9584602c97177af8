import SpoolCore
import SpoolDASH
import SpoolManifests
import Testing

/// Generated MPDs: every place of a URL, in every form of a reference, below several chains of
/// bases, in every style of XML.
struct DASHRewritingTests {
    typealias Attributes = [(String, String)]

    static let url = "https://origin.example/live/ch1/manifest.mpd?token=a%2Fb&x=1"

    /// References in the forms of RFC 3986, and as people write them.
    static let forms = [
        "seg/a.mp4", "./a.mp4", "../up/a.mp4", "../../../../../a.mp4", "/top/a.mp4?x=1&y=2", "//other.example/a.mp4",
        "https://cdn.example/v/a.mp4?sig=a&exp=1", "HTTP://CDN.example:80/v/a.mp4", "?only=query", "a.mp4?u=http://x/../y",
        "a:b.mp4/../c.mp4",
        "a%20b.mp4", "a b.mp4", "ä/ö.mp4", "https://cdn.example/ü ü/a.mp4", "a'b\"c.mp4", "https://cdn.example/a'b.mp4?q=<1", "",
        "data:video/mp4;base64,AAAA", "urn:uuid:1234", "https://cdn.example", "%2e%2E/.%2e/%2e%2e/%2e./%2e/a.mp4", "%2e%2e/a.mp4?b\\..\\c",
        "/..\\%2e%2e/a.mp4", "..\\..\\..\\..\\a.mp4", "a\\..\\b.mp4", "\\\\other.example\\a.mp4",
    ]

    private static func isForeign(_ reference: String) -> Bool { ["a:", "data:", "urn:"].contains { reference.hasPrefix($0) } }

    /// Templates have fewer forms, and identifiers.
    static let templates = [
        "$RepresentationID$/$Number%05d$.m4s", "/top/$Number$.m4s?b=$Bandwidth$&c=1", "https://cdn.example/$RepresentationID$/$Time$.m4s",
        "//cdn.example/$Number%05d$-$SubNumber$.m4s", "../../../../../$Number$$$.m4s", "https://cdn.example/a b/%41$Number%05d$.m4s",
        "data:video/mp4;base64,AAAA", "%2e%2e/.%2E/%2e%2e/%2e%2e/http/192.168.0.1/$Number$", "%2e%2e/$RepresentationID$/$Number%05d$.m4s",
        "/..\\$RepresentationID$\\$Number%05d$.m4s?b=$Bandwidth$",
    ]

    /// The texts of `BaseURL` elements at each level: MPD, Period, AdaptationSet, Representation.
    static let chains: [[[String]]] = [
        [[], [], [], []],
        [["https://cdn1.example/x/"], ["p1/"], [], ["rep/"]],
        [["https://cdn1.example/x/", "https://cdn2.example/x/"], [], ["a/", "https://cdn3.example/y/"], []],
        [[], ["/from/top/"], [], ["file.mp4"]],
        [["../../../../../"], [], ["//other.example/b/"], [""]],
    ]

    /// A place for a reference: writes an MPD with it.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var isTemplate = false
        /// Nothing can be relative to `data:`.
        var isBase: Bool { testDescription.hasPrefix("BaseURL") }
        var write: @Sendable (MPDWriter, String, [[String]]) -> String
    }

    private static func mpd(
        _ writer: MPDWriter, _ chain: [[String]], mpd: String = "", period: String = "", set: String = "", representation: String = "",
        periodAttributes: Attributes = [], setAttributes: Attributes = []
    ) -> String {
        func bases(_ level: Int) -> String { chain[level].map { writer.text("BaseURL", [("serviceLocation", "a")], $0) }.joined() }
        let first = writer.element("Representation", [("id", "v1"), ("bandwidth", "9000")], bases(3) + representation)
        let second = writer.element("Representation", [("id", "v2"), ("bandwidth", "100")], representation)
        let set = writer.element("AdaptationSet", [("mimeType", "video/mp4")] + setAttributes, bases(2) + set + first + second)
        let period = writer.element("Period", [("id", "p")] + periodAttributes, bases(1) + period + set)
        return writer.document(bases(0) + mpd + period, attributes: [("type", "dynamic"), ("minimumUpdatePeriod", "PT2S")])
    }

    private static func place(_ name: String, _ write: @escaping @Sendable (MPDWriter, String, [[String]]) -> String) -> Row {
        Row(testDescription: name, write: write)
    }

    private static func template(_ name: String, _ write: @escaping @Sendable (MPDWriter, String, [[String]]) -> String) -> Row {
        Row(testDescription: name, isTemplate: true, write: write)
    }

    static let rows: [Row] = [
        place("BaseURL of the MPD") {
            mpd($0, [[$1]] + $2.dropFirst(), representation: $0.element("SegmentBase", [("indexRange", "0-9")]))
        },
        place("BaseURL of a period") { mpd($0, [$2[0], [$1], $2[2], $2[3]]) },
        place("BaseURL of an adaptation set") { mpd($0, [$2[0], $2[1], [$1, "other/"], $2[3]]) },
        place("BaseURL of a representation") { mpd($0, [$2[0], $2[1], $2[2], [$1]]) },
        place("SegmentURL") {
            let segment = $0.element("SegmentURL", [("media", $1), ("mediaRange", "0-9")])
            return mpd($0, $2, representation: $0.element("SegmentList", [], segment))
        },
        place("SegmentURL of a period, with its index") {
            mpd($0, $2, period: $0.element("SegmentList", [], $0.element("SegmentURL", [("index", $1), ("media", "m/1.mp4")])))
        },
        place("Initialization") {
            let section = $0.element("Initialization", [("sourceURL", $1), ("range", "0-9")])
            return mpd($0, $2, representation: $0.element("SegmentBase", [], section))
        },
        place("RepresentationIndex") {
            mpd($0, $2, set: $0.element("SegmentBase", [], $0.element("RepresentationIndex", [("sourceURL", $1)])))
        },
        place("BitstreamSwitching") {
            mpd($0, $2, set: $0.element("SegmentList", [], $0.element("BitstreamSwitching", [("sourceURL", $1)])))
        },
        place("xlink of a period") { mpd($0, $2, periodAttributes: [("xlink:href", $1), ("xlink:actuate", "onLoad")]) },
        place("xlink of an adaptation set") { mpd($0, $2, setAttributes: [("xlink:href", $1)]) },
        place("xlink of a segment list") { mpd($0, $2, set: $0.element("SegmentList", [("xlink:href", $1)])) },
        place("xlink of an event stream") {
            mpd($0, $2, period: $0.element("EventStream", [("xlink:href", $1), ("schemeIdUri", "urn:a")]))
        },
        place("Location") { mpd($0, $2, mpd: $0.text("Location", [], $1)) },
        place("PatchLocation") { mpd($0, $2, mpd: $0.text("PatchLocation", [("ttl", "60")], $1)) },
        place("ImportedMPD") { mpd($0, $2, period: $0.text("ImportedMPD", [], $1)) },
        place("InsertPresentation") {
            let event = $0.element("Event", [("id", "1")], $0.element("InsertPresentation", [("uri", $1)]))
            return mpd(
                $0, $2, period: $0.element("EventStream", [("schemeIdUri", "urn:mpeg:dash:event:alternativeMPD:insert:2025")], event))
        },
        place("UTCTiming") {
            mpd($0, $2, mpd: $0.element("UTCTiming", [("schemeIdUri", "urn:mpeg:dash:utc:http-xsdate:2014"), ("value", $1)]))
        },
        place("callback") {
            let event = $0.text("Event", [], $1)
            return mpd($0, $2, period: $0.element("EventStream", [("schemeIdUri", "urn:mpeg:dash:event:callback:2015")], event))
        },
        place("licence") {
            let url = $0.text("Laurl", [], $1)
            return mpd($0, $2, set: $0.element("ContentProtection", [("schemeIdUri", "urn:uuid:9a04f079")], url))
        },
        place("chained MPD") {
            mpd($0, $2, mpd: $0.element("SupplementalProperty", [("schemeIdUri", "urn:mpeg:dash:mpd-chaining:2016"), ("value", $1)]))
        },
        place("fallback MPD") {
            mpd($0, $2, mpd: $0.element("EssentialProperty", [("schemeIdUri", "urn:mpeg:dash:fallback:2016"), ("value", "\($1) b.mpd")]))
        },
        place("InitializationSet") { mpd($0, $2, mpd: $0.element("InitializationSet", [("id", "1"), ("initialization", $1)])) },
        place("initializationPrincipal") { mpd($0, $2, setAttributes: [("initializationPrincipal", $1)]) },
        template("template of a period") { mpd($0, $2, period: $0.element("SegmentTemplate", [("media", $1), ("startNumber", "1")])) },
        template("template of an adaptation set") {
            mpd($0, $2, set: $0.element("SegmentTemplate", [("media", $1), ("initialization", $1)]))
        },
        template("template of a representation") {
            mpd($0, $2, representation: $0.element("SegmentTemplate", [("index", $1), ("media", "a$Number$"), ("bitstreamSwitching", $1)]))
        },
    ]

    @Test(arguments: rows, MPDWriter.all)
    func `a player reaches each URL through the proxy, and no other byte changes`(row: Row, writer: MPDWriter) throws {
        for reference in row.isTemplate ? Self.templates : Self.forms where !(row.isBase && Self.isForeign(reference)) {
            for (index, chain) in Self.chains.enumerated() where writer.isPlain || index == reference.utf8.count % Self.chains.count {
                let text = row.write(writer, reference, chain)
                try Self.check(Array(text.utf8), "\(reference) below chain \(index): \(text)")
            }
        }
    }

    static func check(_ bytes: [UInt8], _ comment: String) throws {
        let rewritten = try #require(try TestProxy.rewritten(bytes, at: url), "no MPD: \(comment)")
        #expect(try TestProxy.rewritten(bytes, at: url) == rewritten)
        let before = try #require(XMLTree.read(bytes), "libxml2 refuses the generated MPD: \(comment)")
        let after = try #require(XMLTree.read(rewritten), "libxml2 refuses \(String(decoding: rewritten, as: UTF8.self))")
        #expect(before.shape(isURL) == after.shape(isURL), "\(comment)")

        let wanted = try DASHPlayer(before, at: url, isBrowser: true).places
        let proxyURL = try #require(TestProxy.url(url))
        for isBrowser in [false, true] {
            let found = try DASHPlayer(after, at: proxyURL, isBrowser: isBrowser).places
            #expect(wanted.map(\.name) == found.map(\.name))
            for (wanted, found) in zip(wanted, found) where !leads(found, to: wanted) {
                let text = String(decoding: rewritten, as: UTF8.self)
                Issue.record("\(wanted.name) of \(comment) leads to \(found.urls) in place of \(wanted.urls): \(text)")
            }
        }
    }

    /// Whether a player that resolves the rewritten place asks the proxy for what the original means.
    private static func leads(_ found: DASHPlayer.Place, to wanted: DASHPlayer.Place) -> Bool {
        if found.isDirect { return found.urls == wanted.urls }
        let originals = wanted.urls.map { TestProxy.asked($0) ?? $0 }
        guard !found.urls.isEmpty || wanted.urls.isEmpty else { return false }
        return found.urls.allSatisfy { url in
            // Alternatives lead to the same content. A reference from the root takes one of them.
            originals.contains(withoutFragment(TestProxy.original(url) ?? (TestProxy.asked(url) == nil ? url : "around the proxy")))
        }
    }

    private static func withoutFragment(_ url: String) -> String { String(url.prefix { $0 != "#" }) }

    private static func isURL(_ element: String, _ attribute: String?) -> Bool {
        switch attribute {
        case nil: ["BaseURL", "Location", "PatchLocation", "ImportedMPD", "Event", "Laurl"].contains(element)
        case "value": ["UTCTiming", "SupplementalProperty", "EssentialProperty"].contains(element)
        default: urlAttributes.contains(attribute ?? "")
        }
    }

    private static let urlAttributes: Set<String> = [
        "media", "index", "initialization", "bitstreamSwitching", "sourceURL", "xlink:href", "uri", "initializationPrincipal",
    ]
}
