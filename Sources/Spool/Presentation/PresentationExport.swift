public import SpoolCore
import SpoolManifests
import SpoolSystem

/// A presentation that was exported as a folder.
public struct ExportedPresentation: Sendable {
    /// The key of its manifest.
    public var key: ResourceKey
    /// The path of the manifest, which a player opens by way of a web server.
    public var path: String
    /// The number of files.
    public var fileCount: Int
    /// The bytes of all files.
    public var bytes: Int64
}

extension Presentations {
    /// Exports the stored part of a presentation as a folder that plays from any web server.
    ///
    /// The folder has the complete variants with their complete sound and subtitles, as the
    /// manifest offers no others. References are relative, and lead to the files of the folder. A
    /// reference to a resource that is not stored, such as that of an interstitial, keeps its
    /// absolute URL. Keys are exported as well, so the folder plays by itself: protect it.
    ///
    /// The manifest is written last. An error or a cancelled task leaves the files that were
    /// finished. Nothing is fetched.
    ///
    /// - Parameters:
    ///   - name: The manifest, by its URL or key.
    ///   - directory: The path of the folder, which is created if it is missing. No file is created
    ///     outside of it.
    ///   - options: Whether files may replace others or be links.
    ///   - progress: Called with the number of bytes done since the last call, on a thread of the
    ///     cache.
    /// - Returns: The path of the manifest, with the number of files.
    /// - Throws: `.notStored` if no such manifest is stored, or no variant is complete; `.file` if a
    ///   file can't be written, or if two parts of a DASH presentation need one name; otherwise the
    ///   errors of `MediaCache.export(_:to:options:progress:)`.
    @discardableResult
    public func export(
        _ name: some ResourceName, to directory: String, options: ExportOptions = ExportOptions(),
        progress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws(CacheError) -> ExportedPresentation {
        let key = try name.key(in: cache)
        guard let inventory = try await inventory(of: key) else {
            throw CacheError(.notStored, "can't export \(key): it is no stored manifest", key: key)
        }
        let export = PresentationExport(cache: cache, inventory: inventory, directory: directory, options: options, progress: progress)
        do { return try await export.run() } catch let error as CacheError { throw error } catch is CancellationError {
            throw CacheError(.cancelled, "the export was cancelled; its folder has no manifest", key: key)
        } catch let failure as ExportLayout.Failure {
            throw CacheError(.file, "can't export \(failure.url): \(failure.reason)", key: key, cause: failure)
        } catch {
            throw CacheError(.file, "can't export \(key) to \(directory): \(error)", key: key, cause: error)
        }
    }
}

/// One export of a presentation.
private struct PresentationExport {
    let cache: MediaCache
    let inventory: PresentationInventory
    let directory: String
    let options: ExportOptions
    let progress: @Sendable (Int64) -> Void

    /// A playlist of a rendition, by the URL that the multivariant playlist names.
    private struct Playlist {
        var name: String
        var manifest: StoredManifest
    }

    func run() async throws -> ExportedPresentation {
        let offered = inventory.playable
        let key = inventory.manifest.key
        guard !offered.isEmpty else {
            throw CacheError(.notStored, "can't export \(key): no variant of it is complete; download it first", key: key)
        }
        // Nothing of it is evicted meanwhile.
        let pins = inventory.keys.map { cache.temporaryPin($0) }
        defer { withExtendedLifetime(pins) {} }
        let renditions = offered.sorted().map { inventory.outline.renditions[$0] }
        let playlists = try await playlists(renditions)
        let parts = urls(renditions, playlists)
        let layout = try layout(playlists, parts)
        var result = ExportedPresentation(key: key, path: path(inventory.baseURL, layout), fileCount: 0, bytes: 0)
        for url in parts {
            let file = try await export(url, to: path(url, layout))
            result.add(file)
        }
        for playlist in playlists {
            let exported = try ExportedManifest(
                playlist.manifest.text.bytes, layout: layout, name: playlist.name, base: playlist.manifest.text.url,
                outline: playlist.manifest.outline, variables: inventory.outline.variables)
            result.add(try await write(exported.text(offering: [0]), to: path(playlist.name, layout)))
        }
        let exported = try ExportedManifest(
            inventory.bytes, layout: layout, name: inventory.baseURL, base: inventory.baseURL, outline: inventory.outline)
        result.add(try await write(exported.text(offering: offered), to: result.path))
        return result
    }

    // MARK: The resources

    private func playlists(_ renditions: [StreamRendition]) async throws -> [Playlist] {
        var playlists: [Playlist] = []
        var seen = Set<String>()
        for url in renditions.compactMap(\.playlist) where seen.insert(url).inserted {
            guard let status = try await cache.status(of: url) else { throw gone(url) }
            let found = try await withCheckedContinuation { continuation in
                StoredManifest.read(status, from: cache, variables: inventory.outline.variables) { continuation.resume(returning: $0) }
            }.get()
            guard let manifest = found else { throw gone(url) }
            playlists.append(Playlist(name: url, manifest: manifest))
        }
        return playlists
    }

    private func gone(_ url: String) -> CacheError {
        CacheError(.representationChanged, "can't export \(url): it was removed or replaced meanwhile")
    }

    /// The URLs of all files besides manifests, each once. Keys and data of the session are among
    /// them as far as they are stored.
    private func urls(_ renditions: [StreamRendition], _ playlists: [Playlist]) -> [String] {
        var seen = Set(playlists.map(\.name) + [inventory.baseURL])
        let shared = inventory.outline.sharedParts.map(\.url).filter { url in
            guard let key = cache.presentations.key(of: url), let member = inventory.members[key] else { return false }
            return member.isComplete
        }
        let parts = renditions.flatMap(\.parts) + playlists.flatMap { $0.manifest.outline.renditions.flatMap(\.parts) }
        return (shared + parts.map(\.url)).filter { seen.insert($0).inserted }
    }

    private func layout(_ playlists: [Playlist], _ parts: [String]) throws -> ExportLayout {
        let isHLS = ManifestReader.isHLS(inventory.bytes)
        var bases: [String] = []
        if !isHLS, let contents = try ManifestReader().contents(of: inventory.bytes, at: inventory.baseURL) {
            bases = contents.references.map(\.base.url.text) + contents.references.filter { $0.role == .base }.compactMap(\.url)
        }
        let names = Set(playlists.map(\.name) + [inventory.baseURL])
        return try ExportLayout(manifest: inventory.baseURL, parts: playlists.map(\.name) + parts, bases: bases, renames: isHLS) { url in
            names.contains(url) ? "m3u8" : ending(of: url)
        }
    }

    /// The extension by which web servers give a part its type, where its URL has none of media.
    private func ending(of url: String) -> String {
        guard !isMediaExtension(pathExtension(url: url)), let key = cache.presentations.key(of: url) else { return "" }
        return fileExtension(url: url, contentType: inventory.members[key]?.contentType)
    }

    private func path(_ url: String, _ layout: ExportLayout) -> String {
        "\(directory.hasSuffix("/") ? String(directory.dropLast()) : directory)/\(layout.paths[url] ?? "")"
    }

    // MARK: Files

    private func export(_ url: String, to path: String) async throws -> ExportedFile {
        try createDirectory(of: path)
        let key = try cache.key(for: url)
        var options = options
        // Segments that are ranges of one file leave out what no playlist lists.
        options.mayHaveGaps = inventory.members[key].map { !$0.isComplete } ?? false
        return try await cache.export(key, to: path, options: options, progress: progress)
    }

    /// Writes a manifest on a data lane.
    private func write(_ text: [UInt8], to path: String) async throws -> ExportedFile {
        try Task.checkCancellation()
        try createDirectory(of: path)
        let options = options, tag = cache.environment.random.next(), lane = cache.environment.dataLanes[0]
        let result: Result<Void, SystemError> = await withCheckedContinuation { continuation in
            lane.post {
                do throws(SystemError) {
                    if !options.replacesExisting, try POSIXFileSystem().status(path) != nil { throw .exists(path) }
                    let draft = try FileDraft(path: path, tag: tag, contents: .empty)
                    var failure: SystemError?
                    text.withUnsafeBytes { bytes in
                        do throws(SystemError) { try draft.write(bytes, at: 0) } catch { failure = error }
                    }
                    if let failure { throw failure }
                    try draft.finish(isReplacing: options.replacesExisting)
                    continuation.resume(returning: .success(()))
                } catch { continuation.resume(returning: .failure(error)) }
            }
        }
        if case .failure(let error) = result {
            let code: CacheError.Code = error.meansExists ? .exists : .file
            throw CacheError(
                code, "can't export to \(path): \(error.meansExists ? "there is a file of that name" : "\(error)")", cause: error)
        }
        progress(Int64(text.count))
        return ExportedFile(
            key: inventory.manifest.key, path: path, bytes: Int64(text.count), representation: inventory.manifest.representation,
            method: .copy)
    }

    private func createDirectory(of path: String) throws(SystemError) {
        if let parent = parentDirectory(of: path) { try POSIXFileSystem().createDirectory(parent) }
    }
}

extension ExportedPresentation {
    fileprivate mutating func add(_ file: ExportedFile) {
        fileCount += 1
        bytes = bytes.addingSaturated(file.bytes)
    }
}
