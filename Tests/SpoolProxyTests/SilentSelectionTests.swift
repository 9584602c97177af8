import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolSystem
import SpoolTesting
import Testing

/// Fields that change a body although the origin sends no `Vary`.
@Suite(.timeLimit(.minutes(20))) struct SilentSelectionTests {
    private static let films = (0..<2).map { VirtualResource.film(seed: UInt64($0) + 1, length: 2_000_000) }

    /// The number of the player that sent a request.
    private static func player(_ fields: HTTPFields) -> Int { fields["User-Agent"] == "player/0" ? 0 : 1 }

    private static func answer(_ fields: HTTPFields) -> OriginBehaviour {
        let player = player(fields), film = films[player]
        guard let value = fields["Range"], case .ranges(let ranges)? = RangeHeader(value)?.resolve(length: film.length) else {
            return .status(500)
        }
        let part = ranges[0]
        return .status(
            206,
            fields: [
                "ETag": "\"\(player)\"", "Content-Type": "video/mp4",
                "Content-Range": ContentRange.part(part, length: .bytes(film.length)).fieldValue,
            ], body: film.bytes(Int(part.lowerBound)..<Int(part.upperBound)))
    }

    @Test func `two players that get different bytes do not replace each other's for ever`() throws {
        let world = try ProxyWorld([Self.films[0]], script: { request, _ in Self.answer(request.fields) })
        defer { world.stop() }
        func play(_ player: Int, at place: Int) throws {
            let first = 100_000 * (1 + place)
            let answer = try world.get(
                Self.films[0].target, ["User-Agent": "player/\(player)", "Range": "bytes=\(first)-\(first + 999)"])
            #expect(answer.status == 206 && answer.body == Self.films[player].bytes(first..<first + 1_000), "player \(player) at \(place)")
        }
        for place in 0..<12 { try play(place % 2, at: place) }
        let asked = world.origin.log.entries.count
        for place in 6..<12 { try play(place % 2, at: place) }
        #expect(world.origin.log.entries.count == asked, "the bytes of both players are stored")
    }

    @Test func `fields select once they differed in two changes within ten minutes`() throws {
        func fields(_ agent: String, _ app: String = "a") throws -> RequestFields {
            let origin = try #require(try URIReference("https://a.example").origin)
            return RequestFields(selected: ["User-Agent": agent, "X-App": app, "Cookie": agent], origin: origin)
        }
        func names(_ changes: [(RequestFields, isGap: Bool, seconds: Int64)]) -> [String] {
            var silent = SilentSelection()
            for (fields, isGap, seconds) in changes {
                silent.versionChanged(for: fields, isGap: isGap, now: MonotonicInstant(nanoseconds: seconds * 1_000_000_000))
            }
            return silent.names
        }
        let (a, b) = (try fields("a"), try fields("b"))
        #expect(names([(a, false, 0), (b, true, 1), (a, true, 2)]) == ["user-agent"], "a cookie has rules of its own")
        #expect(names([(a, false, 0), (b, true, 1), (a, true, 602)]) == [], "the changes are too far apart")
        #expect(names([(a, false, 0), (b, true, 1), (a, false, 2)]) == [], "a revalidation found a new version")
        #expect(names([(a, false, 0), (a, true, 1), (a, true, 2)]) == [], "equal requests show nothing")
        #expect(names([(a, false, 0), (b, true, 1), (try fields("b", "b"), true, 2)]) == [], "each change was about another field")
        #expect(names([(a, false, 0), (try fields("b", "b"), true, 1), (a, true, 2)]) == ["user-agent", "x-app"])
    }
}
