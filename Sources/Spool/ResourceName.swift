public import SpoolCore
#if canImport(Darwin)
public import Foundation
#endif

/// A name of a resource in the calls of a cache: its key, or its URL as text.
///
/// On Apple's systems `URL` is a name as well. Elsewhere Foundation is not part of the system, so
/// Spool does not link it; an app that does adds the conformance in one line:
///
/// ```swift
/// extension URL: @retroactive ResourceName {
///     public func key(in cache: MediaCache) throws(CacheError) -> ResourceKey { try cache.key(for: absoluteString) }
/// }
/// ```
///
/// A URL stands for the key that the `keyPolicy` of the cache makes of it. Use the key itself for a
/// resource that was read under a key of its own.
public protocol ResourceName: Sendable {
    /// Returns the key of the resource in a cache.
    ///
    /// - Throws: `.unsupportedURL` for a URL that is not an absolute `http` or `https` URL.
    func key(in cache: MediaCache) throws(CacheError) -> ResourceKey
}

extension ResourceKey: ResourceName {
    /// Returns the key itself.
    public func key(in cache: MediaCache) -> ResourceKey { self }
}

extension String: ResourceName {
    /// Returns the key of the URL that the text is.
    public func key(in cache: MediaCache) throws(CacheError) -> ResourceKey { try cache.key(for: self) }
}

#if canImport(Darwin)
extension URL: ResourceName {
    /// Returns the key of the URL.
    public func key(in cache: MediaCache) throws(CacheError) -> ResourceKey { try cache.key(for: absoluteString) }
}

// The calls that need a URL and not only a key.

extension MediaCache {
    /// Returns a reader for the resource that `url` names, as ``reader(for:key:options:)`` does for
    /// text.
    public func reader(for url: URL, key: ResourceKey? = nil, options: ReadOptions = ReadOptions()) throws(CacheError) -> ByteReader {
        try reader(for: url.absoluteString, key: key, options: options)
    }

    /// Returns the key of a URL in this cache, by the `keyPolicy` of the configuration.
    ///
    /// - Throws: `.unsupportedURL` if `url` is not an absolute `http` or `https` URL.
    public func key(for url: URL) throws(CacheError) -> ResourceKey { try key(for: url.absoluteString) }

    /// Imports a file as ``importFile(_:for:key:options:progress:)`` does for text.
    @discardableResult
    public func importFile(
        _ path: String, for url: URL, key: ResourceKey? = nil, options: ImportOptions = ImportOptions(),
        progress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws(CacheError) -> ImportedFile {
        try await importFile(path, for: url.absoluteString, key: key, options: options, progress: progress)
    }
}

extension Downloads {
    /// Adds a URL as ``add(_:selection:key:group:priority:details:)`` does for text.
    @discardableResult
    public func add(
        _ url: URL, selection: PresentationSelection = PresentationSelection(), key: ResourceKey? = nil, group: String = "",
        priority: Int = 0, details: DownloadDetails? = nil
    ) async throws(CacheError) -> Download {
        try await add(url.absoluteString, selection: selection, key: key, group: group, priority: priority, details: details)
    }
}
#endif
