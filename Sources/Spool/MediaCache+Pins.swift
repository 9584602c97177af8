public import SpoolCore
import SpoolStore
import SpoolSystem

// Protection of resources from eviction.

extension MediaCache {
    /// Protects a resource from eviction: the bytes that are stored of it, and those that will be.
    /// The pin survives restarts, until `unpin(_:)` or a removal. It holds the variants stored now.
    ///
    /// With the name of a manifest, every stored part of the presentation is pinned. A later
    /// download of the presentation pins what it adds.
    ///
    /// Pinned bytes count towards the quota. If pins take all of it, nothing else is stored.
    ///
    /// - Parameter name: The resource or presentation, by its URL or key.
    /// - Returns: False if all of it was pinned already.
    /// - Throws: `.store`, `.storeLocked` if another process writes the store, `.closed`,
    ///   `.unsupportedURL`.
    @discardableResult
    public func pin(_ name: some ResourceName) async throws(CacheError) -> Bool {
        try await presentations.setPinned(name.key(in: self), true)
    }

    /// Removes the pin of a resource, so that it may be evicted again. With the name of a manifest,
    /// the pins of its parts go, except for those that another pinned presentation shares.
    ///
    /// - Parameter name: The resource or presentation, by its URL or key.
    /// - Returns: False if nothing of it was pinned.
    /// - Throws: `.store`, `.storeLocked` if another process writes the store, `.closed`,
    ///   `.unsupportedURL`.
    @discardableResult
    public func unpin(_ name: some ResourceName) async throws(CacheError) -> Bool {
        try await presentations.setPinned(name.key(in: self), false)
    }

    /// Protects a resource from eviction for as long as the returned object lives. The pin is not
    /// persisted.
    ///
    /// - Throws: `.unsupportedURL`.
    public func temporaryPin(_ name: some ResourceName) throws(CacheError) -> TemporaryPin {
        engine.temporaryPin(of: try name.key(in: self))
    }

    /// Sets or removes a pin. Calls `done` on the index lane.
    package func setPinned(_ key: ResourceKey, _ isPinned: Bool, _ done: @escaping Completion<Bool>) {
        let time = environment.time.wallNow
        onIndexLane(key, done) { [store] () throws(StoreError) in try store.setPinned(withVariants: key, isPinned, time: time) }
    }
}

extension ResourceKey {
    /// The most keys that one call of `pinnedWithoutBytes(in:after:)` returns.
    private static let pinPage = 1000

    /// Returns the keys of pinned resources without stored bytes, in a stable order, at most 1000
    /// of them. For more, call again with the last key.
    ///
    /// A pin that version 0.1 or earlier made before the first byte came is missing here until the
    /// resource is pinned again.
    ///
    /// - Throws: `.store`, `.closed`.
    package static func pinnedWithoutBytes(in cache: MediaCache, after key: ResourceKey? = nil) async throws(CacheError) -> [ResourceKey] {
        try await cache.onIndexLane { [store = cache.store] () throws(StoreError) in try store.pinsWithoutBytes(after: key, limit: pinPage)
        }
    }
}
