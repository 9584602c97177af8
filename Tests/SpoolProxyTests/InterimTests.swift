import SpoolCore
import SpoolProxy
import SpoolTesting
import Testing

/// Interim responses of a site (RFC 9110 §15.2).
@Suite(.timeLimit(.minutes(20))) struct InterimTests {
    @Test(arguments: ["GET", "POST"])
    func `an interim response of the origin reaches the client that caused the request`(method: String) throws {
        let origin = TableOrigin()
        let world = try ProxyWorld(transport: origin, options: { $0.fixedOrigin = HTTPCaseRun.site })
        defer { world.stop() }
        let row = HTTPCase("9110 §15.2 | hints | GET -> 200 {103 Link: </a.css> & Cache-Control: max-age=60}")
        origin.answer(row.steps[0], number: 1, date: Timestamp(seconds: 1_800_000_000))
        let client = try world.connect()
        client.ask("/r", method: method, method == "POST" ? ["Content-Length": "0"] : [:])
        let hints = try client.head()
        #expect(hints.status == 103 && hints["Link"] == "</a.css>" && hints["Content-Length"] == nil)
        let answer = try client.answer(to: method)
        #expect(answer.status == 200 && answer.text == "body 1" && answer["Link"] == nil)
        guard method == "GET" else { return }
        // The hints are of one moment. A stored response has none.
        #expect(try client.get("/r").status == 200)
        #expect(origin.asked.count == 1)
    }
}
