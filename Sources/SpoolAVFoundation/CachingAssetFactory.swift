#if !os(watchOS)
public import AVFoundation
public import Spool
public import SpoolCore
import SpoolSystem

/// Makes assets that play through a cache; for those who inject dependencies. `MediaCache.asset(for:)` is the short way.
///
/// ```swift
/// let factory = CachingAssetFactory(cache: cache, keyPolicy: KeyPolicy().dropQueryItems(named: ["sig"]))
/// player.replaceCurrentItem(with: factory.playerItem(for: url))
/// ```
///
/// A value; safe to use from any thread.
public struct CachingAssetFactory: Sendable {
    /// The cache that its assets read.
    public let cache: MediaCache
    /// The scheme by which AVFoundation knows that it has to ask the loader.
    public let customScheme: String
    /// The schemes that are cached, in lower case; all else becomes a plain asset.
    public let supportedSchemes: Set<String>
    /// How resources are told apart.
    public let keyPolicy: KeyPolicy
    /// How far fetches go beyond what the player takes; nil for the cache's policy.
    public let fetchPolicy: FetchPolicy?
    /// Whether `preparedAsset(for:)` hands out the store's own file of a resource that is stored as a whole: then AVFoundation reads by itself,
    /// and nothing is in between. Off by default: who has the file's URL could write to it.
    public var handsOutFiles = false
    /// Answers challenges that AVFoundation has for an asset; true when it will. Nil leaves them to the system.
    public var onChallenge: (@Sendable (URLAuthenticationChallenge) -> Bool)?
    let logger: (any LogSink)?
    package var limits = LoadingLimits()
    package var makeQueue: @Sendable () -> LoaderQueue = LoaderQueue.make
    let door: DoorState

    /// - Parameters:
    ///   - customScheme: a scheme by RFC 3986 §3.1 that nobody else uses; letters, digits, `+`, `-` and `.`, a letter first.
    ///   - supportedSchemes: `http`, `https` or both.
    ///   - keyPolicy: nil for the cache's own.
    ///   - logger: takes lines for people; nil for the cache's own.
    /// - Precondition: `customScheme` is well-formed, and none that means something already.
    public init(
        cache: MediaCache, customScheme: String = "spool-media", supportedSchemes: Set<String> = ["http", "https"],
        keyPolicy: KeyPolicy? = nil, fetchPolicy: FetchPolicy? = nil, logger: (any LogSink)? = nil
    ) {
        precondition(
            Self.isCustomScheme(customScheme),
            "'\(customScheme)' can't be a custom scheme: letters, digits, '+', '-' and '.' after a letter, and none that has a meaning")
        self.cache = cache
        self.customScheme = customScheme
        self.supportedSchemes = Set(supportedSchemes.map { $0.lowercased() }).intersection(["http", "https"])
        self.keyPolicy = keyPolicy ?? cache.configuration.keyPolicy
        self.fetchPolicy = fetchPolicy
        self.logger = logger ?? cache.configuration.log
        door = cache.attachments.object(DoorState.self, make: DoorState.init)
    }

    /// Whether a string can be a custom scheme (RFC 3986 §3.1).
    ///
    /// Since iOS 17 a URL with a malformed scheme is no URL, and who does not look plays uncached without a word.
    public static func isCustomScheme(_ scheme: String) -> Bool {
        let bytes = Array(scheme.utf8)
        func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
        guard let first = bytes.first, isLetter(first) else { return false }
        guard bytes.allSatisfy({ isLetter($0) || (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E].contains($0) }) else { return false }
        return !["http", "https", "file", "data", "about", "ftp", "ws", "wss"].contains(scheme.lowercased())
    }

    /// Whether URLs like this one go through the cache.
    public func isSchemeSupported(_ url: URL) -> Bool {
        url.scheme.map { supportedSchemes.contains($0.lowercased()) } ?? false
    }

    // MARK: Assets

    /// An asset of the resource that `url` names.
    ///
    /// Never fails: what can't be cached becomes a plain asset of the URL, and `route` says so.
    /// - Parameters:
    ///   - key: the identity in the cache, where the URL is not it; nil for what the key policy makes of the URL.
    ///   - headers: sent with every request to the origin, besides the configuration's; they take effect with the next request of the
    ///     resource, also for assets of it that are there already.
    ///   - options: as for `AVURLAsset`, and the keys of `CachingAVURLAsset`. Networks, cookies and user agent are applied to our requests.
    public func asset(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: Any]? = nil
    ) -> CachingAVURLAsset {
        let parsed = AssetOptions(options, headers: headers, url: url, now: cache.environment.time.wallNow)
        guard isSchemeSupported(url) else { return plain(url, parsed, nil, .unsupportedScheme) }
        guard let key = key ?? (try? keyPolicy.key(for: url.absoluteString)) else { return plain(url, parsed, nil, .malformedURL) }
        if cache.isClosed { return plain(url, parsed, key, .cacheIsClosed) }
        if isPlaylist(url, parsed) { return playlist(url, parsed, key) }
        if let reason = door.fallback(of: key) {
            return reason == .playlist ? playlist(url, parsed, key) : plain(url, parsed, key, .fellBack(reason.words))
        }
        guard let customURL = customURL(of: url, parsed, key) else { return plain(url, parsed, key, .malformedURL) }
        return cached(url, customURL, parsed, key)
    }

    /// An item of the resource that `url` names; parameters as for `asset(for:)`.
    @MainActor public func playerItem(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: Any]? = nil
    ) -> AVPlayerItem {
        AVPlayerItem(asset: asset(for: url, key: key, headers: headers, options: options))
    }

    /// Tries a resource through the cache again that fell back to its original URL before.
    public func forgetFallback(of key: ResourceKey) {
        door.forgetFallback(of: key)
    }

    // MARK: Kinds of assets

    private func cached(_ url: URL, _ customURL: URL, _ parsed: AssetOptions, _ key: ResourceKey) -> CachingAVURLAsset {
        var options = ReadOptions(fetchPolicy: fetchPolicy)
        options.requestFields = HTTPFields(parsed.fields)
        options.access = parsed.access
        let source = LoaderSource(
            originalURL: url, key: key, options: options, typeHint: parsed.typeHint ?? parsed.fileExtensionHint.flatMap(Self.identifier),
            renewalDate: parsed.renewalDate)
        let queue = makeQueue()
        let core = LoaderCore(
            cache: cache, source: source, door: door, mailbox: queue.mailbox, report: LoaderReport(), log: LoaderLog(logger, key: key),
            limits: limits)
        return CachingAVURLAsset(
            url: customURL, options: parsed.forAsset, originalURL: url, key: key, route: .cache,
            loader: AssetLoader(core: core, onChallenge: onChallenge), queue: queue)
    }

    /// The loader can give the text of a playlist but not its segments: it is left to the endpoint, or to the original.
    private func playlist(_ url: URL, _ parsed: AssetOptions, _ key: ResourceKey) -> CachingAVURLAsset {
        if let local = cache.loopback?.url(for: url.absoluteString).flatMap({ URL(string: $0) }) {
            return CachingAVURLAsset(
                url: local, options: parsed.forAsset, originalURL: url, key: key, route: .loopback, loader: nil, queue: nil)
        }
        return plain(url, parsed, key, .playlistWithoutEndpoint)
    }

    private func plain(_ url: URL, _ parsed: AssetOptions, _ key: ResourceKey?, _ reason: AssetRoute.Reason) -> CachingAVURLAsset {
        if let key { cache.record(.degradedToPassthrough(key, reason: "a plain asset: \(reason)")) }
        return CachingAVURLAsset(
            url: url, options: parsed.forAsset, originalURL: url, key: key, route: .original(reason), loader: nil, queue: nil)
    }

    private func isPlaylist(_ url: URL, _ parsed: AssetOptions) -> Bool {
        let evidence = ContentTypeDecision.Evidence(hint: parsed.typeHint ?? parsed.fileExtensionHint.flatMap(Self.identifier))
        if evidence.hint != nil { return ContentTypeDecision(evidence) == .playlist }
        return MediaKind.ofFileExtension(url.pathExtension.lowercased())?.isPlaylist ?? false
    }

    private static func identifier(ofExtension name: String) -> String? { MediaKind.ofFileExtension(name)?.identifier }

    // MARK: The custom URL

    /// The URL with the custom scheme: AVFoundation takes the extension of its path for a hint, so one that says nothing is amended.
    ///
    /// It only has to look right. What is asked is the original.
    private func customURL(of url: URL, _ parsed: AssetOptions, _ key: ResourceKey) -> URL? {
        guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
        components.scheme = customScheme
        (components.user, components.password) = (nil, nil)
        let hinted = parsed.fileExtensionHint ?? parsed.typeHint.flatMap(Self.fileExtension)
        let known = MediaKind.ofFileExtension(url.pathExtension.lowercased()) != nil
        if let name = hinted ?? (known ? nil : door.fileExtension(of: key)), url.pathExtension.lowercased() != name {
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
