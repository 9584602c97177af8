package import SpoolCore
package import SpoolManifests
package import SpoolSystem

extension Preload {
    /// Makes a preload that has begun.
    package static func started(
        in cache: MediaCache, _ url: String, _ amount: PreloadAmount, variant: PresentationSelection.Quality = .initial, key: ResourceKey?,
        priority: ReadPriority, options: ReadOptions
    ) throws(CacheError) -> Preload {
        let preload = try made(in: cache, url, amount, selection: beginning(variant), key: key, priority: priority, options: options)
        preload.begin()
        return preload
    }

    /// Makes a preload of everything for an entry of the list of downloads.
    static func download(
        in cache: MediaCache, _ download: Download, _ checks: ResourcePreload.DownloadChecks
    ) throws(CacheError) -> Preload {
        var options = ReadOptions()
        options.requestFields = download.details.fields.fields
        options.access = download.details.access
        return try made(in: cache, download.url, .whole, selection: download.selection, key: download.key, options: options) {
            $0.download = checks
        }
    }

    /// Makes a preload of all parts of a presentation, and of nothing else. It has begun.
    package static func presentation(
        in cache: MediaCache, _ url: String, _ selection: PresentationSelection
    ) throws(CacheError) -> Preload {
        let preload = try made(in: cache, url, .whole, selection: selection) { $0.subject = .presentation }
        preload.begin()
        return preload
    }

    /// Makes a preload of all bytes of one resource, with these options as they are. A manifest is
    /// a resource like any other. It has begun.
    package static func wholeResource(
        in cache: MediaCache, _ url: String, key: ResourceKey, options: ReadOptions, mailbox: any Mailbox
    ) -> Preload {
        let preload = Preload(
            url: url, key: key, amount: .whole, selection: beginning(.initial),
            settings: .init(cache: cache, options: options, mailbox: mailbox, subject: .resource))
        preload.begin()
        return preload
    }

    /// The renditions that a player may begin with.
    static func beginning(_ variant: PresentationSelection.Quality) -> PresentationSelection {
        var selection = PresentationSelection()
        selection.quality = variant
        selection.subtitles = .standard
        return selection
    }

    /// Makes a preload that does nothing yet.
    ///
    /// - Parameter change: Sets what differs from a preload of any resource.
    static func made(
        in cache: MediaCache, _ url: String, _ amount: PreloadAmount, selection: PresentationSelection, key: ResourceKey? = nil,
        priority: ReadPriority = .prefetch, options: ReadOptions = ReadOptions(),
        _ change: (inout ResourcePreload.Settings) -> Void = { _ in }
    ) throws(CacheError) -> Preload {
        var settings = ResourcePreload.Settings(cache: cache, options: options, mailbox: cache.environment.dataLanes[0])
        settings.options.priority = priority
        settings.options.fetchPolicy = .whilePlaying
        change(&settings)
        let key = cache.readingKey(for: try MediaURL(cachable: url), chosen: key)
        return Preload(url: url, key: key, amount: amount, selection: selection, settings: settings)
    }
}
