package import SpoolCore
import SpoolSystem

/// The paths of files below the store's directory. The type computes names and does no I/O.
package struct StoreLayout: Sendable {
    /// The store's directory, without a slash at its end.
    package let root: String

    /// Creates the layout of a store in `root`.
    package init(root: String) {
        self.root = root.count > 1 && root.hasSuffix("/") ? String(root.dropLast()) : root
    }

    /// The index.
    package var index: String { root + "/spool.sqlite" }
    /// The suffixes of the files that SQLite keeps beside the index.
    package static let indexCompanionSuffixes = ["-wal", "-shm", "-journal"]
    /// An empty file that exists when an index was found damaged while it was in use.
    package var damageMark: String { index + ".is-damaged" }
    /// The file whose lock the writing process holds.
    package var lock: String { root + "/lock" }
    /// The file that reserves disk space for the index.
    package var reserve: String { root + "/reserve" }
    /// The directory of all data files.
    package var data: String { root + "/data" }

    /// Returns the path under which a damaged index is kept for inspection.
    package func damagedIndex(number: Int) -> String { root + "/spool.sqlite.damaged-\(number)" }

    /// The store's directory and its parents, from the inside out.
    package var rootAndAbove: [String] {
        Array(sequence(first: root) { parentDirectory(of: $0) })
    }

    /// Returns the directory of a resource's data files. `hash` is the SHA-256 of its key, or its
    /// HMAC in an encrypted store.
    package func directory(hash: [UInt8]) -> String {
        let name = hash.hexadecimal
        return "\(data)/\(name.prefix(2))/\(name)"
    }

    /// Returns the data file of a generation.
    package func dataFile(hash: [UInt8], generation: GenerationID, fileExtension: String) -> String {
        let name = "\(directory(hash: hash))/\(generation.rawValue)"
        let suffix = Self.safeExtension(fileExtension)
        return suffix.isEmpty ? name : "\(name).\(suffix)"
    }

    // MARK: Recognising names

    /// Whether `name` is the name of a group's directory: two digits of a hash.
    static func isGroup(_ name: String) -> Bool { isHash(name, digits: 2) }

    /// Whether `name` is the name of a resource's directory: a hash that begins with the name of
    /// the group.
    static func isDirectory(_ name: String, inGroup group: String) -> Bool { isHash(name, digits: 64) && name.hasPrefix(group) }

    private static func isHash(_ name: String, digits: Int) -> Bool {
        name.utf8.count == digits && name.utf8.allSatisfy { $0.isHexDigit && $0 == $0.asciiLowercased }
    }

    /// Returns the generation whose data file has this name, or nil for a name that `dataFile`
    /// never returns.
    static func generation(ofFile name: String) -> GenerationID? {
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let number = Int64(parts[0]), number > 0, number < StoreIndex.numberLimit / 2, String(number) == parts[0] else { return nil }
        guard let suffix = parts.dropFirst().first.map(String.init) else { return GenerationID(rawValue: number) }
        return !suffix.isEmpty && safeExtension(suffix) == suffix ? GenerationID(rawValue: number) : nil
    }

    /// The maximum length of an extension in a file's name, in characters.
    package static let extensionLimit = 16

    /// Returns `fileExtension` if it is short and consists of ASCII letters and digits, otherwise
    /// an empty string. The extension comes from a URL and becomes part of a path.
    package static func safeExtension(_ fileExtension: String) -> String {
        let isSafe = fileExtension.utf8.count <= extensionLimit && fileExtension.utf8.allSatisfy { $0.isLetter || $0.isDigit }
        return isSafe ? fileExtension : ""
    }
}
