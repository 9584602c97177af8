import SpoolCore
import SpoolServer
import Testing

struct ResponseWriterTests {
    private let now = Timestamp(seconds: 784_111_777)

    private func head(
        _ response: Response, method: String = "GET", version: HTTPVersion = .http11, keepAlive: Bool = true
    ) throws -> String {
        var out = HeadBuffer()
        var writer = ResponseWriter()
        let framing = ResponseFraming(of: response, method: method, version: version, keepAlive: keepAlive)
        try writer.write(status: response.status, fields: response.fields, framing: framing, version: version, now: now, into: &out)
        return String(decoding: out.bytes, as: UTF8.self)
    }

    @Test func `a response head has a status line, fields, date and length`() throws {
        let response = Response(206, fields: ["Content-Range": "bytes 0-4/9"], body: .bytes(Array("hello".utf8)))
        #expect(
            try head(response)
                == "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 5\r\n\r\n"
        )
    }

    @Test func `a Date field of the response is kept`() throws {
        let text = try head(Response(200, fields: ["date": "Mon, 07 Nov 1994 08:49:37 GMT"]))
        #expect(text.contains("date: Mon, 07") && !text.contains("Date: Sun"))
    }

    @Test func `the date of a response head follows the clock`() throws {
        var writer = ResponseWriter()
        let framing = ResponseFraming(of: Response(200), method: "GET", version: .http11, keepAlive: true)
        var out = HeadBuffer()
        for second in [784_111_777, 784_111_777, 784_111_778] as [Int64] {
            try writer.write(
                status: 200, fields: [:], framing: framing, version: .http11, now: Timestamp(seconds: second), into: &out)
        }
        let lines = String(decoding: out.bytes, as: UTF8.self).split(separator: "\r\n")
        let dates = lines.filter { $0.hasPrefix("Date") }.map { $0.suffix(12) }
        #expect(dates == ["08:49:37 GMT", "08:49:37 GMT", "08:49:38 GMT"])
    }

    @Test(arguments: [
        ("X", "a\r\nSet-Cookie: b"), ("X", "a\nb"), ("X", "a\rb"), ("X", "a\u{0}b"), ("X\r\nY", "a"), ("X Y", "a"), ("", "a"),
        ("X:", "a"),
    ])
    func `a field that would split the response is refused`(name: String, value: String) {
        #expect(throws: FieldLines.InvalidField.self) {
            _ = try head(Response(200, fields: HTTPFields([.init(name: name, value: value)])))
        }
    }

    @Test func `a value that is no UTF-8 is written with its bytes, from a response and from a request`() throws {
        let radio = String(fieldBytes: [0x52, 0xE9, 0x64])
        var out = HeadBuffer()
        var writer = ResponseWriter()
        let framing = ResponseFraming(of: Response(200), method: "GET", version: .http11, keepAlive: true)
        try writer.write(status: 200, fields: ["icy-name": radio], framing: framing, version: .http11, now: now, into: &out)
        #expect(Array(out.bytes).split(separator: 0x0A).contains(Array("icy-name: R".utf8)[...] + [0xE9, 0x64, 0x0D]))
        #expect(RequestHead(target: "/", fields: ["User-Agent": radio])[.userAgent] == radio)
    }

    @Test func `the largest numbers and the longest fields are written whole`() throws {
        var out = HeadBuffer()
        var writer = ResponseWriter()
        let part = PreparedFields.Part(ByteRange(lower: .max - 1, upper: .max), of: .max)
        let fields = PreparedFields(try FieldLines(["X": String(repeating: "x", count: 9000)]), age: 0, part: part)
        let framing = ResponseFraming(of: Response(206), method: "HEAD", version: .http11, keepAlive: true)
        try writer.write(status: 206, prepared: fields, fields: [:], framing: framing, version: .http11, now: now, into: &out)
        let lines = String(decoding: out.bytes, as: UTF8.self).split(separator: "\r\n")
        #expect(lines[0] == "HTTP/1.1 206 Partial Content")
        #expect(lines[1].count == 9003)
        #expect(lines[2] == "Age: 0")
        #expect(lines[3] == "Content-Range: bytes 9223372036854775806-9223372036854775806/9223372036854775807")
    }

    @Test func `framing and connection fields from a handler are left out`() throws {
        let fields: HTTPFields = [
            "Connection": "upgrade", "Transfer-Encoding": "gzip", "content-length": "99", "Keep-Alive": "x", "Upgrade": "h2c",
        ]
        let text = try head(Response(200, fields: fields, body: .bytes([1])))
        #expect(
            text == "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 1\r\n\r\n")
    }

    @Test func `a Connection field is written only where the version's default differs`() throws {
        #expect(try head(Response(200), keepAlive: false).contains("Connection: close\r\n"))
        #expect(try head(Response(200), version: .http10).contains("Connection: keep-alive\r\n"))
        #expect(try !head(Response(200)).contains("Connection"))
    }

    @Test func `each pair of response and request has its own framing`() {
        typealias Length = ResponseFraming.Length
        let source = MemorySource([])
        let bytes = Response.Body.bytes([1, 2])
        let table: [(Response.Body, Int, String, HTTPVersion, Length, sendsBody: Bool, keepAlive: Bool)] = [
            (.none, 200, "GET", .http11, .known(0), false, true),
            (.none, 204, "GET", .http11, .none, false, true),
            (.none, 304, "GET", .http11, .none, false, true),
            (bytes, 304, "GET", .http11, .none, false, true),
            (bytes, 200, "GET", .http11, .known(2), true, true),
            (bytes, 200, "HEAD", .http11, .known(2), false, true),
            (.bytes([]), 200, "GET", .http11, .known(0), false, true),
            (.source(source, length: 7), 206, "GET", .http10, .known(7), true, true),
            (.source(source, length: 7), 206, "HEAD", .http11, .known(7), false, true),
            (.source(source, length: nil), 200, "GET", .http11, .chunked, true, true),
            (.source(source, length: nil), 200, "GET", .http10, .untilClose, true, false),
            (.source(source, length: nil), 200, "HEAD", .http10, .none, false, true),
        ]
        for row in table {
            let framing = ResponseFraming(of: Response(row.1, body: row.0), method: row.2, version: row.3, keepAlive: true)
            #expect(framing.length == row.4, "\(row)")
            #expect(framing.sendsBody == row.sendsBody, "\(row)")
            #expect(framing.keepAlive == row.keepAlive, "\(row)")
        }
    }

    @Test func `a HEAD response without a body may state a length`() {
        let response = Response(200, fields: ["Content-Length": "12"])
        #expect(ResponseFraming(of: response, method: "HEAD", version: .http11, keepAlive: true).length == .known(12))
        #expect(ResponseFraming(of: response, method: "GET", version: .http11, keepAlive: true).length == .known(0))
    }

    @Test func `an error response explains itself in plain text`() {
        let response = Response.error(502, "the origin does not answer; try again later")
        #expect(response.fields["content-type"] == "text/plain; charset=utf-8")
        guard case .bytes(let bytes) = response.body else {
            Issue.record("the error has no body")
            return
        }
        #expect(String(decoding: bytes, as: UTF8.self) == "502 Bad Gateway: the origin does not answer; try again later\n")
    }
}
