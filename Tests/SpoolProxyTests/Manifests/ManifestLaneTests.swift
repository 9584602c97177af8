import Spool
import SpoolCore
import SpoolManifests
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// A lane whose jobs wait until the test runs them.
private final class HeldLane: Mailbox {
    private let jobs = Awaited<[@Sendable () -> Void]>([])
    private let count = Awaited(0)
    /// Whether jobs run at once.
    private let isFree = Awaited(false)

    func post(_ job: @escaping @Sendable () -> Void) {
        count.change { $0 += 1 }
        jobs.change { $0.append(job) }
        if isFree.value { runWaiting() }
    }

    /// The number of jobs that were posted.
    var postedCount: Int { count.value }

    /// Waits for a job, and runs all that wait.
    func runNext() {
        #expect(jobs.wait { !$0.isEmpty }, "no job came")
        runWaiting()
    }

    /// Runs the first jobs that wait.
    func run(count: Int) {
        let first = jobs.change { jobs in
            defer { jobs.removeFirst(count) }
            return jobs.prefix(count)
        }
        for job in first { job() }
    }

    /// Runs the jobs that wait, and all that come later.
    func release() {
        isFree.change { $0 = true }
        runWaiting()
    }

    private func runWaiting() {
        for job in jobs.change({ jobs in
            defer { jobs = [] }
            return jobs
        }) { job() }
    }
}

/// The work on manifests: once for each version, and not on the event loop when it is large.
@Suite(.timeLimit(.minutes(20))) struct ManifestLaneTests {
    private static let url = "https://origin.example/v/main.m3u8"
    private static let path = "/https/origin.example/v/main.m3u8"

    /// Returns a playlist with absolute references.
    private static func playlist(_ segments: Int, version: Int = 0) -> String {
        let lines = (0..<segments).map { "#EXTINF:4,\nhttps://cdn.example/v\(version)/segment-\($0).ts\n" }
        return "#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(lines.joined())#EXT-X-ENDLIST\n"
    }

    private static func rewritten(_ text: String) -> String {
        text.replacing("https://cdn.example/", with: "/_spool/child/https/cdn.example/")
    }

    private static func world(_ text: String, _ lanes: [any Mailbox], _ options: (inout ProxyOptions) -> Void = { _ in }) throws
        -> (ProxyWorld, DocumentOrigin)
    {
        let origin = DocumentOrigin([url: .init(text, fields: ["Cache-Control": "max-age=86400"])])
        return (try ProxyWorld(transport: origin, manifestLanes: lanes, options: options), origin)
    }

    @Test func `a manifest up to 64 KiB is rewritten on the event loop`() throws {
        let lane = HeldLane(), text = Self.playlist(1_250)
        #expect((60_000...65_536).contains(text.utf8.count))
        let (world, _) = try Self.world(text, [lane])
        defer { world.stop() }
        #expect(try world.get(Self.path).text == Self.rewritten(text))
        #expect(lane.postedCount == 0)
    }

    @Test func `a small manifest that takes much work is rewritten on a lane`() throws {
        let lane = HeldLane(), text = "#EXTM3U\n" + String(repeating: "/a%20.ts\n", count: 5_000)
        let (world, _) = try Self.world(text, [lane])
        defer { world.stop() }
        let client = try world.connect()
        client.ask(Self.path)
        lane.runNext()
        #expect(try client.answer().text == text.replacing("\n/", with: "\nhttp://127.0.0.1/https/origin.example/"))
    }

    @Test func `many clients of a large manifest get one result, and one that leaves ends nothing`() throws {
        let lane = HeldLane(), text = Self.playlist(5_000)
        let (world, origin) = try Self.world(text, [lane])
        defer { world.stop() }
        var clients = try (0..<8).map { _ in try world.connect() }
        for client in clients { client.ask(Self.path) }
        // The event loop is free meanwhile.
        try world.waitForReaders(8)
        clients.removeFirst().hangUp()
        lane.runNext()
        for client in clients { #expect(try client.answer().text == Self.rewritten(text)) }
        #expect(lane.postedCount == 1)
        #expect(try world.get(Self.path).text == Self.rewritten(text))
        #expect(lane.postedCount == 1 && origin.count(of: Self.url) == 1)
    }

    @Test func `a client whose manifests fill its room gets further large ones as they came, and others do not`() throws {
        let lane = HeldLane(), text = Self.playlist(3_000), small = Self.playlist(10)
        lane.release()
        let origin = DocumentOrigin(
            Dictionary(
                uniqueKeysWithValues: ["a", "b", "c", "small"].map { name in
                    let text = name == "small" ? small : text
                    return ("https://origin.example/v/\(name).m3u8", .init(text, fields: ["Cache-Control": "max-age=60"]))
                }))
        let world = try ProxyWorld(
            transport: origin, manifestLanes: [lane],
            options: { options in
                options.token = "t0ken"
                options.fronts = FrontProxies()
                options.manifestBytesOfClient = 2 * text.utf8.count
            })
        defer { world.stop() }
        func isRewritten(_ name: String, for client: String) throws -> Bool {
            let answer = try world.get("/t0ken/https/origin.example/v/\(name).m3u8", ["X-Forwarded-For": client])
            let original = name == "small" ? small : text
            #expect(answer.status == 200)
            #expect([original, original.replacing("https://cdn.", with: "/t0ken/_spool/child/https/cdn.")].contains(answer.text))
            return answer.text != original
        }
        #expect(try isRewritten("a", for: "198.51.100.7"))
        #expect(try !isRewritten("b", for: "198.51.100.7"))
        for name in ["a", "small"] { #expect(try isRewritten(name, for: "198.51.100.7"), "\(name)") }
        #expect(try isRewritten("c", for: "198.51.100.8"))
    }

    @Test func `a client with many large manifests delays those of another one by one job`() throws {
        let lane = HeldLane(), text = Self.playlist(3_000), names = ["a", "b", "c", "d"]
        let origin = DocumentOrigin(
            Dictionary(uniqueKeysWithValues: names.map { ("https://origin.example/v/\($0).m3u8", .init(text)) }))
        let world = try ProxyWorld(
            transport: origin, manifestLanes: [lane], options: { ($0.token, $0.fronts) = ("t0ken", FrontProxies()) })
        defer { world.stop() }
        func ask(_ name: String, for address: String) throws -> ProxyClient {
            let count = lane.postedCount, client = try world.connect()
            client.ask("/t0ken/https/origin.example/v/\(name).m3u8", ["X-Forwarded-For": address])
            world.wait("the manifest is on the lane", until: { lane.postedCount == count + 1 })
            return client
        }
        let many = try names.dropLast().map { try ask($0, for: "198.51.100.7") }
        let other = try ask("d", for: "198.51.100.8")
        lane.run(count: 2)
        #expect(try other.answer().status == 200)
        lane.release()
        for client in many { #expect(try client.answer().status == 200) }
    }

    @Test func `a new version does not wait behind an old one`() throws {
        let lanes = [HeldLane(), HeldLane()], old = Self.playlist(5_000), new = Self.playlist(5_000, version: 1)
        let (world, origin) = try Self.world(old, lanes)
        defer { world.stop() }
        let first = try world.connect(), second = try world.connect()
        first.ask(Self.path)
        world.wait("the old version is on a lane", until: { lanes[0].postedCount == 1 })
        origin[Self.url] = .init(new)
        second.ask(Self.path, ["Cache-Control": "no-cache"])
        lanes[1].runNext()
        #expect(try second.answer().text == Self.rewritten(new))
        // The first client may read the new version again, after the work on the old one.
        for lane in lanes { lane.release() }
        #expect(try first.answer().status == 200)
    }

    @Test func `a manifest that changes again and again while it is on a lane is answered from the work that began`() throws {
        let lanes = [HeldLane(), HeldLane()], old = Self.playlist(5_000)
        let (world, origin) = try Self.world(old, lanes)
        defer { world.stop() }
        let first = try world.connect()
        first.ask(Self.path)
        world.wait("the old version is on a lane", until: { lanes[0].postedCount == 1 })
        // More versions than a read begins anew for, each of them answered.
        for version in 1...6 {
            let new = Self.playlist(5_000, version: version), client = try world.connect()
            origin[Self.url] = .init(new)
            client.ask(Self.path, ["Cache-Control": "no-cache"])
            lanes[1].runNext()
            #expect(try client.answer().text == Self.rewritten(new))
        }
        lanes[0].release()
        #expect(try first.answer().text == Self.rewritten(old))
        // The late work on the old version does not take the place of the newest one.
        #expect(try world.get(Self.path).text == Self.rewritten(Self.playlist(5_000, version: 6)))
        #expect(lanes[0].postedCount + lanes[1].postedCount == 7)
    }

    @Test func `a manifest beyond a limit is passed on, and read once`() throws {
        let lane = HeldLane()
        let text = Self.playlist(3_000) + String(repeating: "#EXT-X-DEFINE:QUERYPARAM=\"a\"\n", count: 1_025)
        let (world, _) = try Self.world(text, [lane])
        defer { world.stop() }
        let client = try world.connect()
        client.ask(Self.path)
        lane.runNext()
        #expect(try client.answer().text == text)
        #expect(try world.get(Self.path).text == text)
        #expect(lane.postedCount == 1)
    }

    @Test func `behind a fixed origin, a manifest beyond a limit is an error when it names other places`() throws {
        let excess = String(repeating: "#EXT-X-DEFINE:QUERYPARAM=\"a\"\n", count: 1_025)
        for (segment, token, isError) in [
            ("https://cdn.example/1.ts", nil, true), ("1.ts", nil, false), ("/1.ts", nil, false), ("/1.ts", "token", true),
            ("//cdn.example/1.ts", nil, true), ("a//1.ts", nil, false),
        ] as [(String, String?, Bool)] {
            let text = "#EXTM3U\n\(excess)#EXTINF:4,\n\(segment)\n#EXT-X-ENDLIST\n"
            let origin = DocumentOrigin([Self.url: .init(text)])
            let world = try ProxyWorld(transport: origin, options: { ($0.fixedOrigin, $0.token) = ("https://origin.example", token) })
            defer { world.stop() }
            for _ in 0..<2 {
                let answer = try world.get((token.map { "/\($0)" } ?? "") + "/v/main.m3u8")
                #expect(answer.status == (isError ? 502 : 200), "\(segment)")
                #expect(isError ? answer.text.contains("at most 1024 definitions of variables") : answer.text == text)
            }
        }
    }

    @Test(arguments: ["https://origin.example/v/d/1.ts?sig=1", "d/1.ts?sig=1", "/v/d/1.ts?sig=1", "d/../d/1.ts?sig=1"])
    func `a failing child is found in whatever form its manifest names it`(reference: String) throws {
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n0.ts\n\(reference)\n#EXT-X-ENDLIST\n"
        let origin = DocumentOrigin([Self.url: .init(text, fields: ["Cache-Control": "max-age=86400"])])
        let world = try ProxyWorld(transport: origin)
        defer { world.stop() }
        _ = try world.get(Self.path)
        #expect(try world.get("/https/origin.example/v/d/1.ts?sig=2").status == 404)
        _ = try world.get(Self.path)
        #expect(origin.count(of: Self.url) == 1, "the manifest does not name the other one")
        #expect(try world.get("/https/origin.example/v/d/1.ts?sig=1").status == 404)
        _ = try world.get(Self.path)
        #expect(origin.count(of: Self.url) == 2)
    }
}
