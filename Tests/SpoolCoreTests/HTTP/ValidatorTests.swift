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
            // The date is strong if Date is at least one second later (RFC 9110 §8.8.2.2).
            (["Last-Modified": modified, "Date": secondLater], .lastModified(time, isStrong: true)),
            (["Last-Modified": modified, "Date": modified], .lastModified(time, isStrong: false)),
            (["Last-Modified": secondLater, "Date": modified], .lastModified(Timestamp(seconds: 784_111_778), isStrong: false)),
            (["Last-Modified": modified], .lastModified(time, isStrong: false)),
            (["Last-Modified": modified, "Date": "soon"], .lastModified(time, isStrong: false)),
            (["Last-Modified": modified, "Date": secondLater, "date": modified], .lastModified(time, isStrong: false)),
            (["Last-Modified": "yesterday"], .none),
            // The stronger validator has priority. A weak tag has priority over a weak date.
            (["ETag": #""a""#, "Last-Modified": modified, "Date": secondLater], .strong(entityTag: #""a""#)),
            (["ETag": #"W/"a""#, "Last-Modified": modified, "Date": secondLater], .lastModified(time, isStrong: true)),
            (["ETag": #"W/"a""#, "Last-Modified": modified], .weak(entityTag: #"W/"a""#)),
            (["ETag": "", "Last-Modified": modified, "Date": secondLater], .lastModified(time, isStrong: true)),
            // Two equal lines count as one. Two different lines count as none.
            (["ETag": #""a""#, "etag": #""a""#], .strong(entityTag: #""a""#)),
            (["ETag": #""a""#, "etag": #""b""#], .none),
            (["ETag": #""a""#, "etag": #"W/"a""#], .none),
            (["ETag": #""a""#, "Last-Modified": modified, "last-modified": secondLater], .none),
            // If a tag can't be kept or sent back, no other validator replaces it.
            (["ETag": "\"é\"", "Last-Modified": modified, "Date": secondLater], .none),
        ] as [(HTTPFields, Validator)])
    func `a response has the strongest validator that is reliable`(fields: HTTPFields, expected: Validator) {
        #expect(Validator(fields: fields) == expected)
    }

    @Test func `a validator over eight kibibytes is ignored`() {
        #expect(Validator(fields: ["ETag": "\"" + String(repeating: "x", count: 9000) + "\""]) == .none)
    }

    @Test func `only a strong validator goes into If-Range`() {
        #expect(Validator.strong(entityTag: #""a""#).ifRangeValue == #""a""#)
        #expect(Validator.lastModified(Self.time, isStrong: true).ifRangeValue == Self.modified)
        #expect(Validator.lastModified(Self.time, isStrong: false).ifRangeValue == nil)
        #expect(Validator.weak(entityTag: #"W/"a""#).ifRangeValue == nil)
        #expect(Validator.none.ifRangeValue == nil)
    }

    @Test func `a validator returns its entity tag, weak or strong`() {
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
        // A date has to match exactly and must be strong. It also counts beside a tag.
        (modified, dated, true), (hourLater, dated, false), (modified, tagged, true), (modified, weaklyDated, false),
        ("Sunday, 06-Nov-94 08:49:37 GMT", dated, true), (modified, bare, false), (#""a""#, dated, false), (#""a""#, bare, false),
    ])
    func `If-Range matches one exact version`(value: String, representation: Representation, matches: Bool) {
        #expect(Precondition.ifRangeMatches(value, representation: representation) == matches)
    }

    @Test func `If-Range may contain an unquoted tag`() {
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
            // If-Modified-Since is ignored beside If-None-Match, in either direction.
            (["If-None-Match": #""b""#, "If-Modified-Since": hourLater], tagged, .proceed(honoursRange: true)),
            (["If-Modified-Since": modified], tagged, .notModified),
            (["If-Modified-Since": hourLater], weaklyDated, .notModified),
            (["If-Modified-Since": "Sun, 06 Nov 1994 08:49:36 GMT"], tagged, .proceed(honoursRange: true)),
            (["If-Modified-Since": "never"], tagged, .proceed(honoursRange: true)),
            (["If-Modified-Since": hourLater, "if-modified-since": hourLater], tagged, .proceed(honoursRange: true)),
            // Without Last-Modified, Date is compared, then the time of the response (RFC 9111
            // §4.3.2).
            (["If-Modified-Since": hourLater], representation(["Date": hourLater]), .notModified),
            (["If-Modified-Since": modified], representation(["Date": hourLater]), .proceed(honoursRange: true)),
            (["If-Modified-Since": hourLater], bare, .proceed(honoursRange: true)),
            (["If-Modified-Since": "Sun, 06 Nov 2050 08:49:37 GMT"], bare, .notModified),
            // If-Range is evaluated last (RFC 9110 §13.2.2): a 304 has priority.
            (["If-Range": #""a""#], tagged, .proceed(honoursRange: true)),
            (["If-Range": #""b""#], tagged, .proceed(honoursRange: false)),
            (["If-None-Match": #""a""#, "If-Range": #""b""#], tagged, .notModified),
            (["If-None-Match": #""b""#, "If-Range": #""b""#], tagged, .proceed(honoursRange: false)),
            // If-Match comes first and compares strongly. If-Unmodified-Since is ignored beside it.
            (["If-Match": #""b", "a""#, "If-Unmodified-Since": "Sun, 06 Nov 1970 08:49:37 GMT"], tagged, .proceed(honoursRange: true)),
            (["If-Match": #""b""#, "If-None-Match": #""a""#], tagged, .failed),
            (["If-Match": #"W/"a""#], weaklyTagged, .failed),
            (["If-Match": "*"], bare, .proceed(honoursRange: true)),
            (["If-Match": #""a""#], bare, .failed),
            (["If-Unmodified-Since": hourLater], tagged, .proceed(honoursRange: true)),
            (["If-Unmodified-Since": "Sun, 06 Nov 1994 08:49:36 GMT"], tagged, .failed),
            (["If-Unmodified-Since": "never"], tagged, .proceed(honoursRange: true)),
            (["If-Unmodified-Since": "Sun, 06 Nov 1970 08:49:37 GMT"], bare, .proceed(honoursRange: true)),
        ] as [(HTTPFields, Representation, Precondition.Outcome)])
    func `conditions follow the order of RFC 9110`(fields: HTTPFields, representation: Representation, expected: Precondition.Outcome) {
        #expect(Precondition.evaluate(fields: fields, representation: representation) == expected)
    }

    @Test func `conditions with mutated values never trap`() {
        mutate([#""a""#, #"W/"a", *"#, Self.modified]) { value in
            for name in ["If-None-Match", "If-Modified-Since", "If-Range"] {
                _ = Precondition.evaluate(fields: HTTPFields([.init(name: name, value: value)]), representation: Self.tagged)
            }
        }
    }
}
