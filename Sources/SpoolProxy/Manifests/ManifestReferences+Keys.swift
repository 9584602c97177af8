package import SpoolCore
package import SpoolManifests

extension ManifestReferences {
    /// Returns the keys of the resources with these roles, in the order of the document, as far as
    /// `PartKeys` has room for them.
    ///
    /// Most parts have the directory of the part before, and a name that needs no parsing. Their
    /// keys consist of the key of the directory and the name. A `KeyPolicy` with rules gets each URL.
    ///
    /// - Returns: The keys, or nil if more than `limit` URLs had to be parsed.
    package func keys(_ roles: Set<ManifestReference.Role>, _ policy: KeyPolicy, parsing limit: Int = .max) -> PartKeys? {
        var keys = PartKeys(), parsed = 0, last: (directory: [UInt8], key: [UInt8])?
        let isPlain = policy == KeyPolicy()
        for index in indices.lazy.filter({ roles.contains(role(at: $0)) }).prefix(PartKeys.limit) {
            let isAdded = withVerbatim(at: index) { text, base -> Bool? in
                let (directory, name) = text.split
                guard isPlain, text.isPlainName(name) else { return nil }
                let written = UnsafeRawBufferPointer(rebasing: text[directory])
                let isLast = last.map { last in
                    last.directory.count == written.count && last.directory.withUnsafeBytes { written.begins(with: $0, at: 0) }
                }
                if isLast != true {
                    // The name of a part that is in the directory stands for every one.
                    parsed += 1
                    let name = String(decoding: written, as: UTF8.self) + "a"
                    guard let url = base.resolved(name), let key = Self.key(of: url, policy) else { return nil }
                    last = (Array(written), Array(key.string.utf8.dropLast()))
                }
                return keys.append(last?.key ?? [], UnsafeRawBufferPointer(rebasing: text[name]))
            }
            if isAdded == nil { parsed += 1 }
            guard parsed <= limit else { return nil }
            guard isAdded ?? self[index].url.flatMap({ Self.key(of: $0, policy) }).map({ keys.append($0.string) }) ?? true else { break }
        }
        return keys
    }

    private static func key(of url: String, _ policy: KeyPolicy) -> ResourceKey? {
        do { return try policy.key(for: url) } catch { return nil }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether a name behind a directory is the same in a URL and in its key: visible ASCII that is
    /// no host, no dot segment and, without directory, no scheme.
    fileprivate func isPlainName(_ name: Range<Int>) -> Bool {
        if name.lowerBound > 1, self[name.lowerBound - 2] == UInt8(ascii: "/") { return false }
        guard let first = self[name].first, ![".", "?", "\\"].contains(Unicode.Scalar(first)) else { return false }
        let name = UnsafeRawBufferPointer(rebasing: self[name])
        return name.firstIndex(outside: 0x21...0x7E, orOf: UInt8(ascii: ":"), from: 0) == nil
    }
}
