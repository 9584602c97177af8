public import SpoolCore
import SpoolStore

// The same verbs for `async` callers: continuations over the callbacks.

extension MediaCache {
    /// What is stored of a resource, or nil when the cache knows nothing of it.
    public func status(of key: ResourceKey) async throws(CacheError) -> ResourceStatus? {
        try await withCheckedContinuation { continuation in status(of: key) { continuation.resume(returning: $0) } }.get()
    }

    /// Whether every byte of the resource is stored.
    public func isComplete(_ key: ResourceKey) async throws(CacheError) -> Bool {
        try await status(of: key)?.isComplete ?? false
    }

    /// Up to `limit` resources with keys after `key`, in key order; call again with the last one's key for more.
    public func resources(after key: ResourceKey? = nil, limit: Int = 1000) async throws(CacheError) -> [ResourceStatus] {
        try await withCheckedContinuation { continuation in list(after: key, limit: limit) { continuation.resume(returning: $0) } }.get()
    }

    /// Bytes that the stored media occupy on disk (allocated, not apparent).
    public func totalSizeBytes() async throws(CacheError) -> Int64 {
        try await withCheckedContinuation { continuation in
            onIndexLane(nil, { continuation.resume(returning: $0) }) { [store] () throws(StoreError) in try store.totalSizeBytes() }
        }.get()
    }

    /// The number of resources in the store.
    public func count() async throws(CacheError) -> Int {
        try await withCheckedContinuation { continuation in
            onIndexLane(nil, { continuation.resume(returning: $0) }) { [store] () throws(StoreError) in try store.count() }
        }.get()
    }

    /// Takes a resource out of the cache, and its pin; its readers end with `.removed`. False when there was none.
    @discardableResult
    public func remove(_ key: ResourceKey) async throws(CacheError) -> Bool {
        try await withCheckedContinuation { continuation in remove(key) { continuation.resume(returning: $0) } }.get()
    }

    /// Takes every resource and every pin out of the cache.
    public func removeAll() async throws(CacheError) {
        try await withCheckedContinuation { continuation in removeAll { continuation.resume(returning: $0) } }.get()
    }

    /// Makes everything durable and lets go of every lock on the store, for a process that the system is about to suspend; `resume` takes
    /// them again. Until then readers are served from the origin.
    public func suspend() async throws(CacheError) {
        try await withCheckedContinuation { continuation in suspend { continuation.resume(returning: $0) } }.get()
    }

    /// Takes the locks again that `suspend` let go of. Nothing that another process stored or evicted meanwhile is overlooked.
    public func resume() async throws(CacheError) {
        try await withCheckedContinuation { continuation in resume { continuation.resume(returning: $0) } }.get()
    }

    /// Ends every reader and fetch, makes what is stored durable and lets go of the store. Idempotent.
    public func close() async {
        await withCheckedContinuation { continuation in close { continuation.resume() } }
        environment.shutDown()
    }
}
