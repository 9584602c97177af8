import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The requests that the loader causes at the origin.
@Suite(.timeLimit(.minutes(20))) struct OriginRequestTests {
    @Test(arguments: [["ETag": "W/\"1\""], [:]] as [HTTPFields])
    func `over a transport with windows, an origin without strong validator is stored as a whole, and its first window comes twice`(
        fields: HTTPFields
    ) throws {
        var plan = World.Plan()
        plan.windowBytes = 200_000
        let world = try DoorWorld(length: 1_000_000, plan: plan)
        world.world.origin.follow { _, _ in .fields(fields, .without(["ETag", "Last-Modified"], .correct)) }
        let first = world.asset()
        let all = world.load(first, information: true, 0, toEnd: true)
        #expect(world.runToEnd() && all.bytes.count == 1_000_000 && world.difference(all, at: 0) == nil)
        world.pass(.seconds(5))
        // The version is not known before the first window, which no second response continues.
        #expect(world.requests.map { $0.request.fields["Range"] } == ["bytes=0-199999", "bytes=0-999999"])
        let key = try #require(first.key)
        let stored = try #require(try world.world.cache.store.lookup(key))
        #expect(stored.spans.totalBytes == 1_000_000 && stored.representation.length == 1_000_000)
        let second = world.asset()
        let again = world.load(second, information: true, 0, toEnd: true)
        #expect(world.runToEnd() && again.bytes == all.bytes && world.requests.count == 2)
        #expect(world.breaches == [])
        withExtendedLifetime((first, second)) {}
    }

    @Test func `an origin with a strong validator gets windows, and is stored as a whole`() throws {
        var plan = World.Plan()
        plan.windowBytes = 200_000
        let world = try DoorWorld(length: 1_000_000, plan: plan)
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd() && all.bytes.count == 1_000_000 && world.difference(all, at: 0) == nil)
        world.pass(.seconds(5))
        #expect(world.requests.count > 1)
        let key = try #require(asset.key)
        #expect(try world.world.cache.store.lookup(key)?.spans.totalBytes == 1_000_000)
        withExtendedLifetime(asset) {}
    }

    @Test func `an asset reads with the options of its factory`() throws {
        let world = try DoorWorld(length: 100_000)
        func play(_ mode: ReadMode, requests: Int, stored: Int64) throws {
            var factory = world.factory
            factory.readOptions.mode = mode
            let asset = factory.asset(for: world.url)
            let all = world.load(asset, information: true, 0, toEnd: true)
            #expect(world.runToEnd() && all.bytes.count == 100_000 && world.difference(all, at: 0) == nil)
            world.pass(.seconds(1))
            let key = try #require(asset.key)
            #expect(world.requests.count == requests && world.storedBytes(of: key) == stored)
        }
        try play(.doNotStore, requests: 1, stored: 0)
        try play(.automatic, requests: 2, stored: 100_000)
        try play(.onlyStored, requests: 2, stored: 100_000)
    }

    @Test func `the transport gets the urgency of a play, of a later item and of a preload`() throws {
        let world = try DoorWorld(length: 100_000)
        func request(_ name: String, _ start: (URL) throws -> Any) throws -> OriginRequest? {
            let url = "http://origin.test/\(name).mp3"
            world.world.serve(VirtualResource(url: url, seed: 3, length: 100_000, contentType: "audio/mpeg"))
            let kept = try start(try #require(URL(string: url)))
            world.pass(.seconds(2))
            withExtendedLifetime(kept) {}
            return world.requests.first { $0.request.url == url }?.request
        }
        let playing = try request("a") { url in
            let asset = world.factory.asset(for: url)
            world.probe(asset)
            return asset
        }
        #expect(playing?.priority == .playing)
        let preload = try request("b") { try world.factory.preload($0, .whole) }
        #expect(preload?.priority == .prefetch)
    }
}
