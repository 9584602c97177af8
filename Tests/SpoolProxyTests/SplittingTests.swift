import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolServer
import SpoolStore
import SpoolTesting
import Testing

/// Control characters in an origin's fields. None may begin a line, a field or a response at the
/// client.
@Suite(.timeLimit(.minutes(20))) struct SplittingTests {
    @Test(arguments: ["\r", "\n", "\0", "\r\n"], StoreKind.allCases)
    func `a field that would split an answer never reaches the client whole`(character: String, store: StoreKind) throws {
        var film = VirtualResource.film()
        film.fields = ["X-Evil": "a\(character)Set-Cookie: b=1", "X-Good": "kept"]
        let world = try ProxyWorld([film], store: store)
        defer { world.stop() }
        let client = try world.connect()
        for _ in 0..<2 {
            let answer = try client.get(film.target)
            #expect(answer.status == 200 || answer.status == 500)
            #expect(answer["Set-Cookie"] == nil)
            #expect(!(answer["X-Evil"]?.unicodeScalars.contains { $0.value < 0x20 } ?? false))
            #expect(answer.status == 500 || answer.body == film.allBytes)
        }
    }

    /// A transport turns such a byte into a space (RFC 9110 §5.5), so that the resource plays.
    @Test func `a control character in an origin's field becomes a space`() throws {
        var collector = HeadCollector()
        let lines = ["HTTP/1.1 200 OK\r\n", "X-A: a\rb\0c\r\n", "X-B: plain\r\n", "\r\n"]
        var step = HeadCollector.Step.more
        for line in lines { step = Array(line.utf8).withUnsafeBytes { collector.lineReceived($0) } }
        guard case .head(let head) = step else {
            Issue.record("\(step)")
            return
        }
        #expect(head.status == 200 && head.fields == ["X-A": "a b c", "X-B": "plain"])
    }

    @Test(arguments: ["X\r\nY: z", "X Y", "X:", "", "X\0"])
    func `a field with an invalid name is not written`(name: String) {
        var writer = ResponseWriter()
        var out = HeadBuffer()
        let framing = ResponseFraming(of: Response(204), method: "GET", version: .http11, keepAlive: true)
        #expect(throws: FieldLines.InvalidField.self) {
            try writer.write(
                status: 204, fields: HTTPFields([.init(name: name, value: "v")]), framing: framing, version: .http11,
                now: Timestamp(seconds: 0), into: &out)
        }
    }

    @Test func `a token is accepted only if every byte matches`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], options: { $0.token = "aaaaaaaa" })
        defer { world.stop() }
        #expect(try world.get("/aaaaaaaa" + film.target).status == 200)
        for index in 0..<8 {
            var wrong = Array("aaaaaaaa")
            wrong[index] = "b"
            #expect(try world.get("/\(String(wrong))" + film.target).status == 403)
        }
        for wrong in ["aaaaaaa", "aaaaaaaaa", "", "AAAAAAAA", "aaaaaaa%61"] {
            #expect(try world.get("/\(wrong)" + film.target).status == 403)
        }
    }
}
