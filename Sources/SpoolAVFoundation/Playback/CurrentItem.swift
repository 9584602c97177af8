#if !os(watchOS)
public import AVFoundation
public import SpoolCore

/// The item that a player has at the moment.
public struct CurrentItem: Hashable, Sendable {
    /// The identity of the item. Two items of one URL differ.
    public let id: ObjectIdentifier
    /// The original URL of the item's media, or nil for an asset without a URL.
    public let url: URL?
    /// The identity of the media in the cache, or nil for an item that does not come from a cache.
    public let key: ResourceKey?

    @MainActor init(_ item: AVPlayerItem) {
        id = ObjectIdentifier(item)
        url = item.cachedAsset?.originalURL ?? (item.asset as? AVURLAsset)?.url
        key = item.cachedAsset?.key
    }
}

extension AVPlayerItem {
    /// The item's asset, if a cache created it, with its progress, its errors and its key.
    @MainActor public var cachedAsset: CachingAVURLAsset? { asset as? CachingAVURLAsset }
}
#endif
