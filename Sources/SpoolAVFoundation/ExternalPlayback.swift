#if !os(watchOS)
public import AVFoundation
import Spool
import SpoolSystem

/// The source of an item's bytes for an AirPlay receiver. A receiver fetches the bytes itself, and
/// can use neither a loader nor this device's loopback.
public enum ExternalPlaybackRoute: Hashable, Sendable {
    /// The original URL. No byte is cached meanwhile.
    case original
    /// The cache's loopback endpoint, by this device's address in the local network, if it listens
    /// there. Otherwise the same as `.original`.
    ///
    /// The URL contains the endpoint's token, and every reader of the URL can read the cache. The
    /// app needs `NSLocalNetworkUsageDescription` in its Info.plist, and the system asks the user
    /// once.
    case localNetwork
}

extension CachingAssetFactory {
    /// Returns a plain asset for an AirPlay receiver. The parameters are those of `asset(for:)`.
    /// `PlaybackController` uses it when a receiver takes over.
    ///
    /// Headers are not sent, because AVFoundation has no way to pass them to a receiver.
    public func externalPlaybackAsset(
        for url: URL, via route: ExternalPlaybackRoute = .original, options: [String: any Sendable]? = nil
    ) -> CachingAVURLAsset {
        let parsed = parse(options, for: url)
        if route == .localNetwork, let local = cache.loopback?.localNetworkURL(for: url.absoluteString).flatMap({ URL(string: $0) }) {
            return CachingAVURLAsset(
                url: local, options: parsed.forAsset, originalURL: url, key: nil, route: .loopback)
        }
        return CachingAVURLAsset(
            url: url, options: originalOptions(for: url, parsed), originalURL: url, key: nil, route: .original(.requested))
    }
}
#endif
