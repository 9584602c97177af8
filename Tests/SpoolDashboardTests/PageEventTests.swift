import Foundation
import Spool
import SpoolCore
import SpoolDashboard
import SpoolProxy
import SpoolTesting
import Testing

/// The events of the status page on real connections.
@Suite(.timeLimit(.minutes(20))) struct PageEventTests {
    private static let path = "/_spool/api/events"

    /// Opens a stream and returns the connection behind its head.
    private func open(_ world: ProxyWorld, _ fields: HTTPFields = [:]) throws -> ProxyClient {
        let client = try world.connect()
        client.ask(Self.path, fields)
        let head = try client.head()
        #expect(head.status == 200 && head.fields["Content-Type"] == "text/event-stream", "\(head)")
        return client
    }

    /// Returns the next line of a stream, without the lines that frame its chunks.
    private func line(_ client: ProxyClient) throws -> String {
        while true {
            var bytes: [UInt8] = []
            while bytes.last != UInt8(ascii: "\n") { bytes += try client.take(1) }
            if bytes.dropLast().last != UInt8(ascii: "\r") { return String(decoding: bytes.dropLast(), as: UTF8.self) }
        }
    }

    /// Returns the next event of a stream, without its comments.
    private func event(_ client: ProxyClient) throws -> (id: String, members: [String: Any]) {
        while true {
            let first = try line(client)
            if first.isEmpty || first.hasPrefix(":") { continue }
            #expect(first.hasPrefix("id: "))
            #expect(try line(client) == "event: status")
            let data = try line(client)
            let members = try JSONSerialization.jsonObject(with: Data(data.dropFirst("data: ".count).utf8)) as? [String: Any]
            return (String(first.dropFirst("id: ".count)), try #require(members))
        }
    }

    private func waitForEvent(_ client: ProxyClient, until condition: ([String: Any]) -> Bool) throws -> (
        id: String, members: [String: Any]
    ) {
        while true {
            let event = try event(client)
            if condition(event.members) { return event }
        }
    }

    @Test func `an event has the state, and another one follows when a film is fetched`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film])
        defer { world.stop() }
        let stream = try open(world)
        let first = try event(stream)
        #expect((first.members["statistics"] as? [String: Any])?["originRequests"] as? Int == 0)
        _ = try world.get(film.target)
        // One event may have all of it. The next one comes with the next change only.
        let last = try waitForEvent(stream) { members in
            (members["statistics"] as? [String: Any])?["fetchedBytes"] as? Int == 100_000
                && (members["store"] as? [String: Any])?["resources"] as? Int == 1 && members["readers"] as? Int == 0
        }
        #expect(last.id != first.id && last.members["revision"] as? Int != first.members["revision"] as? Int)
        let other = try open(world)
        #expect(try event(other).members["revision"] as? Int ?? 0 >= last.members["revision"] as? Int ?? 0, "a page begins with the state")
        let removed = Awaited(false)
        world.cache.remove(ResourceKey(normalized: film.url)) { _ in removed.change { $0 = true } }
        #expect(removed.wait { $0 })
        _ = try waitForEvent(other) { ($0["store"] as? [String: Any])?["resources"] as? Int == 0 }
    }

    /// Returns the notices of a kind in an event.
    private func notices(_ kind: String, in members: [String: Any]) -> [[String: Any]] {
        ((members["notices"] as? [[String: Any]]) ?? []).filter { $0["kind"] as? String == kind }
    }

    @Test func `an event has what happened and why, also what happened before the page was opened`() throws {
        let film = VirtualResource.film(), lost = VirtualResource.film("lost.mp4", seed: 2)
        let world = try ProxyWorld(
            [film, lost],
            script: { request, _ in request.url == lost.url ? .refuse : .fields(["Cache-Control": "no-store"], .correct) })
        defer { world.stop() }
        _ = try world.get(film.target)
        #expect(try world.get(lost.target).status == 502)
        for _ in 1...2 { #expect(try world.get("/ftp/media.example/film.mp4").status >= 400) }
        #expect(try world.get(film.target, ["Origin": "http://user:s3cret@evil.example/?s3cret", "Cookie": "a=1"]).status == 403)
        let stream = try open(world)
        let event = try waitForEvent(stream) { members in
            !notices("notStored", in: members).isEmpty && !notices("originFailed", in: members).isEmpty
                && !notices("refused", in: members).isEmpty
        }
        let notStored = notices("notStored", in: event.members)
        #expect(notStored.first?["key"] as? String == film.url)
        #expect((notStored.first?["because"] as? String)?.contains("no-store") == true)
        #expect(notices("originFailed", in: event.members).first?["key"] as? String == lost.url)
        let refused = notices("refused", in: event.members)
        #expect((refused.first?["because"] as? String)?.hasPrefix("403: ") == true && !"\(refused)".contains("s3cret"), "\(refused)")
        #expect(refused.first?["key"] is NSNull)
        #expect(refused.last?["count"] as? Int == 2, "equal refusals are one entry")
    }

    @Test func `streams beyond the limit are refused with a code, until one closes`() throws {
        let world = try ProxyWorld()
        defer { world.stop() }
        var streams = try (0..<PageFeed.pageLimit).map { _ in try open(world) }
        let refused = try world.get(Self.path)
        #expect(refused.status == 503 && refused.text.contains("\"code\":\"tooMany\""))
        streams.removeLast().hangUp()
        world.wait("a stream is free") {
            guard let client = try? world.connect() else { return false }
            client.ask(Self.path)
            return (try? client.head().status) == 200
        }
    }

    @Test func `streams end when the proxy stops, and hold up nothing`() throws {
        let world = try ProxyWorld()
        defer { world.stop() }
        let stream = try open(world)
        _ = try event(stream)
        world.proxy.stop(grace: .seconds(3600))
        #expect(try stream.rest().suffix(5) == Array("0\r\n\r\n".utf8))
    }

    @Test func `a foreign site gets no events`() throws {
        let world = try ProxyWorld()
        defer { world.stop() }
        let cases: [HTTPFields] = [
            ["Origin": "http://evil.example"], ["Sec-Fetch-Site": "cross-site"],
            [
                "Referer": "http://evil.example/", "User-Agent": "Mozilla/5.0", "Accept-Language": "en", "Accept-Encoding": "gzip",
            ], ["Host": "evil.example"],
        ]
        for fields in cases {
            let client = try world.connect()
            client.ask(Self.path, fields)
            #expect([403, 421].contains(try client.head().status), "\(fields)")
        }
        let closed = try ProxyWorld(options: { $0.token = "secret" })
        defer { closed.stop() }
        #expect(try closed.get(Self.path).status == 403)
    }
}
