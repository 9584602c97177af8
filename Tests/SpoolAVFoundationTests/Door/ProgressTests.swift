import AVFoundation
import SpoolAVFoundation
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The progress of an asset.
@Suite(.timeLimit(.minutes(20))) struct ProgressTests {
    /// Follows an asset's progress without tasks, because the test drives the simulation.
    private static func follow(_ asset: CachingAVURLAsset, _ world: DoorWorld) -> (Locked<[AssetProgress]>, Broadcast<AssetProgress>) {
        let seen = Locked<[AssetProgress]>([])
        let watch = AssetWatch(
            cache: world.world.cache, key: asset.key ?? ResourceKey(normalized: ""), report: LoaderReport(),
            mailbox: world.simulator.mailbox("watch"))
        let broadcast = watch.progress
        _ = broadcast.follow({ [watch] progress in withExtendedLifetime(watch) { seen.withLock { $0.append(progress) } } })
        return (seen, broadcast)
    }

    @Test func `a bar shows each stored stretch, with a point at least, and inside of it`() throws {
        var progress = AssetProgress()
        #expect(progress.stretches(inWidth: 100) == [] && progress.percentCached == 0)
        progress.length = 1_000_000
        for range in [ByteRange(0, 250_000), ByteRange(500_000, 500_010), ByteRange(999_999, 1_000_000)] {
            progress.cached.insert(try #require(range))
        }
        #expect(progress.stretches(inWidth: 100) == [0...25, 50...51, 99...100])
        #expect(progress.stretches(inWidth: 0.5) == [] && progress.percentCached == 25)
        progress.cached.insert(try #require(ByteRange(0, 999_999)))
        #expect(progress.stretches(inWidth: 100) == [0...100] && progress.percentCached == 100)
        progress.length = 1_000_001
        #expect(progress.percentCached == 99)
    }

    @Test func `progress reports growing ranges and each value once`() throws {
        let world = try DoorWorld(length: 1_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let asset = world.asset()
        let (seen, _) = Self.follow(asset, world)
        world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        world.pass(.seconds(3))
        let all = seen.withLock { $0 }
        #expect(all.count >= 5 && Set(all).count == all.count)
        let fractions = all.map(\.fractionCached)
        #expect(fractions == fractions.sorted() && fractions.first == 0 && fractions.last == 1)
        #expect(all.last?.isComplete == true && all.last?.cachedFractions == [0...1])
    }

    @Test func `progress counts bytes by their source, and their ratio`() throws {
        let world = try DoorWorld(length: 400_000)
        for expected in [0.0, 1.0] {
            let asset = world.asset()
            let watch = try #require(asset.broadcast)
            let seen = Locked(AssetProgress())
            let subscription = watch.follow({ progress in seen.withLock { $0 = progress } })
            world.load(asset, information: true, 0, toEnd: true)
            #expect(world.runToEnd())
            world.pass(.seconds(3))
            let progress = seen.withLock { $0 }
            #expect(progress.bytesFromCache + progress.bytesFromOrigin == 400_000)
            #expect(progress.hitRatio == expected)
            // Bytes that are stored need no origin the second time.
            world.load(asset, 0, 100_000)
            #expect(world.runToEnd())
            world.pass(.seconds(3))
            #expect(seen.withLock { $0 }.bytesFromOrigin == progress.bytesFromOrigin)
            #expect(seen.withLock { $0 }.bytesFromCache == progress.bytesFromCache + 100_000)
            subscription.cancel()
        }
    }

    @Test func `progress without a follower costs no timer`() throws {
        let world = try DoorWorld(length: 400_000)
        let asset = world.asset()
        let watch = try #require(asset.broadcast)
        let subscription = watch.follow({ _ in })
        world.pass(.seconds(2))
        subscription.cancel()
        world.pass(.seconds(2))
        #expect(world.simulator.waitingTimers == 0)
    }

    @Test func `the progress of an asset that is not cached ends at once`() async throws {
        let world = try DoorWorld()
        let asset = world.factory.asset(for: URL(fileURLWithPath: "/song.mp3"))
        var count = 0
        for await _ in asset.progress { count += 1 }
        #expect(count == 0)
    }

    @Test func `a broadcast's follower gets the newest value, each change once, and its end`() async {
        let broadcast = Broadcast(1)
        broadcast.send(1)
        let stream = broadcast.stream()
        broadcast.send(2)
        broadcast.finish()
        var seen: [Int] = []
        for await value in stream { seen.append(value) }
        #expect(seen == [2])
        for await value in broadcast.stream() { seen.append(value) }
        #expect(seen == [2, 2])
    }

    @Test func `the last value of each follower is the present one, also when a follower sets another`() {
        let broadcast = Broadcast(1)
        let seen = Locked<[[Int]]>([[], []])
        for number in 0...1 {
            _ = broadcast.follow({ value in
                seen.withLock { $0[number].append(value) }
                if value == 2 { broadcast.send(3) }
            })
        }
        broadcast.send(2)
        #expect(seen.withLock { $0.map(\.last) } == [3, 3])
        // Also while it begins to follow.
        _ = broadcast.follow({ value in
            seen.withLock { $0[0].append(value) }
            if value == 3 { broadcast.send(4) }
        })
        #expect(seen.withLock { $0.map(\.last) } == [4, 4])
    }

    @Test func `a cancelled preload stops the origin and keeps the bytes that arrived`() throws {
        let world = try DoorWorld(length: 20_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 1_000_000) }
        let preload = try world.factory.preload(world.url, .whole)
        #expect(world.run { world.storedBytes(of: preload.key) > 2_000_000 })
        preload.cancel()
        world.pass(.seconds(2))
        let fetched = world.world.cache.statistics.fetchedBytes
        world.pass(.seconds(30))
        #expect(world.world.cache.statistics.fetchedBytes == fetched && fetched < 4_000_000)
        #expect(world.storedBytes(of: preload.key) > 2_000_000)
    }
}
