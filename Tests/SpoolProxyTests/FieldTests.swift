import Spool
import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// The fields of an answer, besides its bytes.
@Suite(.timeLimit(.minutes(20))) struct FieldTests {
    private let time = ManualTime()

    @Test(arguments: StoreKind.allCases)
    func `Cache-Status distinguishes a miss from a hit`(store: StoreKind) throws {
        // Small films are stored before the answer begins, large ones while it goes on. Neither is
        // a hit.
        let films = (0..<40).map { VirtualResource.film("\($0).mp4", seed: UInt64($0 + 1), length: $0 % 2 == 0 ? 10 : 300_000) }
        let world = try ProxyWorld(films, store: store, time: time)
        defer { world.stop() }
        let client = try world.connect()
        for film in films {
            #expect(try client.get(film.target)["Cache-Status"] == "spool; fwd=uri-miss")
            try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 }
            #expect(try client.get(film.target)["Cache-Status"] == "spool; hit")
            #expect(try client.get(film.target, ["Range": "bytes=1-2"])["Cache-Status"] == "spool; hit")
            #expect(try client.get(film.target, ["Range": "bytes=1-2,5-6"])["Cache-Status"] == "spool; hit")
            #expect(try client.get(film.target, ["If-None-Match": "*"])["Cache-Status"] == "spool; hit")
        }
    }

    @Test func `Cache-Status reports a partial hit, and a hit for HEAD and 304`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], time: time)
        defer { world.stop() }
        let client = try world.connect()
        #expect(try client.get(film.target, ["Range": "bytes=0-9"])["Cache-Status"] == "spool; fwd=uri-miss")
        try world.wait(for: film.url) { $0.readers == 0 }
        time.advance(by: .seconds(1))
        try world.wait(for: film.url) { $0.fetches == 0 && !$0.stored.isEmpty }
        client.ask(film.target, method: "HEAD")
        #expect(try client.answer(to: "HEAD")["Cache-Status"] == "spool; hit")
        #expect(try client.get(film.target, ["If-None-Match": "*"])["Cache-Status"] == "spool; hit")
        #expect(try client.get(film.target, ["Range": "bytes=0-9"])["Cache-Status"] == "spool; hit")
        #expect(try client.get(film.target, ["Range": "bytes=50000-"])["Cache-Status"] == "spool; fwd=partial")
        #expect(try client.get(film.target)["Cache-Status"] == "spool; fwd=partial")
    }

    @Test func `Age grows with the clock and includes the age from caches before the proxy`() throws {
        let film = VirtualResource.film()
        var aged = VirtualResource.film("aged.mp4", seed: 2)
        aged.fields = ["Age": "100"]
        let world = try ProxyWorld([film, aged], time: time)
        defer { world.stop() }
        let client = try world.connect()
        #expect(try client.get(film.target)["Age"] == "0")
        #expect(try client.get(aged.target)["Age"] == "100")
        time.advance(by: .seconds(90))
        #expect(try client.get(film.target)["Age"] == "90")
        #expect(try client.get(aged.target, ["Range": "bytes=0-9"])["Age"] == "190")
        #expect(try client.get(film.target, ["If-None-Match": "*"])["Age"] == "90")
    }

    @Test(arguments: StoreKind.allCases)
    func `the origin's fields are passed on unchanged, except those of its connection`(store: StoreKind) throws {
        var film = VirtualResource.film()
        film.contentType = "Audio/MPEG; codecs=\"mp4a.40.2\" ;x=1"
        film.lastModified = Timestamp(seconds: 784_111_777)
        let kept: HTTPFields = [
            "Access-Control-Allow-Origin": "https://player.example", "Access-Control-Expose-Headers": "Content-Length,Content-Range",
            "Cache-Control": "max-age=60,  public", "Content-Location": "/other", "X-Odd": "a,b ;; \"c", "Vary": "Accept",
            "Server": "origin/1.0",
        ]
        film.fields = kept
        for (name, value) in [
            ("Connection", "keep-alive, X-Hop"), ("X-Hop", "1"), ("Keep-Alive", "timeout=5"),
            ("Proxy-Authenticate", "Basic"), ("Upgrade", "h2c"), ("Trailer", "X"),
        ] { film.fields.append(HTTPFields.Name(name), value) }
        let world = try ProxyWorld([film], store: store, time: time)
        defer { world.stop() }
        let client = try world.connect()
        for fields in [[:], [:], ["Range": "bytes=5-9"], ["If-None-Match": "*"]] as [HTTPFields] {
            let answer = try client.get(film.target, fields)
            for field in kept.lines { #expect(answer[field.name] == field.value, "\(field.name) of \(answer.status)") }
            #expect(answer["Content-Type"] == film.contentType && answer["ETag"] == "\"v1\"")
            #expect(answer["Last-Modified"] == "Sun, 06 Nov 1994 08:49:37 GMT")
            #expect(answer.head.fields.values(of: "Date").count == 1)
            for name in ["Connection", "X-Hop", "Keep-Alive", "Proxy-Authenticate", "Upgrade", "Trailer"] {
                #expect(answer[name] == nil, "\(name) of \(answer.status)")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a length that the origin omits is known at the second play`(store: StoreKind) throws {
        var film = VirtualResource.film()
        film.supportsRanges = false
        let world = try ProxyWorld([film], store: store, time: time) { _, _ in .unknownLength(.chunked, .correct) }
        defer { world.stop() }
        let client = try world.connect()
        // The client gets the head before the origin's body has ended. Afterwards the length would
        // be known.
        world.gate.hold(afterBytes: 16_384)
        client.ask(film.target, ["Range": "bytes=0-"])
        let head = try client.head()
        world.gate.open()
        let first = ProxyClient.Answer(head: head, body: try client.chunks())
        #expect(first.status == 200)
        #expect(first["Transfer-Encoding"] == "chunked" && first["Content-Length"] == nil && first["Content-Range"] == nil)
        #expect(first.body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete }
        let second = try client.get(film.target)
        #expect(second["Content-Length"] == "100000" && second["Transfer-Encoding"] == nil)
        #expect(second.body == film.allBytes)
        #expect(try client.get(film.target, ["Range": "bytes=-10"]).body == film.allBytes.suffix(10))
        #expect(world.asked == ["bytes=0-"])
    }

    @Test func `HTTP 1.0 gets a body of unknown length until the connection ends, and a reset if it is cut`() throws {
        var films = ["a.mp3", "b.mp3"].map { VirtualResource.film($0) }
        for index in films.indices { films[index].supportsRanges = false }
        let cut = films[1].url
        let world = try ProxyWorld(films, time: time) { request, _ in
            let whole = OriginBehaviour.unknownLength(.chunked, .correct)
            return request.url == cut ? .cut(afterBytes: 50_000, .close, whole) : whole
        }
        defer { world.stop() }
        let client = try world.connect()
        client.write("GET \(films[0].target) HTTP/1.0\r\n\r\n")
        #expect(try client.answer().body == films[0].allBytes)
        time.flow()
        let other = try world.connect()
        other.write("GET \(films[1].target) HTTP/1.0\r\n\r\n")
        #expect(throws: ProxyClient.Failure.self) { try other.answer() }
    }

    @Test(arguments: StoreKind.allCases)
    func `a no-store response is passed on and never stored`(store: StoreKind) throws {
        var film = VirtualResource.film()
        film.fields = ["Cache-Control": "no-store"]
        let world = try ProxyWorld([film], store: store, time: time)
        defer { world.stop() }
        let client = try world.connect()
        for _ in 0..<3 {
            let answer = try client.get(film.target)
            #expect(answer.body == film.allBytes)
            #expect(answer["Cache-Control"] == "no-store")
            #expect(answer["Cache-Status"] == "spool; fwd=uri-miss")
            #expect(try client.get(film.target, ["Range": "bytes=500-70000"]).body == film.bytes(500..<70_001))
            // The head of such a response goes with its last reader.
            world.wait("nothing of it is left", until: { (try? world.status(of: film.url)) == nil })
        }
        #expect(world.origin.log.handedOver(film.url).bytes >= 3 * film.length)
    }

    @Test(arguments: [nil, "W/\"weak\""] as [String?], StoreKind.allCases)
    func `a resource without a strong validator plays twice and costs one whole response`(tag: String?, store: StoreKind) throws {
        var film = VirtualResource.film()
        film.entityTag = tag
        let world = try ProxyWorld([film], store: store, time: time)
        defer { world.stop() }
        let client = try world.connect()
        #expect(try client.get(film.target).body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete }
        #expect(try client.get(film.target).body == film.allBytes)
        #expect(try client.get(film.target, ["Range": "bytes=500-70000"]).body == film.bytes(500..<70_001))
        #expect(world.asked == ["bytes=0-"])
    }
}
