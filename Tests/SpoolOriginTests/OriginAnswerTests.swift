import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// Tests the answers of the test origins: correct ones by RFC 9110, and the wrong ones that a test
/// requests.
struct OriginAnswerTests {
    static let resource = VirtualResource(url: "http://a.example/v.mp4", seed: 1, length: 1000)

    private func answer(
        _ fields: HTTPFields = [:], _ resource: VirtualResource? = Self.resource, _ behaviour: OriginBehaviour = .correct
    ) -> OriginAnswer {
        OriginAnswer(
            to: OriginRequest(url: Self.resource.url, fields: fields), resource: resource, behaviour: behaviour,
            date: Timestamp(seconds: 784_111_777))
    }

    @Test func `a plain request gets the whole resource and its validators`() {
        let head = answer().head
        #expect(head.status == 200)
        #expect(head.fields["Date"] == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(head.fields["ETag"] == "\"v1\"")
        #expect(head.fields["Content-Length"] == "1000")
        #expect(head.fields["Content-Type"] == "video/mp4")
        #expect(head.fields["Accept-Ranges"] == "bytes")
        #expect(head.fields["Content-Range"] == nil)
    }

    @Test(arguments: [
        ("bytes=0-0", "bytes 0-0/1000"), ("bytes=0-", "bytes 0-999/1000"), ("bytes=999-", "bytes 999-999/1000"),
        ("bytes=10-5000", "bytes 10-999/1000"), ("bytes=-1", "bytes 999-999/1000"), ("bytes=-5000", "bytes 0-999/1000"),
        ("bytes=5-99999999999999999999", "bytes 5-999/1000"), ("Bytes=1-2", "bytes 1-2/1000"),
    ])
    func `one range is served as requested, clipped to the resource`(range: String, contentRange: String) throws {
        let answer = answer(["Range": range])
        #expect(answer.head.status == 206)
        #expect(answer.head.fields["Content-Range"] == contentRange)
        #expect(answer.head.fields["Content-Length"] == String(answer.body.count))
        let found = answer.body
        guard case .content(let content, let from, _) = found else { return unexpected(found) }
        #expect(content == Self.resource.content)
        #expect(contentRange.hasPrefix("bytes \(from)-"))
    }

    @Test(arguments: ["bytes=1000-", "bytes=5000-6000", "bytes=-0", "bytes=99999999999999999999-"])
    func `a range beyond the end is not satisfiable`(range: String) {
        #expect(answer(["Range": range]).head.status == 416)
        #expect(answer(["Range": range]).head.fields["Content-Range"] == "bytes */1000")
    }

    @Test(arguments: ["bytes=5-2", "bytes=a-b", "bytes=-", "bytes", "items=0-1", "bytes=0-1,5-6", ""])
    func `an invalid range is ignored`(range: String) {
        #expect(answer(["Range": range]).head.status == 200)
    }

    @Test(arguments: [("\"v1\"", 206), ("\"v2\"", 200), ("W/\"v1\"", 200), ("Sun, 06 Nov 1994 08:49:37 GMT", 200), ("", 200)])
    func `If-Range gives a part only for a strong match`(condition: String, status: Int) {
        #expect(answer(["Range": "bytes=5-", "If-Range": condition]).head.status == status)
    }

    @Test func `a weak tag never matches If-Range`() {
        var weak = Self.resource
        weak.entityTag = "W/\"v1\""
        #expect(answer(["Range": "bytes=5-", "If-Range": "W/\"v1\""], weak).head.status == 200)
    }

    @Test func `a date matches If-Range when it is exactly equal`() {
        var dated = Self.resource
        dated.lastModified = Timestamp(seconds: 784_111_777)
        #expect(answer(["Range": "bytes=5-", "If-Range": "Sun, 06 Nov 1994 08:49:37 GMT"], dated).head.status == 206)
        #expect(answer(["Range": "bytes=5-", "If-Range": "Sun, 06 Nov 1994 08:49:38 GMT"], dated).head.status == 200)
    }

    @Test(arguments: [("\"v1\"", 304), ("W/\"v1\"", 304), ("\"x\", \"v1\"", 304), ("*", 304), ("\"v2\"", 200)])
    func `a matching If-None-Match gives a 304, with or without Range`(condition: String, status: Int) {
        #expect(answer(["If-None-Match": condition]).head.status == status)
        #expect(answer(["If-None-Match": condition, "Range": "bytes=0-9"]).head.status == (status == 304 ? 304 : 206))
    }

    @Test func `each misbehaviour gives its wrong answer`() {
        let range: HTTPFields = ["Range": "bytes=100-199"]
        #expect(answer(range, Self.resource, .ignoresRange).head.status == 200)
        #expect(answer(range, Self.resource, .shiftedRange(by: -50)).head.fields["Content-Range"] == "bytes 50-149/1000")
        #expect(answer(range, Self.resource, .shorterRange(maxBytes: 10)).head.fields["Content-Range"] == "bytes 100-109/1000")
        #expect(answer(["Range": "bytes=5-", "If-Range": "\"old\""], Self.resource, .ignoresIfRange).head.status == 206)
        #expect(answer(range, Self.resource, .fields(["Content-Range": "bytes 0-99/1000"], .correct)).body.count == 100)
        #expect(answer(range, Self.resource, .without(["Content-Range", "ETag"], .correct)).head.fields["ETag"] == nil)
        #expect(answer([:], Self.resource, .unknownLength(.chunked, .correct)).head.fields["Content-Length"] == nil)
        #expect(answer([:], Self.resource, .without(["Content-Length"], .correct)).framing == .close)
        #expect(answer([:], Self.resource, .status(503)).head.status == 503)
        #expect(answer([:], Self.resource, .cut(afterBytes: 10, .reset, .correct)).sentBytes == 10)
    }

    @Test func `a resource without ranges is served whole with Accept-Ranges none`() {
        var whole = Self.resource
        whole.supportsRanges = false
        #expect(answer(["Range": "bytes=1-"], whole).head.status == 200)
        #expect(answer([:], whole).head.fields["Accept-Ranges"] == "none")
    }

    @Test func `an unknown resource is not found`() {
        #expect(answer([:], nil).head.status == 404)
    }
}
