import SpoolCore

/// A playlist that a test made, and the meaning of each of its references.
struct MadePlaylist {
    /// A line with at most one reference.
    struct Line {
        var before = ""
        /// The reference as it stands in the playlist, or nil for a line without one.
        var reference: String?
        var after = ""
        /// The reference with its variables replaced.
        var meaning = ""

        var text: String { before + (reference ?? "") + after }
    }

    var lines: [Line] = []
    var lineEnd = "\n"

    var text: String { lines.map { $0.text + lineEnd }.joined() }

    /// The forms of a reference. `{$n}` and `{$b}` are variables.
    static let forms = [
        "seg.ts", "a/b/seg.ts?x=1&y=2", "./seg.ts", "../up.ts", "../../../../top.ts", "a/../b/./c.ts", "/root.ts", "/a/../root.ts?q",
        "//other.example/x.ts", "//other.example:8443/x.ts?a=/b", "http://media.example/abs.ts", "https://cdn.example/abs.ts?Sig=a%2Fb~c",
        "HTTPS://CDN.example:443/Upper.ts", "https://cdn.example", "https://cdn.example?only=query", "?token=abc", "?a=?b/../c",
        "https://cdn.example/many/seg.ts", "seg.ts#t=1,2",
        "/root.ts?x#f", "caf%C3%A9/%20x.ts", "%2e%2e%2Fx.ts", "café/ü.ts", "https://cdn.example/日本.ts?q=ü", "a b.ts", "a//b.ts", "/a//b.ts",
        "a:b/c.ts?x".replacing(":", with: "%3A"), "a;v=1/b,c.ts", "~u/(x)!*'.ts", "{$n}.ts", "{$b}/v.ts", "/p/{$n}/v.ts?{$n}", "x{y}.ts",
        "https://u:p@cdn.example/in.ts", "http://[2001:db8::1]:81/six.ts", "a.ts?url=https://x.example/y",
        "https://cdn.example/a/./b/../c.ts", ".", "..", "a/..", "/..", "https://cdn.example/..", "#fragment", "seg.ts?", "seg.ts?#",
        "a\\b.ts", "a|b^c`.ts", "a%zz.ts", "seg[1].ts?a[]=1", "/https/x.example/y.ts", "_spool/x.ts", "/_spool/status", "./a:b.ts",
        "%2F%2Fhost/x.ts", "a/%2e%2e/b.ts", ".hidden.ts", "...", "..x/y.ts", "$Number$.ts", "{$n}?{$b}", "{$e}{$n}.ts", "{$up}/x.ts",
        "https://{$h}/v.ts", "//{$h}/w.ts", "s?_HLS_x=1", "https://cdn.example//double.ts", "?",
        "s?t=12:30", "a/%C3%BC.ts", "%2e%2e", "a/%2E%2E?x", ".%2e/%2E./%2e%2e/%2e/x.ts", "/a/%2E%2E/%2e%2e/x.ts", "..\\x.ts?a\\..\\b",
        "/..\\..\\x.ts", "a\\..\\..\\..\\..\\x.ts", "\\root.ts", "/\\other.example\\x.ts", "https://cdn.example/a/%2e%2e/b\\x.ts",
        "a%2e%2e/.%2ex.ts",
    ]

    static let variables = ["n": "na-me", "b": "https://var.example/base", "e": "", "h": "host.example:8443", "up": ".."]

    /// The text with its variables replaced.
    static func substituted(_ text: String) -> String {
        variables.reduce(text) { $0.replacing("{$\($1.key)}", with: $1.value) }
    }

    /// The forms of URIs that are not for a proxy.
    static let untouched = ["skd://key-42", "data:text/plain;base64,AAAA", "urn:uuid:1-2-3", "mailto:x@y.example", "http:cdn.example/s.ts"]

    /// Returns a playlist in which each line has a form of the generator's choice.
    static func random(_ generator: inout SeededRandomNumbers, isMultivariant: Bool) -> MadePlaylist {
        var playlist = MadePlaylist()
        playlist.lineEnd = ["\n", "\r\n", "\r", "\r\r\n"][generator.below(4)]
        playlist.plain("#EXTM3U")
        playlist.plain("#EXT-X-VERSION:11")
        playlist.plain("#EXT-X-UNKNOWN:URI=\"https://unknown.example/x\",A=1")
        for (name, value) in variables.sorted(by: { $0.key < $1.key }) {
            playlist.plain("#EXT-X-DEFINE:NAME=\"\(name)\",VALUE=\"\(value)\"")
        }
        playlist.plain("# comment https://comment.example/x.ts")
        playlist.plain("")
        let rows = isMultivariant ? multivariantRows : mediaRows
        for _ in 0..<(3 + generator.below(12)) { playlist.add(rows[generator.below(rows.count)], &generator) }
        if !isMultivariant { playlist.plain("#EXT-X-ENDLIST") }
        return playlist
    }

    private mutating func plain(_ text: String) { lines.append(Line(before: text)) }

    /// Adds the lines of a row, in which `^` stands for a reference.
    private mutating func add(_ row: String, _ generator: inout SeededRandomNumbers) {
        for line in row.split(separator: "\n", omittingEmptySubsequences: false) {
            guard let at = line.firstIndex(of: "^") else {
                plain(String(line))
                continue
            }
            let takesOther = line.contains("KEY") && generator.below(3) == 0
            let form = takesOther ? Self.untouched[generator.below(Self.untouched.count)] : Self.forms[generator.below(Self.forms.count)]
            let meaning = Self.substituted(form)
            lines.append(
                Line(before: String(line[..<at]), reference: form, after: String(line[line.index(after: at)...]), meaning: meaning))
        }
    }

    private static let mediaRows = [
        "#EXTINF:4.0,a title, \"quoted\" https://title.example/x\n^",
        "#EXTINF:4,\n\n# between\n^",
        "#EXTINF:4,\n#EXT-X-BYTERANGE:100@0\n^",
        "#EXT-X-KEY:METHOD=AES-128,URI=\"^\",IV=0x00000000000000000000000000000001,KEYFORMAT=\"identity\"\n#EXTINF:4,\nenc.ts",
        "#EXT-X-KEY:METHOD=NONE",
        "#EXT-X-MAP:URI=\"^\",BYTERANGE=\"720@0\"",
        "#EXT-X-PART:DURATION=0.5,INDEPENDENT=YES,URI=\"^\",BYTERANGE=\"100@0\"",
        "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"^\",BYTERANGE-START=0",
        "#EXT-X-RENDITION-REPORT:URI=\"^\",LAST-MSN=7,LAST-PART=1",
        "#EXT-X-DATERANGE:ID=\"a,b\",CLASS=\"com.apple.hls.interstitial\",START-DATE=\"2026-01-01\",X-ASSET-LIST=\"^\",X-SNAP=\"OUT\"",
        "#EXT-X-DATERANGE:ID=\"i\",X-ASSET-URI=\"^\",CLASS=\"com.apple.hls.interstitial\"",
        "#EXT-X-MAP:BYTERANGE=\"720@0\",URI=\"^\"",
        "#EXT-X-KEY:METHOD=AES-128 , URI=\"^\"",
        "#EXT-X-PRELOAD-HINT:TYPE=MAP,URI=\"^\"",
        "#EXTINF:4,\n  ^ \t",
        "#EXT-X-DATERANGE:ID=\"p\",CLASS=\"com.apple.hls.preload\",X-URI=\"^\"",
        "#EXT-X-DATERANGE:ID=\"o\",CLASS=\"other\",X-ASSET-URI=\"https://beacon.example/x\",X-URI=\"/y\"",
        "#EXT-X-GAP\n#EXTINF:4,\n^",
        "#EXT-X-DISCONTINUITY\n#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z\n#EXTINF:4,\n^",
    ]

    private static let multivariantRows = [
        "#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"avc1.4d401e,mp4a.40.2\",AUDIO=\"a\"\n^",
        "#EXT-X-STREAM-INF:BANDWIDTH=2\n# between\n\n^",
        "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"A, \",URI=\"^\",CHARACTERISTICS=\"x,y\"",
        "#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID=\"c\",NAME=\"CC\",INSTREAM-ID=\"CC1\"",
        "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI=\"^\"",
        "#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=1, URI=\"^\" ,CODECS=\"jpeg\"",
        "#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI=\"^\",KEYFORMAT=\"com.apple.streamingkeydelivery\"",
        "#EXT-X-SESSION-DATA:DATA-ID=\"com.example\",URI=\"^\"",
        "#EXT-X-SESSION-DATA:DATA-ID=\"com.example\",VALUE=\"https://value.example/x\"",
    ]
}

/// A sequence of numbers that follows from a seed (SplitMix64).
struct SeededRandomNumbers {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }

    mutating func flip() -> Bool { below(2) == 0 }
}
