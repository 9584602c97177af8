package import SpoolCore

/// The store of KTVHTTPCache: a directory with one archive, and one directory of files for each
/// URL.
///
/// `KTVHTTPCache.archive` is an array of units. A unit has `URLString`, `responseHeaderFields`,
/// `totalContentLength` and `unitItems`; an item has `relativePath` and `offset`. The length of an
/// item is the size of its file. Each file has the bytes of one response; a complete unit has one
/// file.
///
/// The format is that of `KTVHCDataUnitQueue.m`, `KTVHCDataUnit.m` and `KTVHCDataUnitItem.m` below
/// `KTVHTTPCache/Classes/KTVHCDataStorage`, and `KTVHCTools/KTVHCPathTool.m`, in
/// ChangbaDevs/KTVHTTPCache.
package enum KTVHTTPCacheStore {
    /// The name of the archive.
    package static let archiveName = "KTVHTTPCache.archive"
    /// The name of the directory, below the directory for documents or caches of the app.
    package static let directoryName = "KTVHTTPCache"

    /// Reads the archive.
    ///
    /// - Parameters:
    ///   - prefix: The path of the archive's directory below the given one, with a slash at its
    ///     end. Empty for the given one itself.
    ///   - files: The sizes of all files by their paths.
    /// - Throws: `ParseError` for bytes that are not such an archive.
    package static func read(
        _ bytes: [UInt8], prefix: String, files: [String: Int64], limits: AdoptionLimits
    ) throws(ParseError) -> ForeignStore {
        let archive = try KeyedArchive(bytes, limits: limits)
        guard let units = archive.elements(archive.root) else { throw ParseError(offset: 0, expected: "an array of units") }
        var store = ForeignStore(.ktvHTTPCache)
        var members = 0
        for (number, unit) in units.enumerated() {
            let name = "\(prefix)\(archiveName)#\(number + 1)"
            for list in ["responseHeaderFields", "unitItems"] { members += archive.count(archive.member(list, of: unit)) }
            guard members <= limits.members else { throw ParseError(offset: 0, expected: "at most \(limits.members) fields and parts") }
            store.add(Result { () throws(ForeignRefusal) in try resource(unit, named: name, archive, prefix, files, limits) })
        }
        return store
    }

    private static func resource(
        _ unit: KeyedArchive.Object, named name: String, _ archive: KeyedArchive, _ prefix: String, _ files: [String: Int64],
        _ limits: AdoptionLimits
    ) throws(ForeignRefusal) -> ForeignResource {
        func text(_ name: String) -> String? { archive.member(name, of: unit).flatMap(archive.text) }
        guard let url = text("URLString"), url.utf8.count <= limits.urlBytes else {
            throw ForeignRefusal(name: name, reason: "its entry has no URL", isDamaged: true)
        }
        let fields = fields(archive.member("responseHeaderFields", of: unit).flatMap(archive.texts) ?? [])
        let type = fields[.contentType]
        if isPlaylist(url: url, contentType: type) {
            throw ForeignRefusal(name: name, url: url, reason: "it is a playlist, which KTVHTTPCache may have rewritten for its own server")
        }
        guard let length = archive.member("totalContentLength", of: unit).flatMap(archive.integer), length > 0 else {
            throw ForeignRefusal(name: name, url: url, reason: "its length is not known")
        }
        var resource = ForeignResource(name: name, url: url, length: length, contentType: type, validator: Validator(fields: fields))
        let items = archive.member("unitItems", of: unit).flatMap(archive.elements) ?? []
        for item in try storedFiles(of: items, url, name, archive, prefix, files, limits) {
            let (end, isBeyond) = item.offset.addingReportingOverflow(item.bytes)
            guard !isBeyond, item.offset >= 0, end <= length, let range = ByteRange(item.offset, end) else {
                throw ForeignRefusal(name: name, url: url, reason: "a file of it ends after its last byte, \(length)", isDamaged: true)
            }
            resource.add(path: item.path, range)
        }
        return resource
    }

    private struct Item {
        var path: String
        var offset: Int64
        var bytes: Int64
    }

    /// The files of a unit that have bytes, in the order of the library: by offset, longer ones
    /// first.
    private static func storedFiles(
        of items: [KeyedArchive.Object], _ url: String, _ name: String, _ archive: KeyedArchive, _ prefix: String,
        _ files: [String: Int64], _ limits: AdoptionLimits
    ) throws(ForeignRefusal) -> [Item] {
        guard items.count <= limits.parts else {
            throw ForeignRefusal(name: name, url: url, reason: "it has more than \(limits.parts) parts")
        }
        var found: [Item] = []
        var offsets: [String: Int64] = [:]
        for item in items {
            guard let path = archive.member("relativePath", of: item).flatMap(archive.text), let place = place(path),
                let offset = archive.member("offset", of: item).flatMap(archive.integer)
            else { throw ForeignRefusal(name: name, url: url, reason: "an entry of it has no path or no offset", isDamaged: true) }
            guard let bytes = files[prefix + place], bytes > 0 else { continue }
            // Each file is one response, so it is read once.
            guard offsets.updateValue(offset, forKey: place) ?? offset == offset else {
                throw ForeignRefusal(name: name, url: url, reason: "two entries of it have one file", isDamaged: true)
            }
            found.append(Item(path: prefix + place, offset: offset, bytes: bytes))
        }
        let sorted = found.sorted { ($0.offset, $1.bytes, $0.path) < ($1.offset, $0.bytes, $1.path) }
        var last: String?
        return sorted.filter { item in
            defer { last = item.path }
            return item.path != last
        }
    }

    /// The path below the directory of the library: the directory of the URL and the name of the
    /// file.
    ///
    /// The library writes paths from its own directory on, some with a slash in front. A path from
    /// the root of a device is taken from that directory on.
    private static func place(_ path: String) -> String? {
        let parts = path.split(separator: "/")
        guard let library = parts.lastIndex(where: { $0 == directoryName }), parts.count == library + 3 else { return nil }
        let names = parts[(library + 1)...]
        return names.contains("..") || names.contains(".") ? nil : names.joined(separator: "/")
    }

    /// The fields that a representation needs. Older versions of the library archive all fields.
    private static func fields(_ texts: [(name: String, value: String)]) -> HTTPFields {
        var fields: HTTPFields = [:]
        for (name, value) in texts where value.isFieldValue {
            for wanted in [HTTPFields.Name.contentType, .entityTag, .lastModified, .date] where wanted.matches(name) {
                fields[wanted] = value
            }
        }
        return fields
    }
}

extension HTTPFields.Name {
    fileprivate func matches(_ name: String) -> Bool { text.lowercased() == name.lowercased() }
}
