import SpoolCore
import Testing

/// An error in a log is one line of plain words, without Swift's debug representation of a value.
struct ErrorWordsTests {
    static let errors: [OriginError] = [
        .unreachable("Could not resolve host: nosuch.invalid"), .timeout("no answer for 8 s"), .tls("the certificate has expired"),
        .status(404, fields: ["Date": "Mon, 23 Nov 2026 10:00:00 GMT"]), .representationChanged, .rangeNotSatisfiable(length: 10),
        .rangeNotSatisfiable(length: nil), .truncated(afterBytes: 5), .malformed("two lengths"), .redirect("more than 10"),
        .unsupportedURL("ftp://example.com/a"), .notAsked(url: "http://10.0.0.7/a", "the public http://example.com leads there"),
    ]

    @Test(arguments: errors)
    func `an origin error is described in one line of plain words`(error: OriginError) {
        let cache = CacheError(error, key: ResourceKey(normalized: "http://example.com/a"))
        for text in ["\(error)", "\(cache)", cache.message] {
            #expect(!text.contains("\n"))
            #expect(!text.contains("SpoolCore") && !text.contains("Field") && !text.contains("OriginError"))
            #expect(text.contains(" "), "the text has words, not only the name of a case: \(text)")
        }
    }

    @Test func `the description includes the status but no response fields`() {
        let error = OriginError.status(404, fields: ["Date": "Mon, 23 Nov 2026 10:00:00 GMT"])
        #expect("\(error)" == "the origin answered 404")
        let cache = CacheError(error, key: ResourceKey(normalized: "http://example.com/a"))
        #expect("\(cache)" == "originStatus: the origin answered 404")
        #expect(cache.status == 404)
    }

    @Test func `a cause that the message lacks is appended to the same line`() {
        let error = CacheError(.file, "can't import a.mp4", cause: OriginError.timeout("no answer for 8 s"))
        #expect("\(error)" == "file: can't import a.mp4 (cause: the origin is silent: no answer for 8 s)")
    }
}
