import Foundation
import Spool
import SpoolCore
import SpoolDashboard
import SpoolProxy
import SpoolTesting
import Testing

/// The pages below `/_spool/`.
@Suite(.timeLimit(.minutes(20))) struct OwnPagesTests {
    private struct Listing: Decodable {
        struct Resource: Decodable {
            var key: String
            var url: String
            var type: String?
            var length: Int64?
            var stored: [[Int64]]
            var storedBytes: Int64
            var complete: Bool
            var readers: Int
            var fetches: Int
            var play: String?
        }
        struct Statistics: Decodable {
            var fetchedBytes: Int64
            var originRequests: Int64
            var bytesFromStore: Int64
            var bytesFromOrigin: Int64
            var hitRatio: Double
        }
        struct Track: Decodable {
            var title: String
            var play: String?
        }
        var resources: [Resource]
        var statistics: Statistics
        var demo: [Track]
    }

    private func listing(_ client: ProxyClient, prefix: String = "/") throws -> Listing {
        let answer = try client.get("\(prefix)_spool/api/resources")
        #expect(answer.status == 200)
        #expect(answer["Content-Type"] == "application/json")
        return try JSONDecoder().decode(Listing.self, from: Data(answer.body))
    }

    @Test func `the status page is HTML, and all its addresses redirect to one`() throws {
        let world = try ProxyWorld(options: { $0.token = "secret" })
        defer { world.stop() }
        let client = try world.connect()
        let page = try client.get("/secret/_spool/")
        #expect(page.status == 200 && page["Content-Type"] == "text/html; charset=utf-8" && !page.body.isEmpty)
        for target in ["/secret", "/secret/", "/secret/?x=1", "/secret/_spool"] {
            let answer = try client.get(target)
            #expect(answer.status == 302 && answer["Location"] == "/secret/_spool/", "\(target)")
        }
        client.ask("/secret/_spool/", method: "HEAD")
        let head = try client.answer(to: "HEAD")
        #expect(head.status == 200 && head.head.length == page.body.count)
    }

    @Test(arguments: StoreKind.allCases)
    func `the proxy's listing has the stored ranges, readers and fetches of each resource`(store: StoreKind) throws {
        let time = ManualTime()
        let films = [VirtualResource.film(), VirtualResource.film("z.mp4?a=\"<&>\\'é".addingEncoding, seed: 2, length: 1 << 20)]
        let world = try ProxyWorld(
            films, store: store, time: time, dashboard: { $0.demoTracks = [DemoTrack(title: "A \"song\"\n", url: films[0].url)] })
        defer { world.stop() }
        let client = try world.connect()
        #expect(try listing(client).resources.isEmpty)
        _ = try client.get(films[0].target)
        try world.wait(for: films[0].url) { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
        world.gate.hold(afterBytes: 65_536)
        let playing = try world.connect()
        playing.ask(films[1].target)
        _ = try playing.head()

        let found = try listing(client)
        #expect(found.resources.map(\.url) == films.map(\.url))
        #expect(found.demo.map(\.title) == ["A \"song\"\n"])
        #expect(found.resources.map(\.length) == [100_000, 1 << 20])
        #expect(found.resources.map(\.complete) == [true, false])
        #expect(found.resources[0].stored == [[0, 100_000]] && found.resources[0].storedBytes == 100_000)
        #expect(found.resources.map(\.type) == ["video/mp4", "video/mp4"])
        #expect(found.resources.map(\.readers) == [0, 1] && found.resources.map(\.fetches) == [0, 1])
        #expect(found.statistics.originRequests == 2)
        #expect(found.statistics.fetchedBytes >= 100_000)
        // The URL that the page plays serves the listed resource.
        world.gate.open()
        for (resource, film) in zip(found.resources, films) {
            #expect(try client.get(try #require(resource.play)).body == film.allBytes)
        }
    }

    @Test func `the status has sums and the resources in use, and the metrics have the same numbers`() throws {
        let films = [VirtualResource.film(), VirtualResource.film("z.mp4", seed: 2, length: 1 << 20)]
        let world = try ProxyWorld(films, time: ManualTime(), options: { $0.token = "secret" })
        defer { world.stop() }
        let client = try world.connect()
        _ = try client.get("/secret" + films[0].target)
        try world.wait(for: films[0].url) { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
        world.gate.hold(afterBytes: 65_536)
        let playing = try world.connect()
        playing.ask("/secret" + films[1].target)
        _ = try playing.head()

        let answer = try client.get("/secret/_spool/api/status")
        #expect(answer.status == 200 && answer["Content-Type"] == "application/json")
        let status = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        let active = try #require(status["active"] as? [[String: Any]])
        #expect(active.map { $0["key"] as? String } == [films[1].url])
        #expect(active[0]["length"] as? Int == 1 << 20 && active[0]["readers"] as? Int == 1 && active[0]["fetches"] as? Int == 1)
        #expect(status["activeResources"] as? Int == 1 && status["readers"] as? Int == 1)
        let store = try #require(status["store"] as? [String: Any])
        #expect(store["resources"] as? Int ?? 0 >= 1 && store["writable"] as? Bool == true)

        let metrics = try client.get("/secret/_spool/metrics")
        #expect(metrics["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
        let lines = metrics.text.split(separator: "\n")
        #expect(lines.contains("spool_origin_requests_total 2") && lines.contains("spool_readers 1"))
        // Each value has a line with its type, as the format demands.
        for line in lines where !line.hasPrefix("#") {
            let name = line.prefix { !" {".contains($0) }.replacing(/_(bucket|sum|count)$/, with: "")
            #expect(lines.contains { $0.hasPrefix("# TYPE \(name) ") } && lines.contains { $0.hasPrefix("# HELP \(name) ") }, "\(line)")
            #expect(line.split(separator: " ").last.flatMap { Double($0) } != nil)
        }
        // The monitor's own requests do not hide those of players.
        #expect(lines.contains("spool_responses_total{route=\"media\",status=\"200\"} 2"))
        #expect(lines.contains("spool_responses_total{route=\"pages\",status=\"200\"} 1"))
        #expect(lines.contains("spool_connections 2"))
    }

    @Test(arguments: [nil, Int64(1) << 60])
    func `the metric of a store is 0 when its disk has no room`(minimumFreeBytes: Int64?) throws {
        let world = try ProxyWorld(store: .files, configuration: { $0.limits.minimumFreeBytes = minimumFreeBytes })
        defer { world.stop() }
        let lines = try world.get("/_spool/metrics").text.split(separator: "\n")
        #expect(lines.contains("spool_store_writable \(minimumFreeBytes == nil ? 1 : 0)"))
    }

    /// A probe needs no page secret, but the token of the server.
    @Test func `the health path answers in every mode, also when the cache is closed`() throws {
        for origin in [nil, "http://media.example"] {
            let world = try ProxyWorld(options: { $0.fixedOrigin = origin })
            let client = try world.connect()
            let answer = try client.get("/_spool/health")
            #expect(answer.status == 200 && answer.text == "ok\n" && answer["Cache-Control"] == "no-store")
            world.stop()
        }
        let world = try ProxyWorld(options: { $0.token = "secret" })
        defer { world.stop() }
        let client = try world.connect()
        #expect(try client.get("/_spool/health").status == 403)
        #expect(try client.get("/secret/_spool/health").status == 200)
        #expect(try client.get("/secret/_spool/x/api/status").status == 404)
    }

    @Test func `a closed cache answers 503 at once`() throws {
        let film = VirtualResource.film()
        let world = try ProxyWorld([film])
        defer { world.proxy.stop() }
        let client = try world.connect()
        _ = try client.get(film.target)
        world.closeCache()
        world.cache.environment.shutDown()
        #expect(try client.get(film.target).status == 503)
        #expect(try client.get("/_spool/api/resources").status == 503)
        #expect(try client.get("/_spool/").status == 200)
    }
}

extension String {
    /// The text as a client sends it: bytes outside ASCII and quotes escaped.
    fileprivate var addingEncoding: String {
        utf8.map { $0 > 0x7F ? "%" + String($0, radix: 16, uppercase: true) : String(Unicode.Scalar($0)) }.joined()
    }
}
