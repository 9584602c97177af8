#if !os(watchOS)
/// How an asset gets its bytes.
public enum AssetRoute: Hashable, Sendable {
    /// Through the cache, by the asset's own loader.
    case cache
    /// From the store's own file, which has every byte; nothing in between.
    case file
    /// By the URL of the cache's loopback endpoint: playlists.
    case loopback
    /// From the original URL, as a plain `AVURLAsset` would; nothing is cached.
    case original(Reason)

    /// Why an asset is a plain one.
    public enum Reason: Hashable, Sendable {
        /// The URL is no `http` or `https` one: `file:` needs no cache, others can't be asked.
        case unsupportedScheme
        /// The URL can't be read, or not be written with the custom scheme.
        case malformedURL
        /// It is a playlist, and the cache has no loopback endpoint.
        case playlistWithoutEndpoint
        /// An earlier asset of the resource had to be sent to the original URL; the words say why.
        case fellBack(String)
        /// The cache is closed.
        case cacheIsClosed
        /// It was asked for, for AirPlay say.
        case requested
    }
}
#endif
