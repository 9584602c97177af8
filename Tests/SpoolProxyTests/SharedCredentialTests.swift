import Foundation
import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// Clients with different credentials at one cache (RFC 9111 §3.5).
@Suite(.timeLimit(.minutes(20))) struct SharedCredentialTests {
    private static let film = VirtualResource.film()
    private static let a: HTTPFields = ["Authorization": "Bearer a"], b: HTTPFields = ["Authorization": "Bearer b"]

    /// An origin that lets some users have the film, and refuses all others.
    private final class Door: Sendable {
        private let users = Locked<Set<String>>(["Bearer a"])
        private let refusal: Int
        private let fields: HTTPFields

        init(refusal: Int = 401, fields: HTTPFields = [:]) {
            self.refusal = refusal
            self.fields = fields
        }

        func letIn(_ user: String) { users.withLock { _ = $0.insert(user) } }
        func shutOut(_ user: String) { users.withLock { _ = $0.remove(user) } }

        var script: OriginScript {
            { [self] request, _ in
                let isAllowed = users.withLock { $0.contains(request.fields["Authorization"] ?? request.fields["Cookie"] ?? "") }
                return isAllowed ? .fields(fields, .correct) : .status(refusal)
            }
        }
    }

    private func world(_ door: Door, isShared: Bool, _ change: (inout Configuration) -> Void = { _ in }) throws -> ProxyWorld {
        try ProxyWorld(
            [Self.film], script: door.script,
            configuration: {
                $0.freshness.isShared = isShared
                change(&$0)
            })
    }

    private func waitUntilStored(_ world: ProxyWorld) throws {
        try world.wait(for: Self.film.url) { $0.isComplete && $0.readers == 0 && $0.fetches == 0 }
    }

    // MARK: Several users

    /// `Cookie` is no reason for an origin's caches to store nothing, `Authorization` is.
    @Test(arguments: [
        (HTTPFields.Name.cookie, HTTPFields()), (HTTPFields.Name.authorization, HTTPFields([.init(.cacheControl, "must-revalidate")])),
    ])
    func `bytes of one user need the origin's leave for another`(name: HTTPFields.Name, fields: HTTPFields) throws {
        let door = Door(fields: fields)
        let world = try world(door, isShared: true)
        defer { world.stop() }
        #expect(try world.get(Self.film.target, [name: "Bearer a"]).body == Self.film.allBytes)
        try waitUntilStored(world)
        #expect(try world.get(Self.film.target, [name: "Bearer b"]).status == 401)
        #expect(try world.get(Self.film.target).status == 401)
        #expect(try world.get(Self.film.target, [name: "Bearer a"]).body == Self.film.allBytes)
        door.letIn("Bearer b")
        for _ in 0..<2 { #expect(try world.get(Self.film.target, [name: "Bearer b"]).body == Self.film.allBytes) }
        // One request for each client that is new to the bytes, and each asks whether it may.
        #expect(world.origin.log.entries.map(\.status) == [206, 401, 401, 304])
        #expect(world.origin.log.handedOver(Self.film.url).bytes == Self.film.length)
        world.origin.setOffline(true)
        #expect(try world.get(Self.film.target, [name: "Bearer b"]).body == Self.film.allBytes)
        #expect(try world.get(Self.film.target, [name: "Bearer c"]).status == 502)
        #expect(try world.get(Self.film.target).status == 502)
    }

    @Test func `authorized answers that are not for everybody are not stored, and not shared in flight`() throws {
        let world = try world(Door(), isShared: true)
        defer { world.stop() }
        world.gate.hold(afterBytes: 16_384)
        let first = try world.connect(), second = try world.connect()
        first.ask(Self.film.target, Self.a)
        world.wait("the first request came", until: { world.asked.count == 1 })
        second.ask(Self.film.target)
        world.wait("the second request came", until: { world.asked.count == 2 })
        world.gate.open()
        #expect(try second.answer().status == 401)
        #expect(try first.answer().body == Self.film.allBytes)
        #expect(try world.status(of: Self.film.url)?.stored.isEmpty ?? true)
    }

    @Test func `a public answer to one user serves everybody`() throws {
        let world = try world(Door(fields: ["Cache-Control": "public"]), isShared: true)
        defer { world.stop() }
        #expect(try world.get(Self.film.target, Self.a).body == Self.film.allBytes)
        try waitUntilStored(world)
        #expect(try world.get(Self.film.target, Self.b).body == Self.film.allBytes)
        #expect(try world.get(Self.film.target).body == Self.film.allBytes)
        #expect(world.asked.count == 1)
    }

    // MARK: Refusals

    @Test(arguments: [401, 403, 404]) func `a refusal of the client that comes first is not that of the one that waits`(status: Int) throws
    {
        for isShared in [false, true] {
            let world = try world(Door(refusal: status), isShared: isShared)
            defer { world.stop() }
            world.gate.hold(afterBytes: 16_384)
            let refused = try world.connect(), allowed = try world.connect()
            // The origin's answer waits until both have come.
            let isOpen = Awaited(false)
            world.origin.follow { [door = Door(refusal: status).script] request, number in
                if number == 0 { _ = isOpen.wait { $0 } }
                return door(request, number)
            }
            refused.ask(Self.film.target, Self.b)
            allowed.ask(Self.film.target, Self.a)
            isOpen.change { $0 = true }
            world.gate.open()
            #expect(try refused.answer().status == status)
            #expect(try allowed.answer().body == Self.film.allBytes)
        }
    }

    /// 1. `a` fetches half of the film. Its token expires.
    /// 2. `b`, whom the origin lets in, needs the other half.
    /// 3. The request has the fields of `b`, although the film was fetched with those of `a`.
    @Test(arguments: [401, 403, 404]) func `a gap is asked for with the token of the client that waits`(status: Int) throws {
        let door = Door(refusal: status, fields: ["Cache-Control": "no-cache"])
        let world = try world(door, isShared: false, { $0.fetching.policy = .readAhead(bytes: 0) })
        defer { world.stop() }
        door.letIn("Bearer b")
        #expect(
            try world.get(Self.film.target, ["Authorization": "Bearer a", "Range": "bytes=10-49999"]).body == Self.film.bytes(10..<50_000))
        door.shutOut("Bearer a")
        #expect(try world.get(Self.film.target, Self.b).body == Self.film.allBytes)
        #expect(!world.origin.log.entries.contains { $0.status == status })
        #expect(world.origin.log.handedOver(Self.film.url).duplicateBytes == 0)
    }

    // MARK: One user

    @Test(arguments: ["X-Own: 1", "Cache-Control: private", "Cache-Control: no-cache", "Vary: Authorization", "Vary: Cookie"])
    func `out of reach of the origin, the only user plays with an expired token`(line: String) throws {
        let field = try #require(HTTPFields.Field(line: line)), fields = HTTPFields([field])
        let name = HTTPFields.Name(fields[.vary] ?? "Authorization")
        let world = try world(Door(fields: fields), isShared: false)
        defer { world.stop() }
        #expect(try world.get(Self.film.target, [name: "Bearer a"]).body == Self.film.allBytes)
        try waitUntilStored(world)
        world.origin.setOffline(true)
        for token in ["Bearer later", "Bearer latest"] {
            #expect(try world.get(Self.film.target, [name: token]).body == Self.film.allBytes)
        }
        world.origin.setOffline(false)
        // Online, the origin decides.
        let isPersonal = field.name != "X-Own"
        #expect(try world.get(Self.film.target, [name: "Bearer later"]).status == (isPersonal ? 401 : 200))
        #expect(try world.get(Self.film.target, [name: "Bearer a"]).body == Self.film.allBytes)
    }

    @Test func `a rotated cookie asks once`() throws {
        let door = Door(fields: ["Vary": "Cookie"])
        let world = try world(door, isShared: false)
        defer { world.stop() }
        for number in 0..<5 {
            let cookie = number == 0 ? "Bearer a" : "s\(number)"
            door.letIn(cookie)
            for _ in 0..<2 {
                #expect(try world.get(Self.film.target, ["Cookie": cookie]).body == Self.film.allBytes)
                try waitUntilStored(world)
            }
        }
        #expect(world.origin.log.entries.map(\.status) == [206, 304, 304, 304, 304])
    }

    @Test func `the index has no credential in clear`() throws {
        let directory = try TemporaryDirectory()
        let world = try ProxyWorld(
            [Self.film], store: .files, directory: directory, script: { _, _ in .fields(["Vary": "Cookie, X-Key"], .correct) })
        #expect(try world.get(Self.film.target, ["Cookie": "s3cretcookie", "X-Key": "s3cretkey"]).body == Self.film.allBytes)
        try waitUntilStored(world)
        #expect(try !world.get("/_spool/api/resources").text.contains("s3cret"))
        world.stop()
        let index = try Data(contentsOf: URL(fileURLWithPath: directory.path + "/spool.sqlite"))
        #expect(index.range(of: Data("film.mp4".utf8)) != nil)
        #expect(index.range(of: Data("s3cret".utf8)) == nil)
    }

    // MARK: Hosts and redirects

    @Test func `another host of the same resource gets no credentials of the first`() throws {
        let mirror = VirtualResource(url: "http://mirror.example/film.mp4", seed: 1, length: Self.film.length)
        let world = try ProxyWorld(
            [Self.film, mirror],
            configuration: {
                $0.freshness.keyPolicy = KeyPolicy().sameHosts(["media.example", "mirror.example"])
                $0.fetching.policy = .readAhead(bytes: 0)
            })
        defer { world.stop() }
        let secrets: HTTPFields = ["Cookie": "id=1", "X-Key": "k", "User-Agent": "TV", "Range": "bytes=10-999"]
        #expect(try world.get(Self.film.target, secrets).body == Self.film.bytes(10..<1000))
        #expect(try world.get(mirror.target, ["User-Agent": "other"]).body == Self.film.allBytes)
        let toMirror = world.origin.log.entries.filter { $0.request.url == mirror.url }
        #expect(!toMirror.isEmpty && toMirror.allSatisfy { $0.request.fields["Cookie"] == nil && $0.request.fields["X-Key"] == nil })
    }

    @Test func `a redirect to another origin drops every field that may be a credential`() throws {
        let target = VirtualResource(url: "http://cdn.example/film.mp4", seed: 1, length: 1000)
        let world = try ProxyWorld(
            [target],
            script: { request, _ in
                request.url == Self.film.url ? .redirect(to: target.url) : .correct
            })
        defer { world.stop() }
        #expect(
            try world.get(Self.film.target, ["Cookie": "id=1", "X-Key": "k", "Referer": "https://a.example/", "User-Agent": "TV"]).body
                == target.allBytes)
        let sent = try #require(world.origin.log.entries.last).request
        #expect(sent.url == target.url && sent.fields["User-Agent"] == "TV")
        for name in ["Cookie", "X-Key", "Referer"] { #expect(sent.fields[name] == nil, "\(name)") }
    }
}
