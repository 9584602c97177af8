import Spool
import SpoolCore
import SpoolProxy
import SpoolTesting
import Testing

/// Clients of a proxy whose cache is bypassed (docs/rollout.md).
@Suite(.timeLimit(.minutes(20))) struct ProxyBypassTests {
    private static let film = VirtualResource.film()

    @Test func `a client of a bypassed cache is sent to the origin, and plays from the store afterwards`() throws {
        let world = try ProxyWorld([Self.film])
        defer { world.stop() }
        #expect(try world.get(Self.film.target).body == Self.film.allBytes)
        world.cache.bypass.app(sets: true)
        let answer = try world.get(Self.film.target, ["Range": "bytes=10-19"])
        #expect(answer.status == 307 && answer["Location"] == Self.film.url && answer.body.isEmpty)
        world.cache.bypass.app(sets: false)
        #expect(try world.get(Self.film.target).body == Self.film.allBytes)
        #expect(world.origin.log.entries.count == 1)
    }

    @Test func `a connection that repeats its request is sent to the origin as well`() throws {
        let world = try ProxyWorld([Self.film])
        defer { world.stop() }
        #expect(try world.get(Self.film.target).body == Self.film.allBytes)
        try world.wait(for: Self.film.url) { $0.isComplete && $0.fetches == 0 }
        let client = try world.connect()
        for first in [10, 20] {
            let answer = try client.get(Self.film.target, ["Range": "bytes=\(first)-\(first + 9)"])
            #expect(answer.body == Self.film.bytes(first..<first + 10))
        }
        world.cache.bypass.app(sets: true)
        #expect(try client.get(Self.film.target, ["Range": "bytes=30-39"]).status == 307)
    }

    @Test func `a client stays where its own request would not be the cache's, and where the proxy stands in for a site`() throws {
        let setups: [(configuration: (inout Configuration) -> Void, options: (inout ProxyOptions) -> Void, target: String)] = [
            ({ $0.network.requestFields = ["Authorization": "Bearer 1"] }, { _ in }, Self.film.target),
            ({ _ in }, { $0.fixedOrigin = VirtualResource.site }, "/film.mp4"),
        ]
        for (configuration, options, target) in setups {
            let world = try ProxyWorld([Self.film], configuration: configuration, options: options)
            defer { world.stop() }
            world.cache.bypass.app(sets: true)
            #expect(try world.get(target).body == Self.film.allBytes)
        }
    }
}
