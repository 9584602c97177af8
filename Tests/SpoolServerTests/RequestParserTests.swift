import SpoolCore
import SpoolServer
import Testing

struct RequestParserTests {
    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / http11 keep Host=a"),
        ("GET / HTTP/1.0\r\n\r\n", "GET / http10 close "),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET / http10 keep Connection=Keep-Alive"),
        ("GET / HTTP/1.9\r\nHost: a\r\n\r\n", "GET / http11 keep Host=a"),
        (
            "HEAD /x?y=z HTTP/1.1\r\nhost:a:80\r\nCONNECTION: foo , Close\r\n\r\n",
            "HEAD /x?y=z http11 close host=a:80|CONNECTION=foo , Close"
        ),
        ("GET http://h:1/p HTTP/1.1\r\nHost: H:1\r\n\r\n", "GET http://h:1/p http11 keep Host=H:1"),
        ("GET http://h/p HTTP/1.1\r\nHost: h:80\r\n\r\n", "GET http://h/p http11 keep Host=h:80"),
        ("GET httpS://h:443?q HTTP/1.1\r\nHost: h\r\n\r\n", "GET httpS://h:443?q http11 keep Host=h"),
        ("GET http://h/p HTTP/1.0\r\n\r\n", "GET http://h/p http10 close "),
        ("CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n", "CONNECT h:443 http11 close Host=h:443"),
        ("OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n", "OPTIONS * http11 keep Host="),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", "GET / http11 keep Host=[::1]:8080"),
        ("GET / HTTP/1.1\r\nHost: a\r\nX:  \t a b \t \r\nEmpty:\r\n\r\n", "GET / http11 keep Host=a|X=a b|Empty="),
        ("GET /a b|{c}^\"d?e f HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a%20b|{c}^\"d?e%20f http11 keep Host=a"),
        ("GET /f\u{FC}r HTTP/1.1\r\nHost: a\r\n\r\n", "GET /f%C3%BCr http11 keep Host=a"),
        ("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /", "POST /a http11 keep Host=a|Content-Length=5"),
        ("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "POST /a http11 keep Host=a|Content-Length=0"),
        (
            "POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
            "POST /a http11 close Host=a|Expect=100-continue|Content-Length=5"
        ),
        (
            "POST /a HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nGET /",
            "POST /a http10 keep Connection=keep-alive|Expect=100-continue|Content-Length=5"
        ),
    ])
    func `a good request is parsed, however it is cut`(text: String, expected: String) {
        #expect(verify(text) == Parsed(requests: [expected]))
    }

    @Test func `a typical player's request is parsed`() {
        let request = """
            GET /movie.mp4 HTTP/1.1\r\nUser-Agent: Lavf/59.27.100\r\nAccept: */*\r\nRange: bytes=0-\r\nConnection: close\r
            Host: 127.0.0.1:8080\r\nIcy-MetaData: 1\r\n\r\n
            """.replacing("\r\n\r\n\n", with: "\r\n\r\n")
        let parsed = verify(request)
        #expect(parsed.requests.count == 1)
        #expect(parsed.requests.first?.contains("Range=bytes=0-|Connection=close") == true)
    }

    @Test(arguments: [
        (400, "GET / HTTP/1.1\r\n\r\n", "no Host"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "two Hosts"),
        (400, "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", "two Hosts in 1.0"),
        (400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "a Host that is none"),
        (400, "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", "a Host with user info"),
        (400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "a Host with a space"),
        (400, "GET /\r\n\r\n", "HTTP/0.9"),
        (400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "two spaces"),
        (400, "GET /  HTTP/1.1\r\nHost: a\r\n\r\n", "two spaces behind the target"),
        (400, "GET http://a b/ HTTP/1.1\r\nHost: a\r\n\r\n", "a space in the host of the target"),
        (400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "a space at the end"),
        (400, " GET / HTTP/1.1\r\nHost: a\r\n\r\n", "a space in front"),
        (400, "GET / http/1.1\r\nHost: a\r\n\r\n", "a version in lower case"),
        (400, "GET / HTTP/1.10\r\nHost: a\r\n\r\n", "a long version"),
        (505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "HTTP/2.0"),
        (505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "the HTTP/2 preface"),
        (505, "GET / HTTP/0.9\r\n\r\n", "HTTP/0.9 by name"),
        (400, "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", "a method that is no token"),
        (400, "GET a HTTP/1.1\r\nHost: a\r\n\r\n", "a relative target"),
        (400, "GET * HTTP/1.1\r\nHost: a\r\n\r\n", "an asterisk with GET"),
        (400, "GET a:443 HTTP/1.1\r\nHost: a\r\n\r\n", "an authority as target without CONNECT"),
        (400, "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", "a tunnel without port"),
        (400, "CONNECT u@a:443 HTTP/1.1\r\nHost: a\r\n\r\n", "a tunnel with user info"),
        (400, "CONNECT a:443/x HTTP/1.1\r\nHost: a\r\n\r\n", "a tunnel with a path"),
        (400, "GET http://h/ HTTP/1.1\r\nHost: other\r\n\r\n", "another host in the target"),
        (400, "GET http://h/ HTTP/1.1\r\nHost:\r\n\r\n", "a host in the target only"),
        (400, "GET http://h:81/ HTTP/1.1\r\nHost: h\r\n\r\n", "another port in the target"),
        (400, "GET http://h:443/ HTTP/1.1\r\nHost: h\r\n\r\n", "the port of another scheme in the target"),
        (400, "GET http://h/ HTTP/1.0\r\nHost: i\r\n\r\n", "another host in the target in 1.0"),
        (400, "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "another scheme"),
        (400, "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", "an absolute target without host"),
        (400, "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", "user info in the target"),
        (400, "GET /\u{0} HTTP/1.1\r\nHost: a\r\n\r\n", "NUL in the target"),
        (400, "GET /\u{7F} HTTP/1.1\r\nHost: a\r\n\r\n", "DEL in the target"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{0}b\r\n\r\n", "NUL in a value"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{1B}b\r\n\r\n", "a control character in a value"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\nX\u{0}: b\r\n\r\n", "NUL in a name"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\nNo colon\r\n\r\n", "no colon"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", "no name"),
        (400, "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "too many empty lines"),
        (400, "\u{16}\u{3}\u{1}", "TLS"),
        (400, "\u{0}", "NUL"),
    ])
    func `a bad request is refused, however it is cut`(status: Int, text: String, what: String) {
        let parsed = verify(text)
        #expect(parsed.refusal?.status == status, "\(what): \(parsed)")
        #expect(parsed.requests == [], "\(what)")
    }

    /// Requests whose end two parsers could find in different places. A parser that finds another
    /// end takes the rest for a second request.
    @Test(arguments: [
        (400, "Content-Length: 5\r\nTransfer-Encoding: chunked", "length and coding"),
        (400, "Transfer-Encoding: chunked\r\nContent-Length: 5", "coding and length"),
        (400, "Content-Length: 5\r\nContent-Length: 6", "two lengths"),
        (400, "Content-Length: 5\r\nContent-Length: 5", "the same length twice"),
        (400, "Content-Length: 5, 5", "a list of lengths"),
        (400, "Content-Length: +5", "a sign"),
        (400, "Content-Length: -5", "a negative length"),
        (400, "Content-Length: 0x5", "hexadecimal"),
        (400, "Content-Length: 5 5", "a space inside"),
        (400, "Content-Length:", "an empty length"),
        (400, "Content-Length: 99999999999999999999", "more than fits"),
        (400, "Content-Length : 5", "a space before the colon"),
        (400, "Content-Length\t: 5", "a tab before the colon"),
        (400, "X: a\r\n Content-Length: 5", "a folded line"),
        (400, "X: a\r\n\tContent-Length: 5", "a line folded by a tab"),
        (400, "Content-Length: 5\r\n ,6", "a folded length"),
        (400, "Content-Length: 5\u{B}", "a vertical tab behind a length"),
        (400, "Content-Length: 0\r\nContent-Length: 30", "no body and one"),
        (400, "Content-Length: 5;6", "a length with a parameter"),
        (400, "Content-Length: \"5\"", "a length in quotes"),
        (400, "Content-Length: 5.0", "a length with a fraction"),
        (400, "Transfer-Encoding : chunked", "a space before the colon of the coding"),
        (400, "Transfer-Encoding: chunked\u{0}", "NUL behind the coding"),
        (400, "Transfer-Encoding: chunked;q=1", "a coding with a parameter"),
        (400, "Transfer-Encoding: , chunked", "an empty coding first"),
        (400, "Transfer-Encoding: chunked\r\nX: a\nContent-Length: 5", "a bare line feed behind the coding"),
        (400, "Content-Length: 5\r\nTransfer-Encoding: identity", "a length and identity"),
        (400, "\u{FEFF}Content-Length: 5", "a byte order mark before a name"),
        (400, " Content-Length: 5", "a line that begins with a space"),
        (400, "X: a\nContent-Length: 5", "a bare line feed"),
        (400, "X: a\rContent-Length: 5", "a bare carriage return"),
        (400, "X: a\r\r\nContent-Length: 5", "two carriage returns"),
        (400, "Transfer-Encoding: gzip, chunked", "another coding"),
        (400, "Transfer-Encoding: chunked, chunked", "chunked twice"),
        (400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "two lines of coding"),
        (400, "Transfer-Encoding: identity", "identity"),
        (400, "Transfer-Encoding: xchunked", "a coding that ends like chunked"),
        (400, "Transfer-Encoding: \u{B}chunked", "a control character before the coding"),
        (400, "Transfer-Encoding:", "an empty coding"),
        (400, "Transfer_Encoding: chunked\r\nContent-Length: 1x", "an odd length beside a lookalike"),
        (411, "Transfer-Encoding: chunked", "a chunked body"),
        (411, "transfer-encoding: Chunked", "a chunked body in other letters"),
        (413, "Content-Length: 65537", "a long body"),
        (413, "Content-Length: 999999999999999999", "a very long body"),
    ])
    func `ambiguous framing is refused`(status: Int, lines: String, what: String) {
        let text = "POST / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
        let parsed = verify(text)
        #expect(parsed.refusal?.status == status, "\(what): \(parsed)")
        #expect(parsed.requests == [], "\(what)")
    }

    @Test func `a Transfer-Encoding in HTTP 1_0 is refused`() {
        #expect(verify("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").refusal?.status == 400)
    }

    @Test func `a line feed without carriage return ends no line`() {
        #expect(verify("GET / HTTP/1.1\nHost: a\n\n").refusal?.status == 400)
        #expect(verify("GET / HTTP/1.1\r\nHost: a\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").refusal?.status == 400)
    }

    // MARK: Limits

    @Test func `each limit is exact and has its own status`() {
        func requestLine(_ count: Int) -> String { "GET /" + String(repeating: "a", count: count - 14) + " HTTP/1.1\r\nHost: a\r\n\r\n" }
        // `verify` cuts a text at each byte, which takes long for a text of 64 KiB.
        #expect(RequestLimits().requestLineBytes == 65_536)
        func parse(_ text: String) -> RequestParser.Progress {
            var parser = RequestParser()
            return Array(text.utf8).withUnsafeBytes { parser.parse($0) }
        }
        // A field behind the longest line has its place beyond 64 KiB.
        let fields64 = String(repeating: "X: \(String(repeating: "b", count: 1_000))\r\n", count: 20)
        let longest = requestLine(65_536).replacing("\r\nHost: a\r\n\r\n", with: "\r\n\(fields64)Host: long.example\r\n\r\n")
        guard case .head(let head, _, _) = parse(longest) else {
            Issue.record("the longest line is refused")
            return
        }
        #expect(head.target.utf8.count == 65_536 - 13 && head[.host] == "long.example")
        let unfinished = "GET /" + String(repeating: "a", count: 70_000)
        guard case .refused(let refusal) = parse(requestLine(65_537)), case .refused(let early) = parse(unfinished) else {
            Issue.record("a longer line is taken")
            return
        }
        #expect(refusal.status == 414 && early.status == 414)

        func fields(_ count: Int) -> String { "GET / HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: count - 1) + "Host: a\r\n\r\n" }
        #expect(verify(fields(100)).requests.count == 1)
        #expect(verify(fields(101)).refusal?.status == 431)

        // The block's size includes the line feed of the empty line.
        func block(_ count: Int) -> String {
            "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: count - 9 - 3 - 2 - 1) + "\r\n\r\n"
        }
        #expect(verify(block(32768)).requests.count == 1)
        #expect(verify(block(32769)).refusal?.status == 431)
        #expect(verify("GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 65536)).refusal?.status == 431)

        #expect(verify("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n").isIncomplete)
    }

    @Test func `an incomplete head waits for more bytes`() {
        #expect(verify("GET / HTTP/1.1\r\nHost: a\r\n") == Parsed(isIncomplete: true))
        #expect(verify("\r") == Parsed(isIncomplete: true))
    }

    @Test func `every byte outside the token grammar is refused in a name and in a method`() {
        let token = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for byte in UInt8.min...UInt8.max where byte != UInt8(ascii: ":") {
            let request = Array("GET / HTTP/1.1\r\nHost: a\r\nN".utf8) + [byte] + Array("N: v\r\n\r\n".utf8)
            #expect((parse(request, step: 4096).refusal == nil) == token.contains(byte), "byte \(byte) in a name")
            let method = Array("G".utf8) + [byte] + Array("T / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            #expect((parse(method, step: 4096).refusal == nil) == token.contains(byte), "byte \(byte) in a method")
        }
    }

    // MARK: Heads

    @Test func `authority and path are found in both forms of the target`() {
        func head(_ target: String) -> RequestHead { RequestHead(target: target, fields: ["Host": "field:1"]) }
        #expect(head("/a?b").authority == "field:1")
        #expect(head("/a?b").path == "/a?b")
        #expect(head("/a://b/c").authority == "field:1")
        #expect(head("http://h:2/a?b").authority == "h:2")
        #expect(head("http://h:2/a?b").path == "/a?b")
        #expect(head("HTTPS://h").path == "/")
        #expect(head("http://h?q=/").path == "/?q=/")
        #expect(head("http://h?q=/").authority == "h")
    }

    @Test func `fields are found without regard to case`() {
        let head = RequestHead(target: "/", fields: ["Range": "bytes=0-", "X": "1"])
        #expect(head["RANGE"] == "bytes=0-")
        #expect(head.has("x") && !head.has("y"))
        #expect(head.fields == ["Range": "bytes=0-", "X": "1"])
    }

    // MARK: Fuzz

    @Test func `mutated requests neither crash nor depend on how they are cut`() {
        let seed = testSeed()
        var random = TestRandom(seed: seed)
        let corpus = [
            "GET /a HTTP/1.1\r\nHost: a\r\nRange: bytes=0-\r\n\r\n",
            "POST /b HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\n\r\nabcGET /c HTTP/1.0\r\n\r\n",
            "GET http://c/d HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\nConnection: close, x\r\n\r\n",
        ].map { Array($0.utf8) }
        let spice: [UInt8] = [0, 9, 10, 13, 32, 44, 58, 47, 48, 57, 127, 128, 255]
        for _ in 0..<4000 {
            var bytes = corpus[random.below(corpus.count)]
            for _ in 0...random.below(4) { mutate(&bytes, &random, spice, corpus) }
            let whole = parse(bytes, step: max(1, bytes.count))
            #expect(parse(bytes, step: 1) == whole, "seed \(seed): \(bytes)")
            #expect(parse(bytes, step: 1 + random.below(20)) == whole, "seed \(seed): \(bytes)")
        }
    }

    private func mutate(_ bytes: inout [UInt8], _ random: inout TestRandom, _ spice: [UInt8], _ corpus: [[UInt8]]) {
        let position = random.below(bytes.count)
        switch random.below(5) {
        case 0: bytes[position] = spice[random.below(spice.count)]
        case 1: bytes.insert(spice[random.below(spice.count)], at: position)
        case 2 where bytes.count > 1: bytes.remove(at: position)
        case 3: bytes = Array(bytes[..<position]) + corpus[random.below(corpus.count)]
        default: bytes[position] = UInt8(random.below(256))
        }
        if bytes.isEmpty { bytes = [13] }
    }
}
