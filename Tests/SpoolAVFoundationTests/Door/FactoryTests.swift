import AVFoundation
import SpoolAVFoundation
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// The asset that a URL becomes, and the fields of its origin requests.
@Suite(.timeLimit(.minutes(20))) struct FactoryTests {
    private static func url(_ text: String) -> URL { URL(string: text).unsafelyUnwrapped }

    /// Stands in for a proxy.
    private final class Endpoint: LoopbackEndpoint {
        func url(for original: String) -> String? { "http://127.0.0.1:4000/token/" + original.replacing("://", with: "/") }
        func localNetworkURL(for original: String) -> String? { "http://192.168.0.2:4000/token/" + original.replacing("://", with: "/") }
    }

    @Test(arguments: [
        ("spool", true), ("spool-media", true), ("a+b.c-1", true), ("__loader__https", false), ("1spool", false), ("", false),
        ("spööl", false), ("https", false), ("FILE", false), ("a b", false),
    ])
    func `a custom scheme follows RFC 3986 and has no other meaning`(scheme: String, isGood: Bool) {
        #expect(CachingAssetFactory.isCustomScheme(scheme) == isGood)
    }

    @Test func `a cached asset has the custom scheme, the original's path and extension, and its original URL`() throws {
        let world = try DoorWorld()
        let url = Self.url("https://user:secret@cdn.test:8443/a%2Fb/song.mp3?sig=%2B%252B&x=[1]")
        let asset = world.factory.asset(for: url)
        #expect(asset.route == .cache)
        #expect(asset.url.scheme == "spool-media" && asset.url.pathExtension == "mp3" && asset.url.user == nil)
        // The original is never rebuilt from the custom URL, because a parser's new escaping would
        // break its signature.
        #expect(asset.originalURL == url && asset.originalURL.absoluteString == url.absoluteString)
        #expect(asset.key?.string.hasPrefix("https://cdn.test:8443/a%2Fb/song.mp3?") == true)
    }

    @Test(arguments: [
        ("file:///music/song.mp3", AssetRoute.original(.unsupportedScheme)), ("ftp://a/b.mp3", .original(.unsupportedScheme)),
        ("data:audio/mpeg;base64,AAAA", .original(.unsupportedScheme)), ("song.mp3", .original(.unsupportedScheme)),
        ("https:///song.mp3", .original(.malformedURL)), ("HTTPS://Origin.test/song.mp3", .cache),
    ])
    func `a URL that cannot be cached becomes a plain asset`(text: String, route: AssetRoute) throws {
        let world = try DoorWorld()
        let asset = world.factory.asset(for: Self.url(text))
        #expect(asset.route == route)
        #expect(route == .cache || asset.url == Self.url(text))
        #expect(world.factory.supports(Self.url(text)) == !text.lowercased().hasPrefix("http") ? asset.route != .cache : true)
    }

    @Test func `only the app's schemes are cached`() throws {
        let world = try DoorWorld()
        let factory = CachingAssetFactory(cache: world.world.cache, supportedSchemes: ["HTTPS"])
        #expect(factory.asset(for: world.url).route == .original(.unsupportedScheme))
        #expect(factory.supports(Self.url("https://a.test/")))
    }

    @Test func `a path without a media extension gets one from a hint or from the stored type`() throws {
        let world = try DoorWorld()
        let url = Self.url("http://origin.test/stream?id=5")
        world.world.serve(VirtualResource(url: url.absoluteString, seed: 3, length: 50_000, contentType: "audio/flac"))
        let hinted = world.factory.asset(for: url, options: [CachingAVURLAsset.fileExtensionKey: ".M4A"])
        #expect(hinted.url.path.hasSuffix("/stream.m4a"))
        let typed = world.factory.asset(for: url, options: [CachingAVURLAsset.contentTypeKey: "video/quicktime"])
        #expect(typed.url.path.hasSuffix("/stream.mov"))
        let first = world.factory.asset(for: url)
        #expect(first.url.path.hasSuffix("/stream"))
        let probe = world.probe(first)
        #expect(world.runToEnd())
        #expect(probe.information?.contentType == "org.xiph.flac")
        #expect(world.factory.asset(for: url).url.path.hasSuffix("/stream.flac"))
        #expect(
            world.factory.asset(for: Self.url("http://origin.test"), options: [CachingAVURLAsset.fileExtensionKey: "mp3"]).url.path
                == "/media.mp3")
    }

    @Test func `after a relaunch, a stored resource without extension has that of its type`() throws {
        let world = try DoorWorld()
        let url = try #require(URL(string: "http://origin.test/stream"))
        world.world.serve(VirtualResource(url: url.absoluteString, seed: 3, length: 50_000, contentType: "audio/flac"))
        let asset = world.factory.asset(for: url)
        world.load(asset, information: true, 0, toEnd: true)
        #expect(world.runToEnd())
        world.pass(.seconds(5))
        // The memory of a new process.
        let resources = KnownResources(), key = try #require(asset.key)
        #expect(resources.fileExtension(of: key) == nil)
        StoredTypes(cache: world.world.cache).read(into: resources)
        world.pass(.seconds(3))
        #expect(resources.fileExtension(of: key) == "flac")
        withExtendedLifetime((asset, resources)) {}
    }

    @Test func `a hint decides the type, and the library's own options do not reach AVFoundation`() throws {
        let world = try DoorWorld(contentType: "application/octet-stream")
        let asset = world.factory.asset(
            for: world.url, options: [CachingAVURLAsset.contentTypeKey: "audio/flac", AVURLAssetPreferPreciseDurationAndTimingKey: true])
        let probe = world.probe(asset)
        #expect(world.runToEnd())
        #expect(probe.information?.contentType == "org.xiph.flac")
        #expect(asset.options.keys.sorted() == [AVURLAssetPreferPreciseDurationAndTimingKey])
    }

    @Test func `headers, cookies, user agent and network access carry over to origin requests`() throws {
        let world = try DoorWorld()
        func cookie(_ name: String, domain: String, path: String = "/", isSecure: Bool = false) -> HTTPCookie {
            var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: "1", .domain: domain, .path: path]
            if isSecure { properties[.secure] = "TRUE" }
            return HTTPCookie(properties: properties).unsafelyUnwrapped
        }
        let options: [String: any Sendable] = [
            AVURLAssetAllowsCellularAccessKey: false, AVURLAssetHTTPUserAgentKey: "Player/1",
            AVURLAssetHTTPCookiesKey: [
                cookie("mine", domain: "origin.test", path: "/album"), cookie("sub", domain: ".test"),
                cookie("other", domain: "elsewhere.test"), cookie("path", domain: "origin.test", path: "/video"),
                cookie("secure", domain: "origin.test", isSecure: true),
            ],
        ]
        let asset = world.factory.asset(for: world.url, headers: ["Authorization": "Bearer 1", "user-agent": "Mine/2"], options: options)
        world.probe(asset)
        #expect(world.runToEnd())
        let request = try #require(world.requests.first).request
        #expect(request.fields["Authorization"] == "Bearer 1")
        #expect(request.fields.values(of: "User-Agent") == ["Mine/2"])
        #expect(request.fields["Cookie"]?.split(separator: "; ").sorted() == ["mine=1", "sub=1"])
        #expect(!request.access.allowsCellular && request.access.allowsExpensive)
    }

    // MARK: Playlists

    @Test func `a playlist goes to the loopback endpoint, and without one to the original with an event`() throws {
        let world = try DoorWorld()
        let url = Self.url("https://origin.test/live/master.m3u8?x=1")
        #expect(world.factory.asset(for: url).route == .original(.playlistWithoutEndpoint))
        #expect(world.factory.asset(for: url).url == url)
        let endpoint = Endpoint()
        defer { withExtendedLifetime(endpoint) {} }
        world.world.cache.loopback = endpoint
        let asset = world.factory.asset(for: url)
        #expect(asset.route == .loopback && asset.originalURL == url)
        #expect(asset.url.absoluteString == "http://127.0.0.1:4000/token/https/origin.test/live/master.m3u8?x=1")
        #expect(
            world.factory.asset(for: world.url, options: [CachingAVURLAsset.contentTypeKey: "application/x-mpegurl"]).route == .loopback)
    }

    @Test func `an AirPlay receiver gets the original URL, or by choice the local network URL`() throws {
        let world = try DoorWorld()
        #expect(world.factory.externalPlaybackAsset(for: world.url).url == world.url)
        #expect(world.factory.externalPlaybackAsset(for: world.url, via: .localNetwork).url == world.url)
        let endpoint = Endpoint()
        defer { withExtendedLifetime(endpoint) {} }
        world.world.cache.loopback = endpoint
        #expect(world.factory.externalPlaybackAsset(for: world.url).url == world.url)
        let local = world.factory.externalPlaybackAsset(for: world.url, via: .localNetwork)
        #expect(local.route == .loopback && local.url.absoluteString == "http://192.168.0.2:4000/token/http/origin.test/album/song.mp3")
    }

    @Test func `a closed cache makes plain assets`() throws {
        let world = try DoorWorld()
        let isClosed = Locked(false)
        world.world.cache.close { isClosed.withLock { $0 = true } }
        #expect(world.run { isClosed.withLock { $0 } })
        #expect(world.asset().route == .original(.cacheIsClosed))
    }

    // MARK: Challenges

    @Test func `the app answers AVFoundation's authentication challenges`() throws {
        for willAnswer in [true, false] {
            let world = try DoorWorld()
            let seen = Locked<[String]>([])
            world.challenge { challenge in
                seen.withLock { $0.append(challenge.protectionSpace.host) }
                return willAnswer
            }
            let space = URLProtectionSpace(host: "origin.test", port: 443, protocol: "https", realm: nil, authenticationMethod: "Basic")
            let challenge = URLAuthenticationChallenge(
                protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil, sender: Sender()
            )
            let answer = Locked<Bool?>(nil)
            let asset = world.asset()
            asset.resourceLoader.challenge(challenge, world: world.playback, on: world.simulator.mailbox("player")) { willWait in
                answer.withLock { $0 = willWait }
            }
            #expect(world.run { answer.withLock { $0 } != nil })
            #expect(answer.withLock { $0 } == willAnswer && seen.withLock { $0 } == ["origin.test"])
        }
    }

    private final class Sender: NSObject, URLAuthenticationChallengeSender, Sendable {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
    }
}
