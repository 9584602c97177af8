import Spool
import SpoolCore
import SpoolSystem
import SpoolTesting
import Testing

/// Pages instead of media, as the sign-in of a hotel's network sends them.
@Suite(.timeLimit(.minutes(20))) struct PageTests {
    @Test func `a client without a byte gets the page unchanged, for every range`() throws {
        let film = VirtualResource.film(length: 16 << 20)
        let isAway = Locked(false)
        let page = OriginBehaviour.status(200, fields: ["Content-Type": "text/html"], body: Array("<p>Welcome</p>".utf8))
        let world = try ProxyWorld([film], script: { _, _ in isAway.withLock { $0 } ? page : .correct })
        defer { world.stop() }
        #expect(try world.get("/http/media.example/film.mp4", ["Range": "bytes=0-29999"]).head.status == 206)
        isAway.withLock { $0 = true }
        let answer = try world.get("/http/media.example/film.mp4", ["Range": "bytes=12000000-12000999"])
        #expect(answer.head.status == 200)
        #expect(answer.head["Content-Type"] == "text/html")
        #expect(answer.body == Array("<p>Welcome</p>".utf8))
        isAway.withLock { $0 = false }
        let again = try world.get("/http/media.example/film.mp4", ["Range": "bytes=0-29999"])
        #expect(again.body == film.bytes(0..<30_000))
    }
}
