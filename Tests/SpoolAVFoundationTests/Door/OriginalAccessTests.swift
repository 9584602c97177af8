import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// Players that load originals by themselves: what they have for it, and where they must not.
@Suite(.timeLimit(.minutes(20))) struct OriginalAccessTests {
    /// A behaviour of an origin that the loader cannot serve.
    private static let unservable: [OriginBehaviour] = [
        .unknownLength(.chunked, .ignoresRange), .fields(["Content-Encoding": "gzip"], .correct),
        .fields(["Content-Type": "application/vnd.apple.mpegurl"], .correct),
    ]

    /// The reasons why an original must not be played.
    enum Ban: CaseIterable, Sendable { case transformOfCache, transformOfFactory, offlinePolicy, onlyStored }

    @Test(arguments: Ban.allCases, unservable)
    func `ciphertext and a forbidden network are no way for a body that the loader cannot serve`(
        ban: Ban, behaviour: OriginBehaviour
    ) throws {
        var plan = World.Plan()
        if ban == .transformOfCache { plan.configure = { $0.contentTransform = Mask() } }
        let world = try DoorWorld(plan: plan)
        world.world.origin.follow { _, _ in behaviour }
        var factory = world.factory
        if ban == .transformOfFactory { factory.readOptions.contentTransform = Mask() }
        // A first player finds out that the loader cannot serve the resource.
        let first = factory.asset(for: world.url)
        let probe = world.probe(first)
        if ban == .offlinePolicy || ban == .onlyStored { #expect(world.runToEnd() && probe.redirect?.url == world.url) }
        if ban == .offlinePolicy { world.world.cache.networkPolicy.isOffline = true }
        if ban == .onlyStored { factory.readOptions.mode = .onlyStored }
        let second = factory.asset(for: world.url)
        let next = world.probe(second)
        #expect(world.runToEnd())
        #expect(next.redirect == nil && next.error != nil)
        if ban == .transformOfCache || ban == .transformOfFactory {
            #expect(probe.redirect == nil && first.lastError?.code == .notStored)
        }
        let playlist = try factory.asset(for: #require(URL(string: "http://origin.test/film.m3u8")))
        #expect(playlist.route == .cache)
        #expect(world.breaches == [])
    }

    @Test func `a bypass that comes after a policy without networks sends no waiting player to the original`() throws {
        let world = try DoorWorld()
        world.world.origin.follow { _, _ in .silence }
        let asset = world.asset()
        let probe = world.probe(asset)
        world.pass(.seconds(1))
        world.world.cache.networkPolicy.isOffline = true
        world.world.cache.isBypassed = true
        #expect(world.runToEnd())
        #expect(probe.redirect == nil && probe.error != nil)
        #expect(world.breaches == [])
    }

    @Test func `a player that loads an original keeps away from the networks that the policy refuses`() throws {
        let world = try DoorWorld()
        world.world.origin.follow { _, _ in Self.unservable[0] }
        world.world.cache.networkPolicy.playback.allowsExpensive = false
        let asset = world.asset()
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        // A radio plays where there is no other network, and stops where there is.
        #expect(probe.redirect?.url == world.url)
        let next = world.asset()
        #expect(next.route == .original(.unknownLength))
        for asset in [asset, next] {
            #expect(asset.options[AVURLAssetAllowsExpensiveNetworkAccessKey] as? Bool == false)
            #expect(asset.options[AVURLAssetAllowsCellularAccessKey] as? Bool == true)
        }
        // The app's own choice for an asset takes precedence, as for Spool's requests.
        let free = world.factory.asset(for: world.url, options: [AVURLAssetAllowsCellularAccessKey: true])
        #expect(free.options[AVURLAssetAllowsExpensiveNetworkAccessKey] == nil)
        #expect(world.breaches == [])
    }

    @Test(arguments: [false, true])
    func `an original that needs the fields of its asset gets them after a redirect, also the next time`(isPlaylist: Bool) throws {
        let world = try DoorWorld()
        world.world.origin.follow { _, _ in Self.unservable[isPlaylist ? 2 : 0] }
        for number in 1...3 {
            let asset = world.factory.asset(for: world.url, headers: ["Authorization": "Bearer \(number)"])
            let probe = world.probe(asset)
            #expect(world.runToEnd())
            #expect(probe.redirect?.url == world.url && probe.redirect?.value(forHTTPHeaderField: "Authorization") == "Bearer \(number)")
        }
        #expect(world.breaches == [])
    }

    @Test func `a bypassed asset, one for AirPlay and a redirect have the cookies of the factory`() throws {
        let cookie = try #require(
            HTTPCookie(properties: [.name: "session", .value: "1", .domain: "origin.test", .path: "/", .version: "0"]))
        let world = try DoorWorld()
        world.cookies { _ in [cookie] }
        world.world.cache.isBypassed = true
        for plain in [world.asset(), world.factory.externalPlaybackAsset(for: world.url)] {
            #expect(plain.url == world.url && (plain.options[AVURLAssetHTTPCookiesKey] as? [HTTPCookie]) == [cookie])
        }
        // The cookies of the app for an asset are all that it has.
        let own = world.factory.asset(for: world.url, options: [AVURLAssetHTTPCookiesKey: [HTTPCookie]()])
        #expect((own.options[AVURLAssetHTTPCookiesKey] as? [HTTPCookie]) == [])
        let asset = world.factory.asset(for: world.url, headers: ["X-App": "1"])
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.redirect?.url == world.url && probe.redirect?.value(forHTTPHeaderField: "Cookie") == "session=1")
        #expect(world.breaches == [])
    }
}
