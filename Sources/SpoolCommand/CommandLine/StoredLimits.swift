import SpoolSystem

/// The limits that a store keeps from one command to the next, as given to `spool serve` or `spool
/// limits`.
///
/// They are in a file `limits` beside the index, with one `name=value` on each line. The names are
/// those of the flags. The file is not part of the index, so that it stays when a damaged index is
/// set aside.
struct StoredLimits: Equatable {
    /// The values by the names of their flags.
    private(set) var values: [String: String] = [:]

    private static func path(in directory: String) -> String { directory + "/limits" }
    /// The longest file that is read, in bytes.
    private static let limitBytes = 4096

    subscript(flag: Flag) -> String? { values[flag.name] }

    /// Adds the given limits. The value `default` removes the store's own limit.
    mutating func take(_ given: [String: String]) {
        for (name, value) in given { values[name] = value == Self.defaultWord ? nil : value }
    }

    static let defaultWord = "default"

    // MARK: The file

    /// Returns the limits that the store in `directory` keeps, or empty limits when it keeps none.
    /// Skips invalid lines, because a newer program may have written them.
    static func read(in directory: String) throws(SystemError) -> StoredLimits {
        let system = POSIXFileSystem()
        guard try system.status(path(in: directory)) != nil else { return StoredLimits() }
        let lines = String(decoding: try system.contents(of: path(in: directory), limit: limitBytes), as: UTF8.self).split(separator: "\n")
        var limits = StoredLimits()
        for line in lines {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, LimitFlags.all.contains(where: { $0.name == parts[0] }) else { continue }
            limits.values[String(parts[0])] = String(parts[1])
        }
        return limits
    }

    /// Writes these limits for the store in `directory`.
    func write(in directory: String) throws(SystemError) {
        let system = POSIXFileSystem()
        let path = Self.path(in: directory)
        guard !values.isEmpty else { return try system.unlinkIfPresent(path) }
        // Written to a draft and renamed, so that a reader finds the whole file or none.
        let draft = path + ".new"
        let file = try system.open(draft, .create)
        try file.truncate(to: 0)
        try file.write(Array(values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }.joined().utf8), at: 0)
        try system.rename(draft, to: path)
    }
}
