import Spool
import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// An origin that is away, refuses, breaks off or changes the resource.
@Suite(.timeLimit(.minutes(20))) struct TroubleTests {
    private let time = ManualTime()

    @Test func `an unreachable origin gives 502 and the reason`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], time: time)
        defer { world.stop() }
        world.origin.setOffline(true)
        let client = try world.connect()
        for fields in [[:], ["Range": "bytes=5000-"], ["Range": "bytes=-5"], ["Range": "bytes=0-9,50-59"]] as [HTTPFields] {
            let answer = try client.get(film.target, fields)
            #expect(answer.status == 502)
            #expect(answer.text.contains("can't be reached") && answer.text.contains("connection refused"), "\(answer.text)")
            #expect(answer["Cache-Status"] == "spool; fwd=miss; detail=\"originUnreachable\"")
        }
        client.ask(film.target, method: "HEAD")
        #expect(try client.answer(to: "HEAD").status == 502)
        world.origin.setOffline(false)
        #expect(try client.get(film.target).body == film.allBytes)
    }

    @Test func `a silent origin gives 504`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], time: time, silenceTimeout: .seconds(8)) { _, _ in .silence }
        defer { world.stop() }
        time.flow()
        let answer = try world.get(film.target)
        #expect(answer.status == 504)
        #expect(answer.text.contains("silent"))
    }

    @Test(arguments: [
        (401, 401), (403, 403), (404, 404), (410, 410), (429, 429), (451, 451), (500, 500), (503, 503),
        (204, 204), (300, 300), (999, 999),
        // Passed on, this would describe the client's own request.
        (304, 502),
    ])
    func `an origin's other status is passed on`(status: Int, expected: Int) throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], time: time) { _, ordinal in
            ordinal == 0 ? .status(status, body: Array("go away".utf8)) : .correct
        }
        defer { world.stop() }
        let client = try world.connect()
        let answer = try client.get(film.target)
        #expect(answer.status == expected)
        // A client gets the origin's own words.
        if status == expected {
            #expect(answer.text == (status == 204 ? "" : "go away"))
        } else {
            #expect(answer.text.contains("the origin answered \(status)"))
        }
        #expect(answer["Cache-Status"]?.contains("fwd-status=\(status)") == true)
        // The refusal is not stored.
        #expect(try client.get(film.target).body == film.allBytes)
    }

    /// Browsers and players show or play the body of a 300. Only a client that chooses goes on.
    @Test(arguments: [
        ("other.mp4", "http://media.example/a/other.mp4"), ("/other.mp4?x#t=5", "http://media.example/other.mp4?x#t=5"),
        ("https://cdn.example/x.mp4", "https://cdn.example/x.mp4"), ("rtsp://cam.example/1", "rtsp://cam.example/1"), ("http://[/", nil),
    ])
    func `a choice of resources is passed on, and its Location leads to the origin`(location: String, expected: String?) throws {
        let film = VirtualResource.film("a/film.mp4")
        let world = try ProxyWorld([film], time: time) { _, _ in
            .status(300, fields: ["Location": location], body: Array("choose".utf8))
        }
        defer { world.stop() }
        let answer = try world.get(film.target)
        #expect(answer.status == 300 && answer.text == "choose" && answer["Location"] == expected, "\(answer.head)")
    }

    @Test func `the page of another status without a length is whole for a client that asks for later bytes`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], time: time) { _, _ in .without(["Content-Length"], .status(404, body: Array("go away".utf8))) }
        defer { world.stop() }
        let client = try world.connect()
        client.ask(film.target, ["Range": "bytes=50000-"])
        let (answer, isWhole) = try client.answerOrPart()
        #expect(answer.status == 404 && answer.text == "go away" && isWhole)
    }

    @Test(arguments: StoreKind.allCases)
    func `without its origin a resource plays its stored part, then the connection closes short`(store: StoreKind) throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], store: store, time: time)
        defer { world.stop() }
        try storeBeginning(of: film, in: world)
        world.origin.setOffline(true)
        time.flow()

        let part = try world.connect()
        part.ask(film.target, ["Range": "bytes=100-99999"])
        let head = try part.head()
        #expect(head.status == 206 && head.length == 99_900)
        #expect(head["Cache-Status"] == "spool; fwd=partial")
        #expect(try part.rest() == film.bytes(100..<65_536))

        let whole = try world.connect()
        whole.ask(film.target)
        #expect(try whole.head().length == 100_000)
        #expect(try whole.rest() == film.bytes(0..<65_536))

        let client = try world.connect()
        #expect(try client.get(film.target, ["Range": "bytes=0-65535"]).body == film.bytes(0..<65_536))
        let missing = try client.get(film.target, ["Range": "bytes=65536-"])
        #expect(missing.status == 502 && missing.text.contains("can't be reached"))
        client.ask(film.target, method: "HEAD")
        #expect(try client.answer(to: "HEAD").head.length == 100_000)
    }

    /// Stores the first 64 KiB and waits until no fetch runs.
    private func storeBeginning(of film: VirtualResource, in world: ProxyWorld) throws {
        world.gate.hold(afterBytes: 65_536)
        #expect(try world.get(film.target, ["Range": "bytes=0-65535"]).body == film.bytes(0..<65_536))
        try world.wait(for: film.url) { $0.readers == 0 }
        time.advance(by: .seconds(1))
        try world.wait(for: film.url) { $0.fetches == 0 && $0.stored.ranges == [ByteRange(lower: 0, upper: 65_536)] }
        world.gate.open()
    }

    @Test func `only-if-cached is served from the store alone, as a whole or not at all`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], time: time)
        defer { world.stop() }
        let client = try world.connect()
        func get(_ range: String?) throws -> ProxyClient.Answer {
            try client.get(
                film.target,
                HTTPFields(
                    [.init(name: "Cache-Control", value: "only-if-cached")] + (range.map { [.init(name: "Range", value: $0)] } ?? [])))
        }
        let cold = try get(nil)
        #expect(cold.status == 504 && cold.text.contains("not stored"))
        #expect(world.asked.isEmpty)
        try storeBeginning(of: film, in: world)
        #expect(try get("bytes=10-65535").body == film.bytes(10..<65_536))
        for range in [nil, "bytes=65535-65536", "bytes=70000-", "bytes=0-9,90000-"] {
            #expect(try get(range).status == 504, "\(range ?? "whole")")
        }
        #expect(world.asked == ["bytes=0-"])
        _ = try client.get(film.target)
        // The last bytes may reach the client before the store.
        try world.wait(for: film.url) { $0.isComplete }
        #expect(try get(nil).body == film.allBytes)
    }

    @Test(arguments: StoreKind.allCases)
    func `a broken transfer resumes where it broke off`(store: StoreKind) throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film], store: store, time: time) { _, ordinal in
            ordinal < 2 ? .cut(afterBytes: 30_000, .reset, .correct) : .correct
        }
        defer { world.stop() }
        time.flow()
        #expect(try world.get(film.target).body == film.allBytes)
        #expect(world.asked == ["bytes=0-", "bytes=30000-", "bytes=60000-"])
        #expect(world.origin.log.entries.dropFirst().allSatisfy { $0.ifRange == film.entityTag })
    }

    @Test(arguments: StoreKind.allCases)
    func `a resource that changes during an answer ends it short, never mixed`(store: StoreKind) throws {
        let film = VirtualResource.film(), changed = film.version(seed: 2)
        let world = try ProxyWorld([film], store: store, time: time)
        defer { world.stop() }
        world.gate.hold(afterBytes: 32_768)
        let playing = try world.connect()
        playing.ask(film.target)
        #expect(try playing.head()["ETag"] == film.entityTag)
        #expect(try playing.compare(32_768, with: film.content, at: 0) == nil)
        world.origin.serve(changed)
        world.origin.setOffline(true, breaksTransfers: true)
        world.wait("the transfer breaks off") { world.origin.log.entries.allSatisfy(\.isOver) }
        world.origin.setOffline(false)
        world.gate.open()
        time.flow()
        #expect(try playing.rest().isEmpty)
        let answer = try world.get(film.target)
        #expect(answer["ETag"] == changed.entityTag)
        #expect(answer.body == changed.allBytes)
    }

    @Test(arguments: StoreKind.allCases)
    func `a resource that changed between two requests is fetched anew`(store: StoreKind) throws {
        let film = VirtualResource.film(), changed = film.version(seed: 2, length: 120_000)
        let world = try ProxyWorld([film], store: store, time: time)
        defer { world.stop() }
        try storeBeginning(of: film, in: world)
        world.origin.serve(changed)
        let client = try world.connect()
        let part = try client.get(film.target, ["Range": "bytes=70000-79999"])
        #expect(part.status == 206)
        #expect(part["Content-Range"] == "bytes 70000-79999/120000" && part["ETag"] == changed.entityTag)
        #expect(part.body == changed.bytes(70_000..<80_000))
        #expect(part["Cache-Status"] == "spool; fwd=uri-miss")
        #expect(try client.get(film.target).body == changed.allBytes)
    }

    @Test func `one answer never contains parts of two versions`() throws {
        let film = VirtualResource.film(), changed = film.version(seed: 2)
        let world = try ProxyWorld([film], time: time)
        defer { world.stop() }
        try storeBeginning(of: film, in: world)
        world.origin.serve(changed)
        let client = try world.connect()
        client.ask(film.target, ["Range": "bytes=0-99,80000-80099"])
        let head = try client.head()
        #expect(head.status == 206 && head["ETag"] == film.entityTag)
        let body = try client.rest()
        #expect(body.count < head.length ?? 0)
        #expect(body.suffix(2) == Array("\r\n".utf8)[...] || !body.contains(changed.bytes(80_000..<80_100)))
    }
}

extension [UInt8] {
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: part) }
    }
}
