import SpoolCore
import SpoolServer
import SpoolSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct BodyTests {
    private func serve(
        _ change: (inout ServerOptions) -> Void = { _ in }, _ make: @escaping @Sendable (RequestHead) -> Response
    ) throws -> TestServer {
        try TestServer(change) { request, exchange in exchange.respond(make(request)) }
    }

    // MARK: Files

    /// The sizes lie around the largest segment of a loopback connection, where a held-back end of
    /// an answer shows.
    @Test(arguments: [20 << 10, 60 << 10, 64 << 10, 65_483, 65_484, 70 << 10, 200 << 10])
    func `an answer takes the fewest calls, and only a head before a short body is held back`(size: Int) throws {
        let file = try TestFile(count: size)
        let calls = Locked<[TransferCall]>([])
        let server = try serve({ $0.onTransfer = { call in calls.withLock { $0.append(call) } } }) { _ in
            Response(206, body: .source(FileSource(file, 0..<Int64(size)), length: Int64(size)))
        }
        let client = try server.connect()
        for _ in 0..<3 { #expect(try client.get("/").body == file.bytes) }
        _ = server.counters
        // Each request makes these calls: the head is received, one call sends the answer's head,
        // and the file follows. A call on a full socket is continued with exactly the rest. The
        // head is held back where head and body fit into one segment but for its end. Nothing after
        // it is held back.
        var rest = calls.withLock { $0 }[...]
        for _ in 0..<3 {
            rest = rest.drop { $0 == .receive(.wouldBlock) }
            guard case .receive(.count) = rest.popFirst() else { return failed(calls) }
            guard case .send(let asked, let isContinued, .count(let sent)) = rest.popFirst(), asked == sent, asked < 300,
                isContinued == (size <= 64 << 10)
            else { return failed(calls) }
            var left = size
            while left > 0 {
                guard case .sendFile(let asked, let result) = rest.popFirst(), asked == left else { return failed(calls) }
                if case .count(let sent) = result { left -= sent }
            }
        }
        server.stop()
    }

    @Test func `a small file in memory leaves with its head in one call`() throws {
        let file = try TestFile(count: 16 << 10)
        let calls = Locked<[TransferCall]>([])
        for readsSmallFiles in [true, false] {
            let server = try serve({
                $0.onTransfer = { call in calls.withLock { $0.append(call) } }
                $0.coldReads = ColdReads(lane: DiskLane(name: "cold"))
                $0.coldReads?.readsSmallFiles = readsSmallFiles
            }) { _ in Response(206, body: .source(FileSource(file, 0..<16 << 10), length: 16 << 10)) }
            let client = try server.connect()
            #expect(try client.get("/").body == file.bytes)
            _ = server.counters
            let sends = calls.withLock { calls in
                defer { calls = [] }
                return calls.compactMap { call -> Int? in
                    switch call {
                    case .send(let asked, _, _), .sendFile(let asked, _): asked
                    case .receive: nil
                    }
                }
            }
            // A file that was just written is in memory, unless the system had to make room.
            #expect(sends.count == (readsSmallFiles ? 1 : 2), "\(sends)")
            server.stop()
        }
    }

    @Test(arguments: [1, 4095, 4096])
    func `a head is held back only before a body of at most 16 pages`(offset: Int) throws {
        let file = try TestFile(count: 80 << 10)
        let calls = Locked<[TransferCall]>([])
        let server = try serve({ $0.onTransfer = { call in calls.withLock { $0.append(call) } } }) { _ in
            Response(206, body: .source(FileSource(file, Int64(offset)..<Int64(offset + 64 << 10)), length: 64 << 10))
        }
        let client = try server.connect()
        #expect(try client.get("/").body == Array(file.bytes[offset..<(offset + 64 << 10)]))
        _ = server.counters
        let held = calls.withLock { $0 }.contains { if case .send(_, isContinued: true, _) = $0 { true } else { false } }
        #expect(held == (offset == 4096))
        server.stop()
    }

    @Test func `a head is not held back before a body that is not in memory`() throws {
        let file = try TestFile(count: 60 << 10)
        let lane = HeldMailbox()
        let calls = Locked<[TransferCall]>([])
        let server = try serve({
            $0.onTransfer = { call in calls.withLock { $0.append(call) } }
            $0.coldReads = ColdReads(lane: lane, isResident: { _, _, _ in false }, readAhead: { _, _, _ in })
        }) { _ in Response(206, body: .source(FileSource(file, 0..<60 << 10), length: 60 << 10)) }
        let client = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait { lane.count == 1 }
        let sends = calls.withLock { $0 }.filter { if case .receive = $0 { false } else { true } }
        guard case .send(_, isContinued: false, .count) = sends.first, sends.count == 1 else { return failed(calls) }
        lane.run()
        #expect(try client.answer().body == file.bytes)
        server.stop()
    }

    @Test(arguments: [true, false])
    func `a turn of the loop sends at most 2 MiB of a file, or 1 MiB of memory`(isFile: Bool) throws {
        let file = try TestFile(count: 16 << 20)
        let bytes = file.bytes
        let loop = Locked<EventLoop?>(nil), sent = Locked<[UInt64: Int]>([:])
        let server = try serve({
            $0.onTransfer = { call in
                guard let turn = loop.withLock({ $0?.turnCount }) else { return }
                switch call {
                case .sendFile(_, .count(let count)), .send(_, _, .count(let count)): sent.withLock { $0[turn, default: 0] += count }
                default: break
                }
            }
        }) { _ in
            Response(200, body: .source(isFile ? FileSource(file, 0..<16 << 20) : MemorySource([bytes]), length: 16 << 20))
        }
        loop.withLock { $0 = server.loop }
        let client = try server.connect()
        #expect(try client.get("/").body == bytes)
        _ = server.counters
        let headBytes = 1024
        #expect(try #require(sent.withLock { $0.values.max() }) <= (isFile ? 2 << 20 : 1 << 20) + headBytes)
        server.stop()
    }

    @Test func `a response that waited for its source leaves little in the socket of a slow client`() throws {
        let full = Locked(false), sent = Locked(0), source = PushSource()
        let server = try serve({
            $0.onTransfer = { call in
                guard case .send(let asked, _, let result) = call else { return }
                if case .count(let count) = result { sent.withLock { $0 += count } }
                if result != .count(asked) { full.withLock { $0 = true } }
            }
        }) { _ in Response(200, body: .source(source, length: 8 << 20)) }
        let client = try server.connect(receiveBuffer: 16 << 10)
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait { sent.withLock { $0 } > 0 }
        source.push([UInt8](repeating: 7, count: 8 << 20))
        server.wait { full.withLock { $0 } }
        #expect(sent.withLock { $0 } < 1 << 20)
        server.stop()
    }

    private func failed(_ calls: Locked<[TransferCall]>) {
        Issue.record("unexpected calls: \(calls.withLock { $0 })")
    }

    @Test func `the kernel does not hold back small writes`() throws {
        // With Nagle's rule, an answer of two segments would take 40 ms when the client
        // acknowledges late.
        let noDelay = Locked<[Bool]>([])
        let server = try TestServer { _, exchange in
            noDelay.withLock { $0.append(exchange.isNoDelay) }
            exchange.respond(Response(204))
        }
        let client = try server.connect()
        #expect(try client.get("/").status == 204)
        #expect(noDelay.withLock { $0 } == [true])
        server.stop()
    }

    @Test func `a slow client gets a long file whole, and does not delay other clients`() throws {
        let file = try TestFile(count: 16 << 20)
        let server = try serve { request in
            request.target == "/big"
                ? Response(200, body: .source(FileSource(file, 0..<16 << 20), length: 16 << 20)) : Response(200, body: .bytes([7]))
        }
        let slow = try server.connect(receiveBuffer: 65536), quick = try server.connect()
        slow.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n")
        for _ in 0..<100 { #expect(try quick.get("/").body == [7]) }
        #expect(try slow.answer().body == file.bytes)
        #expect(try slow.get("/").body == [7])
        server.stop()
    }

    @Test func `a file that is shorter than its span ends the answer short`() throws {
        let file = try TestFile(count: 1000)
        let server = try serve { _ in Response(200, body: .source(FileSource(file, 0..<2000), length: 2000)) }
        let client = try server.connect()
        #expect(throws: Client.Failure.self) { try client.get("/") }
        guard case .aborted = server.log.first?.end else {
            Issue.record("the log has no abort: \(server.log)")
            return
        }
        server.stop()
    }

    // MARK: Memory

    @Test(arguments: [0, 1, 16 << 10, 17 << 10, 5 << 20])
    func `a body in memory arrives whole`(size: Int) throws {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        let server = try serve { _ in Response(200, body: .bytes(bytes)) }
        let client = try server.connect(receiveBuffer: 65536)
        for _ in 0..<2 { #expect(try client.get("/").body == bytes) }
        server.wait { true }
        #expect(server.log.map(\.bodyBytes) == [Int64(size), Int64(size)])
        server.stop()
    }

    @Test func `a long body in memory, or a part of one, goes to the system in pieces of one turn`() throws {
        let bytes = (0..<5 << 20).map { UInt8(truncatingIfNeeded: $0 / 7) }, part = 1000..<4_000_000
        let calls = Locked<[TransferCall]>([])
        let server = try serve({
            $0.bytesPerTurn = 256 << 10
            $0.onTransfer = { call in calls.withLock { $0.append(call) } }
        }) { request in
            request.target == "/part" ? Response(206, body: .part(bytes[part])) : Response(200, body: .bytes(bytes))
        }
        let client = try server.connect()
        #expect(try client.get("/").body == bytes)
        #expect(try client.get("/part").body == Array(bytes[part]))
        _ = server.counters
        let asked = calls.withLock { $0 }.compactMap { if case .send(let asked, _, _) = $0 { asked } else { nil } }
        // A byte of memory counts twice in a turn, because the system copies it.
        #expect(asked.max() == 128 << 10)
        server.stop()
    }

    @Test func `a body of unknown length is chunked, and with HTTP 1_0 ends with the connection`() throws {
        let pieces = [Array("hello".utf8), [UInt8](repeating: 1, count: 300_000), Array("end".utf8)]
        let server = try serve { _ in Response(200, body: .source(MemorySource(pieces), length: nil)) }
        let client = try server.connect(receiveBuffer: 65536)
        for _ in 0..<2 {
            let answer = try client.get("/")
            #expect(answer.fields["transfer-encoding"] == "chunked")
            #expect(answer.body == pieces.flatMap { $0 })
        }
        let old = try server.connect()
        old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        let answer = try old.answer()
        #expect(answer.fields["transfer-encoding"] == nil && answer.fields["connection"] == "close")
        #expect(answer.body == pieces.flatMap { $0 })
        server.stop()
    }

    @Test func `an empty chunked body is complete`() throws {
        let server = try serve { _ in Response(200, body: .source(MemorySource([]), length: nil)) }
        let client = try server.connect()
        for _ in 0..<2 { #expect(try client.get("/").body == []) }
        server.stop()
    }

    @Test func `a file can be chunked`() throws {
        let file = try TestFile(count: 3 << 20)
        let server = try serve { _ in Response(200, body: .source(FileSource(file, 0..<3 << 20), length: nil)) }
        let client = try server.connect(receiveBuffer: 65536)
        for _ in 0..<2 { #expect(try client.get("/").body == file.bytes) }
        server.stop()
    }

    @Test func `a source with more bytes than its length does not break the framing`() throws {
        let server = try serve { _ in Response(200, body: .source(MemorySource([[1, 2, 3], [4, 5, 6]]), length: 4)) }
        let client = try server.connect()
        for _ in 0..<2 { #expect(try client.get("/").body == [1, 2, 3, 4]) }
        server.stop()
    }

    // MARK: Aborts

    @Test(arguments: [(length: Int64(10) as Int64?, ending: "end"), (10, "abort"), (nil, "abort")])
    func `an answer that cannot be completed ends short`(length: Int64?, ending: String) throws {
        let server = try serve { _ in
            let source = MemorySource([[1, 2, 3]], ending: ending == "end" ? .end : .abort("the origin left"))
            return Response(200, body: .source(source, length: length))
        }
        let client = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        // The sent bytes arrive, then the connection ends in order. A reset could take bytes with
        // it.
        let bytes = try client.rest()
        #expect(bytes.suffix(length == nil ? 0 : 3) == (length == nil ? [] : [1, 2, 3]))
        if length == nil { #expect(!bytes.suffix(5).elementsEqual(Array("0\r\n\r\n".utf8))) }
        guard case .aborted = server.log.first?.end else {
            Issue.record("the log has no abort: \(server.log)")
            return
        }
        server.stop()
    }

    @Test func `an aborted body without a length ends with a reset`() throws {
        let server = try serve { _ in Response(200, body: .source(MemorySource([[1, 2, 3]], ending: .abort("no")), length: nil)) }
        let client = try server.connect()
        client.send("GET / HTTP/1.0\r\n\r\n")
        #expect(throws: Client.Failure.self) { try client.rest() }
        server.stop()
    }

    @Test func `a body without a length ends with a reset when the server stops within it`() throws {
        let source = PushSource()
        let server = try serve { _ in Response(200, body: .source(source, length: nil)) }
        let client = try server.connect()
        client.send("GET / HTTP/1.0\r\n\r\n")
        server.wait { server.server.counters.requests == 1 }
        source.push([1, 2, 3])
        server.stop()
        #expect(throws: Client.Failure.self) { try client.rest() }
    }

    // MARK: Waiting

    @Test func `a waiting source is woken from other threads, once or more often`() throws {
        let source = PushSource()
        let server = try serve { _ in Response(200, body: .source(source, length: 6)) }
        let client = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait { server.server.counters.requests == 1 }
        source.nudge()
        source.push([1, 2, 3])
        source.nudge()
        source.nudge()
        source.push([4, 5, 6])
        #expect(try client.answer().body == [1, 2, 3, 4, 5, 6])
        server.wait { source.closeCount == 1 }
        source.nudge()
        server.stop()
        source.nudge()
    }

    @Test func `requests that arrive while a source waits stay in order`() throws {
        let source = PushSource()
        let server = try serve { request in
            request.target == "/1" ? Response(200, body: .source(source, length: nil)) : Response(200, body: .bytes([2]))
        }
        let client = try server.connect()
        client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait { server.server.counters.requests == 1 }
        client.send("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        source.push([1], then: .end)
        #expect(try client.answer().body == [1])
        #expect(try client.answer().body == [2])
        server.stop()
    }

    @Test func `the server notices a client that leaves while the source waits`() throws {
        let closed = Gate()
        let source = PushSource(onClose: { closed.open() })
        let server = try serve { _ in Response(200, body: .source(source, length: nil)) }
        let client = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait { server.server.counters.requests == 1 }
        client.close()
        closed.wait()
        source.push([1])
        #expect(source.closeCount == 1)
        server.stop()
    }

    // MARK: Cold files

    @Test func `a file that is not in memory is read on a lane, and delays no other client`() throws {
        let file = try TestFile(count: 3 << 20)
        let lane = HeldMailbox()
        let asked = Locked<[Range<Int64>]>([])
        let server = try serve({ options in
            options.coldReads = ColdReads(
                lane: lane, isResident: { _, offset, _ in offset != 0 },
                readAhead: { _, offset, count in asked.withLock { $0.append(offset..<offset + Int64(count)) } })
        }) { request in
            request.target == "/cold"
                ? Response(200, body: .source(FileSource(file, 0..<3 << 20), length: 3 << 20)) : Response(200, body: .bytes([7]))
        }
        let cold = try server.connect(), other = try server.connect(), leaving = try server.connect()
        for client in [cold, leaving] { client.send("GET /cold HTTP/1.1\r\nHost: a\r\n\r\n") }
        server.wait { lane.count == 2 }
        for _ in 0..<10 { #expect(try other.get("/").body == [7]) }
        leaving.close()
        lane.run()
        #expect(try cold.answer().body == file.bytes)
        server.wait { server.server.counters.openConnections == 2 }
        #expect(asked.withLock { $0 } == [0..<1 << 20, 0..<1 << 20], "each read ahead is at most 1 MiB")
        server.stop()
    }

    @Test(arguments: [true, false])
    func `a client that has closed its sending side gets a cold file to its end`(isBefore: Bool) throws {
        let file = try TestFile(count: 3 << 20)
        let lane = HeldMailbox()
        let server = try serve({ options in
            options.coldReads = ColdReads(lane: lane, isResident: { _, offset, _ in offset != 0 }, readAhead: { _, _, _ in })
        }) { _ in Response(200, body: .source(FileSource(file, 0..<3 << 20), length: 3 << 20)) }
        let client = try server.connect(receiveBuffer: 65536)
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        if isBefore { client.finishSending() }
        server.wait { lane.count == 1 }
        if !isBefore { client.finishSending() }
        // One turn of the loop later, the server has seen the end.
        _ = (server.counters, server.counters)
        lane.run()
        #expect(try client.answer().body == file.bytes)
        #expect(try client.isAtEnd())
        server.stop()
    }

    @Test func `bytes behind the last request of a connection take nothing of its response`() throws {
        let file = try TestFile(count: 8 << 20)
        let server = try serve({ _ in }) { _ in Response(200, body: .source(FileSource(file, 0..<8 << 20), length: 8 << 20)) }
        let client = try server.connect(receiveBuffer: 65536)
        client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        server.wait { server.server.counters.requests == 1 }
        client.send("\r\n")
        #expect(try client.answer().body == file.bytes)
        server.stop()
    }

    // MARK: Several ranges

    @Test func `several ranges are sent as one body of known length`() throws {
        let file = try TestFile(count: 100_000)
        let ranges = [0..<10, 500..<70_000, 99_999..<100_000] as [Range<Int64>]
        let closes = Locked(0)
        let server = try serve { _ in
            let parts = ranges.map { range in
                MultipartByteRanges.Part(ByteRange(lower: range.lowerBound, upper: range.upperBound)) {
                    FileSource(file, range) { closes.withLock { $0 += 1 } }
                }
            }
            let body = MultipartByteRanges(parts: parts, partType: "video/mp4", total: 100_000, boundary: "SEP")
            return Response(206, fields: ["Content-Type": body.contentType], body: .source(body, length: body.length))
        }
        let client = try server.connect(receiveBuffer: 8192)
        let answer = try client.get("/")
        #expect(answer.fields["content-type"] == "multipart/byteranges; boundary=SEP")
        var expected: [UInt8] = []
        for (index, range) in ranges.enumerated() {
            expected += Array(
                """
                \(index == 0 ? "" : "\r\n")--SEP\r\nContent-Type: video/mp4\r\n\
                Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/100000\r\n\r\n
                """.utf8)
            expected += file.bytes[Int(range.lowerBound)..<Int(range.upperBound)]
        }
        expected += Array("\r\n--SEP--\r\n".utf8)
        #expect(answer.body == expected)
        #expect(server.onLoop { closes.withLock { $0 } } == 3)
        server.stop()
    }

    @Test func `a part that waits or ends early behaves as on its own`() throws {
        let source = PushSource()
        let server = try serve { _ in
            let part = MultipartByteRanges.Part(ByteRange(lower: 0, upper: 4)) { source }
            let body = MultipartByteRanges(parts: [part], partType: nil, total: nil, boundary: "SEP")
            return Response(206, body: .source(body, length: body.length))
        }
        let client = try server.connect()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait { server.server.counters.requests == 1 }
        source.push([1, 2])
        source.push([3], then: .end)
        #expect(throws: Client.Failure.self) { try client.answer() }
        server.wait { source.closeCount == 1 }
        server.stop()
    }
}

/// A mailbox whose jobs run when the test runs them, on its thread.
final class HeldMailbox: Mailbox {
    private let jobs = Locked<[@Sendable () -> Void]>([])

    var count: Int { jobs.withLock { $0.count } }

    func post(_ job: @escaping @Sendable () -> Void) {
        jobs.withLock { $0.append(job) }
    }

    func run() {
        let taken = jobs.withLock { jobs in
            defer { jobs = [] }
            return jobs
        }
        for job in taken { job() }
    }
}
