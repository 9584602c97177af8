#if !os(watchOS)
import AVFoundation

/// Makes other assets of an asset's media.
struct AssetSources: Sendable {
    let factory: CachingAssetFactory
    let url: URL
    let key: ResourceKey?
    let headers: [String: String]
    let options: [String: any Sendable]?

    /// Whether a player could play the original by itself at the moment.
    var original: OriginalIsPlayable { factory.originalIsPlayable(headers: headers) }

    /// Returns a new asset, as the factory makes it now.
    func again() -> CachingAVURLAsset { prepared(factory.asset(for: url, key: key, headers: headers, options: options)) }

    /// Returns an asset for an AirPlay receiver.
    func external(_ route: ExternalPlaybackRoute) -> CachingAVURLAsset {
        prepared(factory.externalPlaybackAsset(for: url, via: route, options: options))
    }

    /// Lets the app prepare an asset that takes the place of another one.
    func prepared(_ asset: CachingAVURLAsset) -> CachingAVURLAsset {
        factory.onReplacementAsset?(asset)
        return asset
    }
}
#endif
