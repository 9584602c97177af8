import SpoolCore
import SpoolServer
import SpoolSystem
import Testing

/// Answers with the method and target as body.
private let echo: @Sendable (RequestHead, Exchange) -> Void = { request, exchange in
    exchange.respond(Response(200, body: .bytes(Array("\(request.method) \(request.target)".utf8))))
}

@Suite(.timeLimit(.minutes(20)))
struct HTTPServerTests {
    // MARK: Connections

    @Test func `a connection is kept open for further requests`() throws {
        let server = try TestServer(answer: echo)
        let client = try server.connect()
        for number in 0..<50 { #expect(try client.get("/\(number)").text == "GET /\(number)") }
        #expect(server.counters.acceptedConnections == 1)
        #expect(server.counters.requests == 50)
        #expect(server.counters.idleConnections == 1)
        server.stop()
        #expect(try client.isAtEnd())
    }

    @Test func `the server closes on request, and for HTTP 1_0 without keep-alive`() throws {
        let server = try TestServer(answer: echo)
        let polite = try server.connect()
        let answer = try polite.get("/", "Connection: close\r\n")
        #expect(answer.fields["connection"] == "close")
        #expect(try polite.isAtEnd())

        let old = try server.connect()
        old.send("GET / HTTP/1.0\r\n\r\n")
        #expect(try old.answer().text == "GET /")
        #expect(try old.isAtEnd())

        let kept = try server.connect()
        for _ in 0..<2 {
            kept.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(try kept.answer().fields["connection"] == "keep-alive")
        }
        server.stop()
    }

    @Test func `the unfinished requests of all connections together have a bound`() throws {
        let server = try TestServer({ $0.maximumHeldInputBytes = 1000 }, answer: echo)
        let slow = try server.connect(), late = try server.connect()
        slow.send("GET /slow HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 700))
        server.wait { server.server.counters.heldInputBytes > 700 }
        late.send("GET /late HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 700))
        #expect(try late.answer().status == 503)
        #expect(try late.isAtEnd())
        // A request that arrives whole is not held, and one that ends makes room.
        #expect(try server.connect().get("/whole").text == "GET /whole")
        slow.send("\r\n\r\n")
        #expect(try slow.answer().text == "GET /slow")
        server.wait { server.server.counters.heldInputBytes == 0 }
        server.stop()
    }

    @Test func `pipelined requests are answered in order`() throws {
        let server = try TestServer(answer: echo)
        let client = try server.connect()
        let count = 500
        client.send((0..<count).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
        for number in 0..<count { #expect(try client.answer().text == "GET /\(number)") }
        server.stop()
    }

    @Test func `clients that hold much behind a request take no room from the others`() throws {
        let server = try TestServer({ $0.maximumHeldInputBytes = 150_000 }) { request, exchange in
            if request.method == "HEAD" { echo(request, exchange) }
        }
        let text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n" + String(repeating: "x", count: 60_000)
        let holders = try (0..<4).map { _ in try server.connect() }
        for client in holders { client.send(text) }
        server.wait { server.server.counters.requests == 4 }
        let client = try server.connect()
        client.send("HEAD / HTTP/1.1\r\n")
        server.onLoop {}
        client.send("Host: a\r\n\r\n")
        #expect(try client.answer(to: "HEAD").status == 200)
        #expect(server.counters.heldInputBytes <= 150_000)
        server.stop()
    }

    @Test func `requests that come in many pieces get no more turns than their bound`() throws {
        let turns = Locked<[UInt64: Int]>([:])
        let server = try TestServer({ $0.requestsPerTurn = 1 }) { request, exchange in
            turns.withLock { $0[exchange.loop.turnCount, default: 0] += 1 }
            echo(request, exchange)
        }
        let client = try server.connect(), request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        client.send(String(repeating: request, count: 400))
        for _ in 0..<100 {
            client.send(request)
            server.onLoop {}
        }
        for _ in 0..<500 { _ = try client.answer() }
        // One by the event, and one by the turn that goes on.
        #expect(turns.withLock { $0.values.max() } ?? 0 <= 2)
        server.stop()
    }

    @Test func `pipelined requests are answered in order when the handler answers late`() throws {
        let server = try TestServer { request, exchange in
            exchange.loop.post { exchange.loop.post { echo(request, exchange) } }
        }
        let client = try server.connect()
        client.send((0..<40).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
        for number in 0..<40 { #expect(try client.answer().text == "GET /\(number)") }
        server.stop()
    }

    @Test func `a request body without a sink is skipped`() throws {
        let server = try TestServer(answer: echo)
        let client = try server.connect()
        client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n")
        client.send([UInt8](repeating: 0x47, count: 50000))
        client.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.answer().text == "POST /a")
        #expect(try client.answer().text == "GET /b")
        server.stop()
    }

    @Test func `HEAD returns the fields of GET without a body`() throws {
        let server = try TestServer(answer: echo)
        let client = try server.connect()
        client.send("HEAD /abc HTTP/1.1\r\nHost: a\r\n\r\nGET /d HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.answer(to: "HEAD").fields["content-length"] == "9")
        #expect(try client.answer().text == "GET /d")
        server.stop()
    }

    @Test func `a client that has closed its sending side gets its answers`() throws {
        let server = try TestServer(answer: echo)
        let client = try server.connect()
        client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        client.finishSending()
        #expect(try client.answer().text == "GET /1")
        #expect(try client.answer().text == "GET /2")
        #expect(try client.isAtEnd())
        server.stop()
    }

    @Test func `a client that has closed its sending side gets a long answer to its end`() throws {
        let file = try TestFile(count: 12 << 20)
        let server = try TestServer { _, exchange in
            exchange.respond(Response(200, body: .source(FileSource(file, 0..<12 << 20), length: 12 << 20)))
        }
        let client = try server.connect(receiveBuffer: 65536)
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        client.finishSending()
        #expect(try client.answer().body == file.bytes)
        #expect(try client.isAtEnd())
        server.stop()
    }

    @Test func `1000 connections are served side by side`() throws {
        let server = try TestServer(answer: echo)
        let clients = try (0..<1000).map { _ in try server.connect() }
        for round in 0..<2 {
            for client in clients { client.send("GET /\(round) HTTP/1.1\r\nHost: a\r\n\r\n") }
            for client in clients { #expect(try client.answer().text == "GET /\(round)") }
        }
        #expect(server.counters.openConnections == 1000)
        server.stop()
    }

    // MARK: Refusals

    /// Each template, with `count` letters in the place of `~`.
    @Test(arguments: [
        (431, "GET / HTTP/1.1\r\nHost: a\r\nX: ~\r\n\r\n", 65536),
        (414, "GET /~ HTTP/1.1\r\nHost: a\r\n\r\n", 100_000),
        (413, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n~", 300_000),
        (400, "GET / HTTP/1.1\r\n\r\n", 0),
        (505, "GET / HTTP/3.0\r\n\r\n", 0),
    ])
    func `a refused request gets its answer, however many bytes follow it`(status: Int, template: String, count: Int) throws {
        let text = template.replacing("~", with: String(repeating: "a", count: count))
        let server = try TestServer { _, _ in Issue.record("the request reached the handler") }
        let client = try server.connect()
        client.send(text)
        client.finishSending()
        let answer = try client.answer()
        #expect(answer.status == status)
        #expect(answer.fields["connection"] == "close")
        #expect(try client.isAtEnd())
        guard case .refused = server.log.first?.end else {
            Issue.record("the log has no refusal: \(server.log)")
            return
        }
        server.stop()
    }

    @Test func `a field that would split the answer turns it into a 500`() throws {
        let server = try TestServer { _, exchange in
            exchange.respond(Response(200, fields: ["X": "a\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK"], body: .bytes([1])))
        }
        let client = try server.connect()
        #expect(try client.get("/").status == 500)
        #expect(try client.get("/").status == 500)
        server.stop()
    }

    @Test func `beyond the limit, the connection that was idle longest is closed`() throws {
        let server = try TestServer({ $0.maximumConnections = 2 }, answer: echo)
        let first = try server.connect(), second = try server.connect()
        _ = try first.get("/")
        server.advance(seconds: 1)
        _ = try second.get("/")
        let third = try server.connect()
        #expect(try third.get("/3").text == "GET /3")
        #expect(try first.isAtEnd())
        #expect(try second.get("/2").text == "GET /2")
        server.stop()
    }

    @Test func `a new connection gets a 503 when no connection is idle`() throws {
        let server = try TestServer({
            $0.maximumConnections = 1
            $0.maximumRefusals = 1
        }) { _, exchange in exchange.onClose {} }
        let busy = try server.connect()
        busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait { server.server.counters.requests == 1 }
        let told = try server.connect()
        told.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try told.answer().status == 503)
        let dropped = try server.connect()
        #expect(throws: (any Error).self) { try dropped.get("/") }
        server.stop()
    }

    @Test func `one client gets a bounded number of connections, and other clients get theirs`() throws {
        let names = Locked(0)
        let server = try TestServer(
            { options in
                options.connectionsPerClient = 2
                // The first three connections belong to one client.
                options.clientName = { _ in
                    names.withLock {
                        $0 += 1; return [$0 <= 3 || $0 == 5 ? 1 : 2]
                    }
                }
            }, answer: echo)
        let first = try server.connect(), second = try server.connect()
        #expect(try first.get("/1").status == 200 && second.get("/2").status == 200)
        let third = try server.connect()
        third.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try third.answer().status == 503)
        #expect(try third.isAtEnd())
        let other = try server.connect()
        #expect(try other.get("/4").status == 200)
        // A client that closes a connection makes room for another of its own.
        first.close()
        third.close()
        server.wait { server.server.counters.openConnections == 2 }
        let fifth = try server.connect()
        #expect(try fifth.get("/5").status == 200)
        server.stop()
    }

    @Test func `a stalled client is closed for a new one, and a client that reads is not`() throws {
        let file = try TestFile(count: 32 << 20)
        let server = try TestServer({ $0.maximumConnections = 2 }) { request, exchange in
            guard request.target == "/long" else { return echo(request, exchange) }
            exchange.respond(Response(200, body: .source(FileSource(file, 0..<32 << 20), length: 32 << 20)))
        }
        let stalled = try server.connect(receiveBuffer: 65536), busy = try server.connect(receiveBuffer: 65536)
        for client in [stalled, busy] {
            client.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
            try client.discard(1000)
        }
        server.advance(seconds: 40)
        let refused = try server.connect()
        refused.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try refused.answer().status == 503)
        // Reads so much that the server sends again.
        try busy.discard(8 << 20)
        server.advance(seconds: 30)
        #expect(try server.connect().get("/").text == "GET /")
        #expect(server.log.filter { $0.end == .clientLeft }.count == 1)
        try busy.discard(1 << 20)
        server.stop()
    }

    // MARK: Time

    @Test func `an unfinished head is answered with 408 after its time`() throws {
        let server = try TestServer(answer: echo)
        let client = try server.connect()
        _ = try client.get("/")
        client.send("GET / HTTP/1.1\r\n")
        server.wait { server.server.counters.idleConnections == 0 }
        server.advance(seconds: 6)
        // A single byte in between does not extend the time.
        client.send("X")
        server.advance(seconds: 6)
        #expect(try client.answer().status == 408)
        #expect(try client.isAtEnd())
        server.stop()
    }

    @Test func `an idle connection is closed after its time and not before`() throws {
        let server = try TestServer(answer: echo)
        let client = try server.connect()
        _ = try client.get("/")
        server.advance(seconds: 58)
        #expect(server.counters.openConnections == 1)
        server.advance(seconds: 4)
        #expect(server.counters.openConnections == 0)
        #expect(try client.isAtEnd())
        server.stop()
    }

    @Test func `a client that reads nothing is kept for minutes, and closed after 15`() throws {
        let file = try TestFile(count: 32 << 20)
        let closes = Locked(0)
        let server = try TestServer({ $0.sweepInterval = .seconds(30) }) { _, exchange in
            let source = FileSource(file, 0..<32 << 20) { closes.withLock { $0 += 1 } }
            exchange.respond(Response(200, body: .source(source, length: 32 << 20)))
        }
        let client = try server.connect(receiveBuffer: 65536)
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try client.discard(1000)
        server.advance(seconds: 10 * 60)
        try client.discard(8 << 20)
        server.advance(seconds: 10 * 60)
        #expect(closes.withLock { $0 } == 0)
        // The server may have written into the room of the second read during the last advance.
        server.advance(seconds: 16 * 60)
        #expect(closes.withLock { $0 } == 1)
        #expect(server.log.map(\.end) == [.clientLeft])
        server.stop()
    }

    @Test func `an answer that the handler has not begun has no time limit`() throws {
        let waiting = Locked<[Exchange]>([])
        let server = try TestServer({ $0.sweepInterval = .seconds(600) }) { _, exchange in waiting.withLock { $0.append(exchange) } }
        let client = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait { waiting.withLock { $0.count } == 1 }
        server.advance(seconds: 3600)
        server.loop.post { echo(waiting.withLock { $0[0].request }, waiting.withLock { $0[0] }) }
        #expect(try client.answer().text == "GET /")
        server.stop()
    }

    @Test func `stopping lets an answer under way finish within the grace time`() throws {
        let waiting = Locked<[Exchange]>([])
        let server = try TestServer { _, exchange in waiting.withLock { $0.append(exchange) } }
        let client = try server.connect(), idle = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait { waiting.withLock { $0.count } == 1 && server.server.counters.openConnections == 2 }
        let stopped = Gate()
        server.server.stop(grace: .seconds(30)) { stopped.open() }
        #expect(try idle.isAtEnd())
        server.loop.post { echo(waiting.withLock { $0[0].request }, waiting.withLock { $0[0] }) }
        let answer = try client.answer()
        #expect(answer.text == "GET /")
        #expect(answer.fields["connection"] == "close")
        stopped.wait()
        server.stop()
    }

    @Test func `stopping ends a kept connection with the answer that was under way`() throws {
        let source = PushSource()
        let server = try TestServer { _, exchange in exchange.respond(Response(200, body: .source(source, length: 6))) }
        let client = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait { server.server.counters.requests == 1 }
        source.push([1, 2, 3])
        let stopped = Gate()
        server.onLoop { server.server.stop(grace: .seconds(3_600)) { stopped.open() } }
        source.push([4, 5, 6], then: .end)
        #expect(try client.answer().body == [1, 2, 3, 4, 5, 6])
        stopped.wait()
        server.stop()
    }

    // MARK: Clients that leave

    @Test func `a handler learns that its client left, and may still answer`() throws {
        let told = Gate(), closed = Gate()
        let server = try TestServer { _, exchange in
            exchange.onClose {
                told.open()
                exchange.respond(Response(200, body: .source(MemorySource([], onClose: { closed.open() }), length: nil)))
            }
        }
        let client = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait { server.server.counters.requests == 1 }
        client.close()
        told.wait()
        closed.wait()
        #expect(server.log.map(\.end) == [.clientLeft])
        #expect(server.log.map(\.status) == [nil])
        server.stop()
    }

    @Test(arguments: [true, false])
    func `a client that leaves in the middle closes the source once`(byReset: Bool) throws {
        let file = try TestFile(count: 32 << 20)
        let closed = Gate()
        let server = try TestServer { _, exchange in
            let source = FileSource(file, 0..<32 << 20) { closed.open() }
            exchange.respond(Response(200, body: .source(source, length: 32 << 20)))
        }
        let client = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try client.discard(100_000)
        if byReset { client.reset() } else { client.close() }
        closed.wait()
        server.wait { server.server.counters.openConnections == 0 }
        #expect(server.log.map(\.end) == [.clientLeft])
        server.stop()
    }

    @Test func `the log has the method, target, status, bytes and end of each answer`() throws {
        let server = try TestServer(answer: echo)
        let client = try server.connect()
        _ = try client.get("/abc")
        let record = try #require(server.log.first)
        #expect(record.method == "GET" && record.target == "/abc" && record.status == 200)
        #expect(record.bodyBytes == 8 && record.duration == 0 && record.end == .complete)
        server.stop()
    }
}
