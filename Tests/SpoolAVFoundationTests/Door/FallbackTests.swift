import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Resources that cannot, or must not, be served through the cache.
@Suite(.timeLimit(.minutes(20))) struct FallbackTests {
    private static func follow(_ world: DoorWorld, _ behaviour: OriginBehaviour) {
        world.world.origin.follow { _, _ in behaviour }
    }

    private static func stored(_ world: DoorWorld, _ key: ResourceKey?) throws -> ResourceStatus? {
        let status = Locked<Result<ResourceStatus?, CacheError>?>(nil)
        world.world.cache.status(of: try #require(key)) { result in status.withLock { $0 = result } }
        #expect(world.run { status.withLock { $0 } != nil })
        return try status.withLock { $0 }?.get()
    }

    // MARK: Sent to the original

    @Test(arguments: [
        (AssetRoute.Reason.unknownLength, OriginBehaviour.unknownLength(.chunked, .ignoresRange)),
        (.contentCoding("gzip"), .fields(["Content-Encoding": "gzip"], .correct)),
        (.playlistWithoutEndpoint, .fields(["Content-Type": "application/vnd.apple.mpegurl"], .correct)),
        (.fellBack(.originMalformed), .raw(Array("no HTTP at all\r\n\r\n".utf8))),
    ])
    func `an unservable resource is redirected before any information, and the next asset has the reason`(
        reason: AssetRoute.Reason, behaviour: OriginBehaviour
    ) throws {
        let world = try DoorWorld()
        Self.follow(world, behaviour)
        let asset = world.factory.asset(for: world.url, headers: ["Authorization": "Bearer 1"])
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.redirect?.url == world.url)
        #expect(probe.redirect?.value(forHTTPHeaderField: "Authorization") == "Bearer 1")
        #expect(probe.bytes.isEmpty && asset.lastError?.code == (reason == .fellBack(.originMalformed) ? .originMalformed : .fellBack))
        let next = world.asset()
        #expect(next.url == world.url && next.route == .original(reason))
        world.factory.forgetFallback(of: try #require(asset.key))
        #expect(world.asset().route == .cache)
        #expect(world.breaches == [])
    }

    @Test func `an answer after the redirect is not read`() throws {
        let world = try DoorWorld()
        world.world.origin.follow { _, _ in .silence }
        world.limit { $0.patience = .seconds(5) }
        let asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.redirect?.url == world.url)
        world.pass(.seconds(1))
        // The player loads by itself now, so Spool's own request has ended.
        #expect(!world.requests.isEmpty && world.requests.allSatisfy(\.isOver))
        #expect(world.breaches == [])
    }

    @Test func `a playlist recognised by its response is redirected to the endpoint`() throws {
        final class Endpoint: LoopbackEndpoint {
            func url(for original: String) -> String? { "http://127.0.0.1:4000/x" }
        }
        let world = try DoorWorld(contentType: "audio/mpegurl")
        let endpoint = Endpoint()
        world.world.cache.loopback = endpoint
        let asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.redirect?.url?.absoluteString == "http://127.0.0.1:4000/x")
        #expect(world.asset().route == .loopback)
        withExtendedLifetime(endpoint) {}
        #expect(world.breaches == [])
    }

    @Test func `an origin that ignores ranges is served from one response`() throws {
        let world = try DoorWorld(length: 500_000)
        Self.follow(world, .ignoresRange)
        let asset = world.asset()
        let probe = world.probe(asset)
        let all = world.load(asset, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(probe.information?.isByteRangeAccessSupported == true)
        #expect(all.bytes.count == 500_000 && world.difference(all, at: 0) == nil)
        let tail = world.load(asset, 400_000, toEnd: true)
        #expect(world.runToEnd())
        #expect(tail.bytes.count == 100_000 && world.difference(tail, at: 400_000) == nil)
        #expect(world.requests.count == 1)
        #expect(world.breaches == [])
    }

    @Test func `a no-store resource is passed on and not stored`() throws {
        let world = try DoorWorld(length: 300_000)
        Self.follow(world, .fields(["Cache-Control": "no-store"], .correct))
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 300_000 && world.difference(all, at: 0) == nil)
        world.pass(.seconds(5))
        #expect(try Self.stored(world, asset.key)?.stored.isEmpty ?? true)
        #expect(world.breaches == [])
    }

    @Test func `a store that fails during playback does not affect the player`() throws {
        var plan = World.Plan()
        plan.capacityBytes = 200_000
        let world = try DoorWorld(length: 900_000, plan: plan)
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 900_000 && world.difference(all, at: 0) == nil && all.error == nil)
        #expect(world.breaches == [])
    }

    // MARK: Failures with a cause

    @Test(arguments: [403, 401, 500])
    func `a status that the player's own request may not get sends it to the original, with the cause in the asset`(
        status: Int
    ) throws {
        let world = try DoorWorld()
        Self.follow(world, .status(status, fields: ["Content-Type": "text/html"], body: Array("<html>no</html>".utf8)))
        let asset = world.factory.asset(for: world.url, headers: ["Authorization": "Bearer 1"])
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.redirect?.url == world.url && probe.redirect?.value(forHTTPHeaderField: "Authorization") == "Bearer 1")
        #expect(asset.lastError?.code == .originStatus && asset.lastError?.status == status)
        #expect(try Self.stored(world, asset.key) == nil)
        // The next asset asks the origin again, because errors are not stored.
        #expect(world.asset().route == .cache)
        #expect(world.breaches == [])
    }

    @Test(arguments: [OriginalObstacle.ownKeys, .ownChallenges])
    func `an item whose original the player could not play fails with the cause`(obstacle: OriginalObstacle) throws {
        let world = try DoorWorld()
        Self.follow(world, .status(500))
        if obstacle == .ownChallenges { world.challenge { _ in false } }
        var factory = world.factory
        if obstacle == .ownKeys { factory.onOtherRequest = { _ in false } }
        let asset = factory.asset(for: world.url)
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.redirect == nil && probe.error?.code == NSURLErrorBadServerResponse)
        #expect(world.breaches == [])
    }

    @Test(arguments: [(404, NSURLErrorFileDoesNotExist), (410, NSURLErrorFileDoesNotExist)])
    func `a missing resource fails the item with its status, and nothing of its body is stored`(status: Int, code: Int) throws {
        let world = try DoorWorld()
        Self.follow(world, .status(status, fields: ["Content-Type": "text/html"], body: Array("<html>no</html>".utf8)))
        let asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.error?.domain == NSURLErrorDomain && probe.error?.code == code)
        #expect(asset.lastError?.code == .originStatus && asset.lastError?.status == status)
        #expect(try Self.stored(world, asset.key) == nil)
        // The next asset asks the origin again, because errors are not stored.
        #expect(world.asset().route == .cache)
        #expect(world.breaches == [])
    }

    @Test func `a sign-in page instead of media is left to the player, and is not stored`() throws {
        let world = try DoorWorld()
        let page = Array("<!DOCTYPE html><html><body>Welcome to the hotel</body></html>".utf8)
        Self.follow(world, .status(200, fields: ["Content-Type": "text/html", "ETag": "\"p\""], body: page))
        let asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.redirect?.url == world.url && asset.lastError?.code == .notMedia)
        world.pass(.seconds(5))
        #expect(try Self.stored(world, asset.key) == nil)
        // Outside the hotel the same URL plays.
        Self.follow(world, .correct)
        let next = world.asset()
        let all = world.load(next, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 1_000_000 && world.difference(all, at: 0) == nil)
        #expect(world.breaches == [])
    }

    @Test func `an empty body is not media`() throws {
        let world = try DoorWorld(length: 0)
        let asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.redirect?.url == world.url && asset.lastError?.code == .notMedia)
        #expect(world.breaches == [])
    }

    @Test func `an unreachable origin fails the item with that error`() throws {
        let world = try DoorWorld()
        world.world.origin.setOffline(true)
        let asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.error?.code == NSURLErrorCannotConnectToHost && asset.lastError?.code == .originUnreachable)
        #expect(world.breaches == [])
    }

    // MARK: Types

    @Test func `a type that the player does not allow is left out`() throws {
        let world = try DoorWorld()
        let asset = world.asset()
        let refused = world.load(asset, information: true, 0, 2, allowed: ["public.mpeg-4"])
        let allowed = world.load(asset, information: true, 0, 2, allowed: ["public.mp3"])
        #expect(world.runToEnd())
        #expect(refused.information?.contentType == nil && allowed.information?.contentType == "public.mp3")
    }

    @Test func `the type octet-stream is replaced by a better one within the same request`() throws {
        let world = try DoorWorld(contentType: "application/octet-stream")
        let asset = world.asset()
        // The bytes of the virtual resource show no type, so the extension decides.
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.information?.contentType == "public.mp3")
        #expect(world.requests.count == 1)
        #expect(world.breaches == [])
    }

    @Test func `the app's expiry date becomes the renewal date, and the renewal is answered`() throws {
        let world = try DoorWorld()
        let date = Date(timeIntervalSince1970: 1_800_003_600)
        let asset = world.factory.asset(for: world.url, options: [CachingAVURLAsset.expiryDateKey: date])
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.information?.renewalDate == date)
        var ask = AVFoundation.LoadingAsk(url: asset.url, wantsInformation: true)
        ask.isRenewal = true
        let isAnswered = Locked(false)
        asset.resourceLoader.begin(ask, world: world.playback, on: world.simulator.mailbox("player")) { event in
            if case .finished(let information) = event, information?.contentLength == 1_000_000 { isAnswered.withLock { $0 = true } }
        }
        #expect(world.run { isAnswered.withLock { $0 } })
        #expect(world.breaches == [])
    }
}
