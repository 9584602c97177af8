public import SpoolCore
public import SpoolManifests

// Bytes ahead of a player.

extension MediaCache {
    /// Fetches the beginning of a resource or of an HLS or DASH presentation, so that a player
    /// starts without waiting for the origin. Type and first bytes decide which of them it is.
    ///
    /// ```swift
    /// let preload = try cache.preload("https://example.com/film.mp4", .seconds(10))
    /// let result = try await preload.result()
    /// ```
    ///
    /// The preload begins at once. Keep the returned object: releasing it cancels the preload.
    ///
    /// - Parameters:
    ///   - url: An absolute `http` or `https` URL.
    ///   - amount: How much to fetch.
    ///   - variant: The variant of a presentation. The default is the one that a player starts
    ///     with.
    ///   - key: The identity in the cache, if the URL is not stable, or nil for the key of the URL.
    ///   - priority: The urgency of its origin requests. The default is `.prefetch`.
    ///   - options: The settings in which its reads differ from the configuration. The preload sets
    ///     `fetchPolicy` and `priority` itself.
    /// - Throws: `.unsupportedURL` for any other URL.
    public func preload(
        _ url: String, _ amount: PreloadAmount, variant: PresentationSelection.Quality = .initial, key: ResourceKey? = nil,
        priority: ReadPriority = .prefetch, options: ReadOptions = ReadOptions()
    ) throws(CacheError) -> Preload {
        try .started(in: self, url, amount, variant: variant, key: key, priority: priority, options: options)
    }
}
