import Spool
import SpoolCore
import SpoolOrigin
import SpoolProxy
import SpoolTesting
import Testing

/// Each request to an origin has the fields of the client that caused it, whoever asked before.
@Suite(.timeLimit(.minutes(20))) struct OwnFieldsTests {
    private static let film = VirtualResource.film(length: 400_000)

    /// An origin that gives each film another kind of validator and of lifetime.
    private static func script(_ seed: UInt64) -> OriginScript {
        let control = ["max-age=3600", "no-cache", "max-age=0", "no-store"][Int(seed % 4)]
        return { _, _ in
            let answer = OriginBehaviour.fields(["Cache-Control": control], .correct)
            return seed % 3 == 0 ? .without(["ETag", "Last-Modified"], answer) : answer
        }
    }

    /// One client's fields. Two of them always change together.
    private static func fields(_ client: Int) -> HTTPFields { ["User-Agent": "player/\(client)", "X-App": "app \(client)"] }

    private static func ranges(_ random: inout SeededRandomNumbers) -> ClosedRange<Int>? {
        guard random.flip() else { return nil }
        let first = random.below(Int(film.length))
        return first...min(Int(film.length) - 1, first + random.below(100_000))
    }

    @Test(arguments: 0..<24 as Range<UInt64>)
    func `the origin sees the fields of the client that caused the request`(seed: UInt64) async throws {
        let time = ManualTime()
        let world = try ProxyWorld([Self.film], time: time, script: Self.script(seed))
        defer { world.stop() }
        var random = SeededRandomNumbers(seed: seed)
        var causes: [Int] = []
        for _ in 1...12 {
            let client = random.below(4), range = Self.ranges(&random)
            let isOfApp = random.flip()
            let asked: String
            if isOfApp {
                asked = "the app"
                var options = ReadOptions()
                options.requestFields = Self.fields(client)
                let reader = try world.cache.reader(for: Self.film.url, options: options)
                let bytes = try await reader.read(at: Int64(range?.lowerBound ?? 0), count: range?.count ?? Int(Self.film.length))
                #expect(bytes == Self.film.bytes(range.map { $0.lowerBound..<$0.upperBound + 1 } ?? 0..<Int(Self.film.length)))
            } else {
                asked = "the proxy"
                var fields = Self.fields(client)
                fields[.range] = range.map { "bytes=\($0.lowerBound)-\($0.upperBound)" }
                let answer = try world.get(Self.film.target, fields)
                #expect(answer.status == (range == nil ? 200 : 206))
            }
            // Nothing of this client goes on when the next one asks.
            try Self.settle(world, time)
            let entries = world.origin.log.entries
            for entry in entries[causes.count...] {
                let sent = entry.request.fields
                #expect(sent["User-Agent"] == "player/\(client)" && sent["X-App"] == "app \(client)", "\(asked): \(sent.lines)")
                causes.append(client)
            }
        }
        #expect(!causes.isEmpty)
    }

    /// Waits until no fetch runs, also none that lingers.
    private static func settle(_ world: ProxyWorld, _ time: ManualTime) throws {
        world.wait("nothing runs") {
            time.advance(by: .seconds(2))
            guard let status = try? world.status(of: film.url) else { return true }
            return status.readers == 0 && status.fetches == 0
        }
    }
}
