package import SpoolCore
import SpoolSystem

/// Where things lie below the store's directory. Pure: it names, it does not touch.
package struct StoreLayout: Sendable {
    /// The store's directory, without a slash at its end.
    package let root: String

    package init(root: String) {
        self.root = root.count > 1 && root.hasSuffix("/") ? String(root.dropLast()) : root
    }

    /// The index.
    package var index: String { root + "/spool.sqlite" }
    /// What the names of the files end with that SQLite keeps beside the index.
    package static let indexCompanionSuffixes = ["-wal", "-shm", "-journal"]
    /// An empty file that is there when an index was found damaged while it was in use.
    package var damageMark: String { index + ".is-damaged" }
    /// The file whose lock the writing process holds.
    package var lock: String { root + "/lock" }
    /// The file that keeps room for the index.
    package var reserve: String { root + "/reserve" }
    /// The directory of all data files.
    package var data: String { root + "/data" }

    /// Where a damaged index is kept for whoever wants to look at it.
    package func damagedIndex(number: Int) -> String { root + "/spool.sqlite.damaged-\(number)" }

    /// The store's directory and those that lead to it, from the inside out.
    package var rootAndAbove: [String] {
        Array(sequence(first: root) { parentDirectory(of: $0) })
    }

    /// The directory of a resource's data files; `hash` is the SHA-256 of its key.
    package func directory(hash: [UInt8]) -> String {
        let name = hash.hexadecimal
        return "\(data)/\(name.prefix(2))/\(name)"
    }

    /// The data file of a generation.
    package func dataFile(hash: [UInt8], generation: GenerationID, fileExtension: String) -> String {
        let name = "\(directory(hash: hash))/\(generation.rawValue)"
        let suffix = Self.safeExtension(fileExtension)
        return suffix.isEmpty ? name : "\(name).\(suffix)"
    }

    // MARK: What is ours

    /// Whether a directory below `data` has the name of a group: two digits of a hash.
    static func isGroup(_ name: String) -> Bool { isHash(name, digits: 2) }

    /// Whether a directory of a group has the name of a resource's directory: its hash, which begins with the name of the group.
    static func isDirectory(_ name: String, inGroup group: String) -> Bool { isHash(name, digits: 64) && name.hasPrefix(group) }

    private static func isHash(_ name: String, digits: Int) -> Bool {
        name.utf8.count == digits
            && name.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
    }

    /// The generation whose data file has this name; nil for a name that `dataFile` never makes.
    static func generation(ofFile name: String) -> GenerationID? {
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let number = Int64(parts[0]), number > 0, number < StoreIndex.numberLimit / 2, String(number) == parts[0] else { return nil }
        guard let suffix = parts.dropFirst().first.map(String.init) else { return GenerationID(rawValue: number) }
        return !suffix.isEmpty && safeExtension(suffix) == suffix ? GenerationID(rawValue: number) : nil
    }

    /// The longest extension that a file's name gets, in characters.
    package static let extensionLimit = 16

    /// `fileExtension` if it is short and of ASCII letters and digits, else nothing: it came from a URL and becomes a path.
    package static func safeExtension(_ fileExtension: String) -> String {
        let isSafe =
            fileExtension.utf8.count <= extensionLimit
            && fileExtension.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte.asciiLowercased)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
        return isSafe ? fileExtension : ""
    }
}
