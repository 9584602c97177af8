public import Spool
public import SpoolCore

extension MediaCache {
    /// Takes over the stored media of another cache, whose directory stays as it is.
    ///
    /// - Parameters:
    ///   - directory: The path of a store of KTVHTTPCache, VIMediaCache or GSPlayer, or of a folder
    ///     with a mapping file.
    ///   - options: The mapping file, and what is taken.
    ///   - progress: Called as bytes are copied, on a thread of the cache.
    /// - Returns: The resources that were taken, and the reasons why others were not.
    /// - Throws: `.file` if the directory has no index or a damaged one: the cache is then
    ///   unchanged. `.cancelled`, `.store`, `.storeLocked`, `.closed`: what was taken before stays.
    @discardableResult
    public func adopt(
        _ directory: String, options: AdoptionOptions = AdoptionOptions(),
        progress: @escaping @Sendable (AdoptionProgress) -> Void = { _ in }
    ) async throws(CacheError) -> AdoptionReport {
        try await Adoption(self, directory, options, progress).run()
    }
}
