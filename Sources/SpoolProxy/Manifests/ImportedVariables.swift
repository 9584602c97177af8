import SpoolCore

/// The variables that media playlists import from the multivariant playlists that name them (HLS).
///
/// They belong to the pair of both. Another site's playlist that names the same child must not
/// change what the child means to the players of its own site.
struct ImportedVariables {
    /// The most memory of all pairs, in bytes, about. When it is exceeded, all are dropped: a player
    /// then asks for the parts with variables by itself, until the parent is read again.
    static let capacityBytes = 4 << 20

    private struct Parent {
        /// Whether the parent has the origin of the child.
        var isOwn: Bool
        var values: [String: String]
    }

    /// The variables by the URL of the child, then by that of the parent.
    private var pairs: [String: [String: Parent]] = [:]
    private var heldBytes = 0

    /// Keeps the variables of a multivariant playlist for a playlist that it names.
    mutating func keep(_ values: [String: String], of parent: String, for child: String) {
        guard !values.isEmpty, pairs[child]?[parent]?.values != values else { return }
        let bytes = values.reduce(parent.utf8.count + child.utf8.count) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        if heldBytes + bytes > Self.capacityBytes { (pairs, heldBytes) = ([:], 0) }
        guard bytes <= Self.capacityBytes else { return }
        heldBytes += bytes
        pairs[child, default: [:]][parent] = Parent(isOwn: Self.origin(parent) == Self.origin(child), values: values)
    }

    /// Returns the variables of a playlist: those of the parents of its own origin, if there are such
    /// ones. None where parents differ, because the player alone knows its parent.
    ///
    /// - Parameter isNamedElsewhere: Whether the client asks by the path that other origins'
    ///   manifests have for the playlist.
    func values(of child: String, isNamedElsewhere: Bool) -> [String: String] {
        guard let parents = pairs[child]?.values else { return [:] }
        let own = parents.filter(\.isOwn), fitting = own.isEmpty && isNamedElsewhere ? Array(parents) : own
        guard let first = fitting.first, fitting.allSatisfy({ $0.values == first.values }) else { return [:] }
        return first.values
    }

    private static func origin(_ url: String) -> URIReference.Origin? {
        do { return try URIReference(lenient: url).origin } catch { return nil }
    }
}
