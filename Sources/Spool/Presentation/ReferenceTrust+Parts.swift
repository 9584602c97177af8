import SpoolCore
package import SpoolOrigin

extension ReferenceTrust {
    /// The rule for the clients of all open doors of a cache.
    package init(of cache: MediaCache) {
        self.init(privateNames: cache.configuration.security.privateNames, reaches: cache.bounds.current)
    }

    /// Checks that Spool fetches a part for the manifest that names it.
    ///
    /// - Throws: `.unsupportedURL` with the reason why it does not.
    func check(_ part: MediaURL, namedBy manifest: String) throws(CacheError) {
        // The resource at a URL without an origin was not fetched, so it is no manifest.
        guard let origin = try? MediaURL(manifest).origin, let why = refusal(from: origin, to: part.origin) else { return }
        throw CacheError(.unsupportedURL, "\(manifest) names a part that the cache does not ask for: \(why)")
    }
}
