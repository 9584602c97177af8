import Spool
import SpoolCore
import SpoolProxy
import SpoolStore
import SpoolSystem
import SpoolTesting
import Testing

/// Stored bytes that need no revalidation are answered by a shorter path, with the same answers as
/// the long one.
@Suite(.timeLimit(.minutes(20))) struct HitAnswerTests {
    private let time = ManualTime()

    private func stored(
        _ film: VirtualResource, _ kind: StoreKind = .files, at target: String? = nil, options: (inout ProxyOptions) -> Void = { _ in }
    ) throws -> ProxyWorld {
        let world = try ProxyWorld([film], store: kind, time: time, options: options)
        #expect(try world.get(target ?? film.target).body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete && $0.fetches == 0 }
        return world
    }

    /// An unknown directive has no effect (RFC 9111 §5.2.3). Here it only sends the request down
    /// the long path.
    private let theLongWay: HTTPFields = ["Cache-Control": "spool-takes-the-long-way"]

    @Test(arguments: StoreKind.allCases)
    func `the short path and the long one give the same answers`(store: StoreKind) throws {
        var film = VirtualResource.film()
        film.fields = ["Age": "7", "Vary": "Accept-Encoding", "Access-Control-Allow-Origin": "*", "Cache-Status": "edge; hit"]
        let world = try stored(film, store)
        defer { world.stop() }
        time.advance(by: .seconds(100))
        let ranges: [String?] = [
            nil, "bytes=0-0", "bytes=0-65535", "bytes=100-", "bytes=-1", "bytes=-999999999", "bytes=70000-70001", "bytes=0-999999999",
            "bytes=999999999-", "bytes=0-1,5-6", "bytes=5-2", "nonsense",
        ]
        // A repeated request on one connection skips parsing.
        let player = try world.connect()
        _ = try player.get(film.target, ["Range": "bytes=3-4"])
        for range in ranges {
            var fields = HTTPFields()
            fields["Range"] = range
            let short = try world.get(film.target, fields)
            var same = fields
            same.lines += theLongWay.lines
            let long = try world.get(film.target, same)
            #expect(short.status == long.status, "\(range ?? "")")
            // The boundary between several parts is random.
            if range == "bytes=0-1,5-6" { continue }
            #expect(Set(short.head.fields.lines) == Set(long.head.fields.lines), "\(range ?? "")")
            #expect(short.head.fields.lines.count == long.head.fields.lines.count, "\(range ?? "")")
            #expect(short.body == long.body, "\(range ?? "")")
            for _ in 0..<2 { #expect(try player.get(film.target, fields) == short, "\(range ?? "")") }
        }
        #expect(world.origin.log.entries.count == 2, "the film, and one question about bytes behind its end")
    }

    /// A film of 300 000 bytes of which two parts are stored, the second to its end.
    private func partlyStored(_ store: StoreKind, policy: FetchPolicy = .whilePlaying) throws -> (world: ProxyWorld, film: VirtualResource)
    {
        var film = VirtualResource.film(length: 300_000)
        film.fields = ["Age": "7", "Vary": "Accept-Encoding", "Access-Control-Allow-Origin": "*"]
        let world = try ProxyWorld([film], store: store, time: time, configuration: { $0.fetching.policy = policy })
        for range in ["bytes=65536-199999", "bytes=290000-"] {
            #expect(try world.get(film.target, ["Range": range]).status == 206)
            try world.wait(for: film.url) { $0.fetches == 0 || policy != .whilePlaying }
        }
        return (world, film)
    }

    /// Whether the range is a hit by the short path. Leaves the hit at once.
    private func isHit(_ world: ProxyWorld, _ film: VirtualResource, _ spec: RangeHeader.Spec) throws -> Bool {
        var link = SessionLink()
        let url = try MediaURL(film.url)
        let hit = link.hit(in: world.cache, key: world.cache.key(for: url), url: url, spec: spec, policy: .preferStored, max: 1 << 20)
        hit?.leave(after: 0)
        return hit != nil
    }

    @Test(arguments: StoreKind.allCases)
    func `the short path answers as the long one for a stored range of a partly stored resource`(store: StoreKind) throws {
        let (world, film) = try partlyStored(store)
        defer { world.stop() }
        #expect(try world.status(of: film.url)?.stored.totalBytes == 144_464)
        time.advance(by: .seconds(100))
        let player = try world.connect()
        for range in [
            "bytes=65536-65536", "bytes=65536-199999", "bytes=70000-70001", "bytes=190000-199999", "bytes=290000-", "bytes=-1",
            "bytes=-10000", "bytes=299999-999999999",
        ] {
            let fields: HTTPFields = ["Range": range]
            let short = try world.get(film.target, fields)
            var same = fields
            same.lines += theLongWay.lines
            let long = try world.get(film.target, same)
            #expect(short.status == 206)
            #expect(short["Cache-Status"] == "spool; hit")
            #expect(short.status == long.status, "\(range)")
            #expect(Set(short.head.fields.lines) == Set(long.head.fields.lines), "\(range)")
            #expect(short.body == long.body, "\(range)")
            for _ in 0..<2 { #expect(try player.get(film.target, fields) == short, "\(range)") }
        }
        #expect(world.origin.log.entries.count == 2)
        if store == .files {
            #expect(try isHit(world, film, .bounded(first: 65_536, last: 199_999)))
            #expect(try isHit(world, film, .suffix(count: 10_000)))
        }
        for spec in [RangeHeader.Spec.bounded(first: 65_535, last: 70_000), .bounded(first: 199_999, last: 200_000), .from(first: 70_000)] {
            #expect(try !isHit(world, film, spec), "\(spec)")
        }
        // Missing bytes are fetched as usual, and are a hit from then on.
        let next = try player.get(film.target, ["Range": "bytes=199990-209999"])
        #expect(next.body == film.bytes(199_990..<210_000))
        #expect(next["Cache-Status"] == "spool; fwd=partial")
        try world.wait(for: film.url) { $0.fetches == 0 }
        #expect(try player.get(film.target, ["Range": "bytes=199990-209999"])["Cache-Status"] == "spool; hit")
        #expect(world.origin.log.entries.count == 3)
    }

    @Test func `a stored range is no hit while the policy still fetches the rest`() throws {
        let (world, film) = try partlyStored(.files, policy: .wholeResource)
        defer { world.stop() }
        #expect(try world.get(film.target, ["Range": "bytes=65536-199999"]).body == film.bytes(65_536..<200_000))
        try world.wait(for: film.url) { $0.isComplete && $0.fetches == 0 }
        #expect(try isHit(world, film, .bounded(first: 0, last: 9)))
    }

    @Test func `a stale hit is revalidated, and the next head has the origin's new fields`() throws {
        var film = VirtualResource.film()
        film.fields = ["Cache-Control": "max-age=60"]
        let world = try stored(film, at: "/film.mp4") { $0.fixedOrigin = VirtualResource.site }
        defer { world.stop() }
        let player = try world.connect()
        for _ in 0..<3 { #expect(try player.get("/film.mp4")["Cache-Status"] == "spool; hit") }
        time.advance(by: .seconds(30))
        #expect(try player.get("/film.mp4")["Age"] == "30")
        time.advance(by: .seconds(31))
        #expect(try player.get("/film.mp4")["Cache-Status"] == "spool; fwd=stale")
        var newer = film
        newer.fields = ["Cache-Control": "max-age=5", "X-Said": "lately"]
        world.origin.serve(newer)
        time.advance(by: .seconds(61))
        #expect(try player.get("/film.mp4")["Cache-Status"] == "spool; fwd=stale")
        let answer = try player.get("/film.mp4")
        #expect(answer["Cache-Status"] == "spool; hit")
        #expect(answer["X-Said"] == "lately")
        #expect(answer["Cache-Control"] == "max-age=5")
    }

    @Test func `an answer under way during a suspension sends no byte that another process evicted`() throws {
        let directory = try TemporaryDirectory()
        let film = VirtualResource(url: "http://origin.test/long.mp4", seed: 3, length: 12 << 20)
        let world = try ProxyWorld([film], store: .files, directory: directory)
        defer { world.stop() }
        #expect(try world.get(film.target).body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete && $0.fetches == 0 }
        // A slow client, so that most of the answer is still to be sent.
        let client = try world.connect(receiveBuffer: 64 << 10)
        client.ask(film.target)
        #expect(try client.head().status == 200)
        #expect(try client.take(1000) == film.bytes(0..<1000))

        let isSuspended = Awaited(false)
        world.cache.suspend { _ in isSuspended.change { $0 = true } }
        #expect(isSuspended.wait { $0 })
        let other = try SQLiteStore(directory: directory.path, fileSystem: POSIXFileSystem(), random: SystemRandom())
        let key = try world.cache.key(for: film.url)
        let stored = try #require(try other.lookup(key))
        let file = try other.dataFile(of: stored.generation, key: key, fileExtension: stored.fileExtension)
        #expect(try other.evict(.of(8 << 20..<12 << 20), of: stored.generation, in: file))
        try other.close()
        let isResumed = Awaited(false)
        world.cache.resume { _ in isResumed.change { $0 = true } }
        #expect(isResumed.wait { $0 })

        // The connection stays open after an answer that got its evicted bytes from the origin.
        let rest = try client.take(upTo: Int(film.length) - 1000)
        let isRight = rest == Array(film.bytes(1000..<1000 + rest.count))
        #expect(isRight, "the \(rest.count) bytes before the cut are right")
        let next = try world.get(film.target)
        #expect(next.body == film.allBytes)
        withExtendedLifetime(file) {}
    }

    @Test func `a hit of a new session has the fields of the last revalidation`() throws {
        var film = VirtualResource.film()
        film.fields = ["Cache-Control": "max-age=60", "X-Said": "at first"]
        let others = (0..<2).map { VirtualResource(url: "http://origin.test/other\($0).mp4", seed: 9, length: 1000) }
        let world = try ProxyWorld([film] + others, store: .files, time: time, configuration: { $0.fetching.idleSessionCount = 1 })
        defer { world.stop() }
        #expect(try world.get(film.target).body == film.allBytes)
        try world.wait(for: film.url) { $0.isComplete && $0.fetches == 0 }
        let player = try world.connect()
        for _ in 0..<3 { #expect(try player.get(film.target)["X-Said"] == "at first") }
        var newer = film
        newer.fields = ["Cache-Control": "max-age=60", "X-Said": "lately"]
        world.origin.serve(newer)
        #expect(try world.get(film.target, ["Cache-Control": "no-cache"])["X-Said"] == "lately")
        // The sessions of other resources replace this one.
        for other in others {
            #expect(try world.get(other.target).body == other.allBytes)
            try world.wait(for: other.url) { $0.isComplete && $0.fetches == 0 && $0.readers == 0 }
        }
        for _ in 0..<3 { #expect(try player.get(film.target)["X-Said"] == "lately") }
    }

    @Test func `a removed resource is no hit, and its next version is one`() throws {
        let film = VirtualResource.film()
        let world = try stored(film)
        defer { world.stop() }
        let player = try world.connect()
        for _ in 0..<3 { #expect(try player.get(film.target, ["Range": "bytes=0-9"]).body == film.bytes(0..<10)) }
        let new = film.version(seed: 5)
        world.origin.serve(new)
        let isRemoved = Awaited(false)
        world.cache.remove(try world.cache.key(for: film.url)) { _ in isRemoved.change { $0 = true } }
        #expect(isRemoved.wait { $0 })
        let first = try world.get(film.target)
        #expect(first.body == new.allBytes)
        #expect(first["Cache-Status"] == "spool; fwd=uri-miss")
        try world.wait(for: film.url) { $0.isComplete && $0.fetches == 0 }
        let second = try world.get(film.target, ["Range": "bytes=5-14"])
        #expect(second["Cache-Status"] == "spool; hit")
        #expect(second.body == new.bytes(5..<15))
        #expect(second["ETag"] == new.entityTag)
        #expect(try player.get(film.target, ["Range": "bytes=0-9"]).body == new.bytes(0..<10))
    }

    @Test func `a hit of more than one turn goes on as any reader does`() throws {
        let film = VirtualResource(url: "http://origin.test/long.mp4", seed: 3, length: (3 << 20) + 17)
        let world = try stored(film)
        defer { world.stop() }
        #expect(try world.get(film.target).body == film.allBytes)
        #expect(try world.get(film.target, ["Range": "bytes=100-"]).body == film.bytes(100..<Int(film.length)))
        let client = try world.connect()
        client.ask(film.target, ["Range": "bytes=0-2999999"])
        #expect(try client.head().status == 206)
        client.hangUp()
        world.wait("the resource has no reader", until: { (try? world.status(of: film.url))??.readers == 0 })
        #expect(world.origin.log.entries.count == 1)
    }
}
