public import SpoolCore

// Complete resources as files in the store.

extension MediaCache {
    /// Returns the file in the store that contains every byte of a resource, without a copy.
    ///
    /// Bytes that an earlier run stored are compared with their checks first, which takes about a
    /// second for each GiB. Bytes that do not match become a gap.
    ///
    /// - Parameter name: The resource, by its URL or key.
    /// - Returns: The file, or nil if bytes are missing or damaged. Also nil if no file contains
    ///   the bytes as readers get them: in an encrypted store, with a content transform, for an
    ///   empty resource, or for the manifest of a presentation, whose parts are files of their own.
    /// - Throws: `.store`, `.closed`, `.unsupportedURL`.
    public func completeFile(for name: some ResourceName) async throws(CacheError) -> CompleteFile? {
        let key = try name.key(in: self)
        guard try await presentations.inventory(of: key) == nil else { return nil }
        return try await result { done in completeFile(for: key, done) }
    }

    /// Finds the file of a complete resource. Calls `done` on a lane.
    package func completeFile(for key: ResourceKey, _ done: @escaping Completion<CompleteFile?>) {
        CompleteFileSearch(engine: engine).find(key, done)
    }
}
