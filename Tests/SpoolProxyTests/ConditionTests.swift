import SpoolCore
import SpoolTesting
import Testing

/// Conditional requests, RFC 9110 §13.
@Suite(.timeLimit(.minutes(20))) struct ConditionTests {
    private static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let later = "Mon, 07 Nov 1994 08:49:37 GMT"
    private static let earlier = "Sat, 05 Nov 1994 08:49:37 GMT"

    private static func film(tag: String? = "\"a\"") -> VirtualResource {
        var film = VirtualResource.film()
        film.entityTag = tag
        film.lastModified = Timestamp(seconds: 784_111_777)
        return film
    }

    struct Case: CustomTestStringConvertible, Sendable {
        var fields: HTTPFields
        var tag: String? = "\"a\""
        var status: Int
        var testDescription: String { fields.lines.map { "\($0.name): \($0.value)" }.joined(separator: ", ") + " for \(tag ?? "no tag")" }
    }

    @Test(arguments: [
        Case(fields: ["If-None-Match": "\"a\""], status: 304),
        Case(fields: ["If-None-Match": "W/\"a\""], status: 304),
        Case(fields: ["If-None-Match": "\"b\", \"a\""], status: 304),
        Case(fields: ["If-None-Match": "*"], status: 304),
        Case(fields: ["If-None-Match": "\"b\""], status: 200),
        Case(fields: ["If-None-Match": "\"a\""], tag: nil, status: 200),
        Case(fields: ["If-None-Match": "W/\"a\""], tag: "W/\"a\"", status: 304),
        Case(fields: ["If-Modified-Since": modified], status: 304),
        Case(fields: ["If-Modified-Since": later], status: 304),
        Case(fields: ["If-Modified-Since": earlier], status: 200),
        Case(fields: ["If-Modified-Since": "yesterday"], status: 200),
        // If-None-Match takes precedence where both are present (RFC 9110 §13.1.3).
        Case(fields: ["If-None-Match": "\"b\"", "If-Modified-Since": later], status: 200),
        // Range is ignored when the answer would be 304 (RFC 9110 §14.2).
        Case(fields: ["If-None-Match": "\"a\"", "Range": "bytes=0-9"], status: 304),
        Case(fields: ["If-None-Match": "\"a\"", "Range": "bytes=200000-"], status: 304),
        Case(fields: ["If-None-Match": "\"b\"", "Range": "bytes=0-9"], status: 206),
        // If-Range (RFC 9110 §13.1.5)
        Case(fields: ["If-Range": "\"a\"", "Range": "bytes=0-9"], status: 206),
        Case(fields: ["If-Range": "\"b\"", "Range": "bytes=0-9"], status: 200),
        Case(fields: ["If-Range": "W/\"a\"", "Range": "bytes=0-9"], tag: "W/\"a\"", status: 200),
        Case(fields: ["If-Range": "\"a\"", "Range": "bytes=0-9"], tag: "W/\"a\"", status: 200),
        Case(fields: ["If-Range": modified, "Range": "bytes=0-9"], status: 206),
        Case(fields: ["If-Range": modified, "Range": "bytes=0-9"], tag: nil, status: 206),
        Case(fields: ["If-Range": later, "Range": "bytes=0-9"], status: 200),
        Case(fields: ["If-Range": "\"b\"", "Range": "bytes=200000-"], status: 200),
        Case(fields: ["If-Range": "\"a\"", "Range": "bytes=200000-"], status: 416),
        Case(fields: ["If-Range": "\"a\""], status: 200),
    ])
    func `conditions are evaluated against the representation, cold and stored`(test: Case) throws {
        let film = Self.film(tag: test.tag)
        let world = try ProxyWorld([film])
        defer { world.stop() }
        let client = try world.connect()
        for state in ["cold", "stored"] {
            let answer = try client.get(film.target, test.fields)
            #expect(answer.status == test.status, "\(state)")
            switch answer.status {
            case 304:
                #expect(answer.body.isEmpty && answer["Content-Length"] == nil)
                // The origin's own 304 passes through, and needs no date beside its tag.
                let isOrigins = state == "cold" && test.fields.contains("If-None-Match") && test.fields["If-None-Match"] != "*"
                #expect(answer["ETag"] == test.tag && (isOrigins || answer["Last-Modified"] == Self.modified))
            case 206: #expect(answer.body == film.bytes(0..<10))
            case 200: #expect(answer.body == film.allBytes)
            default: #expect(answer["Content-Range"] == "bytes */100000")
            }
            _ = try client.get(film.target)
        }
    }

    @Test(arguments: ["If-None-Match", "If-Modified-Since"])
    func `a condition that holds costs one request to the origin and no body`(name: HTTPFields.Name) throws {
        let film = Self.film()
        let world = try ProxyWorld([film])
        defer { world.stop() }
        let answer = try world.get(film.target, [name: name == "If-None-Match" ? "\"a\"" : Self.modified])
        #expect(answer.status == 304)
        #expect(world.asked == ["bytes=0-"])
        #expect(world.origin.log.handedOver(film.url).bytes == 0)
    }
}
