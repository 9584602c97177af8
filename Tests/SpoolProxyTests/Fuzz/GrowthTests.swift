import SpoolCore
import SpoolDASH
import SpoolLibc
import SpoolManifests
import SpoolOrigin
import SpoolServer
import SpoolStore
import Testing

/// The time of each parser grows in proportion to its input, not with its square.
///
/// The times are CPU times of this thread, which other programs do not affect. A test compares the
/// shortest of several runs for an input and for one four times as long. A linear parser needs 4
/// times as long for the second, a quadratic one 16 times.
@Suite(.serialized, .timeLimit(.minutes(20))) struct GrowthTests {
    struct Parser: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// The text that the input repeats.
        var unit: String
        var prefix = ""
        /// The length of the shorter input, in bytes.
        var bytes = 12_000
        var parse: @Sendable ([UInt8]) -> Void
    }

    /// Half-way between 4 and 16.
    private static let limit = 8.0
    private static let runs = 7

    private static func text(_ name: String, _ unit: String, prefix: String = "", _ parse: @escaping @Sendable (String) -> Void) -> Parser {
        Parser(testDescription: "\(name) of many '\(unit)'", unit: unit, prefix: prefix) { parse(String(decoding: $0, as: UTF8.self)) }
    }

    static let parsers: [Parser] =
        ["1-2,", ",", "-", " ", "0"].map { text("Range", $0, prefix: "bytes=") { _ = RangeHeader($0)?.resolve(length: 1000) } }
        + ["9", " ", "/"].map { text("Content-Range", $0, prefix: "bytes ") { _ = try? ContentRange($0) } }
        + ["a=b,", "\"", "\\\"", ",", "private=\"a\",", "a"].map { text("Cache-Control", $0) { _ = CacheControl($0) } }
        + ["\"a\",", "W/", "\""].map { unit in
            text("If-None-Match", unit) { value in
                let representation = Representation(
                    length: 1, validator: .strong(entityTag: "\"v\""), fields: [:], requestTime: Timestamp(seconds: 0),
                    responseTime: Timestamp(seconds: 0))
                _ = Precondition.evaluate(fields: ["If-None-Match": value], representation: representation)
            }
        }
        + ["../", "./", "/", "a", "%", ":", "@", "é", "?", "[", "a/../"].map { text("URL", $0, prefix: "http://h/", url) }
        + mpds.map { mpd in
            Parser(testDescription: "MPD of many '\(mpd.unit)'", unit: mpd.unit, prefix: mpd.prefix) { bytes in
                let isWhole = (try? DASHManifest.contents(of: bytes + Array(mpd.suffix.utf8), at: "https://a.example/b/c")) != nil
                if !isWhole && !mpd.suffix.isEmpty { Issue.record("the document of '\(mpd.unit)' is broken") }
            }
        }
        + [":", "@", "[", "a"].map { text("authority", $0, prefix: "http://", url) }
        + [";a=b", "\"", " "].map { text("media type", $0, prefix: "a/b") { _ = MediaType($0) } }
        + [" ", "0", "Sun, "].map { text("date", $0) { _ = HTTPDate.parse($0) } }
        + ["A: b\r\n", "\n", ":", "A"].map { text("stored fields", $0) { _ = storedFields(of: FieldBlock.decode(Array($0.utf8))) } }
        + ["Connection: a\r\n", "A: b\r\n b\r\n", "A: \r\n", "\n"].map { unit in
            Parser(testDescription: "head of many '\(unit)'", unit: unit, prefix: "HTTP/1.1 200 OK\r\n") { _ = FuzzTests.head($0) }
        }
        + ["A: b\r\n", "A: bbbbbbbbbbbbbbbbbbbbbbb\r\n", "\r\n", "a"].map { unit in
            // A byte at a time, as from a slow client. A parser that scans all earlier bytes again
            // at each new one would be quadratic.
            Parser(testDescription: "request of many '\(unit)'", unit: unit, prefix: "GET / HTTP/1.1\r\n", bytes: 7000, parse: bytewise)
        }
        + ["a.ts\n", "{$x}", "#EXT-X-KEY:URI=\"/a\"\n", "#EXT-X-KEY:A=,\"", "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"{$x}\"\n", "\""].map {
            Parser(
                testDescription: "playlist of many '\($0)'", unit: $0, prefix: "#EXTM3U\n#EXT-X-DEFINE:NAME=\"x\",VALUE=\"long/er\"\n",
                parse: manifest)
        }
        + ["[", "\"a\",", "{\"URI\":\"a\"},", "\\"].map {
            Parser(testDescription: "asset list of many '\($0)'", unit: $0, prefix: "{\"ASSETS\":[", parse: manifest)
        }

    /// Documents of DASH. Without a suffix, the document is broken at its end.
    private static let mpds: [(prefix: String, unit: String, suffix: String)] = [
        ("<MPD>", "<a>", ""), ("<MPD>", "<S d='1'/>", "</MPD>"), ("<MPD ", "a='' ", ""), ("<MPD>", "<!--", ""), ("<MPD>", "<![CDATA[", ""),
        ("<MPD>", "]]>", "</MPD>"), ("<MPD><BaseURL>", "&", "</BaseURL></MPD>"), ("<MPD><BaseURL>", "&amp;", "</BaseURL></MPD>"),
        ("<MPD>", "<BaseURL>/</BaseURL>", "</MPD>"), ("<MPD>", "<BaseURL>../../</BaseURL>", "</MPD>"), ("<!DOCTYPE ", "[", ""),
        ("<!DOCTYPE ", "'", ""), ("<MPD><Period><SegmentList>", "<SegmentURL media='/'/>", "</SegmentList></Period></MPD>"),
        ("<MPD>", "<Period><BaseURL>a/</BaseURL><SegmentTemplate media='/'/></Period>", "</MPD>"),
        ("<Patch>", "<add sel='/a/b/@c'>//a/b</add>", "</Patch>"),
    ]

    private static func url(_ text: String) {
        guard let reference = try? URIReference(lenient: text), let base = try? URIReference("http://a/b/c") else { return }
        _ = try? base.resolving(reference)
        _ = try? ResourceKey(url: text)
    }

    private static let manifest: @Sendable ([UInt8]) -> Void = { bytes in
        let reader = ManifestReader(formats: [DASHFormat()])
        guard let contents = try? reader.contents(of: bytes, at: "https://a.example/b/c.m3u8") else { return }
        _ = try? reader.rewritten(bytes, contents) { $0.url }
    }

    private static let bytewise: @Sendable ([UInt8]) -> Void = { bytes in
        var limits = RequestLimits()
        limits.fieldCount = 100_000
        var parser = RequestParser(limits: limits)
        bytes.withUnsafeBytes { all in
            for count in 1...all.count {
                guard case .needsMore = parser.parse(UnsafeRawBufferPointer(rebasing: all[..<count])) else { return }
            }
        }
    }

    @Test(arguments: parsers) func `a parser's time grows in proportion to its input`(parser: Parser) {
        func input(_ count: Int) -> [UInt8] {
            Array((parser.prefix + String(repeating: parser.unit, count: count / parser.unit.utf8.count)).utf8)
        }
        let short = input(parser.bytes), long = input(4 * parser.bytes)
        // A short input is parsed many times, so that the resolution of the clock does not matter.
        let repeats = max(1, 400_000 / max(1, Self.nanoseconds { parser.parse(short) }))
        // A disturbed measurement is repeated. A quadratic parser never passes.
        var ratio = Double.infinity
        for _ in 0..<3 where ratio >= Self.limit {
            let costs = [short, long].map { bytes in
                (0..<Self.runs).map { _ in Self.nanoseconds { for _ in 0..<repeats { parser.parse(bytes) } } }.min() ?? 0
            }
            ratio = Double(costs[1]) / Double(max(1, costs[0]))
        }
        #expect(ratio < Self.limit, "four times the input costs \(ratio) times as much")
    }

    private static func nanoseconds(_ body: () -> Void) -> Int {
        func now() -> Int {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return time.tv_sec * 1_000_000_000 + time.tv_nsec
        }
        let start = now()
        body()
        return now() - start
    }
}
