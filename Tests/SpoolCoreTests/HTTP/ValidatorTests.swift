import SpoolCore
import Testing

@Suite struct `validators of a response` {
    private static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let secondLater = "Sun, 06 Nov 1994 08:49:38 GMT"
    private static let time = Timestamp(seconds: 784_111_777)

    @Test(
        arguments: [
            (["ETag": #""a""#], .strong(entityTag: #""a""#)),
            (["ETag": "a b"], .strong(entityTag: "a b")),
            (["ETag": #"W/"a""#], .weak(entityTag: #"W/"a""#)),
            ([:], .none),
            (["ETag": ""], .none),
            // The date is strong when Date is a second later, and no earlier (RFC 9110 §8.8.2.2).
            (["Last-Modified": modified, "Date": secondLater], .lastModified(time, isStrong: true)),
            (["Last-Modified": modified, "Date": modified], .lastModified(time, isStrong: false)),
            (["Last-Modified": secondLater, "Date": modified], .lastModified(Timestamp(seconds: 784_111_778), isStrong: false)),
            (["Last-Modified": modified], .lastModified(time, isStrong: false)),
            (["Last-Modified": modified, "Date": "soon"], .lastModified(time, isStrong: false)),
            (["Last-Modified": modified, "Date": secondLater, "date": modified], .lastModified(time, isStrong: false)),
            (["Last-Modified": "yesterday"], .none),
            // The stronger one wins; a weak tag is worth more than a weak date.
            (["ETag": #""a""#, "Last-Modified": modified, "Date": secondLater], .strong(entityTag: #""a""#)),
            (["ETag": #"W/"a""#, "Last-Modified": modified, "Date": secondLater], .lastModified(time, isStrong: true)),
            (["ETag": #"W/"a""#, "Last-Modified": modified], .weak(entityTag: #"W/"a""#)),
            (["ETag": "", "Last-Modified": modified, "Date": secondLater], .lastModified(time, isStrong: true)),
            // The same twice is once; two that differ are none.
            (["ETag": #""a""#, "etag": #""a""#], .strong(entityTag: #""a""#)),
            (["ETag": #""a""#, "etag": #""b""#], .none),
            (["ETag": #""a""#, "etag": #"W/"a""#], .none),
            (["ETag": #""a""#, "Last-Modified": modified, "last-modified": secondLater], .none),
            // A tag that can't be kept or sent back does not fall back on anything.
            (["ETag": "\"é\"", "Last-Modified": modified, "Date": secondLater], .none),
        ] as [(HTTPFields, Validator)])
    func `are the strongest that can be relied on`(fields: HTTPFields, expected: Validator) {
        #expect(Validator(fields: fields) == expected)
    }

    @Test func `longer than eight kibibytes are none`() {
        #expect(Validator(fields: ["ETag": "\"" + String(repeating: "x", count: 9000) + "\""]) == .none)
    }

    @Test func `go into If-Range only when strong`() {
        #expect(Validator.strong(entityTag: #""a""#).ifRangeValue == #""a""#)
        #expect(Validator.lastModified(Self.time, isStrong: true).ifRangeValue == Self.modified)
        #expect(Validator.lastModified(Self.time, isStrong: false).ifRangeValue == nil)
        #expect(Validator.weak(entityTag: #"W/"a""#).ifRangeValue == nil)
        #expect(Validator.none.ifRangeValue == nil)
    }

    @Test func `give their tag, weak or strong`() {
        #expect(Validator.strong(entityTag: #""a""#).entityTagValue == #""a""#)
        #expect(Validator.weak(entityTag: #"W/"a""#).entityTagValue == #"W/"a""#)
        #expect(Validator.lastModified(Self.time, isStrong: true).entityTagValue == nil)
    }
}

@Suite struct `conditions of a request` {
    private static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let hourLater = "Sun, 06 Nov 1994 09:49:37 GMT"

    private static func representation(_ fields: HTTPFields) -> Representation {
        Representation(
            length: 10, validator: Validator(fields: fields), fields: fields, requestTime: Timestamp(seconds: 784_200_000),
            responseTime: Timestamp(seconds: 784_200_001))
    }

    private static let tagged = representation(["ETag": #""a""#, "Last-Modified": modified, "Date": hourLater])
    private static let weaklyTagged = representation(["ETag": #"W/"a""#])
    private static let dated = representation(["Last-Modified": modified, "Date": hourLater])
    private static let weaklyDated = representation(["Last-Modified": modified, "Date": modified])
    private static let bare = representation([:])

    @Test(arguments: [
        (#""a""#, tagged, true), (#""b""#, tagged, false), (#"W/"a""#, tagged, false), (#""a""#, weaklyTagged, false),
        (#"W/"a""#, weaklyTagged, false), ("a", tagged, false), ("", tagged, false), (#""a", "b""#, tagged, false), ("*", tagged, false),
        // A date counts exactly, and only when it is strong; it counts beside a tag too.
        (modified, dated, true), (hourLater, dated, false), (modified, tagged, true), (modified, weaklyDated, false),
        ("Sunday, 06-Nov-94 08:49:37 GMT", dated, true), (modified, bare, false), (#""a""#, dated, false), (#""a""#, bare, false),
    ])
    func `If-Range names a version exactly`(value: String, representation: Representation, matches: Bool) {
        #expect(Precondition.ifRangeMatches(value, representation: representation) == matches)
    }

    @Test func `If-Range may send an unquoted tag back`() {
        #expect(Precondition.ifRangeMatches("abc", representation: Self.representation(["ETag": "abc"])))
    }

    @Test(
        arguments: [
            ([:], tagged, .proceed(honoursRange: true)),
            (["If-None-Match": #""a""#], tagged, .notModified),
            (["If-None-Match": #"W/"a""#], tagged, .notModified),
            (["If-None-Match": #""x", "a""#], weaklyTagged, .notModified),
            (["If-None-Match": #""x""#, "if-none-match": #""a""#], tagged, .notModified),
            (["If-None-Match": "*"], bare, .notModified),
            (["If-None-Match": #""b""#], tagged, .proceed(honoursRange: true)),
            (["If-None-Match": #""b""#], bare, .proceed(honoursRange: true)),
            // If-Modified-Since does not count beside If-None-Match, in either direction.
            (["If-None-Match": #""b""#, "If-Modified-Since": hourLater], tagged, .proceed(honoursRange: true)),
            (["If-Modified-Since": modified], tagged, .notModified),
            (["If-Modified-Since": hourLater], weaklyDated, .notModified),
            (["If-Modified-Since": "Sun, 06 Nov 1994 08:49:36 GMT"], tagged, .proceed(honoursRange: true)),
            (["If-Modified-Since": "never"], tagged, .proceed(honoursRange: true)),
            (["If-Modified-Since": hourLater, "if-modified-since": hourLater], tagged, .proceed(honoursRange: true)),
            // Without Last-Modified: Date, then the time of the response (RFC 9111 §4.3.2).
            (["If-Modified-Since": hourLater], representation(["Date": hourLater]), .notModified),
            (["If-Modified-Since": modified], representation(["Date": hourLater]), .proceed(honoursRange: true)),
            (["If-Modified-Since": hourLater], bare, .proceed(honoursRange: true)),
            (["If-Modified-Since": "Sun, 06 Nov 2050 08:49:37 GMT"], bare, .notModified),
            // If-Range comes last (RFC 9110 §13.2.2): a 304 goes before it.
            (["If-Range": #""a""#], tagged, .proceed(honoursRange: true)),
            (["If-Range": #""b""#], tagged, .proceed(honoursRange: false)),
            (["If-None-Match": #""a""#, "If-Range": #""b""#], tagged, .notModified),
            (["If-None-Match": #""b""#, "If-Range": #""b""#], tagged, .proceed(honoursRange: false)),
            // The origin's conditions are not ours.
            (["If-Match": #""b""#, "If-Unmodified-Since": "Sun, 06 Nov 1970 08:49:37 GMT"], tagged, .proceed(honoursRange: true)),
        ] as [(HTTPFields, Representation, Precondition.Outcome)])
    func `are evaluated in the order of the RFC`(fields: HTTPFields, representation: Representation, expected: Precondition.Outcome) {
        #expect(Precondition.evaluate(fields: fields, representation: representation) == expected)
    }

    @Test func `of any bytes never trap`() {
        mutate([#""a""#, #"W/"a", *"#, Self.modified]) { value in
            for name in ["If-None-Match", "If-Modified-Since", "If-Range"] {
                _ = Precondition.evaluate(fields: HTTPFields([.init(name: name, value: value)]), representation: Self.tagged)
            }
        }
    }
}
