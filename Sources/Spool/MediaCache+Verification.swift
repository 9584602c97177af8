public import SpoolCore

// Verification on request: every stored byte is read and compared with its check.

extension MediaCache {
    /// Reads every stored byte of a resource and compares it with its check.
    ///
    /// The cost is that of reading: about a second for each GiB that is in memory, otherwise the
    /// time of the disk. Readers go on meanwhile.
    ///
    /// - Parameters:
    ///   - name: The resource, by its URL or key.
    ///   - isRepairing: Whether damaged bytes are removed from the index, so that they are fetched
    ///     again.
    ///   - progress: Called with the number of bytes compared since the last call, on a thread of
    ///     the cache.
    /// - Returns: The result, or nil if nothing is stored of the resource.
    /// - Throws: `.store`, `.closed`, `.unsupportedURL`, and `.storeLocked` for a repair while another process writes
    ///   the store.
    public func verify(
        _ name: some ResourceName, isRepairing: Bool = false, progress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws(CacheError) -> Verification? {
        let key = try name.key(in: self)
        return try await result { done in verify(key, isRepairing: isRepairing, progress: progress, done) }
    }

    /// Verifies a resource. Calls `done` on a lane.
    package func verify(
        _ key: ResourceKey, isRepairing: Bool, progress: @escaping @Sendable (Int64) -> Void, _ done: @escaping Completion<Verification?>
    ) {
        ResourceInspector(engine: engine).verify(key, isRepairing: isRepairing, progress: progress, done)
    }
}
