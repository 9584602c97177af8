#if !os(watchOS)
public import AVFoundation
public import Spool
public import SpoolCore
import SpoolSystem

/// Creates assets that play through a cache, for apps that inject dependencies.
/// `MediaCache.asset(for:)` is the short form.
///
/// ```swift
/// let factory = CachingAssetFactory(cache: cache, keyPolicy: KeyPolicy().dropQueryItems(named:
/// ["sig"]))
/// player.replaceCurrentItem(with: factory.playerItem(for: url))
/// ```
///
/// A value. Safe to use from any thread.
public struct CachingAssetFactory: Sendable {
    /// The cache that the assets read.
    public let cache: MediaCache
    /// The URL scheme that makes AVFoundation ask the loader.
    package let customScheme: String
    /// The schemes that are cached, in lower case. Any other becomes a plain asset.
    package let supportedSchemes: Set<String>
    /// The rules that make keys of URLs.
    package let keyPolicy: KeyPolicy
    /// The options with which assets read: how far ahead, only stored bytes, without storing, the
    /// content transform, the patience with the origin. The options and headers of an asset take
    /// precedence. A playlist, whose parts go through the proxy, uses the fields and the networks
    /// alone.
    public var readOptions: ReadOptions
    /// Whether `preparedAsset(for:)` returns the store's own file for a complete resource.
    /// AVFoundation then reads the file directly. Off by default, because code with the file's URL
    /// could write to it.
    public var handsOutFiles = false
    /// Answers AVFoundation's authentication challenges for an asset. Returns true when it will
    /// respond. With nil, the system handles them.
    public var onChallenge: (@Sendable (URLAuthenticationChallenge) -> Bool)?
    /// Answers the loading requests of a cached asset that are not for its bytes, such as those for
    /// `skd:` keys. Returns true when it will finish the request. With nil, they are refused.
    ///
    /// Called on the asset's queue. An app that sets a resource-loader delegate of its own on a
    /// cached asset disconnects the cache instead.
    public var onOtherRequest: (@Sendable (AVAssetResourceLoadingRequest) -> Bool)?
    /// Called with each asset that the library makes in place of another one, before an item has it:
    /// for an AirPlay receiver, back, after a failure, and for a rescue. An app with a key session
    /// adds the asset to it here (`addContentKeyRecipient`), because it is too late afterwards.
    public var onReplacementAsset: (@Sendable (CachingAVURLAsset) -> Void)?
    /// Returns the cookies for requests to a URL whose asset has no cookies of its own. The default
    /// is the app's shared storage, as with a plain `AVURLAsset`. Nil sends none.
    ///
    /// The factory calls it on any thread, for each origin request.
    public var cookies: (@Sendable (URL) -> [HTTPCookie])? = { HTTPCookieStorage.shared.cookies(for: $0) ?? [] }
    /// Returns a fresh URL for a resource whose URL expires, such as a signed one. See
    /// `renewURL(_:)`. A playlist at the proxy is not renewed; make a new asset.
    public var renewURL: (@Sendable (_ url: URL) async throws -> RenewedURL)?
    /// The speed of delivery to the readers of an asset. Use `.full` for an export, for images and
    /// for other readers that do not play.
    public var pace = LoadingPace.playback
    /// Whether a playlist starts a proxy in this process when the cache has no loopback endpoint
    /// yet. The proxy listens on loopback, on a port that the system chooses, with a random token,
    /// until the cache is closed. If false, such a playlist plays from its original URL, uncached.
    public var startsProxy = true
    /// Whether the player gets a body without length from the proxy in this process, which stores
    /// it. At its end the body has a length, and the next asset of it uses the loader.
    ///
    /// AVFoundation takes no length-less body from a loader. Without a strong validator such a body
    /// is stored while it has a reader, takes at most a tenth of the quota, and stays only if it
    /// ended cleanly. If false, or where players do not reach the proxy, it plays from its original
    /// URL, uncached. Live streams always do.
    public var storesOpenEndedBodies = true
    let logger: (any LogSink)?
    /// The rules for a player's requests to the proxy.
    package var loopback = LoopbackRules.ofApp
    /// The limits of the assets' loading requests.
    package var limits = LoadingLimits()
    /// Replaces `renewURL` in simulations, which have one thread.
    package var renewal: URLRenewal?
    /// Asks an original for its first byte.
    package var probe: OriginalProbe = SystemProbe.ask
    /// Creates the queue of each asset.
    package var makeQueue: @Sendable () -> LoaderQueue = LoaderQueue.make
    let door: DoorState

    /// Creates a factory for a cache.
    ///
    /// - Parameters:
    ///   - cache: The cache that the assets play through.
    ///   - customScheme: A scheme by RFC 3986 §3.1 that no other code uses: letters, digits, `+`,
    ///     `-` and `.`, a letter first.
    ///   - supportedSchemes: `http`, `https` or both.
    ///   - keyPolicy: The rules for keys, or nil for the cache's own.
    ///   - fetchPolicy: How far fetches go beyond the assets, or nil for the cache's own.
    ///   - logger: The sink for log lines, or nil for the cache's own.
    /// - Precondition: `customScheme` is well-formed and not one of the common schemes.
    public init(
        cache: MediaCache, customScheme: String = "spool-media", supportedSchemes: Set<String> = ["http", "https"],
        keyPolicy: KeyPolicy? = nil, fetchPolicy: FetchPolicy? = nil, logger: (any LogSink)? = nil
    ) {
        precondition(
            Self.isCustomScheme(customScheme),
            "'\(customScheme)' can't be a custom scheme: letters, digits, '+', '-' and '.' after a letter, and other than a known one")
        self.cache = cache
        self.customScheme = customScheme
        self.supportedSchemes = Set(supportedSchemes.map { $0.lowercased() }).intersection(["http", "https"])
        self.keyPolicy = keyPolicy ?? cache.configuration.freshness.keyPolicy
        readOptions = ReadOptions(fetchPolicy: fetchPolicy)
        self.logger = logger ?? cache.configuration.log
        door = DoorState.of(cache)
    }

    /// Returns whether a string can be a custom scheme (RFC 3986 §3.1).
    ///
    /// Since iOS 17 a URL with a malformed scheme is nil. Code that does not check would play
    /// uncached without a message.
    package static func isCustomScheme(_ scheme: String) -> Bool {
        let bytes = Array(scheme.utf8)
        func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
        guard let first = bytes.first, isLetter(first) else { return false }
        guard bytes.allSatisfy({ isLetter($0) || (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E].contains($0) }) else { return false }
        return !["http", "https", "file", "data", "about", "ftp", "ws", "wss"].contains(scheme.lowercased())
    }

    /// Returns whether URLs with this scheme go through the cache.
    package func supports(_ url: URL) -> Bool {
        url.scheme.map { supportedSchemes.contains($0.lowercased()) } == true
    }

    // MARK: Assets

    /// Returns an asset of the resource that `url` names.
    ///
    /// The method never fails. A URL that cannot be cached becomes a plain asset of it, and `route`
    /// contains the reason.
    /// - Parameters:
    ///   - url: The URL of the resource at its origin.
    ///   - key: The identity in the cache, if the URL is not the identity. With nil, the key policy
    ///     makes it of the URL.
    ///   - headers: Fields for every request to the origin, besides the configuration's. They apply
    ///     from the next request of the resource on, also for its existing assets. An existing
    ///     asset of a playlist keeps its own.
    ///   - options: The options of `AVURLAsset`, and the keys of `CachingAVURLAsset`. Spool applies
    ///     networks, cookies and user agent to its own requests.
    public func asset(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: any Sendable]? = nil
    ) -> CachingAVURLAsset {
        let parsed = parse(options, headers: headers, for: url)
        let sources = AssetSources(factory: self, url: url, key: key, headers: headers, options: options)
        guard supports(url) else { return plain(sources, parsed, nil, .unsupportedScheme) }
        guard let key = key ?? (try? keyPolicy.key(for: url.absoluteString)) else { return plain(sources, parsed, nil, .malformedURL) }
        if cache.isClosed { return uncached(sources, parsed, key, .cacheIsClosed) }
        if cache.bypass.isOn(for: key), sources.original.asPlainAsset { return plain(sources, parsed, key, .bypassed) }
        if isPlaylist(url, parsed) { return playlist(sources, parsed, key) }
        if let reason = door.resources.fallback(of: key) {
            switch reason {
            case .playlist: return playlist(sources, parsed, key)
            case .openEnded: return openEnded(sources, parsed, key)
            case .rescued: return uncached(sources, parsed, key, .rescued(reason.words))
            case .unknownLength: return uncached(sources, parsed, key, .unknownLength)
            case .contentCoding(let coding): return uncached(sources, parsed, key, .contentCoding(coding))
            case .trouble(let code): return uncached(sources, parsed, key, .fellBack(code))
            case .bypassed: return uncached(sources, parsed, key, .bypassed)
            }
        }
        return cached(sources, parsed, key)
    }

    /// Returns an item of the resource that `url` names. The parameters are those of `asset(for:)`.
    @MainActor public func playerItem(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: any Sendable]? = nil
    ) -> AVPlayerItem {
        AVPlayerItem(asset: asset(for: url, key: key, headers: headers, options: options))
    }

    /// Lets a resource be tried through the cache again after it fell back to its original URL.
    public func forgetFallback(of key: ResourceKey) {
        door.resources.forgetFallback(of: key)
    }

    // MARK: Kinds of assets

    private func cached(_ sources: AssetSources, _ parsed: AssetOptions, _ key: ResourceKey) -> CachingAVURLAsset {
        let url = sources.url
        guard let customURL = customURL(of: url, parsed, key) else { return plain(sources, parsed, key, .malformedURL) }
        var source = LoaderSource(
            originalURL: url, key: key, options: readOptions(for: url, parsed),
            typeHint: parsed.typeHint ?? parsed.fileExtensionHint.flatMap(Self.identifier), renewalDate: parsed.renewalDate)
        source.renewal = presentRenewal
        source.cookies = parsed.hasCookies ? nil : cookies
        source.proxyRoute = {
            // Without a route, the loader sends the player to the original URL.
            guard let route = try? self.proxyRoute(for: url, parsed, key) else { return nil }
            return route
        }
        source.storesOpenEndedBodies = proxiesOpenEndedBodies
        source.original = { sources.original }
        let queue = makeQueue()
        var limits = limits
        pace.apply(to: &limits)
        let core = LoaderCore(
            cache: cache, source: source, door: door, mailbox: queue.mailbox, report: LoaderReport(), log: LoaderLog(logger, key: key),
            limits: limits)
        return CachingAVURLAsset(
            url: customURL, options: networkOptions(parsed), originalURL: url, key: key, route: .cache,
            loader: AssetLoader(
                core: core, queue: queue, customScheme: customScheme, onChallenge: onChallenge, onOtherRequest: onOtherRequest),
            sources: sources)
    }

    /// Returns an asset for a playlist. The loader can supply the text of a playlist but not its
    /// segments, so the asset uses the loopback endpoint or the original URL.
    private func playlist(_ sources: AssetSources, _ parsed: AssetOptions, _ key: ResourceKey) -> CachingAVURLAsset {
        do throws(ProxyRoute.Obstacle) {
            return try proxied(sources, parsed, key)
        } catch {
            return uncached(sources, parsed, key, error == .notPermitted ? .loopbackNotPermitted : .playlistWithoutEndpoint)
        }
    }

    /// Returns an asset for a body that had no length when it was last asked for.
    private func openEnded(_ sources: AssetSources, _ parsed: AssetOptions, _ key: ResourceKey) -> CachingAVURLAsset {
        door.resources.forgetOpenEndedIfComplete(key, in: cache)
        // Without a proxy the asset is a plain one, and names the unknown length as its reason.
        guard proxiesOpenEndedBodies, let asset = try? proxied(sources, parsed, key) else {
            return uncached(sources, parsed, key, .unknownLength)
        }
        return asset
    }

    /// Whether the proxy serves bodies without length as the loader would: it knows no transform of
    /// the factory, asks the origin, and stores.
    private var proxiesOpenEndedBodies: Bool {
        storesOpenEndedBodies && readOptions.contentTransform == nil && [.automatic, .reload].contains(readOptions.mode)
    }

    /// Returns an asset of the URL at the proxy.
    private func proxied(
        _ sources: AssetSources, _ parsed: AssetOptions, _ key: ResourceKey
    ) throws(ProxyRoute.Obstacle) -> CachingAVURLAsset {
        let route = try proxyRoute(for: sources.url, parsed, key)
        return CachingAVURLAsset(
            url: route.url, options: parsed.forAsset, originalURL: sources.url, key: key, route: .loopback, sources: sources,
            keeping: route.visit)
    }

    /// Returns a plain asset, or one with a loader where the original needs that.
    private func uncached(
        _ sources: AssetSources, _ parsed: AssetOptions, _ key: ResourceKey, _ reason: AssetRoute.Reason
    ) -> CachingAVURLAsset {
        sources.original.needsLoader ? cached(sources, parsed, key) : plain(sources, parsed, key, reason)
    }

    private func plain(
        _ sources: AssetSources, _ parsed: AssetOptions, _ key: ResourceKey?, _ reason: AssetRoute.Reason
    ) -> CachingAVURLAsset {
        let url = sources.url
        if let key { cache.record(.degradedToPassthrough(key, reason: "a plain asset: \(reason)")) }
        return CachingAVURLAsset(
            url: url, options: originalOptions(for: url, parsed), originalURL: url, key: key, route: .original(reason), sources: sources)
    }

    private func isPlaylist(_ url: URL, _ parsed: AssetOptions) -> Bool {
        let evidence = ContentTypeDecision.Evidence(hint: parsed.typeHint ?? parsed.fileExtensionHint.flatMap(Self.identifier))
        if evidence.hint != nil { return ContentTypeDecision(evidence) == .playlist }
        return MediaKind.ofFileExtension(url.pathExtension.lowercased())?.isPlaylist == true
    }

    /// The way to a fresh URL, or nil.
    package var presentRenewal: URLRenewal? { renewal ?? renewURL.map(Self.renewal) }

    private static func renewal(_ renew: @escaping @Sendable (URL) async throws -> RenewedURL) -> URLRenewal {
        { url, done in
            Task {
                do { done(.success(try await renew(url))) } catch { done(.failure(error)) }
            }
        }
    }

    private static func identifier(ofExtension name: String) -> String? { MediaKind.ofFileExtension(name)?.identifier }

    // MARK: The custom URL

    /// Returns the URL with the custom scheme. AVFoundation takes the extension of its path for a
    /// hint. So a better extension is appended when the options or an earlier asset supply one.
    ///
    /// The URL only has to look right. Requests go to the original URL.
    private func customURL(of url: URL, _ parsed: AssetOptions, _ key: ResourceKey) -> URL? {
        guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
        components.scheme = customScheme
        (components.user, components.password) = (nil, nil)
        let hinted = parsed.fileExtensionHint ?? parsed.typeHint.flatMap(Self.fileExtension)
        let known = MediaKind.ofFileExtension(url.pathExtension.lowercased()) != nil
        if let name = hinted ?? (known ? nil : door.resources.fileExtension(of: key)), url.pathExtension.lowercased() != name {
            let path = components.percentEncodedPath
            components.percentEncodedPath =
                path + (path.isEmpty || path.hasSuffix("/") ? "\(path.isEmpty ? "/" : "")media" : "") + ".\(name)"
        }
        return components.url
    }

    private static func fileExtension(ofType hint: String) -> String? {
        let essence = MediaType(hint)?.essence
        return (essence.flatMap(MediaKind.ofMediaType) ?? MediaKind.ofIdentifier(hint))?.fileExtension
    }
}
#endif
