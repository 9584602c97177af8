import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The switch that sends players past the cache.
@Suite(.timeLimit(.minutes(20))) struct BypassTests {
    /// The changes of the switch, as events.
    private final class Switches: EventSink {
        private let seen = Locked<[Bool]>([])

        var all: [Bool] { seen.withLock { $0 } }

        func record(_ event: CacheEvent) {
            if case .bypassChanged(let isBypassed, _) = event { seen.withLock { $0.append(isBypassed) } }
        }
    }

    @Test func `a bypassed cache makes plain assets, and caches again when the switch is back`() throws {
        let switches = Switches()
        var plan = World.Plan()
        plan.configure = { $0.events.append(switches) }
        let world = try DoorWorld(plan: plan)
        let cache = world.world.cache
        cache.isBypassed = true
        cache.isBypassed = true
        #expect(world.asset().route == .original(.bypassed) && world.asset().url == world.url)
        cache.isBypassed = false
        #expect(world.asset().route == .cache)
        #expect(switches.all == [true, false])
    }

    @Test func `a player that waits for its first answer is sent to the original at once`() throws {
        let world = try DoorWorld()
        world.world.origin.follow { _, _ in .silence }
        let asset = world.asset()
        let probe = world.probe(asset)
        world.pass(.seconds(1))
        #expect(!probe.isOver)
        let start = world.simulator.now
        world.world.cache.isBypassed = true
        #expect(world.runToEnd())
        #expect(probe.redirect?.url == world.url && world.simulator.now - start < .seconds(1))
        #expect(world.breaches == [])
    }

    @Test func `an item that has its information plays to its end through the cache`() throws {
        let world = try DoorWorld(length: 600_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.run { all.bytes.count > 100_000 })
        world.world.cache.isBypassed = true
        let more = world.load(asset, 0, 50_000)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 600_000 && world.difference(all, at: 0) == nil && all.error == nil)
        #expect(more.bytes.count == 50_000 && more.redirect == nil)
        #expect(world.breaches == [])
    }

    @Test func `an asset with fields of its own is redirected with them, because a plain one has none`() throws {
        let world = try DoorWorld()
        world.world.cache.isBypassed = true
        let asset = world.factory.asset(for: world.url, headers: ["Authorization": "Bearer 1"])
        #expect(asset.route == .cache)
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.redirect?.url == world.url && probe.redirect?.value(forHTTPHeaderField: "Authorization") == "Bearer 1")
        #expect(world.requests.isEmpty && world.breaches == [])
    }

    @Test func `an item whose original the player could not play stays with the cache`() throws {
        let world = try DoorWorld()
        world.challenge { _ in false }
        world.world.cache.isBypassed = true
        #expect(world.asset().route == .cache)
    }

    @Test func `a download stops with its bytes, and goes on when the switch is back`() throws {
        let world = try DoorWorld(length: 600_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        let download = try world.download()
        #expect(world.run { world.storedBytes(of: download) > 100_000 })
        world.world.cache.isBypassed = true
        world.pass(.seconds(2))
        let stopped = world.storedBytes(of: download)
        world.pass(.seconds(60))
        #expect(world.storedBytes(of: download) == stopped && stopped < 600_000 && !world.isDownloaded(download))
        world.world.cache.isBypassed = false
        #expect(world.run { world.isDownloaded(download) })
        #expect(world.storedBytes(of: download) == 600_000)
        // No byte came twice: the paused response goes on, or a request for the rest follows.
        #expect(world.world.cache.statistics.fetchedBytes == 600_000)
    }

    /// Reports what the test sets.
    private final class Network: NetworkMonitor {
        private let report = Locked<(@Sendable (NetworkConditions) -> Void)?>(nil)

        func start(_ report: @escaping @Sendable (NetworkConditions) -> Void) { self.report.withLock { $0 = report } }
        func stop() { report.withLock { $0 = nil } }

        func isAway(_ isAway: Bool) {
            var conditions = NetworkConditions()
            conditions.isOffline = isAway
            report.withLock { $0 }?(conditions)
        }
    }

    @Test(arguments: [BypassCauses.rescues, .crashes, .app])
    func `a bypass leaves everything to the cache while there is no network, unless the app wants it`(cause: BypassCauses) throws {
        let network = Network()
        var plan = World.Plan()
        plan.configure = { $0.network.monitor = network }
        let world = try DoorWorld(plan: plan)
        let cache = world.world.cache
        cache.bypass.change("a test") { $0.insert(cause) }
        #expect(cache.isBypassed && world.asset().route == .original(.bypassed))
        network.isAway(true)
        #expect(world.asset().route == (cause == .app ? .original(.bypassed) : .cache))
        network.isAway(false)
        #expect(world.asset().route == .original(.bypassed))
        // The app ends any bypass of the cache by itself.
        cache.isBypassed = false
        #expect(!cache.isBypassed && world.asset().route == .cache)
    }

    @Test(arguments: [BypassCauses.rescues, .crashes, .rollout, .app])
    func `a bypass leaves finished downloads to the cache, unless the app wants it`(cause: BypassCauses) throws {
        let world = try DoorWorld()
        let download = try world.download()
        #expect(world.run { world.isDownloaded(download) })
        let requests = world.requests.count
        world.world.cache.bypass.change("a test") { $0.insert(cause) }
        let asset = world.asset()
        #expect(asset.route == (cause == .app ? .original(.bypassed) : .cache))
        guard cause != .app else { return }
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 1_000_000 && world.difference(all, at: 0) == nil && world.requests.count == requests)
    }

    @Test func `a cache whose store cannot be opened is bypassed, with its error, and leaves the files alone`() async throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("spool-open-" + UUID().uuidString)
        let contents = Data("no directory".utf8)
        try contents.write(to: place)
        defer { try? FileManager.default.removeItem(at: place) }
        let switches = Switches()
        var configuration = Configuration()
        configuration.storage.directory = place.path
        configuration.events.append(switches)
        #expect(throws: CacheError.self) { try MediaCache(configuration: configuration) }
        let cache = try MediaCache.openOrBypass(configuration: configuration)
        #expect(cache.openError?.message.contains(place.path) == true && cache.isBypassed && switches.all == [true])
        let url = try #require(URL(string: "http://origin.test/song.mp3"))
        #expect(cache.asset(for: url).route == .original(.bypassed))
        // The app cannot switch a cache on that has no store, and a download does not get lost.
        cache.isBypassed = false
        #expect(cache.isBypassed)
        await #expect(throws: CacheError.self) { try await cache.downloads.add(url.absoluteString) }
        await cache.close()
        #expect(try Data(contentsOf: place) == contents)
        configuration.fetching.maximumFetches = 0
        #expect(throws: CacheError.self) { try MediaCache.openOrBypass(configuration: configuration) }
    }

    @Test func `a cache whose store opens has no error and is not bypassed`() async throws {
        var configuration = Configuration()
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("spool-open-" + UUID().uuidString)
        configuration.storage.directory = place.path
        defer { try? FileManager.default.removeItem(at: place) }
        let cache = try MediaCache.openOrBypass(configuration: configuration)
        #expect(cache.openError == nil && !cache.isBypassed)
        await cache.close()
    }
}
