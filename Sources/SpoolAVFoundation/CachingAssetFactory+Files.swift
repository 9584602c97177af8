#if !os(watchOS)
public import AVFoundation
import Spool
public import SpoolCore
import SpoolSystem

// Complete resources, played from their files.

extension CachingAssetFactory {
    /// As `asset(for:)`, after a look at the store.
    ///
    /// Where `handsOutFiles` is set, a resource that is stored as a whole becomes an asset of its file (`route` is `.file`), which stays in
    /// the store for as long as the asset lives. Not of an encrypted store or one with a content transform, whose files can't be played; not
    /// under `CachePolicy.standard`, which asks the origin first; and not where the file's name does not say what the resource is. All else is
    /// what `asset(for:)` makes. Bytes that an earlier run stored are compared with their checks first, about a second for each GiB.
    public func preparedAsset(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: Any]? = nil
    ) async -> CachingAVURLAsset {
        guard handsOutFiles, let known = fileKey(of: url, key, options), let file = await completeFile(for: known),
            isPlayable(file, options)
        else { return asset(for: url, key: key, headers: headers, options: options) }
        let parsed = AssetOptions(options, headers: headers, url: url, now: cache.environment.time.wallNow)
        return CachingAVURLAsset(
            url: URL(fileURLWithPath: file.path), options: parsed.forAsset, originalURL: url, key: known, route: .file, loader: nil,
            queue: nil, file: file)
    }

    /// The key of what may have a file that AVFoundation can play; nil for all else.
    private func fileKey(of url: URL, _ key: ResourceKey?, _ options: [String: Any]?) -> ResourceKey? {
        guard isSchemeSupported(url), !cache.isClosed, cache.configuration.cachePolicy != .standard else { return nil }
        // Of a URL that has no key the asset that `asset(for:)` makes tells.
        guard let known = key ?? (try? keyPolicy.key(for: url.absoluteString)) else { return nil }
        return known
    }

    private func completeFile(for key: ResourceKey) async -> CompleteFile? {
        do {
            return try await cache.completeFile(for: key)
        } catch {
            // The loader gets the bytes where it can, and says what is wrong where it can't.
            cache.record(.storeTrouble("file of \(key): \(error.message)"))
            return nil
        }
    }

    /// Whether AVFoundation, which goes by the name of a file, takes it for what it is.
    private func isPlayable(_ file: CompleteFile, _ options: [String: Any]?) -> Bool {
        let named = MediaKind.ofFileExtension(URL(fileURLWithPath: file.path).pathExtension.lowercased())
        guard let named, !named.isPlaylist else { return false }
        let hint = options?[CachingAVURLAsset.contentTypeKey] as? String
        guard let told = hint ?? file.representation.contentType, let essence = MediaType(told)?.essence else { return true }
        guard let kind = MediaKind.ofMediaType(essence) ?? MediaKind.ofIdentifier(told) else { return true }
        return kind == named || (Self.mpeg4.contains(kind) && Self.mpeg4.contains(named))
    }

    /// Kinds whose files are made alike (ISO/IEC 14496-12), and opened by any of their names.
    private static let mpeg4: Set<MediaKind> = [.m4a, .m4b, .mpeg4Audio, .mp4, .m4v, .mov]
}

extension MediaCache {
    /// As `asset(for:)`, or an asset of the store's own file where that has every byte; see `CachingAssetFactory.preparedAsset(for:)`.
    public func preparedAsset(
        for url: URL, key: ResourceKey? = nil, headers: [String: String] = [:], options: [String: Any]? = nil
    ) async -> CachingAVURLAsset {
        var factory = CachingAssetFactory(cache: self)
        factory.handsOutFiles = true
        return await factory.preparedAsset(for: url, key: key, headers: headers, options: options)
    }
}
#endif
