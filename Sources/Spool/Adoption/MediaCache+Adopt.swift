public import SpoolCore
import SpoolSystem

// The stores of other caches.

extension MediaCache {
    /// Takes over the stored media of another cache.
    ///
    /// The directory is one of KTVHTTPCache, VIMediaCache or GSPlayer, or a plain folder with a
    /// mapping file. It stays as it is, and its symbolic links are not followed. All of its index
    /// is read before the first byte is stored.
    ///
    /// A resource of which every byte is stored plays without its origin. A resource of which only
    /// parts are stored is taken if the other cache has its strong validator. Other parts are left
    /// out, because nothing ties them to a version; see `AdoptionOptions.trustsParts`.
    ///
    /// ```swift
    /// let report = try await cache.adopt(documents.path + "/KTVHTTPCache")
    /// print(report.takenCount, "taken", report.failedCount, "failed")
    /// ```
    ///
    /// - Parameters:
    ///   - directory: The path of the directory.
    ///   - options: The mapping file, and what is taken.
    ///   - progress: Called with the number of copied bytes and of all bytes, on a thread of the
    ///     cache.
    /// - Returns: What was taken, what was not, and why.
    /// - Throws: `.file` if the directory can't be read, has no index, or its index is damaged: the
    ///   cache is then unchanged. `.cancelled`, `.store`, `.storeLocked`, `.closed`: the resources
    ///   that were taken before stay.
    @discardableResult
    public func adopt(
        _ directory: String, options: AdoptionOptions = AdoptionOptions(),
        progress: @escaping @Sendable (AdoptionProgress) -> Void = { _ in }
    ) async throws(CacheError) -> AdoptionReport {
        let cancellation = TransferCancellation()
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                adopt(directory, options: options, cancellation: cancellation, progress: progress) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            cancellation.cancel()
        }.get()
    }

    /// Takes over a store. Calls `done` on a lane.
    package func adopt(
        _ directory: String, options: AdoptionOptions, cancellation: TransferCancellation,
        progress: @escaping @Sendable (AdoptionProgress) -> Void, _ done: @escaping @Sendable (Result<AdoptionReport, CacheError>) -> Void
    ) {
        Adoption(
            cache: self, directory: directory, options: options, cancellation: cancellation, progress: progress, done: done
        ).start()
    }
}
