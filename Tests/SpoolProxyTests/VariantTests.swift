import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// Resources whose answer depends on fields of the client (RFC 9111 §4.1), and clients with
/// different credentials (RFC 9111 §3.5).
@Suite(.timeLimit(.minutes(20))) struct VariantTests {
    private static let film = VirtualResource.film()

    /// An origin that sends another film to each value of `name`.
    private static func varying(by name: String, _ fields: HTTPFields = [:]) -> OriginScript {
        { request, _ in
            var fields = fields
            if fields["Vary"] == nil { fields.append("Vary", name) }
            let film = variant(request.fields[name])
            if request.fields["If-None-Match"]?.contains(film.entityTag ?? "") == true {
                return .fields(fields, .status(304, fields: ["ETag": film.entityTag ?? ""]))
            }
            return .fields(fields, body(of: film, request))
        }
    }

    /// The film for one value of a selecting field.
    private static func variant(_ value: String?) -> VirtualResource {
        film.version(seed: UInt64(value.map { $0.utf8.reduce(100) { $0 &* 31 &+ Int($1) } & 0xFFFF } ?? 1))
    }

    private static func body(of film: VirtualResource, _ request: OriginRequest) -> OriginBehaviour {
        let first = request.fields["Range"].flatMap { Int64($0.dropFirst(6).prefix { $0 != "-" }) } ?? 0
        let bytes = film.content.bytes(at: first, count: Int(film.length - first))
        let fields: HTTPFields = [
            "ETag": film.entityTag ?? "", "Content-Type": "video/mp4", "Content-Length": String(bytes.count),
            "Content-Range": "bytes \(first)-\(film.length - 1)/\(film.length)",
        ]
        return .status(206, fields: fields, body: bytes)
    }

    private func isQuiet(_ world: ProxyWorld) throws {
        for number in 0..<Variants.limit {
            let key = try world.cache.key(for: Self.film.url).variant(number)
            let answer = Awaited<Result<ResourceStatus?, CacheError>?>(nil)
            repeat {
                answer.change { $0 = nil }
                world.cache.status(of: key) { result in answer.change { $0 = result } }
                _ = answer.wait(until: { $0 != nil })
            } while try (answer.value?.get()).map { $0.readers > 0 || $0.fetches > 0 } ?? false
        }
    }

    // MARK: Fields

    @Test func `the fields of a player reach the origin`() throws {
        let world = try ProxyWorld([Self.film])
        defer { world.stop() }
        let fields: HTTPFields = [
            "User-Agent": "Lavf/59", "Referer": "https://site.example/p", "Cookie": "id=1", "Authorization": "Bearer t", "X-Own": "2",
            "Accept-Language": "de", "Icy-MetaData": "1", "Connection": "X-Hop", "X-Hop": "1", "X-Forwarded-Host": "evil",
        ]
        #expect(try world.get(Self.film.target, fields).body == Self.film.allBytes)
        let sent = try #require(world.origin.log.entries.first).request.fields
        for name in ["User-Agent", "Referer", "Cookie", "Authorization", "X-Own", "Accept-Language", "Icy-MetaData"] {
            #expect(sent[name] == fields[name], "\(name)")
        }
        for name in ["X-Hop", "Connection", "X-Forwarded-Host"] { #expect(sent[name] == nil, "\(name)") }
        #expect(sent.values(of: "Via").count == 1)
    }

    @Test func `an origin that demands a token plays with it, and is asked with it for the rest`() throws {
        let world = try ProxyWorld(
            [Self.film], script: { request, _ in request.fields["Authorization"] == "Bearer t" ? .correct : .status(401) })
        defer { world.stop() }
        #expect(try world.get(Self.film.target).status == 401)
        #expect(
            try world.get(Self.film.target, ["Authorization": "Bearer t", "Range": "bytes=50000-"]).body
                == Self.film.bytes(50_000..<100_000))
        #expect(try world.get(Self.film.target, ["Authorization": "Bearer t"]).body == Self.film.allBytes)
        #expect(world.origin.log.handedOver(Self.film.url).duplicateBytes == 0)
    }

    @Test func `a field of the operator replaces the client's and selects nothing`() throws {
        let world = try ProxyWorld(
            script: Self.varying(by: "User-Agent"), configuration: { $0.network.requestFields = ["User-Agent": "TV"] })
        defer { world.stop() }
        for agent in ["a", "b"] {
            #expect(try world.get(Self.film.target, ["User-Agent": agent]).body == Self.variant("TV").allBytes)
            try isQuiet(world)
        }
        #expect(world.asked.count == 1)
    }

    // MARK: Vary

    @Test(arguments: StoreKind.allCases) func `variants stay beside each other`(store: StoreKind) throws {
        let world = try ProxyWorld(store: store, script: Self.varying(by: "User-Agent"))
        defer { world.stop() }
        let agents = ["a", "b", "c"]
        for _ in 0..<3 {
            for agent in agents {
                #expect(try world.get(Self.film.target, ["User-Agent": agent]).body == Self.variant(agent).allBytes, "\(agent)")
                try isQuiet(world)
            }
        }
        #expect(world.asked.count == agents.count)
    }

    @Test func `variants survive a restart, and no other request gets them`() throws {
        let directory = try TemporaryDirectory()
        for round in 0..<3 {
            let world = try ProxyWorld(store: .files, directory: directory, script: Self.varying(by: "User-Agent"))
            defer { world.stop() }
            for agent in ["a", "b"] {
                #expect(try world.get(Self.film.target, ["User-Agent": agent]).body == Self.variant(agent).allBytes)
                try isQuiet(world)
            }
            #expect(world.asked.count == (round == 0 ? 2 : 0), "round \(round)")
            guard round == 2 else { continue }
            world.origin.setOffline(true)
            #expect(try world.get(Self.film.target, ["User-Agent": "c"]).status == 502)
        }
    }

    @Test func `clients that come at once and differ get their own variants, and the playing one stays`() throws {
        let world = try ProxyWorld(script: Self.varying(by: "User-Agent"))
        defer { world.stop() }
        world.gate.hold(afterBytes: 16_384)
        let clients = try (0..<6).map { _ in try world.connect() }
        for (number, client) in clients.enumerated() { client.ask(Self.film.target, ["User-Agent": "\(number % 3)"]) }
        world.wait("three variants were asked for", until: { world.asked.count == 3 })
        world.gate.open()
        for (number, client) in clients.enumerated() {
            #expect(try client.answer().body == Self.variant("\(number % 3)").allBytes)
        }
        #expect(world.asked.count == 3)
    }

    @Test func `a variant with the same strong tag is confirmed and not fetched again`() throws {
        let world = try ProxyWorld([Self.film], script: { _, _ in .fields(["Vary": "User-Agent"], .correct) })
        defer { world.stop() }
        for agent in ["a", "b", "a", "c", "b"] {
            #expect(try world.get(Self.film.target, ["User-Agent": agent]).body == Self.film.allBytes)
            try isQuiet(world)
        }
        #expect(world.origin.log.entries.map { $0.request.fields["If-None-Match"] } == [nil, Self.film.entityTag, Self.film.entityTag])
        #expect(world.origin.log.handedOver(Self.film.url).bytes == Self.film.length)
    }

    @Test func `an origin that ignores conditions and repeats the tag adds no second copy`() throws {
        let world = try ProxyWorld(script: { request, _ in .fields(["Vary": "User-Agent"], Self.body(of: Self.film, request)) })
        defer { world.stop() }
        for agent in ["a", "b", "b"] {
            #expect(try world.get(Self.film.target, ["User-Agent": agent]).body == Self.film.allBytes)
            try isQuiet(world)
        }
        #expect(world.asked.count == 2)
        #expect(try world.cache.key(for: Self.film.url).string == Self.film.url)
        let second = Awaited<Result<ResourceStatus?, CacheError>?>(nil)
        world.cache.status(of: try world.cache.key(for: Self.film.url).variant(1)) { result in second.change { $0 = result } }
        _ = second.wait(until: { $0 != nil })
        #expect(try second.value?.get() == nil)
    }

    @Test func `more variants than the limit replace the longest unused one, never a playing one`() throws {
        let world = try ProxyWorld(script: Self.varying(by: "User-Agent"))
        defer { world.stop() }
        let playing = try world.connect(receiveBuffer: 4096)
        playing.ask(Self.film.target, ["User-Agent": "playing"])
        _ = try playing.head()
        for number in 0..<(2 * Variants.limit) {
            #expect(try world.get(Self.film.target, ["User-Agent": "\(number)"]).body == Self.variant("\(number)").allBytes)
        }
        #expect(try playing.take(Int(Self.film.length)) == Self.variant("playing").allBytes)
    }

    @Test(arguments: [false, true])
    func `more variants than the limit never replace a download or a file that the app has`(isDownload: Bool) throws {
        let world = try ProxyWorld(script: Self.varying(by: "User-Agent"))
        defer { world.stop() }
        let key = try world.cache.key(for: Self.film.url)
        #expect(try world.get(Self.film.target, ["User-Agent": "first"]).body == Self.variant("first").allBytes)
        try isQuiet(world)
        let pin = isDownload ? nil : try world.cache.temporaryPin(key)
        let isAdded = Awaited(!isDownload)
        if isDownload {
            world.cache.downloads.change({ _ in isAdded.change { $0 = true } }) { list in
                list.add(key, url: Self.film.url, group: "", priority: 0) ? [key] : []
            }
        }
        _ = isAdded.wait { $0 }
        for number in 0..<(2 * Variants.limit) {
            #expect(try world.get(Self.film.target, ["User-Agent": "\(number)"]).body == Self.variant("\(number)").allBytes)
            try isQuiet(world)
        }
        let asked = world.asked.count
        #expect(try world.get(Self.film.target, ["User-Agent": "first"]).body == Self.variant("first").allBytes)
        #expect(world.asked.count == asked, "the first variant is stored")
        withExtendedLifetime(pin) {}
    }

    @Test func `Vary star is neither reused nor shared with a request that waits for the same answer`() throws {
        let world = try ProxyWorld(script: { request, number in
            .fields(["Vary": "*"], Self.body(of: Self.variant("\(number)"), request))
        })
        defer { world.stop() }
        world.gate.hold(afterBytes: 16_384)
        let clients = try (0..<4).map { _ in try world.connect() }
        for client in clients { client.ask(Self.film.target) }
        world.wait("each client was asked for", until: { world.asked.count == 4 })
        world.gate.open()
        let bodies = try clients.map { try $0.answer().body }
        #expect(Set(bodies).count == 4)
        #expect(Set(bodies) == Set((0..<4).map { Self.variant("\($0)").allBytes }))
        #expect(try world.get(Self.film.target).body == Self.variant("4").allBytes)
    }

    @Test func `an entry of an earlier format that varies is confirmed before another client gets it`() throws {
        let world = try ProxyWorld([Self.film], script: { _, _ in .fields(["Vary": "User-Agent"], .correct) })
        defer { world.stop() }
        // A reader of an app has no client, so the request is not known.
        let key = try world.cache.key(for: Self.film.url)
        let woken = Awaited(0)
        let reader = try world.cache.sessionReader(for: Self.film.url, key: key, start: 0, end: nil, wantsBytes: true) {
            woken.change { $0 += 1 }
        }
        try world.wait(for: Self.film.url) { $0.isComplete }
        reader.leave()
        #expect(try world.get(Self.film.target).body == Self.film.allBytes)
        #expect(world.asked.count == 1)
        #expect(try world.get(Self.film.target, ["User-Agent": "a"]).body == Self.film.allBytes)
        #expect(world.origin.log.entries.map { $0.request.fields["If-None-Match"] } == [nil, Self.film.entityTag])
        #expect(try world.get(Self.film.target, ["User-Agent": "a"]).body == Self.film.allBytes)
        #expect(world.asked.count == 2)
    }

    @Test func `a removal takes all variants`() throws {
        let world = try ProxyWorld(script: Self.varying(by: "User-Agent"))
        defer { world.stop() }
        for agent in ["a", "b"] { _ = try world.get(Self.film.target, ["User-Agent": agent]) }
        try isQuiet(world)
        let removed = Awaited(false)
        world.cache.remove(try world.cache.key(for: Self.film.url)) { _ in removed.change { $0 = true } }
        _ = removed.wait { $0 }
        for agent in ["b", "a"] { #expect(try world.get(Self.film.target, ["User-Agent": agent]).body == Self.variant(agent).allBytes) }
        #expect(world.asked.count == 4)
    }
}
