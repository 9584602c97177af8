#if !os(watchOS)
public import AVFoundation
import Spool
public import SpoolCore
import SpoolProxy
import SpoolSystem

/// An asset whose bytes come through a cache. Stored bytes come from the store, and others come
/// from the origin and are stored on arrival.
///
/// `MediaCache.asset(for:)` creates it. Use it like any `AVURLAsset`:
///
/// ```swift
/// let item = AVPlayerItem(asset: cache.asset(for: url))
/// ```
///
/// The asset owns its loader. Loading ends when the last copy of the asset is released, and bytes
/// that arrived stay stored. The `url` of the asset has a custom scheme, which makes AVFoundation
/// ask the loader. `originalURL` is the URL that the app gave. Where the cache cannot help
/// (`route`), the asset is a plain one of the original URL.
///
/// Safe to use from any thread.
public final class CachingAVURLAsset: AVURLAsset, @unchecked Sendable {
    // Safe to share: no property changes after the initialiser. The loader and its report protect
    // themselves.

    /// An option: the type of the resource, as a MIME type or a uniform type identifier (`String`),
    /// for a server whose type is wrong or missing.
    public static let contentTypeKey = "SpoolAssetContentTypeKey"
    /// An option: the path extension for the asset's URL (`String`), for an original URL with no
    /// useful one.
    public static let fileExtensionKey = "SpoolAssetFileExtensionKey"
    /// An option: when the origin's response expires (`Date`), for example with the signature of a
    /// URL. The player then asks again by that time.
    public static let expiryDateKey = "SpoolAssetExpiryDateKey"

    static let optionKeys: Set<String> = [contentTypeKey, fileExtensionKey, expiryDateKey]

    /// The URL that the app gave, unchanged.
    public let originalURL: URL
    /// The identity of the resource in the cache, or nil for a URL that cannot be cached.
    public let key: ResourceKey?
    /// The source of the bytes.
    public let route: AssetRoute
    let loader: AssetLoader?
    /// Makes other assets of the same media, or nil for an asset that no factory made.
    let sources: AssetSources?
    /// Reports the stored bytes to the followers of `progress`.
    let watch: AssetWatch?
    /// The object that lives as long as the asset and its copies: the stored file that it plays,
    /// which stays in the store, or its place at the proxy, which serves its segments. Nil for any
    /// other asset.
    let kept: (any AnyObject & Sendable)?

    /// The last loading error of this asset, or nil when there was none.
    ///
    /// AVFoundation hides the errors of loaders, and this property makes them available. It also
    /// contains errors after which loading continued.
    public var lastError: CacheError? {
        checkDelegate()
        return loader?.report.lastError
    }

    init(
        url: URL, options: [String: any Sendable], originalURL: URL, key: ResourceKey?, route: AssetRoute, loader: AssetLoader? = nil,
        sources: AssetSources? = nil, keeping kept: (any AnyObject & Sendable)? = nil
    ) {
        self.kept = kept
        self.sources = sources
        self.originalURL = originalURL
        self.key = key
        self.route = route
        self.loader = loader
        if let key, let loader {
            watch = AssetWatch(cache: loader.core.cache, key: key, report: loader.report, mailbox: loader.core.mailbox)
        } else {
            watch = nil
        }
        super.init(url: url, options: options)
        if let kept { Attachment.keep(kept, by: resourceLoader) }
        guard let loader else { return }
        // A simulation has one thread, and its player's controller knows the duration.
        if loader.queue.isReal { loader.report.onDurationWanted { [weak self] in self?.learnDuration() } }
        keep(loader, on: loader.queue.queue)
    }

    /// Finds out the duration, by which the loader computes the rate of the media. A player has
    /// loaded it already.
    private func learnDuration() {
        Task { [weak self] in
            // The player reports why an item has no duration. The loader goes on without the rate.
            guard let duration = try? await self?.load(.duration) else { return }
            self?.loader?.durationLearnt(seconds: duration.seconds)
        }
    }

    /// Does not compile in an app, because the asset would have no cache. AVFoundation calls this
    /// initialiser when it creates an asset of this class itself; that asset is plain.
    @available(*, unavailable, message: "this asset would have no cache; use MediaCache.asset(for:)")
    public override init(url URL: URL, options: [String: Any]? = nil) {
        originalURL = URL
        key = nil
        route = .original(.requested)
        loader = nil
        sources = nil
        watch = nil
        kept = nil
        super.init(url: URL, options: options)
    }

    /// Does not compile in an app either. Without it, the convenience initialiser of `AVURLAsset`
    /// would make an asset without a cache.
    @available(*, unavailable, message: "this asset would have no cache; use MediaCache.asset(for:)")
    public convenience init(url URL: URL) { fatalError("an unavailable initialiser was called") }

    /// Stops the loading of this asset and its copies, until a player asks for more of its bytes.
    ///
    /// Open requests stay open and get a few bytes a minute, so that the item does not fail. In
    /// contrast, an item whose asset was cancelled by `cancelLoading()` can fail when it is used
    /// again. `PlaybackController` does this after an item left its player.
    public func stopLoading() {
        loader?.park()
    }

    /// Retries failed loading at once, for example when the network or the app came back.
    public func retryLoading() {
        loader?.tryAgain()
    }
}
#endif
