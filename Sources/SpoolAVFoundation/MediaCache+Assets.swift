#if !os(watchOS)
public import AVFoundation
public import Spool
public import SpoolCore

// The short form for apps: from a cache to an asset or item.

extension MediaCache {
    /// Returns an asset whose bytes come through this cache.
    ///
    /// ```swift
    /// let item = AVPlayerItem(asset: cache.asset(for: url))
    /// ```
    ///
    /// The method never fails. A URL that cannot be cached becomes a plain asset of it, and `route`
    /// contains the reason.
    /// - Parameters:
    ///   - key: The identity in the cache, if the URL is not the identity (signed URLs). With nil,
    ///     the key policy makes it of the URL.
    ///   - headers: Fields for every request to the origin.
    ///   - options: The options of `AVURLAsset`, and the keys of `CachingAVURLAsset`.
    public func asset(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: any Sendable]? = nil
    ) -> CachingAVURLAsset {
        CachingAssetFactory(cache: self).asset(for: url, key: key, headers: headers, options: options)
    }

    /// Returns an item whose bytes come through this cache. The parameters are those of
    /// `asset(for:)`.
    @MainActor public func playerItem(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: any Sendable]? = nil
    ) -> AVPlayerItem {
        CachingAssetFactory(cache: self).playerItem(for: url, key: key, headers: headers, options: options)
    }
}
#endif
