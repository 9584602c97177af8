import Foundation
import Spool
import SpoolCore
import SpoolDashboard
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// The list of resources at `/_spool/api/resources`, in windows.
@Suite(.timeLimit(.minutes(20))) struct ResourceListTests {
    private struct Listing: Decodable {
        struct Resource: Decodable, Equatable {
            struct Presentation: Decodable, Equatable {
                var storedBytes: Int64
                var resources: Int
                var complete: Bool
                var live: Bool
            }
            var key: String
            var used: Int64?
            var presentation: Presentation?
        }
        struct Track: Decodable {
            var resource: Resource?
        }
        var total: Int
        var matching: Int
        var offset: Int
        var truncated: Bool
        var storedBytes: Int64
        var resources: [Resource]
        var named: Resource?
        var demo: [Track]
    }

    private func list(_ client: ProxyClient, _ query: String = "") throws -> Listing {
        let answer = try client.get("/_spool/api/resources?" + query)
        #expect(answer.status == 200)
        return try JSONDecoder().decode(Listing.self, from: Data(answer.body))
    }

    @Test(arguments: StoreKind.allCases)
    func `windows of a search follow each other and leave nothing out`(store: StoreKind) throws {
        let films = (0..<12).map {
            VirtualResource.film("film \($0).mp4".replacingOccurrences(of: " ", with: "%20"), length: 100 + Int64($0))
        }
        let world = try ProxyWorld(films, store: store, time: ManualTime())
        defer { world.stop() }
        let client = try world.connect()
        for film in films {
            _ = try client.get(film.target)
            try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
        }
        var found: [String] = []
        for offset in stride(from: 0, to: 15, by: 5) {
            let page = try list(client, "search=film%201&sort=size&order=desc&offset=\(offset)&limit=2")
            #expect(page.total == 12 && page.matching == 3 && page.offset == offset && !page.truncated)
            found += page.resources.map(\.key)
        }
        #expect(found == [films[11].url, films[10].url])
        #expect(try list(client, "limit=0").resources.isEmpty)
        #expect(try list(client, "limit=-5&offset=-1").resources.isEmpty)
        #expect(try list(client, "offset=99999999999999999999").resources.count == 12, "a number that can't be read is none")
    }

    @Test(arguments: StoreKind.allCases)
    func `a resource that is stored or removed after a look is in the next one, or not`(store: StoreKind) throws {
        let films = [VirtualResource.film(), VirtualResource.film("z.mp4", seed: 2)]
        let world = try ProxyWorld(films, store: store, time: ManualTime())
        defer { world.stop() }
        let client = try world.connect()
        #expect(try list(client).total == 0)
        for (count, film) in films.enumerated() {
            _ = try client.get(film.target)
            try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
            #expect(try list(client).resources.count == count + 1)
        }
        let isOver = DispatchSemaphore(value: 0)
        world.cache.remove(ResourceKey(normalized: films[0].url)) { _ in isOver.signal() }
        isOver.wait()
        let left = try list(client)
        #expect(left.total == 1 && left.resources.map(\.key) == [films[1].url])
    }

    @Test func `a presentation is one line of the page, its parts share its fate, and scripts get each`() throws {
        let base = "http://media.example/hls/"
        let segment = DocumentOrigin.Document([UInt8](repeating: 7, count: 3000), type: "video/mp2t")
        let origin = DocumentOrigin([
            base + "index.m3u8": .init("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.ts\n#EXTINF:4,\nb.ts\n#EXT-X-ENDLIST\n"),
            base + "a.ts": segment, base + "b.ts": segment, "http://media.example/film.mp4": segment,
        ])
        let world = try ProxyWorld(time: ManualTime(), transport: origin, options: { $0.programToken = "command" })
        defer { world.stop() }
        let client = try world.connect()
        for name in ["hls/index.m3u8", "hls/a.ts", "hls/b.ts", "film.mp4"] {
            #expect(try world.get("/http/media.example/\(name)").status == 200)
            try world.wait(for: "http://media.example/\(name)") { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
        }
        let page = try list(client, "without=demo,parts&sort=size&order=desc")
        #expect(page.total == 4 && page.matching == 2)
        #expect(page.resources.map(\.key) == [base + "index.m3u8", "http://media.example/film.mp4"])
        let whole = try #require(page.resources.first?.presentation)
        #expect(whole.complete && !whole.live && whole.resources == 3 && whole.storedBytes > 6000)
        #expect(page.resources.last?.presentation == nil)
        #expect(try list(client).matching == 4)
        let act = try world.connect()
        let key = "key=http%3A%2F%2Fmedia.example%2Fhls%2Findex.m3u8"
        let removed = #"{"removed":3,"bytes":\#(whole.storedBytes)}"#
        for (verb, answer) in [("pin", #"{"changed":true}"#), ("unpin", #"{"changed":true}"#), ("remove", removed)] {
            act.ask("/_spool/api/\(verb)?\(key)", method: "POST", ["Authorization": "Bearer command", "Content-Length": "0"])
            #expect(try act.answer().text == answer, "\(verb)")
            #expect(try world.status(of: base + "a.ts")?.isPinned == (verb == "remove" ? nil : verb == "pin"))
        }
        #expect(try list(client).resources.map(\.key) == ["http://media.example/film.mp4"])
    }

    @Test func `a request gets the status of the resource that it names, and of the demo's tracks`() throws {
        let films = [VirtualResource.film(), VirtualResource.film("z.mp4", seed: 2)]
        let world = try ProxyWorld(
            films, time: ManualTime(), dashboard: { $0.demoTracks = [DemoTrack(title: "A song", url: films[0].url)] })
        defer { world.stop() }
        let client = try world.connect()
        #expect(try list(client).demo.map(\.resource) == [nil])
        for film in films {
            _ = try client.get(film.target)
            try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
        }
        for query in ["key=", "url="] {
            let page = try list(client, "without=demo&limit=0&" + query + "http%3A%2F%2Fmedia.example%2Fz.mp4")
            #expect(page.named?.key == films[1].url, "\(query)")
            #expect(page.demo.map(\.resource?.key) == [films[0].url])
            #expect(page.total == 2 && page.matching == 1)
        }
        #expect(try list(client, "key=unknown").named == nil)
    }

    /// A clock that passes a millisecond at each look, so that each reading of the list takes some.
    private final class PassingTime: TimeSource {
        private let time = ManualTime()

        var now: MonotonicInstant {
            time.advance(by: .milliseconds(1))
            return time.now
        }
        var wallNow: Timestamp { time.wallNow }
        func after(_ delay: Nanoseconds, on mailbox: any Mailbox, _ job: @escaping @Sendable () -> Void) -> SpoolSystem.Timer {
            time.after(delay, on: mailbox, job)
        }
    }

    /// The list is read again after ten times as long as reading took. No event makes a page ask again
    /// then, so the last answer has to be right.
    @Test func `a resource that goes right after the list was read has no line`() throws {
        let films = (0..<3).map { VirtualResource.film("film\($0).mp4", length: 100) }
        let world = try ProxyWorld(films, time: PassingTime())
        defer { world.stop() }
        let client = try world.connect()
        for film in films {
            _ = try client.get(film.target)
            try world.wait(for: film.url) { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
        }
        #expect(try list(client, "").resources.count == 3)
        let isOver = DispatchSemaphore(value: 0)
        world.cache.remove(ResourceKey(normalized: films[1].url)) { _ in isOver.signal() }
        isOver.wait()
        let page = try list(client, "")
        #expect(page.resources.map(\.key) == [films[0].url, films[2].url] && page.matching == 2 && page.total == 2)
    }

    @Test func `a search or an order that can't be read is refused with a code`() throws {
        let world = try ProxyWorld()
        defer { world.stop() }
        let client = try world.connect()
        for query in ["sort=colour", "order=up", "search=" + String(repeating: "x", count: 513)] {
            let answer = try client.get("/_spool/api/resources?" + query)
            #expect(answer.status == 400 && answer["Content-Type"] == "application/json")
            #expect(answer.text.contains("\"code\":\"invalidQuery\""), "\(answer.text)")
        }
    }
}
