import AVFoundation
import Foundation
import SpoolCore
import SpoolOrigin
import SpoolTestSupport
import SpoolTesting
import Testing

/// The use that the loader makes of the URL and the fields of a player's request.
@Suite(.timeLimit(.minutes(20))) struct PlayerRequestTests {
    @Test func `fields by which a player describes its play reach the origin, and select no bytes`() throws {
        let world = try DoorWorld(length: 50_000)
        let long = String(repeating: "x", count: 5000)
        let fields = ["CMCD-Session": "sid=\"1\"", "X-Playback-Session-Id": "2", "X-Other": "3", "CMCD-Object": long]
        let first = world.asset()
        world.load(first, information: true, 0, 2, fields: fields)
        #expect(world.runToEnd())
        let sent = try #require(world.requests.first).request.fields
        #expect(sent["CMCD-Session"] == "sid=\"1\"" && sent["X-Playback-Session-Id"] == "2")
        #expect(sent["X-Other"] == nil && sent["CMCD-Object"] == nil)
        world.load(first, 0, 50_000, toEnd: true)
        #expect(world.runToEnd())
        world.pass(.seconds(2))
        // Another session gets the same stored bytes.
        let count = world.requests.count
        let second = world.asset()
        let again = world.load(second, 0, 50_000, fields: ["X-Playback-Session-Id": "4"])
        #expect(world.runToEnd() && again.bytes.count == 50_000 && world.requests.count == count)
        withExtendedLifetime((first, second)) {}
    }

    @Test(arguments: ["http://origin.test/album/song.mp3", "HTTPS://origin.test/a"])
    func `a request for the original URL is left to the player, and not redirected to itself`(url: String) throws {
        let world = try DoorWorld()
        let asset = world.asset()
        let load = world.load(try #require(URL(string: url)), of: asset, information: true, 0, 2)
        #expect(world.runToEnd() && load.isRefused && load.redirect == nil && world.requests.isEmpty)
        withExtendedLifetime(asset) {}
    }
}
