import SpoolCore

/// The store of VIMediaCache: a sparse file for each URL, and its index beside it.
///
/// The index is an archive of a configuration with `kURLKey`, `kContentInfoKey` and
/// `kCacheFragmentsKey`, an array of ranges. The content information has `kContentLengthKey` and
/// `kContentTypeKey`, which is a uniform type identifier. Files are named by the MD5 of the URL.
///
/// The format is that of `VIMediaCache/Cache/VICacheConfiguration.m`, `VICacheManager.m`, and
/// `VIMediaCache/ResourceLoader/VIContentInfo.m` in vitoziv/VIMediaCache.
package enum VIMediaCacheStore {
    /// The extension of an index.
    package static let indexExtension = ".mt_cfg"

    /// Reads one index.
    ///
    /// - Parameters:
    ///   - path: The path of the index.
    ///   - map: The URLs for indexes without one.
    ///   - files: The sizes of all files by their paths.
    package static func read(
        _ bytes: [UInt8], path: String, map: AdoptionMap, files: [String: Int64], limits: AdoptionLimits
    ) throws(ForeignRefusal) -> ForeignResource {
        let archive: KeyedArchive
        do throws(ParseError) { archive = try KeyedArchive(bytes, limits: limits) } catch {
            throw ForeignRefusal(name: path, reason: "its index is damaged: \(error)", isDamaged: true)
        }
        let data = String(path.dropLast(indexExtension.count))
        let stored = archive.member("kURLKey", of: archive.root).flatMap(archive.url)
        let information = archive.member("kContentInfoKey", of: archive.root)
        let type = information.flatMap { archive.member("kContentTypeKey", of: $0) }.flatMap(archive.text)
        return try SparseIndex(
            path: path, file: data, url: stored ?? map.url(forFile: data), unnamed: "its index has no URL; a mapping file can name it",
            length: information.flatMap { archive.member("kContentLengthKey", of: $0) }.flatMap(archive.integer),
            contentType: type.flatMap(MediaKind.ofIdentifier)?.usualMediaType,
            ranges: archive.member("kCacheFragmentsKey", of: archive.root).flatMap(archive.elements)?.map(archive.range)
        ).resource(files, limits)
    }
}
