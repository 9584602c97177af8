import SpoolCore

/// The files of an exported presentation, as paths below one folder.
///
/// The paths are those of the URLs, without the directories that all of them share. Resources of
/// other origins are below `other/`. Every name is checked: URLs come from a manifest, and no file
/// may be created outside of the folder.
package struct ExportLayout {
    /// The error for a resource without a usable file name.
    package struct Failure: Error, Hashable {
        package var url: String
        package var reason: String
    }

    /// The longest name of a file or directory, in bytes. File systems allow 255, and a draft has a
    /// longer name than its file.
    package static let maxNameBytes = 200
    /// The deepest nesting of directories.
    package static let maxDepth = 32

    /// The path of each resource, by its URL.
    package private(set) var paths: [String: String] = [:]
    private let root: ExportPlace
    /// The number of directories at the origin of the manifest that all paths share.
    private let sharedCount: Int
    private let renames: Bool
    private var files = Set<String>()
    private var directories = Set<String>()
    /// The next number for a name that is taken, by its path.
    private var numbers: [String: Int] = [:]

    /// Creates the layout of resources.
    ///
    /// - Parameters:
    ///   - manifest: The URL that the references of the manifest are resolved against.
    ///   - parts: The URLs of all other files.
    ///   - bases: The URLs that references are resolved against on the way to those files.
    ///   - renames: Whether a file may have another name than the URL, because every reference is
    ///     written anew. Templates of DASH do not allow that.
    ///   - fileExtension: Returns the extension for the resource of a URL, or an empty text.
    /// - Throws: `Failure` for a name that the rules do not allow, if `renames` is false.
    package init(
        manifest: String, parts: [String], bases: [String] = [], renames: Bool, fileExtension: (String) -> String = { _ in "" }
    ) throws(Failure) {
        root = try ExportPlace(manifest)
        self.renames = renames
        var shared = root.directories
        for part in parts + bases {
            guard let place = try? ExportPlace(part), place.origin == root.origin else { continue }
            shared = zip(shared, place.directories).prefix { $0 == $1 }.map(\.0)
        }
        sharedCount = shared.count
        for url in [manifest] + parts where paths[url] == nil {
            let path = try self.path(of: url, fileExtension(url))
            for count in 1..<max(path.count, 1) { directories.insert(path.prefix(count).joined(separator: "/").asciiLowercased) }
            files.insert(path.joined(separator: "/").asciiLowercased)
            paths[url] = path.joined(separator: "/")
        }
    }

    // MARK: Names

    private mutating func path(of url: String, _ fileExtension: String) throws(Failure) -> [String] {
        let decoded = try place(of: url).map(\.percentDecodedName)
        guard renames else {
            guard decoded.count <= Self.maxDepth, decoded.allSatisfy({ $0.isSafeFileName }) else {
                throw Failure(url: url, reason: "its path is no name for a file")
            }
            guard isFree(decoded) else {
                throw Failure(url: url, reason: "another part has the same path, and differs in its query or in case")
            }
            return decoded
        }
        var path = decoded.dropLast().suffix(Self.maxDepth - 1).map { $0.asFileName }
        let (stem, ending) = (decoded.last ?? "").asFileName(maxBytes: .max).splitAtExtension(wanted: fileExtension)
        // A file is in the way of a directory: the top of the folder has room.
        if (1...max(path.count, 1)).contains(where: { files.contains(path.prefix($0).joined(separator: "/").asciiLowercased) }) {
            path = []
        }
        let taken = (path + [stem, ending]).joined(separator: "/").asciiLowercased
        var number = numbers[taken] ?? 1
        while true {
            let suffix = number == 1 ? "" : "-\(number)"
            let tried = path + [String(stem.prefix(Self.maxNameBytes - suffix.utf8.count - ending.utf8.count)) + suffix + ending]
            number += 1
            guard isFree(tried) else { continue }
            numbers[taken] = number
            return tried
        }
    }

    /// Whether a path is neither that of a file nor of a directory, and no file is in its way. Some
    /// file systems ignore case.
    private func isFree(_ path: [String]) -> Bool {
        let text = path.joined(separator: "/").asciiLowercased
        if files.contains(text) || directories.contains(text) { return false }
        return !(1..<max(path.count, 1)).contains { files.contains(path.prefix($0).joined(separator: "/").asciiLowercased) }
    }

    /// The directories and the name of a URL below the folder, as they are written in the URL.
    private func place(of url: String) throws(Failure) -> [String] {
        let place = try ExportPlace(url)
        guard place.origin != root.origin else { return Array(place.directories.dropFirst(sharedCount)) + [place.name] }
        let host = place.origin.authority.asFileName + (place.origin.scheme == root.origin.scheme ? "" : "_\(place.origin.scheme)")
        return ["other", host] + place.directories + [place.name]
    }

    // MARK: References

    /// Returns the reference from one exported file to another.
    package func reference(from manifest: String, to url: String) -> String? {
        guard let from = paths[manifest], let to = paths[url] else { return nil }
        return Self.relative(
            from: from.split(separator: "/").map(String.init), to: to.split(separator: "/").map { String($0).percentEncodedName })
    }

    /// Returns the reference that leads from the place of `base` to that of `url`, in the characters
    /// of the URL, so that templates stay as they are. The last segment may be empty.
    package func reference(fromPlaceOf base: String, toPlaceOf url: String) -> String? {
        guard let from = try? place(of: base), let to = try? place(of: url), let reference = try? URIReference(url) else { return nil }
        return Self.relative(from: from, to: to) + (reference.query.map { "?\($0)" } ?? "")
    }

    /// Whether a request for `target`, a path with a query perhaps, leads to the file of `url` below
    /// the folder.
    func isFile(at target: Substring, of url: String) -> Bool {
        let path = target.prefix { $0 != "?" && $0 != "#" }
        return String(path).percentDecodedName == paths[url]
    }

    private static func relative(from: [String], to: [String]) -> String {
        let shared = zip(from.dropLast(), to.dropLast()).prefix { $0 == $1 }.count
        let up = Array(repeating: "..", count: from.count - 1 - shared)
        let steps = (up + to.dropFirst(shared)).joined(separator: "/")
        // A colon would end a scheme, and an empty reference is the manifest itself.
        return steps.isEmpty || steps.prefix(while: { $0 != "/" }).contains(":") ? "./\(steps)" : steps
    }
}

/// The parts of a URL that become a path.
private struct ExportPlace {
    var origin: URIReference.Origin
    var directories: [String]
    var name: String

    init(_ url: String) throws(ExportLayout.Failure) {
        guard let reference = try? URIReference(lenient: url), let origin = reference.origin else {
            throw ExportLayout.Failure(url: url, reason: "it is no URL of a server")
        }
        self.origin = origin
        var segments = reference.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        name = segments.popLast() ?? ""
        directories = segments
    }
}

extension String {
    /// The text without percent-encoding; other bytes than UTF-8 become replacement characters.
    fileprivate var percentDecodedName: String {
        guard utf8.contains(UInt8(ascii: "%")) else { return self }
        var bytes: [UInt8] = []
        var rest = Array(utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                bytes.append(UInt8(digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text with every byte encoded that has a meaning in a URL.
    fileprivate var percentEncodedName: String {
        let digits = Array("0123456789ABCDEF")
        return utf8.reduce(into: "") { text, byte in
            if byte.isPlainInName {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }

    /// Whether a file can have this name, without a meaning for the system.
    fileprivate var isSafeFileName: Bool {
        guard !isEmpty, self != ".", self != "..", utf8.count <= ExportLayout.maxNameBytes else { return false }
        return utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }
    }

    /// A name for a file that every system accepts: other characters become `_`.
    fileprivate var asFileName: String { asFileName(maxBytes: ExportLayout.maxNameBytes) }

    fileprivate func asFileName(maxBytes: Int) -> String {
        let bytes = utf8.prefix(maxBytes).map { $0.isPlainInName ? $0 : UInt8(ascii: "_") }
        let name = String(decoding: bytes.drop { $0 == UInt8(ascii: ".") }, as: UTF8.self)
        return name.isEmpty ? "_" : name
    }

    /// The name without its extension, and the extension with its dot. `wanted` replaces an
    /// extension of something else than media.
    fileprivate func splitAtExtension(wanted: String) -> (stem: String, ending: String) {
        guard let dot = lastIndex(of: "."), self[index(after: dot)...].count <= 8 else { return (self, wanted.isEmpty ? "" : ".\(wanted)") }
        let own = self[index(after: dot)...].asciiLowercased
        if wanted.isEmpty || own == wanted { return (String(self[..<dot]), String(self[dot...])) }
        return (self, ".\(wanted)")
    }
}

extension UInt8 {
    fileprivate var isPlainInName: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }
}
