public import SpoolCore
import SpoolStore
import SpoolSystem

// A file of the user's becomes a stored resource.

extension MediaCache {
    /// Makes the file at `path` the whole of what is stored of the resource that `url` names, as if it had been fetched: with checks, sealed
    /// where the store is encrypted, room made first. The file stays as it is.
    ///
    /// It is stored when all of it is: after an error, or when the task is cancelled, everything is as before. What was stored of the
    /// resource is an error, unless `options` let it be replaced; then who reads it ends with `.removed`. Memory grows by
    /// 4 bytes for each 64 KiB of the file (28 in an encrypted store), for its checks.
    /// - Parameters:
    ///   - key: the identity in the cache, where the URL is not it; nil for the normal form of the URL.
    ///   - progress: hears how many bytes are done since its last call; on a thread of the cache.
    /// - Throws: `.unsupportedURL`, `.exists` when something of it is stored, `.file` when the file can't be read or changes meanwhile,
    ///   `.noRoom` when the store may not keep so much, `.configuration` for an entity tag that is none, `.store`, `.storeLocked`,
    ///   `.cancelled`, `.closed`.
    @discardableResult
    public func importFile(
        _ path: String, for url: String, key: ResourceKey? = nil, options: ImportOptions = ImportOptions(),
        progress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws(CacheError) -> ImportedFile {
        let cancellation = TransferCancellation()
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                importFile(path, for: url, key: key, options: options, cancellation: cancellation, progress: progress) {
                    continuation.resume(returning: $0)
                }
            }
        } onCancel: {
            cancellation.cancel()
        }.get()
    }

    /// The same with a callback, which is called on a lane.
    package func importFile(
        _ path: String, for url: String, key: ResourceKey?, options: ImportOptions, cancellation: TransferCancellation,
        progress: @escaping @Sendable (Int64) -> Void, _ done: @escaping @Sendable (Result<ImportedFile, CacheError>) -> Void
    ) {
        do throws(CacheError) {
            let named = try self.key(for: url)
            let request = FileImport.Request(path: path, url: url, key: key ?? named, options: options)
            FileImport(cache: self, request: request, cancellation: cancellation, progress: progress, done: done).start()
        } catch { done(.failure(error)) }
    }
}
