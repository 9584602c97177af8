import AVFoundation
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The loader of an asset against the double, one loading request after the other.
@Suite(.timeLimit(.minutes(20))) struct LoaderTests {
    @Test func `a cold start is one origin request for the probe and the body`() throws {
        let world = try DoorWorld(length: 300_000)
        let asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.bytes.count == 2 && world.difference(probe, at: 0) == nil)
        #expect(probe.information?.contentType == "public.mp3")
        #expect(probe.information?.contentLength == 300_000)
        #expect(probe.information?.isByteRangeAccessSupported == true)
        #expect(probe.information?.isEntireLengthAvailableOnDemand == false)
        let all = world.load(asset, 0, 300_000, toEnd: true)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 300_000 && world.difference(all, at: 0) == nil)
        #expect(world.requests.map(\.range) == ["bytes=0-"])
        #expect(world.breaches == [])
        #expect(asset.lastError == nil)
    }

    @Test func `the second play makes no origin request and reports every byte as available`() throws {
        let world = try DoorWorld(length: 300_000)
        var asset = world.asset()
        world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        world.pass(.seconds(5))
        let before = world.requests.count
        asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.information?.isEntireLengthAvailableOnDemand == true)
        for offset in stride(from: Int64(0), to: 300_000, by: 65_536) {
            let small = world.load(asset, offset, 65_536)
            #expect(world.runToEnd())
            #expect(world.difference(small, at: offset) == nil && small.bytes.count == Int(min(65_536, 300_000 - offset)))
        }
        #expect(world.requests.count == before)
        #expect(world.breaches == [])
    }

    @Test func `one answer joins stored bytes, a gap and a later stored range`() throws {
        let world = try DoorWorld(length: 400_000)
        let asset = world.asset()
        world.probe(asset)
        world.load(asset, 0, 50_000)
        world.load(asset, 200_000, 60_000)
        #expect(world.runToEnd())
        world.pass(.seconds(5))
        let all = world.load(asset, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 400_000 && world.difference(all, at: 0) == nil)
        #expect(world.world.cache.statistics.fetchedBytes == 400_000)
        #expect(world.breaches == [])
    }

    @Test func `delivered pieces are bounded, and pieces from the store are large`() throws {
        let world = try DoorWorld(length: 3_000_000)
        var asset = world.asset()
        world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        world.pass(.seconds(5))
        asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(all.pieces.allSatisfy { $0 <= 512 << 10 })
        #expect(all.pieces.dropLast().allSatisfy { $0 >= 64 << 10 })
        #expect(world.breaches == [])
    }

    @Test func `a cancel before or after a new request ends the right one`() throws {
        for newFirst in [true, false] {
            let world = try DoorWorld(length: 3_000_000)
            world.world.origin.follow { _, _ in .slow(bytesPerSecond: 500_000) }
            let asset = world.asset()
            world.probe(asset)
            let first = world.load(asset, 0, toEnd: true)
            #expect(world.run { first.bytes.count > 200_000 })
            if !newFirst { world.cancel(first, of: asset) }
            let second = world.load(asset, 2_500_000, toEnd: true)
            if newFirst { world.cancel(first, of: asset) }
            #expect(world.runToEnd())
            #expect(second.bytes.count == 500_000 && world.difference(second, at: 2_500_000) == nil)
            #expect(first.bytes.count < 3_000_000 && world.difference(first, at: 0) == nil)
            #expect(world.breaches == [])
        }
    }

    @Test func `identical requests near the end share one fetch`() throws {
        let world = try DoorWorld(length: 1_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 50_000) }
        let asset = world.asset()
        world.probe(asset)
        #expect(world.runToEnd())
        world.pass(.seconds(5))
        let before = world.requests.count
        let first = world.load(asset, 900_000, 100_000, toEnd: true)
        let second = world.load(asset, 900_000, 100_000, toEnd: true)
        #expect(world.run { first.bytes.count > 30_000 })
        let third = world.load(asset, 900_000, 100_000, toEnd: true)
        #expect(world.runToEnd())
        for load in [first, second, third] { #expect(load.bytes.count == 100_000 && world.difference(load, at: 900_000) == nil) }
        #expect(world.requests.count == before + 1)
        #expect(world.breaches == [])
    }

    @Test func `two readers at distant offsets both advance`() throws {
        let world = try DoorWorld(length: 3_000_000)
        let asset = world.asset()
        world.probe(asset)
        let audio = world.load(asset, 0, 1_000_000)
        let video = world.load(asset, 2_000_000, 1_000_000)
        #expect(world.runToEnd())
        #expect(world.difference(audio, at: 0) == nil && world.difference(video, at: 2_000_000) == nil)
        #expect(world.breaches == [])
    }

    @Test func `a dead connection is retried where it broke, within the same loading request`() throws {
        let world = try DoorWorld(length: 600_000)
        world.world.origin.follow { _, number in number < 6 ? .cut(afterBytes: 100_000, .reset, .correct) : .correct }
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 600_000 && world.difference(all, at: 0) == nil && all.error == nil)
        #expect(world.breaches == [])
    }

    @Test func `a loading request survives a network loss of half a minute`() throws {
        let world = try DoorWorld(length: 600_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.run { all.bytes.count > 100_000 })
        world.world.origin.setOffline(true, breaksTransfers: true)
        world.pass(.seconds(30))
        #expect(!all.isOver)
        #expect(asset.lastError?.code == .originUnreachable)
        world.world.origin.setOffline(false)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 600_000 && world.difference(all, at: 0) == nil && all.error == nil)
        #expect(world.breaches == [])
    }

    @Test func `a lasting network loss fails the request before the player gives up, with the cause`() throws {
        let world = try DoorWorld(length: 600_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 100_000) }
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.run { all.bytes.count > 100_000 })
        world.world.origin.setOffline(true, breaksTransfers: true)
        let start = world.simulator.now
        #expect(world.runToEnd())
        #expect(world.simulator.now - start < .seconds(120))
        #expect(all.error?.domain == NSURLErrorDomain && all.error?.code == NSURLErrorCannotConnectToHost)
        #expect(asset.lastError?.code == .originUnreachable)
        // The player asks again and continues at the same offset.
        world.world.origin.setOffline(false)
        let offset = Int64(all.bytes.count)
        let rest = world.load(asset, offset, toEnd: true)
        #expect(world.runToEnd())
        #expect(rest.bytes.count == 600_000 - Int(offset) && world.difference(rest, at: offset) == nil)
        #expect(world.breaches == [])
    }

    @Test func `a network change at an item's start does not end the item`() throws {
        let world = try DoorWorld(length: 300_000)
        world.world.origin.setOffline(true)
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        world.pass(.milliseconds(1500))
        #expect(!all.isOver && asset.lastError?.code == .originUnreachable)
        world.world.origin.setOffline(false)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 300_000 && world.difference(all, at: 0) == nil && all.error == nil)
        #expect(world.breaches == [])
    }

    @Test func `a player of a silent origin is sent to the original before its two minutes`() throws {
        let world = try DoorWorld()
        world.world.origin.follow { _, _ in .silence }
        let asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.redirect?.url == world.url && world.simulator.now < MonotonicInstant(nanoseconds: .seconds(120)))
        #expect(asset.lastError?.code == .originTimeout)
        #expect(world.breaches == [])
    }

    @Test func `a resource that changes between two requests fails, and bytes never mix`() throws {
        let world = try DoorWorld(length: 600_000)
        let asset = world.asset()
        world.probe(asset)
        world.load(asset, 0, 100_000)
        #expect(world.runToEnd())
        world.pass(.seconds(5))
        world.world.serve(VirtualResource(url: DoorWorld.url, seed: 8, length: 600_000, contentType: "audio/mpeg"))
        let rest = world.load(asset, 300_000, toEnd: true)
        #expect(world.runToEnd())
        #expect(rest.bytes.isEmpty && rest.error != nil)
        #expect(asset.lastError?.code == .representationChanged)
        // A new asset plays the new version from the beginning.
        let next = world.asset()
        let all = world.load(next, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 600_000 && world.difference(all, at: 0) == nil)
        #expect(world.breaches == [])
    }

    @Test func `a resource removed during playback is fetched again and plays on`() throws {
        let world = try DoorWorld(length: 600_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.run { all.bytes.count > 100_000 })
        world.world.cache.remove(try #require(asset.key)) { _ in }
        #expect(world.runToEnd())
        #expect(all.bytes.count == 600_000 && world.difference(all, at: 0) == nil)
        #expect(world.breaches == [])
    }

    @Test func `an abandoned request that was never cancelled does not fetch the whole file`() throws {
        let world = try DoorWorld(length: 40_000_000)
        world.limit {
            $0.runAheadBytes = 2_000_000; $0.floorBytesPerSecond = 100_000
        }
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        world.pass(.seconds(60))
        let most = 2_000_000 + 61 * 100_000 + 512 << 10
        #expect(all.bytes.count > 6_000_000 && all.bytes.count < most)
        // The origin sends no more than that and one read-ahead window.
        #expect(world.world.cache.statistics.fetchedBytes < Int64(most) + world.world.cache.configuration.fetching.readAheadBytes + 65_536)
        #expect(world.breaches == [])
    }

    @Test func `releasing an asset ends its requests and its readers`() throws {
        let world = try DoorWorld(length: 3_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        var asset: CachingAVURLAsset? = world.asset()
        let key = try #require(asset?.key)
        weak let released = asset
        let all = world.load(try #require(asset), information: true, 0, toEnd: true)
        #expect(world.run { all.bytes.count > 100_000 })
        asset = nil
        #expect(released == nil)
        let taken = all.bytes.count
        world.pass(.milliseconds(1))
        let asked = world.requests.count
        world.pass(.seconds(60))
        #expect(all.bytes.count == taken && world.requests.count == asked)
        let status = Locked<ResourceStatus?>(nil)
        world.world.cache.status(of: key) { result in status.withLock { $0 = try? result.get() } }
        #expect(world.run { status.withLock { $0 } != nil })
        let now = try #require(status.withLock { $0 })
        #expect(now.readers == 0 && now.fetches == 0 && now.stored.totalBytes >= 100_000)
        #expect(world.breaches == [])
    }

    @Test func `a copy of an asset keeps the loader after the first one is released`() throws {
        let world = try DoorWorld(length: 300_000)
        var asset: CachingAVURLAsset? = world.asset()
        world.probe(try #require(asset))
        #expect(world.runToEnd())
        let copy = try #require(asset?.copy() as? AVURLAsset)
        asset = nil
        let all = world.load(copy, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(all.bytes.count == 300_000 && world.difference(all, at: 0) == nil)
        #expect(world.breaches == [])
    }

    @Test func `a stopped asset gets a few bytes a minute, so that its item stays alive, until the player asks again`() throws {
        let world = try DoorWorld(length: 3_000_000)
        world.world.origin.follow { _, _ in .slow(bytesPerSecond: 200_000) }
        let asset = world.asset()
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.run { all.bytes.count > 100_000 })
        asset.stopLoading()
        world.pass(.milliseconds(1))
        let count = all.bytes.count
        world.pass(.seconds(300))
        #expect(!all.isOver)
        #expect(all.bytes.count > count && all.bytes.count < count + 6 * 65_536)
        let again = world.load(asset, 0, 200_000)
        #expect(world.run { again.isFinished })
        #expect(world.difference(again, at: 0) == nil)
        #expect(world.breaches == [])
    }
}
