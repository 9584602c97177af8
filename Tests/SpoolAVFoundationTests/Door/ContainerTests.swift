import AVFoundation
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Containers, offsets and URLs beyond the usual ones, through the loader.
@Suite(.timeLimit(.minutes(20))) struct ContainerTests {
    @Test(arguments: [("video/webm", "webm"), ("video/x-matroska", "mkv"), ("audio/ogg", "ogg")])
    func `a container that the system does not name is left to the player after one request`(type: String, name: String) throws {
        let world = try DoorWorld()
        let url = try #require(URL(string: "http://origin.test/film.\(name)"))
        world.world.serve(VirtualResource(url: url.absoluteString, seed: 3, length: 5 << 20, contentType: type))
        let asset = world.factory.asset(for: url)
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(asset.lastError?.code == .unsupportedMedia)
        #expect(asset.lastError?.message.contains(".\(name) files") == true)
        #expect(probe.bytes.isEmpty && probe.information == nil)
        #expect(probe.redirect?.url == url)
        world.pass(.seconds(5))
        // The rest of the film is not fetched.
        #expect(world.requests.count == 1 && world.world.cache.statistics.fetchedBytes < 4 << 20)
        #expect(world.breaches == [])
    }

    @Test func `Ogg plays on a system that lists it, and a type named by the app is not checked`() throws {
        let world = try DoorWorld()
        let url = try #require(URL(string: "http://origin.test/song.ogg"))
        world.world.serve(VirtualResource(url: url.absoluteString, seed: 3, length: 100_000, contentType: "audio/ogg"))
        var asset = world.factory.asset(for: url)
        let listed = world.load(asset, information: true, 0, 2, allowed: ["org.xiph.ogg-audio"])
        #expect(world.runToEnd())
        #expect(listed.information?.contentType == "org.xiph.ogg-audio" && listed.bytes.count == 2)
        asset = world.factory.asset(for: url, options: [CachingAVURLAsset.contentTypeKey: "audio/ogg"])
        let hinted = world.probe(asset)
        #expect(world.runToEnd())
        #expect(hinted.information?.contentType == "org.xiph.ogg-audio" && asset.lastError == nil)
        #expect(world.breaches == [])
    }

    @Test(arguments: [
        ("audio/x-m4b", "m4b", "com.apple.protected-mpeg-4-audio-b"), ("audio/flac", "flac", "org.xiph.flac"),
        ("audio/x-caf", "caf", "com.apple.coreaudio-format"), ("video/x-msvideo", "avi", "public.avi"),
    ])
    func `a container that the system lists plays under its identifier`(type: String, name: String, identifier: String) throws {
        let world = try DoorWorld()
        let url = try #require(URL(string: "http://origin.test/book.\(name)"))
        world.world.serve(VirtualResource(url: url.absoluteString, seed: 3, length: 100_000, contentType: type))
        let asset = world.factory.asset(for: url)
        let all = world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        #expect(all.information?.contentType == identifier && all.bytes.count == 100_000)
        #expect(world.breaches == [])
    }

    @Test func `bytes beyond 4 GiB are read at their offsets and stored once`() throws {
        let length: Int64 = (5 << 30) + 12_345
        let world = try DoorWorld(length: length, contentType: "video/mp4")
        var asset = world.asset()
        world.probe(asset)
        #expect(world.runToEnd())
        let offsets: [Int64] = [(4 << 30) - 1000, (4 << 30) + (1 << 20), length - 5000]
        for offset in offsets {
            let part = world.load(asset, offset, 5000)
            #expect(world.runToEnd())
            #expect(part.bytes.count == 5000 && world.difference(part, at: offset) == nil)
        }
        world.pass(.seconds(5))
        let before = world.requests.count
        asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.information?.contentLength == length)
        for offset in offsets {
            let part = world.load(asset, offset, 5000)
            #expect(world.runToEnd())
            #expect(part.bytes.count == 5000 && world.difference(part, at: offset) == nil)
        }
        #expect(world.requests.count == before)
        #expect(world.breaches == [])
    }

    /// Each URL as an app has it, and as it goes to the origin.
    @Test(arguments: [
        ("http://b\u{FC}cher.test/a.mp3", "http://xn--bcher-kva.test/a.mp3"), ("http://origin.test/a%20b.mp3", nil),
        ("http://origin.test/%E2%82%AC%2Fx.mp3?q=%2B+%26", nil), ("http://origin.test/a.mp3?list=%5B1%7C2%5D&j=%7Bx%7D", nil),
        ("http://origin.test/a|b[1]{2}.mp3?c=|[]{}", "http://origin.test/a%7Cb%5B1%5D%7B2%7D.mp3?c=%7C%5B%5D%7B%7D"),
        ("http://origin.test/\u{65E5}\u{672C}.mp3", "http://origin.test/%E6%97%A5%E6%9C%AC.mp3"),
        ("http://origin.test:8080/a;v=1/b,c.mp3?x=1&x=2", nil),
    ])
    func `an unusual URL is fetched as the system writes it, and its second play fetches nothing`(text: String, sent: String?) throws {
        let url = try #require(URL(string: text))
        let world = try DoorWorld()
        world.world.serve(VirtualResource(url: sent ?? text, seed: 3, length: 50_000, contentType: "audio/mpeg"))
        for _ in 0..<2 {
            let asset = world.factory.asset(for: url)
            #expect(asset.route == .cache && asset.originalURL == url && asset.url.scheme == "spool-media")
            let all = world.load(asset, information: true, 0, toEnd: true)
            #expect(world.runToEnd())
            #expect(all.bytes.count == 50_000, "\(world.requests.map(\.request.url)) \(String(describing: asset.lastError))")
            world.pass(.seconds(5))
        }
        #expect(world.requests.map(\.request.url) == [sent ?? text])
        #expect(world.breaches == [])
    }
}
