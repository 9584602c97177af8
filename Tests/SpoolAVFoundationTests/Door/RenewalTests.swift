import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// URLs that expire, and the cookies of an app.
@Suite(.timeLimit(.minutes(20))) struct RenewalTests {
    private static let fresh = "http://origin.test/album/song.mp3?signature=2"

    /// A world whose origin refuses the first URL after a number of requests.
    private static func world(refusesAfter count: Int) throws -> DoorWorld {
        let world = try DoorWorld(length: 3_000_000)
        world.world.serve(VirtualResource(url: fresh, seed: 7, length: 3_000_000, contentType: "audio/mpeg"))
        world.world.origin.follow { request, ordinal in
            request.url == DoorWorld.url && ordinal >= count ? .status(403) : .slow(bytesPerSecond: 500_000)
        }
        return world
    }

    @Test func `a refused URL is replaced by a fresh one, and the item goes on`() throws {
        let world = try Self.world(refusesAfter: 1)
        let asked = Locked<[URL]>([])
        world.renew { url in
            asked.withLock { $0.append(url) }
            return RenewedURL(URL(string: Self.fresh).unsafelyUnwrapped)
        }
        let asset = world.factory.asset(for: world.url, key: try world.world.cache.key(for: DoorWorld.url))
        let first = world.load(asset, information: true, 0, 500_000)
        #expect(world.run { first.isFinished })
        // The connection breaks, and the next request has the expired URL.
        world.world.origin.setOffline(true, breaksTransfers: true)
        world.world.origin.setOffline(false)
        let rest = world.load(asset, 2_000_000, toEnd: true)
        #expect(world.run { rest.isFinished })
        #expect(rest.bytes.count == 1_000_000 && world.difference(rest, at: 2_000_000) == nil && rest.error == nil)
        #expect(asked.withLock { $0 } == [world.url])
        #expect(world.requests.last?.request.url == Self.fresh)
        #expect(world.breaches == [])
    }

    @Test func `an origin that refuses fresh URLs as well is left to the player, with its status`() throws {
        let world = try DoorWorld()
        world.world.origin.follow { _, _ in .status(401) }
        let count = Locked(0)
        world.renew { url in
            count.withLock { $0 += 1 }
            return RenewedURL(url)
        }
        let asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.run { probe.isOver })
        #expect(probe.redirect?.url == world.url && count.withLock { $0 } == 2)
        #expect(asset.lastError?.status == 401)
    }

    @Test func `a renewal is answered with a later date or none, never with a past one`() throws {
        let world = try DoorWorld()
        let now = Date(timeIntervalSince1970: Double(world.world.cache.environment.time.wallNow.seconds))
        let later = now.addingTimeInterval(7200)
        world.renew { RenewedURL($0, expires: later) }
        let asset = world.factory.asset(for: world.url, options: [CachingAVURLAsset.expiryDateKey: now.addingTimeInterval(60)])
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.information?.renewalDate == now.addingTimeInterval(60))
        world.pass(.seconds(61))
        var ask = AVFoundation.LoadingAsk(url: asset.url, wantsInformation: true)
        ask.isRenewal = true
        let answer = Locked<ContentInformation?>(nil)
        asset.resourceLoader.begin(ask, world: world.playback, on: world.simulator.mailbox("player")) { event in
            if case .finished(let information) = event { answer.withLock { $0 = information } }
        }
        #expect(world.run { answer.withLock { $0 != nil } })
        #expect(answer.withLock { $0?.renewalDate } == later)
        #expect(world.breaches == [])
    }

    @Test func `a date that has passed is not told again`() throws {
        let world = try DoorWorld()
        let past = Date(timeIntervalSince1970: Double(world.world.cache.environment.time.wallNow.seconds) - 1)
        let asset = world.factory.asset(for: world.url, options: [CachingAVURLAsset.expiryDateKey: past])
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.information?.contentLength == 1_000_000)
        #expect(probe.information?.renewalDate == nil)
    }

    @Test func `each request has the cookies that the app's storage has for its URL then`() throws {
        let world = try DoorWorld(length: 3_000_000)
        let value = Locked("1")
        world.cookies { _ in
            [("session", "origin.test"), ("other", "elsewhere.test")].compactMap { name, domain in
                HTTPCookie(properties: [.name: name, .value: value.withLock { $0 }, .domain: domain, .path: "/"])
            }
        }
        let asset = world.asset()
        world.load(asset, information: true, 0, 1000)
        #expect(world.runToEnd())
        #expect(world.requests.first?.request.fields["Cookie"] == "session=1")
        value.withLock { $0 = "2" }
        world.pass(.seconds(10))
        world.load(asset, 2_900_000, toEnd: true)
        #expect(world.runToEnd())
        #expect(world.requests.last?.request.fields["Cookie"] == "session=2")
        // The cookies that the app gives for one asset replace those of the storage.
        let other = world.factory.asset(for: world.url, headers: ["Cookie": "mine=3"])
        world.load(other, information: true, 1_000_000, 1000)
        #expect(world.runToEnd())
        #expect(world.requests.last?.request.fields["Cookie"] == "mine=3")
    }
}

/// The app's own asynchronous closure, on real threads.
@Suite(.timeLimit(.minutes(20))) struct RenewalOnThreadsTests {
    @Test func `the app's closure is asked, and its result or error is passed on`() async throws {
        struct Refused: Error {}
        let world = try DoorWorld()
        var factory = CachingAssetFactory(cache: world.world.cache)
        factory.renewURL = { url in
            guard url.path == "/a" else { throw Refused() }
            return RenewedURL(url.appendingPathComponent("b"))
        }
        let renewal = try #require(factory.presentRenewal)
        for (path, expected) in [("/a", "/a/b"), ("/c", nil)] {
            let url = try #require(URL(string: "http://origin.test" + path))
            let result = await withCheckedContinuation { continuation in renewal(url) { continuation.resume(returning: $0) } }
            #expect((try? result.get())?.url.path == expected)
        }
    }
}
