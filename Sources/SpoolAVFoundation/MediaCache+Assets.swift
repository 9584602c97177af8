#if !os(watchOS)
public import AVFoundation
public import Spool
public import SpoolCore

// The short way from a cache to something that plays.

extension MediaCache {
    /// An asset whose bytes come through this cache.
    ///
    /// ```swift
    /// let item = AVPlayerItem(asset: cache.asset(for: url))
    /// ```
    ///
    /// Never fails: what can't be cached becomes a plain asset of the URL, and `route` says so.
    /// - Parameters:
    ///   - key: the identity in the cache, where the URL is not it (signed URLs); nil for what the key policy makes of the URL.
    ///   - headers: sent with every request to the origin.
    ///   - options: as for `AVURLAsset`, and the keys of `CachingAVURLAsset`.
    public func asset(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: Any]? = nil
    ) -> CachingAVURLAsset {
        CachingAssetFactory(cache: self).asset(for: url, key: key, headers: headers, options: options)
    }

    /// An item whose bytes come through this cache; parameters as for `asset(for:)`.
    @MainActor public func playerItem(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: Any]? = nil
    ) -> AVPlayerItem {
        CachingAssetFactory(cache: self).playerItem(for: url, key: key, headers: headers, options: options)
    }

    /// Whether URLs like this one are cached; others become plain assets.
    public func isSchemeSupported(_ url: URL) -> Bool {
        CachingAssetFactory(cache: self).isSchemeSupported(url)
    }
}
#endif
