import SpoolSystem

/// The check of the systemd unit: whether the server that it starts can write to the store.
///
/// The unit makes the file system read-only except for some directories. A command that the same
/// user runs in a shell does not notice that.
package struct UnitCheck {
    /// The lines of the unit and of its drop-ins, in the order in which systemd reads them.
    private let lines: [Substring]

    private static let name = "spool.service"
    /// The directories of units, the most important one first (systemd.unit(5)).
    private static let places = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"]
    /// The most bytes that are read of one file. The unit has 2 KiB.
    private static let limitBytes = 64 << 10
    /// The directories that `ProtectHome` hides (systemd.exec(5)).
    private static let homes = ["/home", "/root", "/run/user"]

    package init(_ texts: [String]) { lines = texts.flatMap { $0.split(separator: "\n") } }

    /// Reads the unit of this machine with its drop-ins. Returns nil when there is none.
    static func installed() -> UnitCheck? {
        guard let unit = places.lazy.compactMap({ text("\($0)/\(name)") }).first else { return nil }
        let dropIns = places.flatMap { place -> [String] in
            guard let names = try? POSIXFileSystem().list("\(place)/\(name).d") else { return [] }
            return names.filter { $0.hasSuffix(".conf") }.sorted().map { "\(place)/\(name).d/\($0)" }
        }
        return UnitCheck([unit] + dropIns.compactMap(text))
    }

    /// Returns the text of a file, or nil where this user can't read one.
    private static func text(_ path: String) -> String? {
        guard let bytes = try? POSIXFileSystem().contents(of: path, limit: limitBytes) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the finding about a store, or nil for another user than that of the unit.
    package func finding(store directory: String, user: String?) -> Finding? {
        guard let user, values("User").last == user, values("ProtectSystem").last == "strict" else { return nil }
        if values("ProtectHome").last == "yes", Self.homes.contains(where: { Self.contains($0, directory) }) {
            return .problem(
                "unit", "\(Self.name) hides \(directory) from the server (ProtectHome)",
                advice: "use a directory outside \(Self.homes.joined(separator: ", "))")
        }
        let writable =
            values("CacheDirectory").map { "/var/cache/\($0)" } + values("StateDirectory").map { "/var/lib/\($0)" }
            + values("ReadWritePaths").map { String($0.drop { "+-".contains($0) }) }
        guard writable.contains(where: { Self.contains($0, directory) }) else {
            return .problem(
                "unit", "\(Self.name) does not let the server write to \(directory)",
                advice: "run 'systemctl edit spool' and add two lines: [Service] and ReadWritePaths=\(directory)")
        }
        return .ok("unit", "\(Self.name) lets the server write to \(directory)")
    }

    /// Returns the words of all lines of a setting. An empty line clears those before it.
    private func values(_ name: String) -> [String] {
        lines.reduce(into: []) { found, line in
            guard line.hasPrefix(name + "=") else { return }
            let words = line.dropFirst(name.count + 1).split(separator: " ").map(String.init)
            found = words.isEmpty ? [] : found + words
        }
    }

    private static func contains(_ parent: String, _ path: String) -> Bool { path == parent || path.hasPrefix(parent + "/") }
}
