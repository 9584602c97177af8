import SpoolCore
import SpoolProxy
import SpoolTesting
import Testing

/// Refused requests: the status, and the reason in the body.
@Suite(.timeLimit(.minutes(20))) struct RefusalTests {
    struct Case: CustomTestStringConvertible, Sendable {
        /// The bytes of a whole request.
        var request: String
        var statuses: ClosedRange<Int>
        /// A word in the explanation.
        var word: String
        var testDescription: String { String(request.prefix(60)) }

        init(_ request: String, _ status: Int, _ word: String) {
            (self.request, statuses, self.word) = (request, status...status, word)
        }

        init(_ request: String, oneOf statuses: ClosedRange<Int>, _ word: String) {
            (self.request, self.statuses, self.word) = (request, statuses, word)
        }
    }

    private static let film = VirtualResource.film()
    private static let target = "/secret" + film.target

    @Test(arguments: [
        Case("GET\r\n\r\n", 400, "request line"),
        Case("GET  /secret/http/media.example/film.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400, "space"),
        Case("GET /secret/x HTTP/1.1 extra\r\nHost: 127.0.0.1\r\n\r\n", 400, "version"),
        Case("GET /secret/x HTTP/2.0\r\nHost: 127.0.0.1\r\n\r\n", 505, "HTTP/1.1"),
        Case("\u{16}\u{3}\u{1}", 400, "TLS"),
        Case("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nX: \(String(repeating: "x", count: 65_536))\r\n\r\n", 431, "longer than"),
        Case("GET /\(String(repeating: "x", count: 65_536)) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 414, "longer than"),
        Case("GET \(target) HTTP/1.1\r\n\r\n", 400, "Host"),
        Case("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: localhost\r\n\r\n", 400, "Host"),
        Case("GET \(target) HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "evil.example"),
        Case("GET http://evil.example\(target) HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "evil.example"),
        Case("GET http://evil.example\(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400, "two hosts"),
        Case("GET /wrong\(film.target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 403, "token"),
        Case("GET \(film.target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 403, "token"),
        Case("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 403, "token"),
        Case("GET /_spool/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 403, "token"),
        Case("GET /secret/ftp/media.example/film.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400, "http"),
        Case("GET /secret/film.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 404, "/scheme/host/path"),
        Case("GET /secret/?url=%zz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400, "url="),
        Case("GET /secret/?url=film.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400, "http"),
        Case("GET /secret/?url=http%3A%2F%2F HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400, "http"),
        Case("GET /secret/?url=http%3A%2F%2Fa%0D%0AX:y%2F HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400, "http"),
        Case("GET /secret/_spool/nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 404, "/_spool/"),
        Case("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\n\r\n", 403, "foreign site"),
        Case("POST \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\nab", 405, "POST"),
        Case("OPTIONS \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 405, "OPTIONS"),
        Case("OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 405, "OPTIONS"),
        Case("get \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 405, "get"),
        Case("CONNECT media.example:443 HTTP/1.1\r\nHost: media.example:443\r\n\r\n", 405, "CONNECT"),
        Case("CONNECT media.example HTTP/1.1\r\nHost: media.example\r\n\r\n", 400, "target"),
        Case("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\nCookie: a=1\r\n\r\n", 403, "evil.example"),
    ])
    func `a bad request gets its status and the reason, and other clients go on`(test: Case) throws {
        let world = try ProxyWorld([Self.film], options: { $0.token = "secret" })
        defer { world.stop() }
        let other = try world.connect()
        #expect(try other.get(Self.target, ["Range": "bytes=0-9"]).status == 206)
        let client = try world.connect()
        client.write(test.request)
        let answer = try client.answer()
        #expect(test.statuses.contains(answer.status))
        #expect(answer["Content-Type"] == "text/plain; charset=utf-8")
        #expect(answer.text.hasPrefix("\(answer.status) "))
        #expect(answer.text.contains(test.word), "\(answer.text)")
        if answer.status == 405 { #expect(answer["Allow"] == "GET, HEAD") }
        #expect(try other.get(Self.target, ["Range": "bytes=5-9"]).body == Self.film.bytes(5..<10))
    }

    @Test func `a refusal by the HTTP door keeps the connection`() throws {
        let world = try ProxyWorld([Self.film])
        defer { world.stop() }
        let client = try world.connect()
        client.ask(Self.film.target, method: "POST", ["Content-Length": "3"])
        client.write("abc")
        #expect(try client.answer().status == 405)
        #expect(try client.get("/ftp/a/b").status == 400)
        #expect(try client.get("/http/other.example/").status == 404)
        #expect(try client.get(Self.film.target, ["Range": "bytes=0-3"]).body == Self.film.bytes(0..<4))
    }

    @Test func `a refused request does not reach the origin`() throws {
        let world = try ProxyWorld([Self.film], options: { $0.allowedOrigins = ["https://media.example"] })
        defer { world.stop() }
        let client = try world.connect()
        #expect(try client.get(Self.film.target).status == 403)
        #expect(try client.get(Self.film.target, ["Host": "evil.example"]).status == 421)
        #expect(try client.get("/https/media.example/film.mp4", ["Sec-Fetch-Site": "cross-site"]).status == 403)
        #expect(world.asked.isEmpty)
    }

    @Test(arguments: ["same-origin", "same-site", "none"])
    func `a request of the proxy's own page or of the user is served`(site: String) throws {
        let world = try ProxyWorld([Self.film])
        defer { world.stop() }
        #expect(try world.get(Self.film.target, ["Sec-Fetch-Site": site]).status == 200)
    }

    @Test func `a foreign site is served when that is allowed`() throws {
        let world = try ProxyWorld([Self.film], options: { $0.allowsForeignSites = true })
        defer { world.stop() }
        #expect(try world.get(Self.film.target, ["Sec-Fetch-Site": "cross-site"]).status == 200)
    }
}
