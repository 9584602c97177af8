public import SpoolCore
import SpoolStore
import SpoolSystem

// A stored resource becomes a file of the user's.

extension MediaCache {
    /// Makes a file at `path` of a resource that is stored as a whole, with the bytes that readers get: opened where the store is encrypted,
    /// changed by the configuration's content transform where there is one.
    ///
    /// The file is a clone of the store's where the file system knows clones, else a copy; a link only by `options`. Every stored byte is
    /// compared with its check on the way. The file has its name when it is whole and on the disk; nothing is left of one that is not:
    /// an error, a cancelled task. Nothing is fetched. Memory does not grow with the file.
    /// - Parameters:
    ///   - path: of the file, in a directory that is there.
    ///   - progress: hears how many bytes are done since its last call; on a thread of the cache.
    /// - Throws: `.notStored` when bytes are missing, `.exists`, `.file` when the file can't be written, `.store` when stored bytes are
    ///   damaged (they become a gap), `.representationChanged`, `.transform`, `.cancelled`, `.closed`.
    @discardableResult
    public func export(
        _ key: ResourceKey, to path: String, options: ExportOptions = ExportOptions(),
        progress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws(CacheError) -> ExportedFile {
        let cancellation = TransferCancellation()
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                export(key, to: path, options: options, cancellation: cancellation, progress: progress) {
                    continuation.resume(returning: $0)
                }
            }
        } onCancel: {
            cancellation.cancel()
        }.get()
    }

    /// The same with a callback, which is called on a lane.
    package func export(
        _ key: ResourceKey, to path: String, options: ExportOptions, cancellation: TransferCancellation,
        progress: @escaping @Sendable (Int64) -> Void, _ done: @escaping @Sendable (Result<ExportedFile, CacheError>) -> Void
    ) {
        FileExport(cache: self, key: key, path: path, options: options, cancellation: cancellation, progress: progress, done: done).start()
    }
}
