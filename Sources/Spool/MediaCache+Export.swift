public import SpoolCore

// Export of a stored resource as a file.

extension MediaCache {
    /// Exports a completely stored resource as a file at `path`.
    ///
    /// The file has the bytes that readers get: decrypted if the store is encrypted, and changed by
    /// the content transform of the configuration if there is one. The file is a clone of the file
    /// in the store if the file system supports clones, a copy otherwise, and a link only if
    /// `options` allow it. Each stored byte is compared with its check on the way.
    ///
    /// The file gets its name once it is complete and on the disk. An error or a cancelled task
    /// leaves no file. Nothing is fetched. The memory in use does not grow with the file.
    ///
    /// - Parameters:
    ///   - name: The resource, by its URL or key.
    ///   - path: The path of the file, in an existing directory.
    ///   - options: Whether the file may replace another one or be a link.
    ///   - progress: Called with the number of bytes done since the last call, on a thread of the
    ///     cache.
    /// - Returns: The file, with the way in which its bytes got there.
    /// - Throws: `.notStored` if bytes are missing; `.exists` if there is a file of that name;
    ///   `.file` if the file can't be written; `.store` if stored bytes are damaged, which become a
    ///   gap; `.representationChanged` if the resource is removed or replaced meanwhile;
    ///   `.transform`, `.cancelled`, `.closed`; `.unsupportedURL`, also for the manifest of an HLS
    ///   or DASH presentation, which has no single file.
    @discardableResult
    public func export(
        _ name: some ResourceName, to path: String, options: ExportOptions = ExportOptions(),
        progress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws(CacheError) -> ExportedFile {
        let key = try name.key(in: self)
        if try await presentations.inventory(of: key) != nil {
            let reason = "\(key) is the manifest of a presentation, which has no single file; play it from the cache"
            throw CacheError(.unsupportedURL, reason, key: key)
        }
        return try await TransferCancellation.run { cancellation, done in
            export(key, to: path, options: options, cancellation: cancellation, progress: progress, done)
        }
    }

    /// Exports a resource. Calls `done` on a lane.
    package func export(
        _ key: ResourceKey, to path: String, options: ExportOptions, cancellation: TransferCancellation,
        progress: @escaping @Sendable (Int64) -> Void, _ done: @escaping Completion<ExportedFile>
    ) {
        FileExport(
            engine: engine, key: key, path: path, options: options, cancellation: cancellation, progress: progress, complete: done,
            pin: engine.temporaryPin(of: key)
        ).start()
    }
}
