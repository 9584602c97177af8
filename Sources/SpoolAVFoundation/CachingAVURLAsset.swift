#if !os(watchOS)
public import AVFoundation
import Spool
public import SpoolCore
import SpoolSystem

/// An asset whose bytes come through a cache: from the store where they are stored, else from the origin, and are stored as they come.
///
/// Made by `MediaCache.asset(for:)`, used like any `AVURLAsset`:
///
/// ```swift
/// let item = AVPlayerItem(asset: cache.asset(for: url))
/// ```
///
/// The asset owns its loader: what it loads ends when the last copy of the asset goes, and bytes that arrived stay. Its `url` has a scheme
/// of its own, which makes AVFoundation ask the loader; `originalURL` is the one that the app gave. Where the cache can't help (`route`), it is a plain asset of
/// the original URL.
///
/// Safe to use from any thread.
public final class CachingAVURLAsset: AVURLAsset, @unchecked Sendable {
    // Safe to share: nothing changes after the initialiser; loader and report guard themselves.

    /// An option: what the resource is, as a MIME type or a uniform type identifier (`String`), where the server says nothing good.
    public static let contentTypeKey = "SpoolAssetContentTypeKey"
    /// An option: the path extension that the asset's URL shall have (`String`), where the original's says nothing.
    public static let fileExtensionKey = "SpoolAssetFileExtensionKey"
    /// An option: when the answer of the origin expires (`Date`), with a signed URL's signature say. The player asks again by then.
    public static let expiryDateKey = "SpoolAssetExpiryDateKey"

    static let optionKeys: Set<String> = [contentTypeKey, fileExtensionKey, expiryDateKey]

    /// The URL that the app gave, untouched.
    public let originalURL: URL
    /// The identity of the resource in the cache; nil for what can't be cached.
    public let key: ResourceKey?
    /// Where the bytes come from.
    public let route: AssetRoute
    let loader: AssetLoader?
    /// What looks at the stored bytes for those who follow `progress`.
    let watch: AssetWatch?
    /// The file that it plays, which stays in the store as long as this; nil where it plays none.
    private let file: CompleteFile?

    /// Why the player got nothing, or less than it asked for: AVFoundation hides the errors of loaders, this is the way around it.
    ///
    /// The last trouble, also where loading went on after it. Nil while there was none.
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

    /// A plain asset, without a cache: what AVFoundation makes when it makes one of this class by itself. Ask `MediaCache.asset(for:)` instead.
    public override init(url URL: URL, options: [String: Any]? = nil) {
        originalURL = URL
        key = nil
        route = .original(.requested)
        loader = nil
        watch = nil
        file = nil
        super.init(url: URL, options: options)
    }

    /// Stops what is being loaded for this asset, and lets the player ask again later.
    ///
    /// The same as `cancelLoading()`, which AVFoundation does not call for an item that was switched away: it goes on loading that until the
    /// asset is released. Copies of the asset go on. Bytes that arrived stay. `PlaybackObserver` calls it after a short grace.
    public func stopLoading() {
        cancelLoading()
    }

    /// Tries at once what waits to be tried again, when the network or the app came back.
    public func retryLoading() {
        loader?.tryAgain()
    }
}
#endif
