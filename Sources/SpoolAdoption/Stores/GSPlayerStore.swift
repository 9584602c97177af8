import SpoolCore
import SpoolJSON

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
        } catch { throw ForeignRefusal(name: path, reason: "its index is damaged: \(error)", isDamaged: true) }
        let data = String(path.dropLast(indexExtension.count))
        let ranges: [(location: Int64, length: Int64)?]? =
            if case .array(let elements)? = index["fragments"] { elements.map(range) } else { nil }
        let type = index["info"]?["contentType"]?.string
        return try SparseIndex(
            path: path, file: data, url: map.url(forFile: data), unnamed: "GSPlayer does not store URLs; a mapping file can name it",
            length: wholeNumber(index["info"]?["contentLength"]), contentType: type.flatMap { $0.isFieldValue ? $0 : nil }, ranges: ranges
        ).resource(files, limits)
    }

    /// The number that is written without a fraction.
    private static func wholeNumber(_ value: JSON?) -> Int64? { if case .integer(let number)? = value { number } else { nil } }

    private static func range(_ value: JSON) -> (location: Int64, length: Int64)? {
        let pair = value.elements
        guard pair.count == 2, let location = wholeNumber(pair[0]), let length = wholeNumber(pair[1]) else { return nil }
        return (location, length)
    }
}
