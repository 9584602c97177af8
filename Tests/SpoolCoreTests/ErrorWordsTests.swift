import SpoolCore
import Testing

/// What errors look like in a log: one line of plain words, and nothing of how Swift prints a value.
struct ErrorWordsTests {
    static let errors: [OriginError] = [
        .unreachable("Could not resolve host: nosuch.invalid"), .timeout("no answer for 8 s"), .tls("the certificate has expired"),
        .status(404, fields: ["Date": "Mon, 23 Nov 2026 10:00:00 GMT"]), .representationChanged, .rangeNotSatisfiable(length: 10),
        .rangeNotSatisfiable(length: nil), .truncated(afterBytes: 5), .malformed("two lengths"), .redirect("more than 10"),
        .unsupportedURL("ftp://example.com/a"),
    ]

    @Test(arguments: errors)
    func `an error of an origin is one line of plain words`(error: OriginError) {
        let cache = CacheError(error, key: ResourceKey(normalized: "http://example.com/a"))
        for text in ["\(error)", "\(cache)", cache.message] {
            #expect(!text.contains("\n"))
            #expect(!text.contains("SpoolCore") && !text.contains("Field") && !text.contains("OriginError"))
            #expect(text.contains(" "), "words, and not the name of a case: \(text)")
        }
    }

    @Test func `the words name the status and not the fields that came with it`() {
        let error = OriginError.status(404, fields: ["Date": "Mon, 23 Nov 2026 10:00:00 GMT"])
        #expect("\(error)" == "the origin answered 404")
        let cache = CacheError(error, key: ResourceKey(normalized: "http://example.com/a"))
        #expect("\(cache)" == "originStatus: the origin answered 404")
        #expect(cache.status == 404)
    }

    @Test func `a cause that the message does not include is added in the same line`() {
        let error = CacheError(.file, "can't import a.mp4", cause: OriginError.timeout("no answer for 8 s"))
        #expect("\(error)" == "file: can't import a.mp4 (cause: the origin is silent: no answer for 8 s)")
    }
}
