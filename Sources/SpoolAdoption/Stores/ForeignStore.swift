package import Spool
package import SpoolCore

/// The stored parts of one resource in another cache.
package struct ForeignResource: Hashable, Sendable {
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
    package var parts: [ImportSource.Part] = []
    /// The bytes of further files that the parts have, too; at most one twin for each file. A
    /// resource is of one version only if they are equal to those of the parts.
    package var twins: [ImportSource.Part] = []

    /// The number of stored bytes.
    package var bytes: Int64 { parts.lazy.map(\.range.count).saturatedSum }
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
    package var isDamaged = false
}

/// The contents of the directory of another cache.
package struct ForeignStore: Hashable, Sendable {
    package var format: AdoptionReport.Format
    package var resources: [ForeignResource] = []
    package var refusals: [ForeignRefusal] = []

    package init(_ format: AdoptionReport.Format) { self.format = format }

    /// Adds an entry, or the reason why it is not usable.
    mutating func add(_ entry: Result<ForeignResource, ForeignRefusal>) {
        switch entry {
        case .success(let resource): resources.append(resource)
        case .failure(let refusal): refusals.append(refusal)
        }
    }
}

extension ForeignRefusal: Error {}

extension ImportSource.Part {
    /// The bytes of this part that are in `range`, which lies inside of the part.
    package func part(_ range: ByteRange) -> Self {
        Self(path: path, offset: offset.addingSaturated(range.lowerBound.subtractingSaturated(self.range.lowerBound)), range: range)
    }
}

extension ForeignResource {
    /// Adds the bytes of a file. Bytes that the earlier parts have become a twin.
    ///
    /// Files come in ascending order of their beginnings.
    /// - Complexity: O(1). The parts that a twin is compared with are found when it is read.
    mutating func add(path: String, fileOffset: Int64 = 0, _ range: ByteRange) {
        let covered = parts.last?.range.upperBound ?? 0
        let file = ImportSource.Part(path: path, offset: fileOffset, range: range)
        if let twin = ByteRange(range.lowerBound, min(covered, range.upperBound)) { twins += [file.part(twin)] }
        if let new = ByteRange(max(covered, range.lowerBound), range.upperBound) { parts += [file.part(new)] }
    }

    /// The parts of the resource that have bytes of `range`, cut to it.
    ///
    /// - Complexity: O(log *n* + *m*), *m* being the number of those parts.
    package func parts(in range: ByteRange) -> [ImportSource.Part] {
        var (low, high) = (0, parts.count)
        while low < high {
            let middle = (low + high) / 2
            if parts[middle].range.upperBound <= range.lowerBound { low = middle + 1 } else { high = middle }
        }
        return parts[low...].prefix { $0.range.lowerBound < range.upperBound }.compactMap { part in
            part.range.intersection(range).map(part.part)
        }
    }

    /// Adds the stored ranges of one sparse file, which has each byte at its own offset.
    ///
    /// - Returns: The reason why the ranges and the file do not fit, or nil.
    mutating func add(_ ranges: [(location: Int64, length: Int64)], of path: String, fileBytes: Int64) -> String? {
        var stored = ByteRangeSet()
        // In order, each range is added at the end.
        for (location, count) in ranges.sorted(by: { $0.location < $1.location }) where count != 0 {
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

/// The index of one sparse file: what the stores with such files have in common.
struct SparseIndex {
    /// The path of the index and that of the file.
    var path: String
    var file: String
    /// The URL, or nil if the index has none, and the refusal of such an index.
    var url: String?
    var unnamed: String
    var length: Int64?
    var contentType: String?
    /// The stored ranges, nil for one without location or length. Nil without a list of them.
    var ranges: [(location: Int64, length: Int64)?]?

    /// Returns the resource of the file.
    ///
    /// - Parameter files: The sizes of all files by their paths.
    func resource(_ files: [String: Int64], _ limits: AdoptionLimits) throws(ForeignRefusal) -> ForeignResource {
        guard let url, url.utf8.count <= limits.urlBytes else { throw ForeignRefusal(name: path, reason: unnamed) }
        func refusal(_ reason: String, isDamaged: Bool = true) -> ForeignRefusal {
            ForeignRefusal(name: path, url: url, reason: reason, isDamaged: isDamaged)
        }
        guard let fileBytes = files[file] else { throw refusal("its file is missing") }
        guard let length, length > 0 else { throw refusal("its length is not known", isDamaged: false) }
        guard let ranges else { throw refusal("its index has no list of ranges") }
        guard ranges.count <= limits.parts else { throw refusal("it has more than \(limits.parts) parts", isDamaged: false) }
        let known = ranges.compactMap(\.self)
        guard known.count == ranges.count else { throw refusal("its index has a range without location or length") }
        var resource = ForeignResource(name: file, url: url, length: length, contentType: contentType)
        if let reason = resource.add(known, of: file, fileBytes: fileBytes) { throw refusal(reason) }
        return resource
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
