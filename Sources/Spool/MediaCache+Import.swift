public import SpoolCore

// Import of a file as a stored resource.

extension MediaCache {
    /// Stores the file at `path` as the complete resource of `url`, as if it had been fetched.
    ///
    /// The bytes get checks, are sealed if the store is encrypted, and room is made for them first.
    /// The file itself stays unchanged.
    ///
    /// The resource is stored once all of it is: an error or a cancelled task leaves everything as
    /// before. If something of the resource is stored already, that is an error, unless `options`
    /// allow replacing it. Then its current readers end with `.removed`. The memory in use grows by
    /// 4 bytes for each 64 KiB of the file (28 in an encrypted store), for its checks.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - url: The URL of the resource at its origin.
    ///   - key: The identity in the cache, or nil for the key of the URL.
    ///   - options: The metadata of the resource, and whether it replaces stored bytes.
    ///   - progress: Called with the number of bytes done since the last call, on a thread of the
    ///     cache.
    /// - Returns: The stored resource.
    /// - Throws: `.unsupportedURL`; `.exists` if something of the resource is stored or being
    ///   fetched; `.file` if the file can't be read or changes meanwhile; `.noRoom` if the store
    ///   may not keep that many bytes; `.configuration` for an entity tag without quotes;
    ///   `.representationChanged` if the resource is removed or stored anew meanwhile; `.store`,
    ///   `.storeLocked`, `.cancelled`, `.closed`.
    @discardableResult
    public func importFile(
        _ path: String, for url: String, key: ResourceKey? = nil, options: ImportOptions = ImportOptions(),
        progress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws(CacheError) -> ImportedFile {
        try await TransferCancellation.run { cancellation, done in
            FileImport.run(path, for: url, key: key, options, in: self, cancellation, progress, done)
        }
    }
}
