import Spool
import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// The requests that reach the origin, and that each is made once.
@Suite(.timeLimit(.minutes(20))) struct ColdStartTests {
    /// The clocks stand still, so a lingering fetch does not end.
    private let time = ManualTime()

    @Test(arguments: StoreKind.allCases)
    func `a cold start makes one origin request, for headers and first bytes`(store: StoreKind) throws {
        let films = (0..<4).map { VirtualResource.film("\($0).mp4", seed: UInt64($0 + 1)) }
        let world = try ProxyWorld(films, store: store, time: time)
        defer { world.stop() }
        let client = try world.connect()
        func asked(_ film: VirtualResource) -> [String?] { world.origin.log.entries.filter { $0.request.url == film.url }.map(\.range) }

        #expect(try client.get(films[0].target).body == films[0].allBytes)
        #expect(asked(films[0]) == ["bytes=0-"])

        #expect(try client.get(films[1].target, ["Range": "bytes=0-1"]).body == films[1].bytes(0..<2))
        #expect(try client.get(films[1].target, ["Range": "bytes=0-"]).body == films[1].allBytes)
        #expect(asked(films[1]) == ["bytes=0-"])

        client.ask(films[2].target, method: "HEAD")
        #expect(try client.answer(to: "HEAD").head.length == 100_000)
        #expect(world.origin.log.handedOver(films[2].url).bytes == 0)
        #expect(try client.get(films[2].target).body == films[2].allBytes)
        #expect(asked(films[2]) == ["bytes=0-"])

        #expect(try client.get(films[3].target, ["If-None-Match": "*"]).status == 304)
        #expect(try client.get(films[3].target).body == films[3].allBytes)
        #expect(asked(films[3]) == ["bytes=0-"])
        for film in films { world.expectWholeHandedOver(film) }
    }

    @Test(arguments: StoreKind.allCases)
    func `clients of one cold resource share a request and see bytes before the origin has finished`(store: StoreKind) throws {
        let film = VirtualResource.film(length: 1 << 20)
        let world = try ProxyWorld([film], store: store, time: time)
        defer { world.stop() }
        world.gate.hold(afterBytes: 65_536)
        let clients = try (0..<8).map { _ in try world.connect() }
        for client in clients { client.ask(film.target) }
        for client in clients {
            #expect(try client.head().length == 1 << 20)
            #expect(try client.compare(65_536, with: film.content, at: 0) == nil)
        }
        #expect(world.asked == ["bytes=0-"])
        #expect(world.origin.log.entries.first?.isOver == false)
        world.gate.open()
        for client in clients { #expect(try client.compare(1 << 20 - 65_536, with: film.content, at: 65_536) == nil) }
        #expect(world.asked == ["bytes=0-"])
        world.expectWholeHandedOver(film)
    }

    @Test(arguments: StoreKind.allCases)
    func `a cancelled transfer keeps its bytes, and the next fetch begins at the first missing one`(store: StoreKind) throws {
        let film = VirtualResource.film(length: 1 << 20)
        let world = try ProxyWorld([film], store: store, time: time)
        defer { world.stop() }
        try cancel(film, in: world, afterBytes: 65_536)
        time.advance(by: .seconds(1))
        try world.wait(for: film.url) { $0.fetches == 0 }
        #expect(try world.status(of: film.url)?.stored.ranges == [ByteRange(lower: 0, upper: 65_536)])
        world.gate.open()
        #expect(try world.get(film.target).body == film.allBytes)
        #expect(world.asked == ["bytes=0-", "bytes=65536-"])
        #expect(world.origin.log.entries.last?.ifRange == film.entityTag)
        world.expectWholeHandedOver(film)
    }

    @Test func `a client that returns within a second takes over the fetch`() throws {
        let film = VirtualResource.film(length: 1 << 20)
        let world = try ProxyWorld([film], time: time)
        defer { world.stop() }
        try cancel(film, in: world, afterBytes: 65_536)
        time.advance(by: .milliseconds(999))
        world.gate.open()
        #expect(try world.get(film.target).body == film.allBytes)
        #expect(world.asked == ["bytes=0-"])
    }

    /// One client takes `bytes` bytes and leaves.
    private func cancel(_ film: VirtualResource, in world: ProxyWorld, afterBytes bytes: Int64) throws {
        world.gate.hold(afterBytes: bytes)
        let leaving = try world.connect()
        leaving.ask(film.target)
        _ = try leaving.head()
        #expect(try leaving.compare(bytes, with: film.content, at: 0) == nil)
        leaving.hangUp()
        try world.wait(for: film.url) { $0.readers == 0 }
    }

    @Test(arguments: StoreKind.allCases)
    func `a seek fetches the missing bytes, and none twice`(store: StoreKind) throws {
        let film = VirtualResource.film(length: 8 << 20)
        let world = try ProxyWorld([film], store: store, time: time)
        defer { world.stop() }
        let client = try world.connect()
        let mebibyte = 1 << 20
        for range in [0..<mebibyte, 4 * mebibyte..<5 * mebibyte, 8 * mebibyte - 100..<8 * mebibyte, mebibyte / 2..<2 * mebibyte] {
            let answer = try client.get(film.target, ["Range": "bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
            #expect(answer.body == film.bytes(range), "\(range)")
        }
        client.ask(film.target)
        _ = try client.head()
        #expect(try client.compare(film.length, with: film.content, at: 0) == nil)
        world.expectWholeHandedOver(film)
        #expect(world.origin.log.handedOver(film.url).duplicateBytes == 0)
    }

    @Test func `stored resources play in a new process while the origin is gone`() throws {
        let films = [VirtualResource.film(length: 3_000_000), VirtualResource.film("song.mp3", seed: 2)]
        let directory = try TemporaryDirectory()
        let first = try ProxyWorld(films, store: .files, directory: directory, time: time)
        for film in films { _ = try first.get(film.target) }
        first.stop()

        let second = try ProxyWorld(films, store: .files, directory: directory, time: time)
        defer { second.stop() }
        second.origin.setOffline(true)
        for film in films {
            let answer = try second.get(film.target)
            #expect(answer.body == film.allBytes)
            #expect(answer["Cache-Status"] == "spool; hit")
            #expect(answer["ETag"] == film.entityTag && answer["Content-Type"] == film.contentType)
            #expect(try second.get(film.target, ["Range": "bytes=-100"]).body == film.allBytes.suffix(100))
        }
        #expect(second.asked.isEmpty)
    }
}
