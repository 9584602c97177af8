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
            throw ForeignRefusal(name: path, "its index is damaged: \(error)", isDamaged: true)
        }
        let data = String(path.dropLast(indexExtension.count))
        let stored = archive.member("kURLKey", of: archive.root).flatMap(archive.url)
        guard let url = stored ?? map.url(forFile: data), url.utf8.count <= limits.urlBytes else {
            throw ForeignRefusal(name: path, "its index has no URL; a mapping file can name it")
        }
        guard let fileBytes = files[data] else { throw ForeignRefusal(name: path, url: url, "its file is missing", isDamaged: true) }
        let information = archive.member("kContentInfoKey", of: archive.root)
        func number(_ name: String) -> Int64? { information.flatMap { archive.member(name, of: $0) }.flatMap(archive.integer) }
        guard let length = number("kContentLengthKey"), length > 0 else {
            throw ForeignRefusal(name: path, url: url, "its length is not known")
        }
        guard let list = archive.member("kCacheFragmentsKey", of: archive.root), let elements = archive.elements(list) else {
            throw ForeignRefusal(name: path, url: url, "its index has no list of ranges", isDamaged: true)
        }
        guard elements.count <= limits.parts else { throw ForeignRefusal(name: path, url: url, "it has more than \(limits.parts) parts") }
        let ranges = elements.compactMap(archive.range)
        guard ranges.count == elements.count else {
            throw ForeignRefusal(name: path, url: url, "its index has a range without location or length", isDamaged: true)
        }
        let type = information.flatMap { archive.member("kContentTypeKey", of: $0) }.flatMap(archive.text)
        var resource = ForeignResource(
            name: data, url: url, length: length, contentType: type.flatMap(MediaKind.ofIdentifier)?.usualMediaType)
        if let reason = resource.add(ranges, of: data, fileBytes: fileBytes) {
            throw ForeignRefusal(name: path, url: url, reason, isDamaged: true)
        }
        return resource
    }
}
