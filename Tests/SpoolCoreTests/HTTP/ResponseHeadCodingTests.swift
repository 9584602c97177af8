import SpoolCore
import Testing

/// Heads of responses whose transport removes a content coding.
struct ResponseHeadCodingTests {
    @Test func `fields about the coded bytes go, and a strong tag becomes weak`() throws {
        let fields: HTTPFields = [
            "Content-Type": "application/dash+xml", "Content-Encoding": "gzip", "Content-Length": "20", "Accept-Ranges": "bytes",
            "Content-MD5": "x", "ETag": "\"a\"", "Last-Modified": "yesterday",
        ]
        let head = try #require(ResponseHead(status: 200, fields: fields).withoutCoding)
        #expect(head.status == 200)
        #expect(head.fields == ["Content-Type": "application/dash+xml", "Last-Modified": "yesterday", "ETag": "W/\"a\""])
    }

    @Test func `a part that is the whole becomes the whole, and another part has no meaning`() {
        func part(_ range: String) -> ResponseHead? {
            ResponseHead(status: 206, fields: ["Content-Encoding": "br", "Content-Range": range]).withoutCoding
        }
        #expect(part("bytes 0-19/20") == ResponseHead(status: 200, fields: [:]))
        for range in ["bytes 0-18/20", "bytes 1-19/20", "bytes 0-19/*", "x"] { #expect(part(range) == nil, "\(range)") }
    }

    @Test(arguments: [
        ResponseHead(status: 200, fields: ["Content-Length": "3", "ETag": "\"a\""]),
        ResponseHead(status: 206, fields: ["Content-Encoding": "identity", "Content-Range": "bytes 0-1/9"]),
        ResponseHead(status: 304, fields: ["Content-Encoding": "gzip", "ETag": "\"a\""]),
        ResponseHead(status: 404, fields: ["Content-Encoding": ""]),
    ])
    func `a head without a coded body stays`(head: ResponseHead) {
        #expect(head.withoutCoding == head)
    }
}
