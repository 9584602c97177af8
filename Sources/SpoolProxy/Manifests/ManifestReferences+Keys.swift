package import SpoolCore
package import SpoolManifests

extension ManifestReferences {
    /// Returns the keys of the resources with these roles, in the order of the document, as far as
    /// `PartKeys` has room for them.
    ///
    /// Most parts have the directory of the part before, and a plain name. Their keys consist of the
    /// key of the directory and the name. A `KeyPolicy` with rules gets each URL.
    ///
    /// - Returns: The keys, or nil if more than `limit` URLs had to be parsed.
    package func keys(_ roles: [ManifestReference.Role], _ policy: KeyPolicy, parsing limit: Int = .max) -> PartKeys? {
        var keys = PartKeys(), parsed = 0, isFull = false, isEntered = false
        // The last directory, and its key, which is nil if names cannot be added to it.
        var place: Range<Int>?, key: String?
        var last: (role: ManifestReference.Role, isWanted: Bool)?
        let isPlain = policy == KeyPolicy()
        keys.reserve(parts: count)
        forEach(
            verbatim: { reference in
                if reference.role != last?.role { last = (reference.role, roles.contains(reference.role)) }
                guard last?.isWanted == true else { return true }
                if !reference.isBeside(place) {
                    place = reference.place
                    key = isPlain && parsed < limit ? keyOfDirectory(reference) : nil
                    if key != nil { parsed += 1 }
                    isEntered = false
                }
                guard key != nil else { return false }
                if !isEntered { isEntered = key?.withUTF8 { keys.enter(UnsafeRawBufferPointer($0)) } ?? false }
                isFull = !isEntered || !keys.append(name: reference.name)
                return !isFull
            },
            other: { reference in
                guard roles.contains(reference.role) else { return true }
                parsed += 1
                isEntered = false
                guard !isFull, parsed <= limit else { return false }
                return reference.url.flatMap { Self.key(of: $0, policy) }.map { keys.append($0.string) } ?? true
            })
        return parsed <= limit || isFull ? keys : nil
    }

    /// Returns the beginning of the keys of all parts in the directory of a reference.
    private func keyOfDirectory(_ reference: Verbatim) -> String? {
        let directory = String(decoding: reference.directory, as: UTF8.self)
        // An empty segment could be the place of a host.
        guard !directory.hasSuffix("//"), let url = base(at: reference.index).resolved(directory + "a") else { return nil }
        return Self.key(of: url, KeyPolicy()).map { String($0.string.dropLast()) }
    }

    private static func key(of url: String, _ policy: KeyPolicy) -> ResourceKey? {
        do { return try policy.key(for: url) } catch { return nil }
    }
}
