public import SpoolCore
import SpoolStore
import SpoolSystem

// The `async` methods of a cache, made of continuations over its callbacks.

extension MediaCache {
    /// Opens a cache as ``init(configuration:)`` does, on a thread of its own. The calling thread,
    /// for example the main thread of an app at its launch, does not wait for the disk.
    ///
    /// - Throws: The errors of ``init(configuration:)``.
    public static func open(_ configuration: Configuration = Configuration()) async throws(CacheError) -> MediaCache {
        try await result { done in
            _ = SystemThread(name: "spool-open") { done(Result { () throws(CacheError) in try MediaCache(configuration: configuration) }) }
        }
    }

    /// Returns the status of a resource, or nil if the cache has nothing of it.
    ///
    /// - Parameter name: The resource, by its URL or key.
    /// - Throws: `.store`, `.closed`, `.unsupportedURL`.
    public func status(of name: some ResourceName) async throws(CacheError) -> ResourceStatus? {
        let key = try name.key(in: self)
        return try await result { done in status(of: key, done) }
    }

    /// Returns whether a resource plays to its end without the network: every byte is stored. With
    /// the name of a manifest, the stored parts of the presentation count: one variant and its
    /// groups are complete. Bytes are stored just after they arrive.
    ///
    /// - Parameter name: The resource or presentation, by its URL or key.
    /// - Throws: `.store`, `.closed`, `.unsupportedURL`, the last also for a presentation of more
    ///   than 1 048 576 parts.
    public func isComplete(_ name: some ResourceName) async throws(CacheError) -> Bool {
        try await presentations.isComplete(name.key(in: self))
    }

    /// Returns resources in the order of their keys. For more, call again with the key of the last
    /// one.
    ///
    /// - Parameters:
    ///   - key: The key after which the list begins, or nil to begin at the first.
    ///   - limit: The most resources to return.
    /// - Throws: `.store`, `.closed`.
    public func resources(after key: ResourceKey? = nil, limit: Int = 1000) async throws(CacheError) -> [ResourceStatus] {
        try await result { done in list(after: key, limit: limit, done) }
    }

    /// Returns the bytes that the stored media occupies on disk, counted in allocated blocks.
    ///
    /// - Throws: `.store`, `.closed`.
    public func totalSizeBytes() async throws(CacheError) -> Int64 {
        try await onIndexLane { [store] () throws(StoreError) in try store.totalSizeBytes() }
    }

    /// Returns the same bytes by the reason for which they are stored.
    ///
    /// - Throws: `.store`, `.closed`.
    public func storedSizes() async throws(CacheError) -> StoredSizes {
        try await onIndexLane { [store] () throws(StoreError) in
            try StoredSizes(all: store.totalSizeBytes(), downloaded: store.downloadBytes(), pinned: store.pinnedBytes())
        }
    }

    /// Returns the number of resources in the store.
    ///
    /// - Throws: `.store`, `.closed`.
    public func count() async throws(CacheError) -> Int {
        try await onIndexLane { [store] () throws(StoreError) in try store.count() }
    }

    /// Removes a resource, its pin and its download from the cache. With the name of a manifest,
    /// the whole presentation goes, except for parts that another stored presentation shares.
    /// Readers end with `.removed`.
    ///
    /// The manifest is removed last, so an interrupted removal can be repeated.
    ///
    /// - Parameter name: The resource or presentation, by its URL or key.
    /// - Returns: False if nothing was stored of it.
    /// - Throws: `.store`, `.storeLocked` if another process writes the store, `.closed`,
    ///   `.unsupportedURL`.
    @discardableResult
    public func remove(_ name: some ResourceName) async throws(CacheError) -> Bool {
        let key = try name.key(in: self)
        return try await presentations.remove(key).contains { $0.key == key }
    }

    /// Makes everything durable and releases every lock on the store. Call it before the system
    /// suspends the process.
    ///
    /// Until `resume()`, nothing is read from or written to the store, and readers get their bytes
    /// from the origin.
    ///
    /// - Throws: `.store`, `.closed`.
    public func suspend() async throws(CacheError) { try await result { done in suspend(done) } }

    /// Takes the locks again that `suspend()` released.
    ///
    /// If another process wrote to the store meanwhile, new readers see its changes. If another
    /// process still writes the store, this cache only reads it until that process is gone.
    ///
    /// - Throws: `.store`, `.closed`.
    public func resume() async throws(CacheError) { try await result { done in resume(done) } }

    /// Ends every reader and fetch, makes the stored bytes durable and closes the store.
    /// Idempotent.
    ///
    /// Readers fail with `.closed`, and later calls throw it.
    public func close() async {
        await withCheckedContinuation { continuation in close { continuation.resume() } }
        environment.shutDown()
    }
}

extension MediaCache {
    /// Runs `body` on the index lane, and returns its result.
    package func onIndexLane<Value: Sendable>(
        _ key: ResourceKey? = nil, _ body: @escaping @Sendable () throws(StoreError) -> Value
    ) async throws(CacheError) -> Value {
        try await result { done in onIndexLane(key, done, body) }
    }
}
