#if !os(watchOS)
public import SpoolCore

/// The source of an asset's bytes.
public enum AssetRoute: Hashable, Sendable {
    /// The cache, through the asset's own loader.
    case cache
    /// The store's own file, which has every byte. AVFoundation reads it directly.
    case file
    /// The cache's loopback endpoint, by a URL. Playlists use it, and bodies without length.
    case loopback
    /// The original URL, as with a plain `AVURLAsset`. No byte is cached.
    case original(Reason)

    /// The reason why an asset is a plain one.
    public enum Reason: Hashable, Sendable {
        /// The scheme of the URL is neither `http` nor `https`. A `file:` URL needs no cache, and
        /// the cache cannot fetch other schemes.
        case unsupportedScheme
        /// The URL cannot be parsed, or cannot be written with the custom scheme.
        case malformedURL
        /// The resource is a playlist, and the cache has no loopback endpoint.
        case playlistWithoutEndpoint
        /// The resource is a playlist, and the system lets players load from no proxy of this
        /// process: App Transport Security, a proxy of the system or a filter prevents it.
        /// `NSAllowsLocalNetworking` in the app's Info.plist permits it.
        case loopbackNotPermitted
        /// The origin states no length, so the resource is live or made as it is sent.
        case unknownLength
        /// The bytes have this content coding, which a player would have to decode.
        case contentCoding(String)
        /// An earlier asset of the resource failed in the cache with this code, and the player was
        /// sent to the original URL.
        case fellBack(CacheError.Code)
        /// The cache is closed.
        case cacheIsClosed
        /// The cache is bypassed (`MediaCache.isBypassed`).
        case bypassed
        /// The original replaced an item that failed or did not move, for the reason in the text.
        case rescued(String)
        /// The caller asked for a plain asset, for example for AirPlay.
        case requested
    }
}
#endif
