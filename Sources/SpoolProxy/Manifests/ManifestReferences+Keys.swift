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
    package func keys(_ roles: [ManifestReference.Role], _ policy: KeyPolicy, parsing limit: Int = .max) -> PartKeys? {
        var keys = PartKeys(), parsed = 0, isFull = false
        // The directory of the last part as it was written, and its key. It is empty before the first.
        var directory: [UInt8] = [], key: [UInt8] = []
        let isPlain = policy == KeyPolicy()
        keys.reserve(parts: count)
        forEach(
            verbatim: { text, role, index in
                guard roles.contains(role) else { return true }
                let nameInLast = key.isEmpty ? nil : text.name(in: directory), name = nameInLast ?? text.split.name
                guard isPlain, text.isPlainName(name) else { return false }
                if nameInLast == nil {
                    // The name of a part that is in the directory stands for every one.
                    parsed += 1
                    let beginning = text[..<name.lowerBound]
                    guard parsed <= limit, let url = base(at: index).resolved(String(decoding: beginning, as: UTF8.self) + "a"),
                        let example = Self.key(of: url, policy)
                    else { return false }
                    (directory, key) = (Array(beginning), Array(example.string.utf8.dropLast()))
                }
                isFull = !keys.append(key, UnsafeRawBufferPointer(rebasing: text[name]))
                return !isFull
            },
            other: { reference in
                guard roles.contains(reference.role) else { return true }
                parsed += 1
                guard !isFull, parsed <= limit else { return false }
                return reference.url.flatMap { Self.key(of: $0, policy) }.map { keys.append($0.string) } ?? true
            })
        return parsed <= limit || isFull ? keys : nil
    }

    private static func key(of url: String, _ policy: KeyPolicy) -> ResourceKey? {
        do { return try policy.key(for: url) } catch { return nil }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether a name of visible ASCII behind a directory is the same in a URL and in its key: no
    /// host, no dot segment and, without directory, no scheme.
    fileprivate func isPlainName(_ name: Range<Int>) -> Bool {
        if name.lowerBound > 1, self[name.lowerBound - 2] == UInt8(ascii: "/") { return false }
        guard let first = self[name].first, ![".", "?", "\\"].contains(Unicode.Scalar(first)) else { return false }
        return name.lowerBound > 0 || UnsafeRawBufferPointer(rebasing: self[name]).firstIndex(of: UInt8(ascii: ":"), from: 0) == nil
    }
}
