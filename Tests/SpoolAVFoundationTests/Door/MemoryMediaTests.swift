import AVFoundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolTestSupport
import SpoolTesting
import Testing

/// Media that an app has in memory.
@MainActor @Suite(.timeLimit(.minutes(20))) struct MemoryMediaTests {
    private nonisolated static let resource = VirtualResource(
        url: "memory", seed: 5, length: 1_500_000, contentType: "audio/mpeg")
    private static let song = Data(resource.content.bytes(at: 0, count: 1_500_000))

    @Test func `bytes in memory play to the end without a request and without the store`() throws {
        let world = try DoorWorld()
        // A slice, whose first index is not 0.
        let data = (Data([1, 2, 3]) + Self.song).dropFirst(3)
        let asset = try world.factory.asset(data: data, mimeType: "audio/mpeg", name: "a song / 1")
        #expect(asset.url.absoluteString == "spool-media://memory/a%20song%20-%201.mp3")
        let item = AVPlayerItem(asset: asset)
        let player = AVPlayer(playerItem: item)
        let simulated = SimulatedPlayer(driving: player, habits: PlayerHabits(), world: world.playback) { _ in
            SimulatedMedia(kind: .mp3, seconds: 20, headBytes: 1000) { bytes, offset in
                Self.resource.content.firstDifference(in: bytes, at: offset)
            }
        }
        let controller = PlaybackController(player: player, main: world.playback.main)
        player.play()
        #expect(world.run { controller.state == .ended })
        #expect(simulated.history.first?.delivered.totalBytes == Int64(Self.song.count))
        #expect(simulated.history.first?.information?.contentType == "public.mp3")
        #expect(simulated.history.first?.information?.isEntireLengthAvailableOnDemand == true)
        #expect(world.requests.isEmpty && world.world.cache.statistics.readers == 0)
        #expect(world.breaches == [])
    }

    @Test func `ranges of bytes in memory are exact, and a cancelled request gets none`() throws {
        let world = try DoorWorld(length: 1_500_000)
        let asset = try world.factory.asset(data: Self.song, mimeType: "audio/mpeg")
        world.probe(asset)
        let parts = [(0, 2), (1_000_000, 500_000), (1_499_999, 1)].map { offset, count in
            (offset, count, world.load(asset, Int64(offset), count))
        }
        #expect(world.runToEnd())
        for (offset, count, load) in parts { #expect(Data(load.bytes) == Self.song.dropFirst(offset).prefix(count)) }
        let all = world.load(asset, 0, toEnd: true)
        world.cancel(all, of: asset)
        world.pass(.seconds(1))
        #expect(all.bytes.isEmpty)
        #expect(world.breaches == [])
    }

    @Test func `a file that cannot play from memory is refused with the reason`() throws {
        let world = try DoorWorld()
        func code(_ data: Data, _ type: String) -> CacheError.Code? {
            do throws(CacheError) {
                _ = try world.factory.asset(data: data, mimeType: type)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code(Data(), "audio/mpeg") == .unsupportedMedia)
        #expect(code(Data(count: CachingAssetFactory.maximumDataBytes + 1), "audio/mpeg") == .unsupportedMedia)
        #expect(code(Data("#EXTM3U".utf8), "application/x-mpegurl") == .unsupportedMedia)
        #expect(code(Data("<html>".utf8), "text/html") == .unsupportedMedia)
        #expect(code(Data([1, 2, 3]), "nonsense") == .unsupportedMedia)
        #expect(code(Data([0x1A, 0x45, 0xDF, 0xA3]), "video/webm") == .unsupportedMedia)
        #expect(code(Self.song, "public.mp3") == nil)
        #expect(code(Data("fLaC".utf8), "application/octet-stream") == nil)
    }

    @Test func `the short form makes an item that keeps its bytes`() throws {
        let world = try DoorWorld()
        var item: AVPlayerItem? = try world.world.cache.playerItem(data: Self.song, mimeType: "audio/mpeg")
        let loader = (item?.asset as? AVURLAsset)?.resourceLoader
        #expect(loader?.delegate != nil)
        item = nil
        // The loader outlives its item here, and holds its delegate.
        #expect(loader?.delegate != nil)
    }
}
