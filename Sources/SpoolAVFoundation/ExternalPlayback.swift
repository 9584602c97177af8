#if !os(watchOS)
public import AVFoundation
public import Spool
import SpoolSystem

/// Where an AirPlay receiver gets an item's bytes: it fetches by itself, and never asks a loader or this device's loopback.
public enum ExternalPlaybackRoute: Hashable, Sendable {
    /// From the original URL; nothing is cached meanwhile.
    case original
    /// From the cache's loopback endpoint by this device's address in the local network, if it listens there; else as `.original`.
    ///
    /// The URL carries the endpoint's token: whoever reads it can read the cache. The app needs `NSLocalNetworkUsageDescription` in its
    /// Info.plist, and the system asks the user once.
    case localNetwork
}

extension CachingAssetFactory {
    /// A plain asset for an AirPlay receiver; parameters as for `asset(for:)`. `PlaybackObserver` uses it when a receiver takes over.
    ///
    /// Headers are not sent: a receiver can't be told any.
    public func externalPlaybackAsset(
        for url: URL, via route: ExternalPlaybackRoute = .original, options: [String: Any]? = nil
    ) -> CachingAVURLAsset {
        let parsed = AssetOptions(options, headers: [:], url: url, now: cache.environment.time.wallNow)
        if route == .localNetwork, let local = cache.loopback?.localNetworkURL(for: url.absoluteString).flatMap({ URL(string: $0) }) {
            return CachingAVURLAsset(
                url: local, options: parsed.forAsset, originalURL: url, key: nil, route: .loopback, loader: nil, queue: nil)
        }
        return CachingAVURLAsset(
            url: url, options: parsed.forAsset, originalURL: url, key: nil, route: .original(.requested), loader: nil, queue: nil)
    }
}

extension MediaCache {
    /// A plain asset for an AirPlay receiver, which fetches by itself; parameters as for `asset(for:)`.
    public func externalPlaybackAsset(for url: URL, via route: ExternalPlaybackRoute = .original) -> CachingAVURLAsset {
        CachingAssetFactory(cache: self).externalPlaybackAsset(for: url, via: route)
    }
}

extension AssetLoader {
    func plainAsset(of asset: CachingAVURLAsset, via route: ExternalPlaybackRoute) -> CachingAVURLAsset {
        CachingAssetFactory(cache: core.cache).externalPlaybackAsset(for: asset.originalURL, via: route)
    }
}
#endif
