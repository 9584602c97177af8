#if !os(watchOS)
public import AVFoundation
public import Spool
public import SpoolCore
public import SpoolManifests

// Bytes ahead of a player, by the URLs, assets and items of AVFoundation.

extension MediaCache {
    /// Fetches the beginning of a resource or of an HLS presentation, so that a player starts
    /// without waiting for the origin.
    ///
    /// The preload begins at once. Keep the returned object: releasing it cancels the preload.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - amount: How much to fetch.
    ///   - variant: The variant of a presentation. The default is the one that a player starts
    ///     with.
    ///   - key: The identity in the cache, if the URL is not the identity (signed URLs).
    ///   - priority: The urgency of its origin requests.
    ///   - headers: Fields for every request to the origin.
    ///   - options: The options of the asset that will play.
    /// - Throws: `.unsupportedURL` for a URL that cannot be cached.
    public func preload(
        _ url: URL, _ amount: PreloadAmount, variant: PresentationSelection.Quality = .initial, key: ResourceKey? = nil,
        priority: ReadPriority = .prefetch, headers: [String: String] = [:], options: [String: any Sendable]? = nil
    ) throws(CacheError) -> Preload {
        try CachingAssetFactory(cache: self).preload(
            url, amount, variant: variant, key: key, priority: priority, headers: headers, options: options)
    }

    /// Fetches the beginning of an asset's media, with the key, the fields and the options of the
    /// asset.
    ///
    /// - Throws: `.unsupportedURL` for an asset that this library did not make, or whose URL cannot
    ///   be cached.
    public func preload(
        _ asset: AVURLAsset, _ amount: PreloadAmount, variant: PresentationSelection.Quality = .initial,
        priority: ReadPriority = .prefetch
    ) throws(CacheError) -> Preload {
        guard let sources = (asset as? CachingAVURLAsset)?.sources else {
            throw CacheError(.unsupportedURL, "only an asset that a cache made has an identity to preload")
        }
        return try sources.factory.preload(
            sources.url, amount, variant: variant, key: sources.key, priority: priority, headers: sources.headers, options: sources.options)
    }

    /// Fetches the beginning of an item's media, with the key, the fields and the options of its
    /// asset.
    ///
    /// - Throws: `.unsupportedURL` for an item that this library did not make, or whose URL cannot
    ///   be cached.
    @MainActor public func preload(
        _ item: AVPlayerItem, _ amount: PreloadAmount, variant: PresentationSelection.Quality = .initial,
        priority: ReadPriority = .prefetch
    ) throws(CacheError) -> Preload {
        guard let asset = item.cachedAsset else {
            throw CacheError(.unsupportedURL, "only an item that a cache made has an identity to preload")
        }
        return try preload(asset, amount, variant: variant, priority: priority)
    }
}

extension CachingAssetFactory {
    /// Fetches the beginning of a resource or of an HLS presentation. The parameters are those of
    /// `MediaCache.preload`. The cookies are those of this moment.
    ///
    /// - Throws: `.unsupportedURL` for a URL that cannot be cached.
    public func preload(
        _ url: URL, _ amount: PreloadAmount, variant: PresentationSelection.Quality = .initial, key: ResourceKey? = nil,
        priority: ReadPriority = .prefetch, headers: [String: String] = [:], options: [String: any Sendable]? = nil
    ) throws(CacheError) -> Preload {
        let (key, read) = try reading(url, key, headers, options)
        return try cache.preload(url.absoluteString, amount, variant: variant, key: key, priority: priority, options: read)
    }

    /// Returns the key of a resource, and the options for reads ahead of a player: the fields, the
    /// networks and the present cookies of its asset.
    ///
    /// - Throws: `.unsupportedURL` for a URL that cannot be cached.
    func reading(
        _ url: URL, _ key: ResourceKey?, _ headers: [String: String], _ options: [String: any Sendable]?
    ) throws(CacheError) -> (key: ResourceKey, options: ReadOptions) {
        let parsed = parse(options, headers: headers, for: url)
        // The key policy refuses a URL that is none. The error says the same for both.
        guard supports(url), let key = key ?? (try? keyPolicy.key(for: url.absoluteString)) else {
            throw CacheError(.unsupportedURL, "only http and https URLs can be cached")
        }
        var read = ReadOptions()
        let own = readOptions(for: url, parsed)
        (read.requestFields, read.access) = (own.requestFields, own.access)
        var source = LoaderSource(originalURL: url, key: key, options: read)
        source.cookies = parsed.hasCookies ? nil : cookies
        read.requestFields = source.requestFields(now: Date(timeIntervalSince1970: Double(cache.environment.time.wallNow.seconds)))
        return (key, read)
    }
}

extension Preload {
    /// Returns a `Progress` for a progress view, in bytes. Cancelling, pausing and resuming it does
    /// the same to the preload. It does not keep the preload alive.
    public func makeProgress() -> Progress {
        let progress = Progress(totalUnitCount: -1)
        progress.kind = .file
        progress.isPausable = true
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        progress.pausingHandler = { [weak self] in self?.pause() }
        progress.resumingHandler = { [weak self] in self?.resume() }
        follow { [weak progress] state in
            guard let progress else { return }
            if let total = state.totalBytes { progress.totalUnitCount = total }
            progress.completedUnitCount = state.doneBytes
        }
        return progress
    }
}
#endif
