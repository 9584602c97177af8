package import SpoolCore

/// A mapping file: the URLs of files that have no index, or whose index has no URLs.
///
/// One line for each file, with tabs between its fields: the path below the directory, the URL, and
/// optionally `type=`, `etag=` and `length=`. A line with a URL alone names the files that other
/// caches call by the MD5 of that URL. Lines that begin with `#` and empty lines are skipped.
package struct AdoptionMap: Sendable {
    /// The name of the mapping file in a directory.
    package static let fileName = "spool-adopt.tsv"

    /// One file.
    package struct Entry: Hashable, Sendable {
        package var path: String
        package var url: String
        package var contentType: String?
        package var validator = Validator.none
        /// The length of the resource, if the line has one.
        package var length: Int64?
    }

    /// The files that the map names by their paths, in the order of their lines.
    package private(set) var entries: [Entry] = []
    private var urlsByPath: [String: String] = [:]
    private var urlsByDigest: [String: String] = [:]

    /// An empty map.
    package init() {}

    /// Reads a mapping file.
    ///
    /// - Throws: `ParseError` with the offset of a line that is not of the form.
    package init(_ bytes: [UInt8], limits: AdoptionLimits) throws(ParseError) {
        guard bytes.count <= limits.archiveBytes else {
            throw ParseError(offset: limits.archiveBytes, expected: "a mapping file of at most \(limits.archiveBytes) bytes")
        }
        var offset = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            defer { offset += line.count + 1 }
            let text = String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
            if text.isEmpty || text.hasPrefix("#") { continue }
            guard entries.count + urlsByDigest.count < limits.files * 2 else {
                throw ParseError(offset: offset, expected: "at most \(limits.files) lines")
            }
            try add(text.split(separator: "\t", omittingEmptySubsequences: false).map(String.init), at: offset)
        }
    }

    private mutating func add(_ fields: [String], at offset: Int) throws(ParseError) {
        guard fields.count > 1 else {
            guard fields[0].isURL else { throw ParseError(offset: offset, expected: "a path, a tab and a URL, or a URL") }
            urlsByDigest[MD5.digits(of: fields[0])] = fields[0]
            if let mp4 = fields[0].withMP4Extension { urlsByDigest[MD5.digits(of: mp4)] = fields[0] }
            return
        }
        let names = fields[0].split(separator: "/", omittingEmptySubsequences: false)
        guard !names.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else {
            throw ParseError(offset: offset, expected: "a path below the directory")
        }
        guard fields[1].isURL else { throw ParseError(offset: offset, expected: "an http or https URL behind the path") }
        guard urlsByPath.updateValue(fields[1], forKey: fields[0]) == nil else {
            throw ParseError(offset: offset, expected: "each path once")
        }
        var entry = Entry(path: fields[0], url: fields[1])
        for field in fields.dropFirst(2) { try entry.set(field, at: offset) }
        entries.append(entry)
    }

    /// The URL of a file: that of its path, or the one whose MD5 is its name without the extension.
    func url(forFile path: String) -> String? {
        if let url = urlsByPath[path] { return url }
        let name = path.split(separator: "/").last ?? ""
        return urlsByDigest[name.prefix { $0 != "." }.lowercased()]
    }

    /// The files that the map names.
    ///
    /// - Parameter files: The sizes of all files by their paths.
    package func store(files: [String: Int64]) -> ForeignStore {
        var store = ForeignStore(.files)
        for entry in entries {
            store.add(Result { () throws(ForeignRefusal) in try resource(entry, files) })
        }
        return store
    }

    private func resource(_ entry: Entry, _ files: [String: Int64]) throws(ForeignRefusal) -> ForeignResource {
        guard let bytes = files[entry.path] else {
            throw ForeignRefusal(name: entry.path, url: entry.url, reason: "the file is missing", isDamaged: true)
        }
        let length = entry.length ?? bytes
        guard bytes <= length else {
            throw ForeignRefusal(
                name: entry.path, url: entry.url, reason: "the file has \(bytes) bytes, more than the length of \(length)", isDamaged: true)
        }
        var resource = ForeignResource(
            name: entry.path, url: entry.url, length: length, contentType: entry.contentType, validator: entry.validator)
        if let range = ByteRange(0, bytes) { resource.add(path: entry.path, range) }
        return resource
    }
}

extension AdoptionMap.Entry {
    fileprivate mutating func set(_ field: String, at offset: Int) throws(ParseError) {
        let name = field.prefix { $0 != "=" }, value = String(field.dropFirst(name.count + 1))
        switch name {
        case "type" where !value.isEmpty && value.isFieldValue: contentType = value
        case "etag":
            guard let tag = EntityTag(value), value.hasSuffix("\"") else {
                throw ParseError(offset: offset, expected: "an entity tag in quotes")
            }
            validator = tag.isWeak ? .weak(entityTag: value) : .strong(entityTag: value)
        case "length":
            guard let length = Int64(value), length >= 0, length <= ByteRange.maximumOffset else {
                throw ParseError(offset: offset, expected: "a length in bytes")
            }
            self.length = length
        default: throw ParseError(offset: offset, expected: "type=, etag= or length= behind the URL")
        }
    }
}

extension String {
    fileprivate var isURL: Bool {
        let start = prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }

    /// The URL with the extension `mp4`, or nil if it has that extension.
    fileprivate var withMP4Extension: String? {
        let path = prefix { $0 != "?" && $0 != "#" }
        guard let slash = path.lastIndex(of: "/"), slash > startIndex else { return nil }
        let name = path[index(after: slash)...]
        guard !name.isEmpty, !name.hasSuffix(".mp4") else { return nil }
        let stem = name.lastIndex(of: ".").map { name[..<$0] } ?? name
        return String(path[...slash]) + stem + ".mp4" + self[path.endIndex...]
    }
}
