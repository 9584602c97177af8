import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Readers of a cached asset other than a player, by their own access patterns.
@Suite(.timeLimit(.minutes(20))) struct OtherReaderTests {
    private static func reader(
        _ world: DoorWorld, _ asset: AVURLAsset, _ pattern: SimulatedReader.Pattern, kind: SimulatedMedia.Kind = .fastStart,
        name: String = DoorWorld.url
    ) -> SimulatedReader {
        let resource = world.world.versions[name]?.last
        let media = SimulatedMedia(
            kind: kind, seconds: 60, headBytes: 40_000, tailBytes: kind == .indexAtEnd ? 40_000 : 0,
            firstDifference: { bytes, offset in resource?.content.firstDifference(in: bytes, at: offset) })
        return SimulatedReader(asset, media, pattern, world: world.playback)
    }

    private static func storeAll(_ world: DoorWorld) {
        let asset = world.asset()
        world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        withExtendedLifetime(asset) { world.pass(.seconds(5)) }
    }

    @Test(arguments: [true, false], [SimulatedMedia.Kind.fastStart, .indexAtEnd])
    func `an image generator takes the index and some bytes at each position, and nothing twice`(
        toEnd: Bool, kind: SimulatedMedia.Kind
    ) throws {
        let world = try DoorWorld(length: 40_000_000, contentType: "video/mp4")
        var factory = world.factory
        factory.pace = .full
        let positions = [0.9, 0.1, 0.5, 0.95, 0.3, 0.5001]
        for round in 1...2 {
            let reader = Self.reader(world, factory.asset(for: world.url), .images(at: positions, bytes: 200_000, toEnd: toEnd), kind: kind)
            reader.begin()
            #expect(world.run { reader.isDone || reader.error != nil })
            #expect(reader.error == nil && reader.delivered.totalBytes >= 1_000_000, "round \(round)")
            world.pass(.seconds(5))
            // A window or the end of a cancelled request is fetched beyond each position.
            #expect(world.world.cache.statistics.fetchedBytes < 20_000_000, "round \(round)")
        }
        let fetched = world.world.cache.statistics.fetchedBytes
        let stored = try #require(world.world.cache.storedNow(of: world.world.cache.key(for: DoorWorld.url)))
        #expect(stored.totalBytes == fetched, "a byte was fetched twice")
        #expect(world.breaches == [])
    }

    @Test func `an export of a stored film reads small parts, as fast as it takes them`() throws {
        let world = try DoorWorld(length: 60_000_000, contentType: "video/mp4")
        world.limit { $0.floorBytesPerSecond = 256 << 20 }
        Self.storeAll(world)
        let (requests, begin) = (world.requests.count, world.simulator.now)
        let reader = Self.reader(world, world.asset(), .export(partBytes: 1 << 20))
        reader.begin()
        #expect(world.run { reader.isDone || reader.error != nil })
        #expect(reader.delivered.totalBytes == 60_000_000 && reader.deliveredBytes < 61_000_000)
        // The memory of one part, and no pauses: 60 MB at the pace of playback take half a minute.
        #expect(reader.largestRequestBytes <= 1 << 20)
        #expect(world.simulator.now - begin < .seconds(2))
        #expect(world.requests.count == requests)
        #expect(world.breaches == [])
    }

    @Test(arguments: [(LoadingPace.playback, true), (.full, false)])
    func `an export of a film that is not stored is one request, which the pace delays`(pace: LoadingPace, isSlow: Bool) throws {
        let world = try DoorWorld(length: 80_000_000, contentType: "video/mp4")
        var factory = world.factory
        factory.pace = pace
        let begin = world.simulator.now
        let asset = factory.asset(for: world.url)
        let reader = Self.reader(world, asset, .export(partBytes: 1 << 20))
        reader.begin()
        #expect(world.run { reader.isDone || reader.error != nil })
        #expect(reader.delivered.totalBytes == 80_000_000)
        // 32 MiB in advance, and then 2 MiB a second.
        #expect((world.simulator.now - begin > .seconds(15)) == isSlow)
        #expect(world.world.cache.statistics.fetchedBytes == 80_000_000)
        #expect(world.breaches == [])
    }

    @Test func `a reader of samples in order gets each byte once`() throws {
        let world = try DoorWorld(length: 5_000_000)
        let asset = world.asset()
        let reader = Self.reader(world, asset, .sequential(bytes: 300_000), kind: .mp3)
        reader.begin()
        #expect(world.run { reader.isDone || reader.error != nil })
        #expect(reader.delivered.totalBytes == 5_000_000)
        #expect(world.world.cache.statistics.fetchedBytes == 5_000_000)
        #expect(world.breaches == [])
    }

    @Test func `the tracks of two assets are read in turns, and each byte is right and fetched once`() throws {
        let world = try DoorWorld(length: 8_000_000, contentType: "video/mp4")
        let music = "http://origin.test/music.m4a"
        world.world.serve(VirtualResource(url: music, seed: 9, length: 3_000_000, contentType: "audio/mp4"))
        let assets = [world.asset(), world.factory.asset(for: try #require(URL(string: music)))]
        // The composition keeps copies of the assets.
        let copies = assets.compactMap { $0.copy() as? AVURLAsset }
        let readers = [
            Self.reader(world, copies[0], .sequential(bytes: 400_000)),
            Self.reader(world, copies[1], .sequential(bytes: 100_000), name: music),
        ]
        for reader in readers { reader.begin() }
        #expect(world.run { readers.allSatisfy(\.isDone) || readers.contains { $0.error != nil } })
        #expect(readers.map(\.delivered.totalBytes) == [8_000_000, 3_000_000])
        #expect(world.world.cache.statistics.fetchedBytes == 11_000_000)
        #expect(world.breaches == [])
    }

    @Test func `images are made while the film plays, and its bytes are fetched once`() throws {
        let world = try DoorWorld(length: 8_000_000, contentType: "video/mp4")
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 2_000_000) }
        let asset = world.asset()
        world.probe(asset)
        let play = world.load(asset, 0, toEnd: true)
        let images = Self.reader(world, world.asset(), .images(at: [0.8, 0.4, 0.6], bytes: 100_000, toEnd: false))
        images.begin()
        #expect(world.run { play.isOver && (images.isDone || images.error != nil) })
        #expect(images.error == nil && play.bytes.count == 8_000_000 && world.difference(play, at: 0) == nil)
        #expect(world.world.cache.statistics.fetchedBytes == 8_000_000)
        #expect(world.breaches == [])
    }

    @Test func `a reader of samples refuses an asset of the loader`() throws {
        let world = try DoorWorld()
        #expect(throws: AVError(.operationNotSupportedForAsset)) { try AVAssetReader(asset: world.asset()) }
        #expect(throws: Never.self) { try AVAssetReader(asset: AVURLAsset(url: URL(fileURLWithPath: "/song.mp3"))) }
    }
}
