#if !os(watchOS)
public import AVFoundation
import Spool
public import SpoolCore
import SpoolSystem

// Complete resources, played from their files.

extension CachingAssetFactory {
    /// Returns an asset as `asset(for:)` does, or one of the store's own file when the resource is
    /// complete.
    ///
    /// Where `handsOutFiles` is set, a complete resource becomes an asset of its file (`route` is
    /// `.file`). The file stays in the store for as long as the asset lives. In all other cases the
    /// result is that of `asset(for:)`:
    ///
    /// - The store is encrypted or has a content transform, so its files cannot be played.
    /// - The policy is `CachePolicy.standard`, which asks the origin first.
    /// - The extension of the file does not match the type of the resource.
    ///
    /// Bytes that an earlier run stored are compared with their checksums first, which takes about
    /// a second for each GiB.
    public func preparedAsset(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: any Sendable]? = nil
    ) async -> CachingAVURLAsset {
        guard handsOutFiles, let known = fileKey(of: url, key, options), let file = await completeFile(for: known),
            isPlayable(file, options)
        else { return asset(for: url, key: key, headers: headers, options: options) }
        let parsed = parse(options, headers: headers, for: url)
        return CachingAVURLAsset(
            url: URL(fileURLWithPath: file.path), options: parsed.forAsset, originalURL: url, key: known, route: .file,
            sources: AssetSources(factory: self, url: url, key: key, headers: headers, options: options), keeping: file)
    }

    /// Returns the key of a resource that may have a playable file, or nil.
    private func fileKey(of url: URL, _ key: ResourceKey?, _ options: [String: any Sendable]?) -> ResourceKey? {
        // The search for the file knows the settings of the cache only.
        let policy = readOptions.cachePolicy ?? cache.configuration.freshness.policy
        guard supports(url), !cache.isClosed, policy != .standard, readOptions.contentTransform == nil else { return nil }
        // For a URL without a key, the asset of `asset(for:)` reports the reason.
        guard let known = key ?? (try? keyPolicy.key(for: url.absoluteString)) else { return nil }
        return cache.bypass.isOn(for: known) ? nil : known
    }

    private func completeFile(for key: ResourceKey) async -> CompleteFile? {
        do {
            return try await cache.completeFile(for: key)
        } catch {
            // The loader gets the bytes where it can, and reports the error otherwise.
            cache.record(.storeTrouble("file of \(key): \(error.message)"))
            return nil
        }
    }

    /// Whether the extension of the file matches its type. AVFoundation goes by the extension.
    private func isPlayable(_ file: CompleteFile, _ options: [String: any Sendable]?) -> Bool {
        let named = MediaKind.ofFileExtension(URL(fileURLWithPath: file.path).pathExtension.lowercased())
        guard let named, !named.isPlaylist else { return false }
        let hint = options?[CachingAVURLAsset.contentTypeKey] as? String
        guard let told = hint ?? file.representation.contentType, let essence = MediaType(told)?.essence else { return true }
        guard let kind = MediaKind.ofMediaType(essence) ?? MediaKind.ofIdentifier(told) else { return true }
        return kind == named || (Self.mpeg4.contains(kind) && Self.mpeg4.contains(named))
    }

    /// Kinds with the same file structure (ISO/IEC 14496-12), which AVFoundation opens by any of
    /// their extensions.
    private static let mpeg4: Set<MediaKind> = [.m4a, .m4b, .mpeg4Audio, .mp4, .m4v, .mov]
}

extension MediaCache {
    /// Returns an asset as `asset(for:)` does, or one of the store's own file when it has every
    /// byte. See `CachingAssetFactory.preparedAsset(for:)`.
    public func preparedAsset(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: any Sendable]? = nil
    ) async -> CachingAVURLAsset {
        var factory = CachingAssetFactory(cache: self)
        factory.handsOutFiles = true
        return await factory.preparedAsset(for: url, key: key, headers: headers, options: options)
    }
}
#endif
