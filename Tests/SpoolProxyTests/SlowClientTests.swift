import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolServer
import SpoolSystem
import SpoolTesting
import Testing

/// Clients and origins that take all requests for themselves, and clients that still get theirs.
@Suite(.timeLimit(.minutes(20))) struct SlowClientTests {
    @Test func `128 uploads that stand still keep no other request from the origin`() throws {
        let film = VirtualResource.film(), page = VirtualResource.film("page", seed: 2)
        let world = try ProxyWorld([film, page], options: { $0.fixedOrigin = VirtualResource.site })
        defer { world.stop() }
        let length = 20_000
        let uploads = try (0..<128).map { _ in
            let client = try world.connect()
            client.ask("/form", method: "POST", ["Content-Length": "\(length)"])
            client.write("abc")
            return client
        }
        world.wait("uploads run", until: { world.origin.log.entries.count >= 30 })
        #expect(try world.get("/film.mp4").body == film.allBytes)
        #expect(try world.get("/page", ["Cookie": "x"]).body == page.allBytes)
        let client = try world.connect()
        client.ask("/form", method: "POST", ["Content-Length": "5"])
        client.write("hello")
        #expect(try client.answer().status == 200)
        // The waiting uploads come in their turn.
        for upload in uploads { upload.write(String(repeating: "x", count: length - 3)) }
        for upload in uploads { #expect(try upload.answer().status == 200) }
    }

    @Test func `a request that waits for its turn keeps 16 KiB of its body`() {
        let body = TunnelledBody(count: 1_000_000), isWhole = Locked(false), wakes = Locked(0)
        body.onRoom { wakes.withLock { $0 += 1 } }
        body.onWhole { isWhole.withLock { $0 = true } }
        let bytes = [UInt8](repeating: 1, count: 10_000)
        let taken = (0..<3).map { _ in bytes.withUnsafeBytes(body.receive) }
        #expect(taken == [10_000, 6384, 0])
        body.begin()
        #expect(wakes.withLock { $0 } > 0)
        #expect(bytes.withUnsafeBytes(body.receive) == 10_000)
        #expect(!isWhole.withLock { $0 })
        body.ended(isComplete: true)
        #expect(isWhole.withLock { $0 })
    }

    @Test func `origins that stand still after the first bytes keep no client from a healthy one`() throws {
        let films = (0..<66).map { number in
            var film = VirtualResource.film("\(number).mp4", seed: UInt64(number + 1))
            film.url = "http://slow-\(number % 12).example/\(number).mp4"
            return film
        }
        let healthy = VirtualResource.film("healthy.mp4", seed: 99)
        let time = ManualTime()
        let world = try ProxyWorld(
            films + [healthy], time: time,
            script: { request, _ in request.url == healthy.url ? .correct : .stall(afterBytes: 10, .correct) })
        defer { world.stop() }
        let clients = try films.map { film in
            let client = try world.connect()
            client.ask(film.target)
            return client
        }
        world.wait("all slots are taken", until: { world.origin.log.entries.count >= 64 })
        time.advance(by: .seconds(4))
        #expect(try world.get(healthy.target).body == healthy.allBytes)
        withExtendedLifetime(clients) {}
    }
}
