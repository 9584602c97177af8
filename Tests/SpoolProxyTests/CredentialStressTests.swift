import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Clients with different credentials, and one without, at a cache of several users: no client gets
/// bytes of a version that the origin did not let it have.
@Suite(.timeLimit(.minutes(20))) struct CredentialStressTests {
    private static let users = ["a", "b", "c", ""]
    private static let films = (0..<3).map { VirtualResource.film("\($0).mp4", seed: UInt64($0), length: 2000) }
    /// The requests of all clients together, for each field.
    private static let requestCount = Seeds.isNightly ? 10_000 : 1_500

    /// The origin's decisions. A version belongs to some users, and the others are refused.
    private final class Ledger: Sendable {
        private struct State {
            var version: [String: UInt64] = [:]
            /// The users who were let have a version, by its seed.
            var granted: Set<String> = []
        }

        private let state = Locked(State())

        static func name(_ user: String, _ seed: UInt64) -> String { "\(user) \(seed)" }

        func renew(_ film: VirtualResource, to seed: UInt64) { state.withLock { $0.version[film.url] = seed } }

        /// Every user may have a version that the origin sent without credentials, unless it varies by them.
        func wasGranted(_ user: String, _ seed: UInt64) -> Bool {
            let users = seed % 4 == 0 ? [user] : [user, ""]
            return state.withLock { state in users.contains { state.granted.contains(Self.name($0, seed)) } }
        }

        /// A third of all users may have a version. `kind` says how it is marked for caches.
        func answer(_ request: OriginRequest) -> OriginBehaviour {
            guard let film = CredentialStressTests.films.first(where: { $0.url == request.url }) else { return .status(404) }
            let user = request.fields["Cookie"] ?? request.fields["Authorization"] ?? ""
            let seed = state.withLock { $0.version[film.url] ?? film.content.seed }
            guard (user.utf8.reduce(seed) { $0 &* 31 &+ UInt64($1) }) % 3 > 0 else { return .status(seed % 2 == 0 ? 401 : 404) }
            state.withLock { _ = $0.granted.insert(Self.name(user, seed)) }
            let fields: HTTPFields =
                switch seed % 4 {
                case 0: ["Vary": "Cookie"]
                case 1: ["Cache-Control": "private"]
                case 2: ["Cache-Control": "no-cache"]
                default: ["Cache-Control": "must-revalidate, max-age=3600"]
                }
            return .fields(fields, Self.body(of: film.version(seed: seed), request))
        }

        private static func body(of film: VirtualResource, _ request: OriginRequest) -> OriginBehaviour {
            let tag = film.entityTag ?? ""
            if request.fields["If-None-Match"]?.contains(tag) == true { return .status(304, fields: ["ETag": tag]) }
            let first = request.fields["Range"].flatMap { Int64($0.dropFirst(6).prefix { $0 != "-" }) } ?? 0
            let bytes = film.content.bytes(at: first, count: Int(film.length - first))
            return .status(
                206,
                fields: [
                    "ETag": tag, "Content-Type": "video/mp4", "Content-Length": String(bytes.count),
                    "Content-Range": "bytes \(first)-\(film.length - 1)/\(film.length)",
                ], body: bytes)
        }
    }

    @Test(arguments: ["Cookie", "Authorization"], Seeds.list(count: 1, nightly: 2))
    func `no client gets bytes without the origin's leave`(name: String, seed: UInt64) throws {
        let ledger = Ledger()
        let world = try ProxyWorld(script: { request, _ in ledger.answer(request) }, configuration: { $0.freshness.isShared = true })
        defer { world.stop() }
        let port = world.port
        let served = Locked(0)
        let complaints = concurrently(Self.users.count) { number in
            var random = Walk(state: seed &+ UInt64(number))
            let user = Self.users[number]
            var client = try ProxyClient(port: port)
            var found: [String] = []
            for _ in 0..<(Self.requestCount / Self.users.count) {
                let film = Self.films[random.below(Self.films.count)]
                if random.below(20) == 0 { ledger.renew(film, to: UInt64(random.below(1000))) }
                let first = random.below(3) == 0 ? random.below(1900) : 0
                var fields: HTTPFields = ["Range": "bytes=\(first)-"]
                if !user.isEmpty { fields[name] = user }
                let answer: ProxyClient.Answer
                do { answer = try client.get(film.target, fields) } catch is ProxyClient.Failure {
                    // The version changed while its body was sent, so the body was cut.
                    client = try ProxyClient(port: port)
                    continue
                }
                guard answer.status == 206 else { continue }
                served.withLock { $0 += 1 }
                guard let tag = answer["ETag"], let version = UInt64(tag.dropFirst(2).dropLast()) else {
                    found.append("an answer without the tag of a version")
                    continue
                }
                if answer.body != film.version(seed: version).bytes(first..<2000) { found.append("wrong bytes of version \(version)") }
                if !ledger.wasGranted(user, version) { found.append("'\(user)' got version \(version), which the origin refused") }
            }
            return found
        }
        #expect(complaints.isEmpty, "seed \(seed): \(complaints.prefix(3))")
        #expect(served.withLock { $0 } > Self.requestCount / 10)
    }

    /// A small generator of numbers, so that each client's requests follow from the seed.
    private struct Walk {
        var state: UInt64

        mutating func below(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
    }
}
