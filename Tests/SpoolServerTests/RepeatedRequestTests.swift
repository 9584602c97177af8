import SpoolCore
import SpoolServer
import SpoolSystem
import Testing

/// A request that differs from the one before in its range only is answered without being parsed
/// again, with the same answer.
@Suite struct RepeatedRequestTests {
    /// Answers with the requested range, or leaves the request to the handler.
    private final class Responder: RangeResponder, @unchecked Sendable {
        // Used on the loop only.
        private let isWilling: @Sendable () -> Bool

        init(isWilling: @escaping @Sendable () -> Bool = { true }) { self.isWilling = isWilling }

        func response(to spec: RangeHeader.Spec?) -> Response? {
            guard isWilling() else { return nil }
            return Response(200, body: .bytes(Array("responder \(RepeatedRequestTests.text(spec))".utf8)))
        }
    }

    private static func text(_ spec: RangeHeader.Spec?) -> String {
        switch spec {
        case nil: "all"
        case .bounded(let first, let last)?: "\(first)-\(last)"
        case .from(let first)?: "\(first)-"
        case .suffix(let count)?: "-\(count)"
        }
    }

    /// A server whose handler answers with the parsed range, and sets the responder for the next
    /// request.
    private func server(_ responder: Responder = Responder()) throws -> TestServer {
        try TestServer { request, exchange in
            let specs = request["Range"].flatMap { RangeHeader($0)?.specs } ?? []
            exchange.rangeResponder = responder
            let text = specs.isEmpty ? "all" : specs.map { Self.text($0) }.joined(separator: "+")
            exchange.respond(Response(200, body: .bytes(Array("handler \(text)".utf8))))
        }
    }

    private static func head(_ range: String?, target: String = "/film", more: String = "") -> String {
        "GET \(target) HTTP/1.1\r\nHost: test\r\n" + (range.map { "Range: \($0)\r\n" } ?? "") + "Accept: */*\r\n\(more)\r\n"
    }

    @Test(arguments: [
        (head("bytes=5-7"), "responder 5-7"),
        (head("bytes=0-0"), "responder 0-0"),
        (head("bytes=1234567-"), "responder 1234567-"),
        (head("bytes=100000000000000000-999999999999999999"), "responder 100000000000000000-999999999999999999"),
        // Another form, another request, or a range without meaning: the handler answers.
        (head("bytes=1000000000000000000-"), "handler 1000000000000000000-"),
        (head("bytes=-5"), "handler -5"),
        (head("bytes=0-1,5-6"), "handler 0-1+5-6"),
        (head("bytes=9-3"), "handler all"),
        (head("bytes=3"), "handler all"),
        (head("bytes=x-3"), "handler all"),
        (head("Bytes=5-7"), "handler 5-7"),
        (head(" bytes=5-7"), "handler 5-7"),
        (head("bytes=5-7 "), "handler 5-7"),
        (head("bytes=5 - 7"), "handler all"),
        (head(nil), "handler all"),
        (head("bytes=5-7", target: "/other"), "handler 5-7"),
        (head("bytes=5-7", more: "X: y\r\n"), "handler 5-7"),
        (head("bytes=5-7").replacing("GET", with: "PUT"), "handler 5-7"),
        (head("bytes=5-7").replacing("Host: test", with: "Host: tesT"), "handler 5-7"),
        (head("bytes=5-7").replacing("HTTP/1.1", with: "HTTP/1.0"), "handler 5-7"),
    ])
    func `only a request that differs in nothing but its range goes to the responder`(request: String, answer: String) throws {
        let server = try server()
        defer { server.stop() }
        let client = try server.connect()
        client.send(Self.head("bytes=0-99"))
        #expect(try client.answer().text == "handler 0-99")
        client.send(request)
        #expect(try client.answer().text == answer)
    }

    @Test func `a request without a range goes to the responder when repeated`() throws {
        let server = try server()
        defer { server.stop() }
        let client = try server.connect()
        for expected in ["handler all", "responder all", "responder all"] {
            client.send(Self.head(nil))
            #expect(try client.answer().text == expected)
        }
        client.send(Self.head("bytes=1-2"))
        #expect(try client.answer().text == "handler 1-2")
        client.send(Self.head("bytes=1-2"))
        #expect(try client.answer().text == "responder 1-2")
    }

    @Test func `a request with two Range fields goes to the handler`() throws {
        let server = try server()
        defer { server.stop() }
        let client = try server.connect()
        for _ in 0..<2 {
            client.send(Self.head("bytes=0-1", more: "Range: bytes=5-6\r\n"))
            #expect(try client.answer().text == "handler 0-1")
        }
    }

    @Test func `a responder that declines leaves the request to the handler, which loses no byte`() throws {
        let isWilling = Locked(false)
        let server = try server(Responder { isWilling.withLock { $0 } })
        defer { server.stop() }
        let client = try server.connect()
        client.send(Self.head("bytes=0-1") + Self.head("bytes=2-3"))
        #expect(try client.answer().text == "handler 0-1")
        #expect(try client.answer().text == "handler 2-3")
        isWilling.withLock { $0 = true }
        client.send(Self.head("bytes=4-5"))
        #expect(try client.answer().text == "responder 4-5")
    }

    @Test func `each request gets its answer, however the bytes are cut`() throws {
        let server = try server()
        defer { server.stop() }
        let seed = testSeed()
        var random = TestRandom(seed: seed)
        let client = try server.connect()
        var asked: [String] = []
        var bytes: [UInt8] = []
        for _ in 0..<300 {
            let first = random.below(10_000_000), isOpen = random.below(5) == 0
            let range = "\(first)-" + (isOpen ? "" : "\(first + random.below(100_000))")
            let target = random.below(10) == 0 ? "/other" : "/film"
            asked.append(range)
            bytes += Array(Self.head("bytes=\(range)", target: target).utf8)
        }
        var sent = 0
        while sent < bytes.count {
            let count = min(bytes.count - sent, 1 + random.below(400))
            client.send(Array(bytes[sent..<sent + count]))
            sent += count
        }
        for range in asked {
            let words = try client.answer().text.split(separator: " ")
            #expect(words.last.map(String.init) == range, "seed \(seed)")
        }
        #expect(server.counters.requests == 300)
    }

    @Test func `the log and the counters include repeated requests`() throws {
        let server = try server()
        defer { server.stop() }
        let client = try server.connect()
        for range in ["0-9", "10-19"] {
            client.send(Self.head("bytes=\(range)"))
            _ = try client.answer()
        }
        #expect(server.log.map(\.target) == ["/film", "/film"])
        #expect(server.log.map(\.method) == ["GET", "GET"])
        #expect(server.log.map(\.status) == [200, 200])
        #expect(server.log.map(\.end) == [.complete, .complete])
        #expect(server.counters.requests == 2)
    }
}
