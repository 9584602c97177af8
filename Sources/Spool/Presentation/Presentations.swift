public import SpoolCore

extension MediaCache {
    /// The HLS and DASH presentations in the cache, each as one thing.
    public var presentations: Presentations { Presentations(cache: self) }
}

/// The HLS and DASH presentations in a cache, each as one thing: its manifests, segments and keys.
///
/// The calls of a cache that take a name treat the manifest of a presentation as the whole:
/// ``MediaCache/isComplete(_:)``, ``MediaCache/pin(_:)``, ``MediaCache/unpin(_:)``,
/// ``MediaCache/remove(_:)`` and the list of downloads.
///
/// ```swift
/// let film = "https://example.com/film/master.m3u8"
/// if try await cache.isComplete(film) { try await cache.pin(film) }
/// ```
public struct Presentations: Sendable {
    let cache: MediaCache

    /// Returns the key of a reference in a manifest, or nil for one that no cache stores, such as a
    /// `data:` or `skd:` URL.
    func key(of reference: String) -> ResourceKey? {
        guard let key = try? cache.key(for: reference) else { return nil }
        return key
    }

    /// Returns what is stored of an HLS or DASH presentation. Nothing is fetched.
    ///
    /// The stored manifests are read, and each part is looked up, which takes about a second for
    /// 20 000 parts.
    ///
    /// - Parameter name: The manifest, by its URL or key.
    /// - Returns: The status, or nil if the manifest is not stored as a whole or is not a manifest.
    /// - Throws: `.store`, `.closed`, `.unsupportedURL`, the last also for more than 1 048 576
    ///   parts.
    public func status(of name: some ResourceName) async throws(CacheError) -> PresentationStatus? {
        try await inventory(of: name.key(in: cache)).map(PresentationStatus.init)
    }

    /// Returns every presentation in the store, in the order of their keys.
    ///
    /// A manifest that another stored manifest names belongs to that presentation. Manifests are
    /// recognised by their type or the extension of their URL. The memory in use grows with the
    /// number of their stored parts.
    ///
    /// - Throws: `.store`, `.closed`.
    public func all() async throws(CacheError) -> [PresentationStatus] {
        var found: [PresentationStatus] = []
        for key in try await PresentationCatalog(cache: cache).roots() {
            do {
                if let inventory = try await inventory(of: key) { found.append(PresentationStatus(inventory)) }
            } catch {
                // A manifest beyond the bounds is a resource like any other.
                guard error.code == .unsupportedURL else { throw error }
            }
        }
        return found
    }

    /// Returns whether a presentation plays to its end from the store, or a resource is stored.
    func isComplete(_ key: ResourceKey) async throws(CacheError) -> Bool {
        if let presentation = try await status(of: key) { return presentation.isComplete }
        return try await cache.status(of: key)?.isComplete == true
    }

    /// Removes a resource, with the parts that only it has if it is a manifest. The manifest is
    /// last, so that an interrupted removal can be repeated.
    ///
    /// - Returns: The removed resources, each with its stored bytes.
    package func remove(_ key: ResourceKey) async throws(CacheError) -> [(key: ResourceKey, bytes: Int64)] {
        var removed: [(key: ResourceKey, bytes: Int64)] = []
        for part in try await ownResources(of: key)?.reversed() ?? [key] {
            let bytes = try await cache.status(of: part)?.stored.totalBytes ?? 0
            if try await result({ done in cache.remove(part, done) }) { removed.append((part, bytes)) }
        }
        return removed
    }

    /// Pins or unpins a resource, with its stored parts if it is a manifest. Parts that another
    /// pinned presentation shares stay pinned.
    ///
    /// - Returns: Whether one of the pins changed.
    func setPinned(_ key: ResourceKey, _ isPinned: Bool) async throws(CacheError) -> Bool {
        let stored = isPinned ? try await inventory(of: key)?.keys : try await ownResources(of: key, amongPinned: true)
        var isChanged = false
        for part in stored ?? [key] {
            if try await result({ done in cache.setPinned(part, isPinned, done) }) { isChanged = true }
        }
        return isChanged
    }

    /// Returns the resources that only this presentation has, the manifest first, or nil if no such
    /// manifest is stored.
    package func ownResources(of key: ResourceKey, amongPinned: Bool = false) async throws(CacheError) -> [ResourceKey]? {
        guard let inventory = try await inventory(of: key) else { return nil }
        return try await PresentationCatalog(cache: cache).ownResources(of: inventory, amongPinned: amongPinned)
    }

    /// Returns the stored part of a presentation, or nil if its manifest is not stored as a whole.
    package func inventory(of key: ResourceKey) async throws(CacheError) -> PresentationInventory? {
        try await result { done in inventory(of: key, done) }
    }

    /// Finds the stored part of a presentation. Calls `done` on a lane.
    package func inventory(of key: ResourceKey, _ done: @escaping Completion<PresentationInventory?>) {
        PresentationInspection(cache: cache, done: done).start(key)
    }
}
