import Spool
import SpoolCore
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// Several requests on one connection, and several connections.
@Suite(.timeLimit(.minutes(20))) struct ConnectionTests {
    @Test(arguments: StoreKind.allCases)
    func `a connection is kept open for the next request`(store: StoreKind) throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], store: store)
        defer { world.stop() }
        let client = try world.connect()
        for index in 0..<50 {
            let answer = try client.get(film.target, ["Range": "bytes=\(index * 1000)-\(index * 1000 + 99)"])
            #expect(answer["Connection"] == nil)
            #expect(answer.body == film.bytes(index * 1000..<index * 1000 + 100))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `pipelined requests are answered in order, the slow one first`(store: StoreKind) throws {
        let films = (0..<5).map { VirtualResource.film("\($0).mp4", seed: UInt64($0 + 1)) }
        let world = try ProxyWorld(films, store: store)
        defer { world.stop() }
        // The last one is stored, so its answer is ready long before the others'.
        _ = try world.get(films[4].target)
        let client = try world.connect()
        for film in films { client.ask(film.target, ["Range": "bytes=100-40000"]) }
        client.ask(films[0].target, method: "HEAD")
        client.ask("/nonsense")
        client.ask(films[1].target)
        for film in films { #expect(try client.answer().body == film.bytes(100..<40_001)) }
        #expect(try client.answer(to: "HEAD")["Content-Length"] == "100000")
        #expect(try client.answer().status == 404)
        #expect(try client.answer().body == films[1].allBytes)
    }

    @Test func `the proxy obeys Connection close and speaks HTTP 1.0`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film])
        defer { world.stop() }
        let closing = try world.connect()
        let answer = try closing.get(film.target, ["Connection": "close"])
        #expect(answer["Connection"] == "close")
        #expect(answer.body == film.allBytes)
        #expect(try closing.isAtEnd())

        let old = try world.connect()
        old.write("GET \(film.target) HTTP/1.0\r\n\r\n")
        #expect(try old.answer().body == film.allBytes)
        #expect(try old.isAtEnd())
    }

    @Test func `a client that reads slowly does not slow another one`() throws {
        let film = VirtualResource.film(length: 8 << 20)
        let world = try ProxyWorld([film], store: .files)
        defer { world.stop() }
        let slow = try world.connect(receiveBuffer: 4096)
        slow.ask(film.target)
        let head = try slow.head()
        #expect(head.status == 200)
        // The slow client reads nothing more until the fast one has everything, twice.
        let fast = try world.connect()
        for _ in 0..<2 {
            fast.ask(film.target)
            #expect(try fast.head().length == 8 << 20)
            #expect(try fast.compare(8 << 20, with: film.content, at: 0) == nil)
        }
        #expect(try slow.compare(8 << 20, with: film.content, at: 0) == nil)
        #expect(world.origin.log.handedOver(film.url).duplicateBytes == 0)
    }

    @Test func `a client that leaves in the middle disturbs no other client`() throws {
        let film = VirtualResource.film(length: 4 << 20)
        let world = try ProxyWorld([film], store: .files)
        defer { world.stop() }
        world.gate.hold(afterBytes: 1 << 20)
        let staying = try world.connect()
        staying.ask(film.target)
        #expect(try staying.head().status == 200)
        for _ in 0..<20 {
            let leaving = try world.connect()
            leaving.ask(film.target, ["Range": "bytes=0-"])
            _ = try leaving.head()
            leaving.hangUp()
        }
        try world.wait(for: film.url) { $0.readers == 1 }
        world.gate.open()
        #expect(try staying.compare(4 << 20, with: film.content, at: 0) == nil)
        #expect(world.asked == ["bytes=0-"])
    }

    @Test func `every answer is logged, without the query`() throws {
        let film = VirtualResource.film("film.mp4?signature=abc")
        let records = Locked<[ProxyRecord]>([])
        let world = try ProxyWorld([film], options: { $0.onResponse = { record in records.withLock { $0.append(record) } } })
        let client = try world.connect()
        _ = try client.get(film.target, ["Range": "bytes=0-9"])
        client.ask(film.target, method: "HEAD")
        _ = try client.answer(to: "HEAD")
        _ = try client.get("/nonsense")
        client.write("nonsense\r\n\r\n")
        _ = try client.answer()
        world.stop()
        let found = records.withLock { $0 }
        #expect(found.map(\.status) == [206, 200, 404, 400])
        #expect(found.map(\.method) == ["GET", "HEAD", "GET", ""])
        #expect(found.prefix(2).map(\.target) == Array(repeating: "http://media.example/film.mp4", count: 2))
        #expect(found[0].bytesSent == 10 && found[0].problem == nil)
        #expect(found[1].bytesSent == 0)
        #expect(found[3].problem != nil)
    }
}
