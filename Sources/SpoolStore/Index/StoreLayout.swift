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
