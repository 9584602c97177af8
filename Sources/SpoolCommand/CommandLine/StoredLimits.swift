import Spool
import SpoolSystem

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The limits that a store keeps from one command to the next, as they were given to `spool serve` or `spool limits`.
///
/// A file `limits` beside the index, with one `name=value` a line; the names are those of the flags. It is no part of the index, so that it
/// stays when a damaged index is set aside.
struct StoredLimits: Equatable {
    /// The values by the names of their flags.
    private(set) var values: [String: String] = [:]

    private static func path(in directory: String) -> String { directory + "/limits" }
    /// The longest file that is read.
    private static let limitBytes = 4096

    subscript(flag: Flag) -> String? { values[flag.name] }

    /// Takes over what was given, `default` being the word for no limit of the store's own.
    mutating func take(_ given: [String: String]) {
        for (name, value) in given { values[name] = value == Self.defaultWord ? nil : value }
    }

    static let defaultWord = "default"

    // MARK: The file

    /// The limits that the store in `directory` keeps; empty when it keeps none. Lines that make no sense are passed over, as a newer program may
    /// have written them.
    static func read(in directory: String) throws(SystemError) -> StoredLimits {
        let system = POSIXFileSystem()
        guard try system.status(path(in: directory)) != nil else { return StoredLimits() }
        let file = try system.open(path(in: directory), .read)
        var text = [UInt8](repeating: 0, count: limitBytes)
        let result = text.withUnsafeMutableBytes { buffer in
            Result { () throws(SystemError) in try file.read(into: buffer, at: 0) }
        }
        let lines = String(decoding: text.prefix(try result.get()), as: UTF8.self).split(separator: "\n")
        var limits = StoredLimits()
        for line in lines {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, LimitFlags.all.contains(where: { $0.name == parts[0] }) else { continue }
            limits.values[String(parts[0])] = String(parts[1])
        }
        return limits
    }

    /// Keeps these limits for the store in `directory`.
    func write(in directory: String) throws(SystemError) {
        let system = POSIXFileSystem()
        let path = Self.path(in: directory)
        guard !values.isEmpty else {
            do throws(SystemError) { return try system.unlink(path) } catch {
                if error.code == ENOENT { return }
                throw error
            }
        }
        // Written aside and renamed: who reads it finds all of it or nothing.
        let draft = path + ".new"
        let file = try system.open(draft, .create)
        try file.truncate(to: 0)
        let text = Array(values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }.joined().utf8)
        let result = text.withUnsafeBytes { bytes in
            Result { () throws(SystemError) in try file.write(bytes, at: 0) }
        }
        try result.get()
        try system.rename(draft, to: path)
    }
}
