import SpoolCore
import SpoolOrigin
import SpoolTesting
import Testing

/// Numbers at and beyond the largest offset of the cache, from clients and from origins, through
/// the whole program.
@Suite(.timeLimit(.minutes(20))) struct ExtremeNumberTests {
    static let length = 100_000

    /// Positions around 2^60, which bounds every offset here, and around the limits of 64-bit
    /// integers.
    static let extremes = [
        "1152921504606846975", "1152921504606846976", "1152921504606846977", "9223372036854775806", "9223372036854775807",
        "9223372036854775808", "18446744073709551615", "18446744073709551616", "99999999999999999999999999",
    ]

    static var ranges: [String] {
        extremes.flatMap { n in
            ["bytes=\(n)-", "bytes=0-\(n)", "bytes=-\(n)", "bytes=99999-\(n)", "bytes=0-0,\(n)-", "bytes=0-0,2-\(n)", "bytes=\(n)-\(n)"]
        }
    }

    /// Expects that the body is the part of the film that the answer's own head states.
    private func expectRight(_ answer: ProxyClient.Answer, of film: VirtualResource, _ label: String) throws {
        switch answer.status {
        case 200:
            #expect(answer.body == film.allBytes, "\(label)")
        case 206 where answer["Content-Range"] == nil:
            let parts = try #require(Multipart(answer), "\(label)")
            for (range, body) in zip(parts.ranges, parts.bodies) { #expect(body == film.bytes(range), "\(label), \(range)") }
        case 206:
            let stated = try #require(answer["Content-Range"]?.wholeMatch(of: /bytes (\d+)-(\d+)\/100000/), "\(label)")
            let lower = try #require(Int(stated.1)), last = try #require(Int(stated.2))
            #expect(answer.body == film.bytes(lower..<last + 1), "\(label)")
        case 416:
            #expect(answer["Content-Range"] == "bytes */\(Self.length)", "\(label)")
        default:
            Issue.record("\(label) was answered with \(answer.status)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a range with an extreme number is answered, cold and stored, with GET, HEAD and If-Range`(store: StoreKind) throws {
        let films = Self.ranges.indices.map { VirtualResource.film("\($0).mp4", seed: UInt64($0 + 1), length: Int64(Self.length)) }
        let world = try ProxyWorld(films, store: store)
        defer { world.stop() }
        let client = try world.connect()
        for (film, range) in zip(films, Self.ranges) {
            for state in ["cold", "stored"] {
                let label = "\(range), \(state)"
                try expectRight(client.get(film.target, ["Range": range]), of: film, label)
                let tag = try #require(film.entityTag)
                try expectRight(client.get(film.target, ["Range": range, "If-Range": tag]), of: film, "\(label), If-Range")
                client.ask(film.target, method: "HEAD", ["Range": range])
                let head = try client.head()
                #expect(head.status == 200 && head.length == Self.length, "\(label), HEAD: \(head)")
                _ = try client.get(film.target)
            }
        }
    }

    /// An origin's statements about lengths and times.
    static let statements: [(name: String, HTTPFields)] =
        (extremes + ["-1", "-9223372036854775808", "1e9", ""]).flatMap { n -> [(name: String, HTTPFields)] in
            [
                ("length \(n)", ["Content-Length": n]), ("complete length \(n)", ["Content-Range": "bytes 0-99999/\(n)"]),
                ("last position \(n)", ["Content-Range": "bytes 0-\(n)/*"]),
                ("first position \(n)", ["Content-Range": "bytes \(n)-\(n)/\(n)"]), ("age \(n)", ["Age": n]),
                ("freshness \(n)", ["Cache-Control": "max-age=\(n)"]), ("wait \(n)", ["Retry-After": n]),
            ]
        }

    @Test func `an origin's extreme numbers never end the program nor cause a wrong byte`() throws {
        let films = Self.statements.indices.map { VirtualResource.film("\($0).mp4", seed: UInt64($0 + 1), length: Int64(Self.length)) }
        let statements = Dictionary(uniqueKeysWithValues: zip(films.map(\.url), Self.statements.map(\.1)))
        let world = try ProxyWorld(films, script: { request, _ in .fields(statements[request.url] ?? [:], .correct) })
        defer { world.stop() }
        let threads = 8
        let violations = concurrently(threads) { thread in
            var violations: [String] = []
            for index in stride(from: thread, to: films.count, by: threads) {
                for (method, range) in Self.requests {
                    guard let wrong = try Self.wrongPart(of: films[index], from: world, method: method, range: range) else { continue }
                    violations.append("\(Self.statements[index].name), \(method) \(range ?? "whole"): \(wrong)")
                }
            }
            return violations
        }
        #expect(violations == [])
        #expect(try world.get("/_spool/").status == 200, "the proxy still answers")
    }

    private static let requests: [(String, String?)] = [
        ("HEAD", nil), ("GET", nil), ("GET", "bytes=70000-"), ("GET", "bytes=-5"), ("GET", "bytes=0-0,2-"),
    ]

    /// Describes wrong bytes of an answer.
    ///
    /// - Returns: A description, or nil for right bytes. An error and a short body count as right.
    private static func wrongPart(of film: VirtualResource, from world: ProxyWorld, method: String, range: String?) throws -> String? {
        let client = try world.connect()
        client.ask(film.target, method: method, range.map { ["Range": $0] } ?? [:])
        let head = try client.head()
        guard method == "GET", head.status == 200 || head.status == 206 else { return nil }
        let body: [UInt8]
        do {
            body = try head["Transfer-Encoding"] == "chunked" ? client.chunks() : client.take(upTo: min(head.length ?? .max, 1 << 20))
        } catch is ProxyClient.Failure {
            return nil
        }
        let lower: Int
        if let stated = head["Content-Range"] {
            guard let match = stated.firstMatch(of: /^bytes (\d+)-/), let first = Int(match.1) else { return "it states \(stated)" }
            lower = first
        } else if head.status == 206 {
            guard let parts = Multipart(ProxyClient.Answer(head: head, body: body)) else { return nil }
            return zip(parts.ranges, parts.bodies).allSatisfy { film.bytes($0) == $1 } ? nil : "a part is wrong"
        } else {
            lower = 0
        }
        let isRight = lower + body.count <= length && body == film.bytes(lower..<lower + body.count)
        return isRight ? nil : "\(body.count) bytes from \(lower) are not the film's; \(head) \(world.asked.count)"
    }
}
