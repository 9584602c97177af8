import SpoolCore

/// The store of GSPlayer: a sparse file for each URL, and its index beside it.
///
/// The index is JSON: `info` with `contentLength` and `contentType`, and `fragments`, an array of
/// ranges. A range is an array of its location and its length, as Foundation encodes `NSRange`.
/// Files are named by the MD5 of the URL, which the index does not have. Newer versions of the
/// library put `mp4` in the place of another extension of the URL first.
///
/// The format is that of `GSPlayer/Classes/Cache/VideoCacheConfiguration.swift`,
/// `VideoCacheManager.swift`, `Loader/VideoInfo.swift` and `Extension/URL+Extensions.swift` in
/// wxxsw/GSPlayer, and of `Sources/Foundation/NSRange.swift` in
/// swiftlang/swift-corelibs-foundation.
package enum GSPlayerStore {
    /// The extension of an index.
    package static let indexExtension = ".cfg"

    /// Reads one index.
    ///
    /// - Parameters:
    ///   - path: The path of the index.
    ///   - map: The URLs of the files.
    ///   - files: The sizes of all files by their paths.
    package static func read(
        _ bytes: [UInt8], path: String, map: AdoptionMap, files: [String: Int64], limits: AdoptionLimits
    ) throws(ForeignRefusal) -> ForeignResource {
        let index: JSON
        do throws(ParseError) {
            guard bytes.count <= limits.archiveBytes else {
                throw ParseError(offset: limits.archiveBytes, expected: "an index of at most \(limits.archiveBytes) bytes")
            }
            var bounds = JSONLimits()
            (bounds.depth, bounds.values) = (limits.depth, limits.values)
            index = try JSON(bytes, limits: bounds)
        } catch { throw ForeignRefusal(name: path, "its index is damaged: \(error)", isDamaged: true) }
        guard case .array(let elements)? = index["fragments"] else {
            throw ForeignRefusal(name: path, "its index has no list of ranges", isDamaged: true)
        }
        let data = String(path.dropLast(indexExtension.count))
        guard let url = map.url(forFile: data), url.utf8.count <= limits.urlBytes else {
            throw ForeignRefusal(name: path, "GSPlayer does not store URLs; a mapping file can name it")
        }
        guard let fileBytes = files[data] else { throw ForeignRefusal(name: path, url: url, "its file is missing", isDamaged: true) }
        guard let info = index["info"], case .integer(let length)? = info["contentLength"], length > 0 else {
            throw ForeignRefusal(name: path, url: url, "its length is not known")
        }
        guard elements.count <= limits.parts else { throw ForeignRefusal(name: path, url: url, "it has more than \(limits.parts) parts") }
        let ranges = elements.compactMap(range)
        guard ranges.count == elements.count else {
            throw ForeignRefusal(name: path, url: url, "its index has a range without location or length", isDamaged: true)
        }
        var type: String?
        if let text = info["contentType"]?.string, text.isFieldValue { type = text }
        var resource = ForeignResource(name: data, url: url, length: length, contentType: type)
        if let reason = resource.add(ranges, of: data, fileBytes: fileBytes) {
            throw ForeignRefusal(name: path, url: url, reason, isDamaged: true)
        }
        return resource
    }

    private static func range(_ value: JSON) -> (location: Int64, length: Int64)? {
        let pair = value.elements
        guard pair.count == 2, case .integer(let location) = pair[0], case .integer(let length) = pair[1] else { return nil }
        return (location, length)
    }
}
