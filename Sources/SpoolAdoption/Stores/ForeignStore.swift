package import SpoolCore

/// The kind of a directory of stored media.
package enum ForeignStoreKind: String, CaseIterable, Sendable {
    case ktvHTTPCache = "KTVHTTPCache"
    case viMediaCache = "VIMediaCache"
    case gsPlayer = "GSPlayer"
    /// Plain files and a mapping file, as for CachingPlayerItem, which has no index.
    case files
}

/// The stored parts of one resource in another cache.
package struct ForeignResource: Hashable, Sendable {
    /// A range of the resource, and its place in a file.
    package struct Part: Hashable, Sendable {
        /// The path of the file below the directory.
        package var path: String
        /// The offset in the file.
        package var offset: Int64
        /// The bytes of the resource.
        package var range: ByteRange
    }

    /// Bytes that two files have. A resource is of one version only if they are equal.
    package struct Twin: Hashable, Sendable {
        package var first: Part
        package var second: Part
    }

    /// The entry in the index or the path of the file, for reports.
    package var name: String
    /// The URL, as the index has it.
    package var url: String
    /// The number of bytes of the resource.
    package var length: Int64
    /// The media type, if the index has one.
    package var contentType: String?
    /// The validator, if the index has one.
    package var validator = Validator.none
    /// The stored parts in ascending order. They do not overlap.
    package var parts: [Part] = []
    /// The bytes that are stored twice.
    package var twins: [Twin] = []

    /// The number of stored bytes.
    package var bytes: Int64 { parts.reduce(0) { $0 + $1.range.count } }
    /// Whether every byte is stored.
    package var isComplete: Bool { bytes == length }
}

/// An entry of an index that is not usable.
package struct ForeignRefusal: Hashable, Sendable {
    /// The entry in the index or the path of the file.
    package var name: String
    /// The URL, if it is known.
    package var url: String?
    /// The reason, as the end of a sentence.
    package var reason: String
    /// Whether the entry contradicts itself or its files.
    package var isDamaged: Bool

    package init(name: String, url: String? = nil, _ reason: String, isDamaged: Bool = false) {
        self.name = name
        self.url = url
        self.reason = reason
        self.isDamaged = isDamaged
    }
}

/// The contents of the directory of another cache.
package struct ForeignStore: Hashable, Sendable {
    package var kind: ForeignStoreKind
    package var resources: [ForeignResource] = []
    package var refusals: [ForeignRefusal] = []

    package init(_ kind: ForeignStoreKind) { self.kind = kind }

    /// Adds an entry, or the reason why it is not usable.
    mutating func add(_ entry: Result<ForeignResource, ForeignRefusal>) {
        switch entry {
        case .success(let resource): resources.append(resource)
        case .failure(let refusal): refusals.append(refusal)
        }
    }
}

extension ForeignRefusal: Error {}

extension ForeignResource {
    /// Adds the bytes of a file from `start` on. Bytes that an earlier part has become twins.
    ///
    /// Parts come in ascending order of their beginnings.
    mutating func add(path: String, fileOffset: Int64 = 0, _ range: ByteRange) {
        let covered = parts.last?.range.upperBound ?? 0
        for part in parts.reversed() {
            guard part.range.upperBound > range.lowerBound else { break }
            guard let shared = ByteRange(max(part.range.lowerBound, range.lowerBound), min(part.range.upperBound, range.upperBound)) else {
                continue
            }
            twins.append(
                Twin(
                    first: Part(path: part.path, offset: part.offset + shared.lowerBound - part.range.lowerBound, range: shared),
                    second: Part(path: path, offset: fileOffset + shared.lowerBound - range.lowerBound, range: shared)))
        }
        guard let new = ByteRange(max(covered, range.lowerBound), range.upperBound) else { return }
        parts.append(Part(path: path, offset: fileOffset + new.lowerBound - range.lowerBound, range: new))
    }

    /// Adds the stored ranges of one sparse file, which has each byte at its own offset.
    ///
    /// - Returns: The reason why the ranges and the file do not fit, or nil.
    mutating func add(_ ranges: [(location: Int64, length: Int64)], of path: String, fileBytes: Int64) -> String? {
        var stored = ByteRangeSet()
        for (location, count) in ranges where count != 0 {
            let (end, isBeyond) = location.addingReportingOverflow(count)
            guard !isBeyond, location >= 0, count > 0, end <= length, let range = ByteRange(location, end) else {
                return "its index has a range outside its \(length) bytes"
            }
            stored.insert(range)
        }
        guard stored.upperBound ?? 0 <= fileBytes else { return "its file ends before a range that its index has" }
        for range in stored.ranges { add(path: path, fileOffset: range.lowerBound, range) }
        return nil
    }
}

/// Whether a resource is a playlist, which other caches may have rewritten for a server of theirs.
func isPlaylist(url: String, contentType: String?) -> Bool {
    let path = url.prefix { $0 != "?" && $0 != "#" }.lowercased()
    return path.hasSuffix(".m3u8") || path.hasSuffix(".m3u") || contentType?.lowercased().contains("mpegurl") == true
}

extension String {
    /// Whether the text may be the value of a field: it has no control characters.
    var isFieldValue: Bool { utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } && utf8.count <= 1024 }
}
