#if !os(watchOS)
public import AVFoundation
import Spool
public import SpoolCore
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
    /// for a server that sends a wrong type or none.
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
    /// Reports the stored bytes to the followers of `progress`.
    let watch: AssetWatch?
    /// The stored file that the asset plays, or nil. The file stays in the store as long as this
    /// object.
    private let file: CompleteFile?

    /// The last loading error of this asset, or nil when there was none.
    ///
    /// AVFoundation hides the errors of loaders, and this property makes them available. It also
    /// contains errors after which loading continued.
    public var lastError: CacheError? { loader?.report.lastError }

    init(
        url: URL, options: [String: Any], originalURL: URL, key: ResourceKey?, route: AssetRoute, loader: AssetLoader?, queue: LoaderQueue?,
        file: CompleteFile? = nil
    ) {
        self.file = file
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
        if let loader, let queue { loader.attach(to: self, on: queue.queue) }
    }

    /// Creates a plain asset without a cache. AVFoundation calls this initialiser when it creates
    /// an asset of this class itself. Apps use `MediaCache.asset(for:)`.
    public override init(url URL: URL, options: [String: Any]? = nil) {
        originalURL = URL
        key = nil
        route = .original(.requested)
        loader = nil
        watch = nil
        file = nil
        super.init(url: URL, options: options)
    }

    /// Stops the loading for this asset. The player may ask again later.
    ///
    /// It does the same as `cancelLoading()`. AVFoundation does not call that for an item that was
    /// switched away, and goes on loading the item until its asset is released. Copies of the asset
    /// go on. Bytes that arrived stay stored. `PlaybackObserver` calls this after a short grace
    /// period.
    public func stopLoading() {
        cancelLoading()
    }

    /// Retries failed loading at once, for example when the network or the app came back.
    public func retryLoading() {
        loader?.tryAgain()
    }
}
#endif
