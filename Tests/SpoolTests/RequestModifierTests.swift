import Foundation
import Spool
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// An app that changes origin requests just before they are sent.
@Suite(.timeLimit(.minutes(20))) struct RequestModifierTests {
    private static let song = VirtualResource(url: "http://cdn.test/song.mp3", seed: 3, length: 300_000)

    /// Hands out tokens, a new one after each refusal.
    private final class Tokens: RequestModifier {
        struct NoToken: Error {}
        let refusals = Locked<[Int?]>([])
        let mayRefresh: Bool

        init(mayRefresh: Bool = true) { self.mayRefresh = mayRefresh }

        func fields(for url: String, fields: HTTPFields, refusal: Int?) async throws -> HTTPFields {
            refusals.withLock { $0.append(refusal) }
            if refusal != nil, !mayRefresh { throw NoToken() }
            var fields = fields
            fields["Authorization"] = refusal == nil ? "Bearer old" : "Bearer new"
            // An app cannot change the requested range.
            fields["Range"] = "bytes=7-"
            return fields
        }
    }

    /// Runs `body` on a cache whose origin accepts the new token only.
    private func withCache(_ modifier: any RequestModifier, _ status: Int, _ body: (MediaCache, ScriptedOrigin) async throws -> Void)
        async throws
    {
        let lane = DiskLane(name: "origin")
        let origin = ScriptedOrigin([Self.song], mailbox: lane, time: SystemTime(), random: SystemRandom()) { request, _ in
            request.fields["Authorization"] == "Bearer new" ? .correct : .status(status, body: Array("who are you?".utf8))
        }
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-modifier-\(UUID().uuidString)")
        var configuration = Configuration()
        configuration.storage.directory = directory.path
        configuration.network.transport = origin
        configuration.network.requestModifier = modifier
        let cache = try MediaCache(configuration: configuration)
        try await body(cache, origin)
        await cache.close()
        lane.shutdown()
        try FileManager.default.removeItem(at: directory)
    }

    /// Answers when the test resumes it.
    private final class Silence: RequestModifier {
        let asked = Locked<CheckedContinuation<Void, Never>?>(nil)

        func fields(for url: String, fields: HTTPFields, refusal: Int?) async throws -> HTTPFields {
            await withCheckedContinuation { continuation in asked.withLock { $0 = continuation } }
            return fields
        }
    }

    @Test func `a modifier that never answers keeps no fetch without readers`() async throws {
        let silence = Silence()
        try await withCache(silence, 401) { cache, origin in
            let reader = try cache.reader(for: Self.song.url)
            let reading = Task { _ = try? await reader.read(at: 0, count: 10) }
            let question = try await eventually("the app was asked") { silence.asked.withLock { $0 } }
            reader.cancel()
            await reading.value
            let key = try cache.key(for: Self.song.url)
            try await eventually("the fetch ended") { (try await cache.status(of: key)?.fetches ?? 0) == 0 }
            question.resume()
            #expect(origin.log.entries.isEmpty)
        }
    }

    @Test(arguments: [401, 403])
    func `a refused request is sent once more with fresh credentials`(_ status: Int) async throws {
        let tokens = Tokens()
        try await withCache(tokens, status) { cache, origin in
            let bytes = try await cache.reader(for: Self.song.url).bytes()
            #expect(bytes == Self.song.content.bytes(at: 0, count: 300_000))
            #expect(origin.log.entries.map(\.range) == ["bytes=0-", "bytes=0-"])
        }
        #expect(tokens.refusals.withLock { $0 } == [nil, status])
    }

    @Test func `a modifier without better credentials fails its readers`() async throws {
        try await withCache(Tokens(mayRefresh: false), 401) { cache, origin in
            await #expect(throws: CacheError.self) { try await cache.reader(for: Self.song.url).bytes() }
            #expect(origin.log.entries.count == 1)
        }
    }

    @Test func `a second refusal is final`() async throws {
        let tokens = Tokens()
        try await withCache(tokens, 403) { cache, origin in
            origin.follow { _, _ in .status(403) }
            let error = await #expect(throws: CacheError.self) { try await cache.reader(for: Self.song.url).bytes() }
            #expect(error?.status == 403)
            #expect(origin.log.entries.count == 2)
        }
    }
}
